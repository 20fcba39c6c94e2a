"""The kernels that ship as machine code: which CPU gets which, when they count, and that they are right."""

import ast
import dataclasses
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from dlasim.native.host_system import is_x86_linux
from dlasim.native.library import Library
from dlasim.native.loaded_object import LoadedObject, UnsupportedObjectError
from dlasim.native.machine_function import MachineFunction
from dlasim.native.object_file import unseal
from dlasim.native.target import describe, host
from dlasim.sim import kernels
from dlasim.sim.kernels import engine, loader, operation_rows, prebuilt
from dlasim.sim.kernels.loader import COMPILED_MODULES, KINDS, kernel_unit
from dlasim.sim.kernels.prebuilt import LEVELS, Level
from dlasim.sim.kernels.prebuilt.host_cpu import this_cpu
from dlasim.sim.reference import execute
from tests.sim_engines.generate import COMPUTED, LARGE, SMALL, Scene, random_scene

Bytes = NDArray[np.uint8]
FOLDER = Path(str(resources.files(prebuilt)))
SCALAR = "+cx16,+popcnt,+sahf,+sse3,+ssse3"
SSE4 = f"{SCALAR},+sse4.1,+sse4.2"
HASWELL = f"{SSE4},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
SKYLAKE = f"{HASWELL},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
# A CPU of each generation, by what LLVM reports, and the objects that it may run, the best first.
CPUS = {
    "core2": (SCALAR, []),
    "nehalem": (SSE4, ["x86-64-v2-portable.o"]),
    "haswell": (HASWELL, ["x86-64-v3-portable.o", "x86-64-v2-portable.o"]),
    "alderlake": (
        f"{HASWELL},+avxvnni",
        ["x86-64-v3-vnni.o", "x86-64-v3-portable.o", "x86-64-v2-portable.o"],
    ),
    "skylake-avx512": (SKYLAKE, ["x86-64-v4-portable.o", "x86-64-v3-portable.o", "x86-64-v2-portable.o"]),
    "icelake-server": (
        f"{SKYLAKE},+avx512vnni",
        ["x86-64-v4-vnni.o", "x86-64-v4-portable.o", "x86-64-v3-portable.o", "x86-64-v2-portable.o"],
    ),
    "znver5": (f"{SKYLAKE},+avx512vnni,+avxvnni", [level.file for level in LEVELS]),
}  # fmt: skip


@pytest.mark.parametrize("cpu", CPUS)
def test_a_cpu_gets_what_it_can_run(cpu: str) -> None:
    features, expected = CPUS[cpu]
    target = describe(cpu, features, is_x86=True)
    assert [level.file for level in LEVELS if level.runs_on(target)] == expected


def test_every_level_ships_whole() -> None:
    assert {path.name for path in FOLDER.glob("*.o")} == {level.file for level in LEVELS}
    for level in LEVELS:
        assert unseal((FOLDER / level.file).read_bytes()) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_of_these_sources(kind: str) -> None:
    """Where this fails, the sources have changed: `make kernels`."""
    shipped = json.loads((FOLDER / prebuilt.MANIFEST).read_bytes())["sources"]
    assert shipped[kind] == kernel_unit(kind).source_digest


def test_changed_sources_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    target = describe("haswell", HASWELL, is_x86=True)
    unit = kernel_unit("portable")
    if not is_x86_linux():
        pytest.skip("kernels ship for x86-64 Linux alone")
    assert prebuilt.find(unit, target) is not None
    monkeypatch.setattr(operation_rows, "isa_facts", lambda: "another instruction set")
    assert prebuilt.find(kernel_unit("portable"), target) is None
    monkeypatch.undo()
    assert prebuilt.find(dataclasses.replace(unit, sources=unit.sources[1:]), target) is None


@pytest.mark.parametrize("damage", ["missing", "cut", "no manifest", "odd manifest"])
def test_a_damaged_installation_compiles(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (*FOLDER.glob("*.o"), FOLDER / prebuilt.MANIFEST):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(prebuilt, "resources", SimpleNamespace(files=lambda _: tmp_path))
    target, unit = describe("haswell", HASWELL, is_x86=True), kernel_unit("portable")
    assert (prebuilt.find(unit, target) is not None) == is_x86_linux()
    chosen = tmp_path / "x86-64-v3-portable.o"
    if damage == "missing":
        chosen.unlink()
    elif damage == "cut":
        chosen.write_bytes(chosen.read_bytes()[:-1])
    elif damage == "no manifest":
        (tmp_path / prebuilt.MANIFEST).unlink()
    else:
        (tmp_path / prebuilt.MANIFEST).write_text("[]")
    assert prebuilt.find(unit, target) is None


@pytest.fixture(scope="module")
def scenes() -> list[tuple[Scene, Bytes]]:
    """Operations, and what the readable engine leaves in SRAM."""
    rng, found = np.random.default_rng(11), []
    for mnemonic in COMPUTED:
        for limits, count in ((SMALL, 40), (LARGE, 8)):
            for _ in range(count):
                scene = random_scene(rng, mnemonic, limits)
                expected = scene.sram.copy()
                execute(scene.operation, expected)
                found.append((scene, expected))
    return found


@pytest.mark.parametrize("load", [Library, LoadedObject])
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.file)
def test_they_compute_what_the_readable_engine_does(
    level: Level,
    load: type[MachineFunction],
    scenes: list[tuple[Scene, Bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = [name for name in level.features.split(",") if not host().has(name[1:])]
    if missing or not is_x86_linux():
        pytest.skip(f"this CPU cannot run it: no {missing or 'x86-64 Linux'}")
    code = unseal((FOLDER / level.file).read_bytes())
    assert code is not None
    monkeypatch.setattr(engine, "load_library", lambda _: load(code, 8))
    fast, compiled = engine.Engine(level.kind), 0
    for scene, expected in scenes:
        sram = scene.sram.copy()
        compiled += fast.execute(scene.operation, sram)
        assert np.array_equal(sram, expected), scene.operation
    assert compiled > 20 * len(COMPUTED)


@pytest.mark.skipif(this_cpu() is None, reason="kernels ship for x86-64 Linux alone")
def test_linux_and_llvm_agree_about_this_cpu() -> None:
    cpu = this_cpu()
    assert cpu is not None
    features = {name[1:] for level in LEVELS for name in level.features.split(",")}
    assert {name for name in features if cpu.has(name)} == {name for name in features if host().has(name)}
    assert cpu.has_vnni == host().has_vnni


@pytest.mark.skipif(loader.find_shipped("portable") is None, reason="no kernels ship for this CPU")
def test_what_ships_is_loaded_without_llvm() -> None:
    script = (
        "import sys; from dlasim.sim.kernels import Engine; Engine('portable'); "
        "assert not [name for name in sys.modules if name.startswith(('llvmlite', 'numba'))]"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)


def test_an_object_that_needs_more_is_left_to_llvm() -> None:
    code = unseal((FOLDER / "x86-64-v2-portable.o").read_bytes())
    assert code is not None
    with pytest.raises(UnsupportedObjectError, match="symbol memcpz"):
        LoadedObject(code.replace(b"\0memcpy\0", b"\0memcpz\0"), 8)


@pytest.mark.parametrize("error", [UnsupportedObjectError, PermissionError])
def test_llvm_loads_what_cannot_be_loaded_without(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(loader, "LoadedObject", refuse)
    loader.load_library.cache_clear()
    try:
        assert isinstance(loader.load_library("portable"), Library)
    finally:
        loader.load_library.cache_clear()


def test_what_is_hashed_is_what_is_compiled() -> None:
    """The modules that the entry imports, and of the instruction set nothing that `isa_facts` leaves out."""
    folder = Path(str(kernels.__file__)).parent
    found, pending, facts = set(), ["entry"], set()
    while pending:
        name = pending.pop()
        found.add(name)
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text())):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if node.module.startswith("dlasim.sim.kernels."):
                pending += {node.module.rpartition(".")[2]} - found
            elif node.module.startswith("dlasim.isa") and name != "operation_rows":
                facts |= {alias.name for alias in node.names}
    assert found == set(COMPILED_MODULES)
    texts = operation_rows.isa_facts()
    assert facts == {"Init", "Out", "PoolMode", "Quant", "RECORD_BYTES", "Region", "ShiftMode"}
    assert all(member in texts for member in ("INT8", "OP_E_ADD", "DMA_IN_REGION"))
    assert loader.find_kernels("portable")
