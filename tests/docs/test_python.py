"""All Python that the pages show is run, and what they name of the package exists."""

from __future__ import annotations

import doctest
import re
import struct
from importlib import import_module
from pathlib import Path

import pytest

from dlasim.vp.devices.memory_map import MemoryMap
from tests.docs.pages import steps
from tests.docs.test_commands import PAGES, ROOT, perform

ALL_PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
SESSIONS = [page for page in ALL_PAGES if "```python\n>>> " in page.read_text(encoding="utf-8")]
# Those of the other pages are run with their commands.
SCRIPTS = [page for page in ALL_PAGES if page not in PAGES and any(s.kind == "script" for s in steps(page))]
EXIT_WITH_SUCCESS = (0x0010_02B7, 0x0000_5337, 0x5553_0313, 0x0062_A023, 0x0000_006F)  # 0x5555 to 0x100000


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_sessions_answer_as_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = len(re.findall(r"^>>> ", page.read_text(encoding="utf-8"), re.MULTILINE))
    results = doctest.testfile(str(page), module_relative=False)
    assert (results.failed, results.attempted) == (0, lines)


@pytest.mark.parametrize("page", SCRIPTS, ids=name)
def test_scripts_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "app.elf").write_bytes(firmware())
    for step in steps(page):
        if step.kind == "script":
            perform(step, tmp_path)


def firmware() -> bytes:
    """The least of an application: it ends the run at once."""
    code = struct.pack(f"<{len(EXIT_WITH_SUCCESS)}I", *EXIT_WITH_SUCCESS)
    base, head = MemoryMap().flash.base, 52 + 32
    elf = b"\x7fELF\1\1\1".ljust(16, b"\0")
    elf += struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, base, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return elf + struct.pack("<8I", 1, head, base, base, len(code), len(code), 5, 4) + code


def test_every_block_of_python_is_run() -> None:
    for page in ALL_PAGES:
        blocks = re.findall(
            r"^```(?:python|py|pycon)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
        )
        scripts = [block for block in blocks if ">>>" not in block]
        taken = {step.text for step in steps(page) if step.kind in ("script", "file")}
        assert set(scripts) <= taken, name(page)
        assert not scripts or page in (*PAGES, *SCRIPTS), name(page)
        assert len(scripts) == len(blocks) or page in SESSIONS, name(page)


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_what_is_named_of_the_package_exists(page: Path) -> None:
    named = set(re.findall(r"(?<!/)\bdlasim(?:\.[A-Za-z_]\w*)+", page.read_text(encoding="utf-8")))
    assert sorted(dotted for dotted in named if not exists(dotted)) == []


def exists(dotted: str) -> bool:
    """Whether a module, or what is in one, has this name."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_names_that_do_not_exist_are_seen() -> None:
    assert exists("dlasim.isa.container.read_file")
    assert not exists("dlasim.isa.container.read_program")
    assert not exists("dlasim.nothing")
