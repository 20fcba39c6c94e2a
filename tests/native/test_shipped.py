"""The routines that ship as machine code: of these sources, right, and left alone where they do not fit."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dlasim.errors import DlasimError
from dlasim.native import shipped
from dlasim.native.host_system import is_x86_linux
from dlasim.native.number_memory import NumberMemory
from dlasim.native.routine import Routine
from dlasim.native.translator import TranslationUnit
from dlasim.sweeps.compiled import ROUTINES
from tests.native.tiny import SUMS, sums
from tests.tool_module import tool_module

flat_code = tool_module("flat_code")

NAMES = [each.unit.name for each in ROUTINES]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of what ships, which nothing has been loaded from."""
    for file in (*shipped.FOLDER.glob("*.bin"), shipped.FOLDER / shipped.MANIFEST):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    shipped._manifest.cache_clear()
    yield tmp_path
    shipped._manifest.cache_clear()


@pytest.mark.parametrize("routine", ROUTINES, ids=NAMES)
def test_they_are_of_these_sources(routine: Routine) -> None:
    """Where this fails, the sources have changed: `make routines`."""
    listed = json.loads((shipped.FOLDER / shipped.MANIFEST).read_bytes())["routines"]
    assert listed[routine.unit.name]["sources"] == routine.unit.source_digest
    assert list(listed) == NAMES
    assert {path.name for path in shipped.FOLDER.glob("*.bin")} == {f"{name}.bin" for name in NAMES}


@pytest.mark.skipif(not is_x86_linux(), reason="routines ship for x86-64 Linux alone")
@pytest.mark.parametrize("damage", ["none", "missing", "cut", "one bit", "no manifest", "odd manifest"])
def test_a_damaged_installation_runs_plain_python(damage: str, folder: Path) -> None:
    (search,) = (each for each in ROUTINES if each.unit.name == "search")
    file, manifest = folder / shipped.file_name(search), folder / shipped.MANIFEST
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
    assert (shipped._find(search) is not None) == (damage == "none")


def test_changed_sources_run_plain_python(folder: Path) -> None:
    search = ROUTINES[0]
    other = Routine(search.function, "search", search.unit.sources[1:])
    assert shipped._find(other) is None
    assert not shipped.SHIPPED.runner(SUMS).is_compiled  # it does not ship at all


def test_another_system_runs_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("platform", "darwin"), ("maxsize", (1 << 31) - 1)):
        with monkeypatch.context() as patch:
            patch.setattr(sys, name, value)
            assert shipped._find(ROUTINES[0]) is None


def test_memory_that_cannot_be_executed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no memory may be executed")

    monkeypatch.setattr(shipped, "mmap", refuse)
    assert shipped._find(ROUTINES[0]) is None


@pytest.mark.skipif(not is_x86_linux(), reason="flat code is for x86-64 Linux")
def test_flat_code_computes_what_python_does() -> None:
    code, entry = flat_code.build_flat(SUMS)
    run = shipped._ShippedFunction(code, entry, SUMS.unit.arguments).run
    rng = np.random.default_rng(5)
    numbers, found = (NumberMemory(is_compiled=True, size=size) for size in (50, 100))
    numbers.put(0, rng.integers(-(1 << 40), 1 << 40, 50).tolist())
    expected = [0] * 100
    assert run(numbers.address, found.address, 50) == sums(numbers.take(0, 50), expected, 50)
    assert found.take(2, 100) == expected[2:]


def test_code_that_needs_others_is_not_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = (
        "declare i32 @abs(i32)\ndefine i32 @dlasim_run() {\n %1 = call i32 @abs(i32 1)\n ret i32 %1\n}\n"
    )
    monkeypatch.setattr(flat_code, "translate", lambda *_: outside.replace("@abs", "@elsewhere"))
    with pytest.raises(DlasimError, match="elsewhere is not in the code"):
        flat_code.build_flat(SUMS)
    written = "@seen = global i32 0\ndefine void @dlasim_run() {\n store i32 1, ptr @seen\n ret void\n}\n"
    monkeypatch.setattr(flat_code, "translate", lambda *_: written)
    with pytest.raises(DlasimError, match="cannot be part of flat code"):
        flat_code.build_flat(SUMS)


def test_a_run_uses_them_and_loads_no_compiler() -> None:
    program = """
import sys
from dlasim.native.shipped import is_shipped
from dlasim.sweeps.compiled import ROUTINES
print([is_shipped(each) for each in ROUTINES], "llvmlite" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{[is_x86_linux()] * len(ROUTINES)} False\n"


@pytest.mark.parametrize("routine", ROUTINES, ids=NAMES)
def test_what_is_hashed_is_what_is_compiled(routine: Routine) -> None:
    """Each function, record and constant that a routine uses is of a module among its sources."""
    unit, needed = TranslationUnit(), set()
    unit.function(routine.function)
    for function in unit._functions:
        needed.add(function.__module__)
        names = {*function.__code__.co_names, *map(str, function.__annotations__.values())}
        for name in names & function.__globals__.keys():
            if not isinstance(function.__globals__[name], ModuleType):
                needed |= set(_origins(function.__module__, name))
    sources = set(routine.unit.sources)
    foreign = {each for each in needed if not each.startswith("dlasim.native.")}
    assert len(foreign) > 1
    assert {
        each for each in foreign if each not in sources and each.rpartition(".")[0] not in sources
    } == set()


def _origins(module: str, name: str) -> Iterator[str]:
    """The modules that define a name, and what its definition at the top of a module is made of."""
    for node in ast.parse(inspect.getsource(import_module(module))).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            if name in {alias.asname or alias.name for alias in node.names}:
                if node.module == "dlasim.isa":
                    yield f"dlasim.isa.{name}"  # a module
                elif node.module.startswith("dlasim."):
                    yield from _origins(node.module, name)
                return
        elif isinstance(node, ast.Assign) and name in {
            each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)
        }:
            for each in ast.walk(node.value):
                if isinstance(each, ast.Name):
                    yield from _origins(module, each.id)
    yield module
