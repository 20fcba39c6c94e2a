"""Every page, notebook and message that says how to install dlasim says what dlasim/installation.py says."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from dlasim import installation
from dlasim.cli import health

ROOT = Path(__file__).parents[2]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
COMMAND = re.compile(r"pip install ((?:[^`\n:;)(,\"\\]|\"(?=\]))*)")
ENDINGS = {".md", ".py", ".ipynb", ".in", ".toml", ".txt", ".s", ".c", ".h", ".html", ".js", ""}


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name and not name.startswith("tests/")]
    return [path for path in paths if path.suffix in ENDINGS and path.is_file() and not path.is_symlink()]


def commands() -> list[tuple[str, list[str]]]:
    """Each `pip install …`: where it stands, and what it installs."""
    found = []
    for path in files():
        for match in COMMAND.finditer(path.read_text(encoding="utf-8", errors="replace")):
            text = match[1].replace("{name}", "verify").replace("NAME", "verify")
            words = text.split("' ")[0].split(" in ")[0].replace("'", " ").split()
            found.append((f"{path.relative_to(ROOT)}: {match[0]}", words))
    return found


def wrong(words: list[str]) -> bool:
    """Whether dlasim is looked for in an index, or an extra is one that it has not."""
    for word in words:
        name, _, extras = word.rstrip("].,").partition("[")
        if name == "dlasim" and not extras:
            return True
        if name in ("dlasim", ".") and set(filter(None, extras.split(","))) - EXTRAS:
            return True
    return False


def test_pages_and_messages_agree() -> None:
    found = commands()
    assert len(found) > 15
    assert [where for where, words in found if wrong(words)] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["dlasim"], True), (["dlasim", "torch"], True), (["--upgrade", "dlasim"], True),
        (["dlasim[more]"], True),
        (["."], False), ([".[verify]"], False), (["dlasim[verify]"], False), (["torch"], False),
    ],
)  # fmt: skip
def test_what_is_wrong(words: list[str], expected: bool) -> None:
    assert wrong(words) == expected


def test_the_first_pages_name_the_commands() -> None:
    readme, tutorial = ((ROOT / name).read_text() for name in ("README.md", "docs/tutorial.md"))
    assert f"`{installation.FROM_CHECKOUT}`" in tutorial
    assert f"`{installation.extra_command('NAME')}`" in readme
    assert "pip install '.[verify]'" in readme


def test_each_extra_has_its_command() -> None:
    for name in health.EXTRAS:
        assert health.Extra(name, "", ()).command == installation.extra_command(name)
