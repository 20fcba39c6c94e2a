"""Rules of the tree that no tool checks by itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dlasim import __version__

ROOT = Path(__file__).parents[2]
FOLDERS = ("dlasim", "isa", "sim", "vp", "firmware", "compiler_shim", "sweeps")


def modules() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def imported(file: Path) -> set[str]:
    """The top-level names of everything a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def importers(package: str) -> list[Path]:
    return [file.relative_to(ROOT) for file in modules() if package in imported(file)]


@pytest.mark.parametrize("package", ["unicorn", "elftools"])
def test_only_one_file_imports(package: str) -> None:
    assert len(importers(package)) <= 1


def test_how_charts_look_is_said_in_two_files() -> None:
    assert [str(file) for file in importers("matplotlib")] == [
        "sweeps/charts/canvas.py",
        "sweeps/charts/style.py",
    ]


def test_every_dependency_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"\W", text)[0].replace("pyelftools", "elftools") for text in project["dependencies"]}
    names.remove("tflite")  # its modules are loaded by their paths, in operators/fields.py
    names.remove("numba")  # chooses the release of llvmlite
    assert len(names) > 5
    assert [name for name in sorted(names) if not importers(name)] == []


def test_flatbuffers_stay_in_one_package() -> None:
    places = {file.parent for package in ("flatbuffers", "tflite") for file in importers(package)}
    assert len(places) == 1


def test_nothing_imports_a_folder_by_its_bare_name() -> None:
    for file in modules():
        assert not imported(file) & set(FOLDERS[1:]), file


def test_the_version_is_written_twice_and_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_links_to_every_folder() -> None:
    links = {path.name: path.readlink() for path in (ROOT / "dlasim").iterdir() if path.is_symlink()}
    assert links == {name: Path("..", name) for name in (*FOLDERS[1:], "rtl")}  # rtl has no modules


@pytest.mark.parametrize("package", [file for file in modules() if file.name == "__init__.py"], ids=str)
def test_a_package_names_modules_that_exist(package: Path) -> None:
    """Each `name` in a package docstring is a module or folder in the package."""
    source = package.read_text(encoding="utf-8")
    words = re.findall(r"`([a-z]\w*)`", ast.get_docstring(ast.parse(source)) or "")
    there = {path.stem for path in package.parent.iterdir()} | {"dlasim", "command"}
    assert set(words) <= there
    assert "Read in" not in source or words, "the modules of a reading order stand between backquotes"


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = {path for path in re.findall(r"`([\w./-]+/[\w.-]*)`", text) if "NAME" not in path}
    assert len(paths) > 20
    assert not {path for path in paths if not (ROOT / path).exists()} - {"out/demo", "out/site"}


def test_a_bare_checkout_imports() -> None:
    code = "import dlasim.sim, dlasim.isa; print(dlasim.sim.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(ROOT)
