"""Rules of the tree that no tool checks by itself."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlasim import __version__

ROOT = Path(__file__).parents[2]
FOLDERS = ("dlasim", "isa", "sim", "vp", "firmware", "compiler_shim", "sweeps")


def modules() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


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


@pytest.mark.parametrize("package", ["unicorn", "elftools", "matplotlib"])
def test_only_one_file_imports(package: str) -> None:
    assert len(importers(package)) <= 1


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


def setup_arguments() -> dict[str, Any]:
    """What setup.py tells setuptools."""
    code = (
        "import json, setuptools; setuptools.setup = lambda **given: print(json.dumps(given)); import setup"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    arguments: dict[str, Any] = json.loads(done.stdout)
    return arguments


def test_setup_finds_every_module_and_every_data_file() -> None:
    given = setup_arguments()
    places: dict[str, str] = given["package_dir"]
    found = {f"{places[name]}/{file}" for name, files in given["package_data"].items() for file in files}
    for package in given["packages"]:
        root = next(name for name in sorted(places, reverse=True) if f"{package}.".startswith(f"{name}."))
        folder = ROOT / places[root] / package.removeprefix(root).replace(".", "/").lstrip("/")
        found |= {str(file.relative_to(ROOT)) for file in folder.glob("*.py")}
    everything = {
        str(file.relative_to(ROOT))
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert found == everything
