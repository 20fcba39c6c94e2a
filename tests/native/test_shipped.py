"""The libraries that ship: of these sources, whole, equal to Python, and found without a compiler."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlasim.machine_code import ROUTINES, routine_units, shipped_units, units_here
from dlasim.native import levels, shipped
from dlasim.native.build import lower, meaning_of
from dlasim.native.digests import PACKAGE, source_files
from dlasim.native.levels import LEVELS, PLATFORMS, Level, this_platform
from dlasim.native.unit import CodeUnit
from tests.native.tiny import SUMS

HERE = this_platform()
needs_library = pytest.mark.skipif(HERE is None, reason="no machine code ships for this platform")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of what ships, which nothing has been loaded from."""
    shutil.copytree(shipped.FOLDER, tmp_path / "libraries")
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "libraries")
    _forget()
    yield tmp_path / "libraries"
    _forget()


def _forget() -> None:
    for each in (shipped.manifest, shipped._is_current, shipped._is_unchanged, shipped._library):
        each.cache_clear()


@pytest.mark.parametrize("unit", routine_units(), ids=lambda unit: unit.name)
def test_routines_mean_what_ships(unit: CodeUnit) -> None:
    """Where this fails, the sources have changed: `make native`."""
    assert shipped.manifest()["meanings"][unit.symbol] == meaning_of(lower(unit))


@pytest.mark.parametrize("module", sorted({unit.module for unit in shipped_units()}))
def test_files_are_those_that_were_compiled(module: str) -> None:
    """Where this alone fails, `make native` takes seconds."""
    manifest, files = shipped.manifest(), source_files(module)
    names = [str(file.relative_to(PACKAGE)) for file in files]
    assert manifest["modules"][module] == names
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    assert [manifest["files"][name] for name in names] == hashes


def test_every_unit_is_in_a_library_and_no_other() -> None:
    assert shipped.manifest()["meanings"].keys() == {unit.symbol for unit in shipped_units()}
    for platform in PLATFORMS:
        data = (shipped.FOLDER / platform.library).read_bytes()
        assert shipped.manifest()["libraries"][platform.library] == hashlib.sha256(data).hexdigest()
        names = {name.decode() for name in re.findall(rb"\0(dlasim_\w+)(?=\0)", data)}
        foreign = {level.name for level in LEVELS if level.platform != platform.name}
        assert names == {unit.symbol for unit in shipped_units() if unit.level not in foreign}


@needs_library
def test_what_ships_is_found_and_loads_no_compiler() -> None:
    program = """
import sys
from dlasim.machine_code import units_here
from dlasim.native.library import find_function
print(all(find_function(unit) for unit in units_here()), "llvmlite" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


@needs_library
@pytest.mark.parametrize("damage", ["none", "missing", "cut", "one bit", "no manifest", "odd manifest"])
def test_a_damaged_installation_has_none(damage: str, folder: Path) -> None:
    assert HERE is not None
    file, manifest = folder / HERE.library, folder / shipped.MANIFEST
    whole = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(whole[:-1])
    elif damage == "one bit":
        file.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "odd manifest":
        manifest.write_text("[]")
    for unit in units_here():
        assert (shipped.find_shipped(unit) is not None) == (damage == "none")


@needs_library
def test_changed_sources_are_not_what_ships(folder: Path) -> None:
    manifest = json.loads((folder / shipped.MANIFEST).read_bytes())
    manifest["files"]["sim/timing/issue.py"] = "another"
    (folder / shipped.MANIFEST).write_text(json.dumps(manifest))
    found = {each.unit.name: shipped.find_shipped(each.unit) is not None for each in ROUTINES}
    assert [name for name, is_there in found.items() if not is_there] == [
        "columns",
        "issue",
        "activity",
        "account",
    ]
    assert shipped.find_symbol(ROUTINES[-1].unit)  # still there, if it means the same
    assert shipped.find_shipped(SUMS.unit) is None  # it does not ship at all


def test_another_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    _forget()
    for name, value in (("platform", "darwin"), ("maxsize", (1 << 31) - 1)):
        with monkeypatch.context() as patch:
            patch.setattr(sys, name, value)
            assert shipped.find_shipped(ROUTINES[0].unit) is None
        _forget()


def test_a_system_that_loads_nothing_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("failed to map segment from shared object")

    _forget()
    with monkeypatch.context() as patch:
        patch.setattr(shipped.ctypes, "CDLL", refuse)
        assert shipped.find_shipped(ROUTINES[0].unit) is None
    _forget()


def _levels(cpu: str) -> list[Level]:
    return [level for level in levels.LEVELS if level.platform.startswith(cpu)]


def test_each_platform_has_a_level_for_its_oldest_cpu() -> None:
    assert [level.kind for platform in PLATFORMS for level in _levels(platform.name)[-1:]] == ["portable"] * 2
