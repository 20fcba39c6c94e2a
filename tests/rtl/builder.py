"""Builds the RTL for a machine with Verilator, and keeps what is built by the hash of what it came from."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import beat_bytes
from dlasim.vp.system.rtl_library import FAST_PRODUCTS, PACKAGES, VERILATE, RtlParameters, parameters

ROOT = Path(__file__).parents[2]
RTL = ROOT / "rtl"
HARNESS = RTL / "verilator" / "harness.cpp"
CROSSING = Path(__file__).parent / "crossing.sv"  # checks that what a unit uses has crossed the SRAM's ports
KEPT = ROOT / "out" / "rtl"


def needs_verilator() -> None:
    """Skip the test where there is no Verilator."""
    if shutil.which("verilator") is None:
        pytest.skip("verilator is not installed: the RTL cannot be built (Debian: apt-get install verilator)")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed: what Verilator writes cannot be compiled")


def sources(folder: Path = RTL) -> list[Path]:
    """The RTL's files in the order in which Verilator wants them."""
    modules = sorted(path for path in folder.glob("*.sv") if path.name not in PACKAGES)
    return [*(folder / name for name in PACKAGES), *modules]


def lint_command(config: DlaConfig, folder: Path = RTL) -> list[str]:
    """Verilator as a linter of one machine."""
    generics = [f"-G{name}={value}" for name, value in parameters(config).items()]
    files = [str(path) for path in sources(folder)]
    return ["verilator", "--lint-only", "-Wall", "--top-module", "dla", *generics, *files]


def build(
    config: DlaConfig,
    folder: Path = RTL,
    optimise: str = "-O1",
    kept: Path = KEPT,
    products: str = FAST_PRODUCTS,
) -> Path:
    """The simulator of a machine's RTL: an executable that drives it over pipes; kept in that folder."""
    values, options = parameters(config), [products] if products else []
    key = hashlib.sha256(repr((sorted(values.items()), optimise, options)).encode())
    files = [*sources(folder), *([CROSSING] if config.sram_bandwidth else [])]
    for path in (*files, HARNESS):
        key.update(path.read_bytes())
    target = kept / key.hexdigest()[:16]
    kept.mkdir(parents=True, exist_ok=True)
    with _lock(target):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=kept) as work:
                os.replace(_build(values, beat_bytes(config), files, optimise, options, Path(work)), target)
    return target


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """One process makes the file, others wait for it."""
    with target.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(
    values: RtlParameters, beat: int, files: list[Path], optimise: str, options: list[str], work: Path
) -> Path:
    generics = [f"-G{name}={value}" for name, value in values.items()]
    options = [*options, "-Wall", "-Wno-UNOPTFLAT"]  # the latter of loops that stay loops
    made = _run(["verilator", *VERILATE, *options, "--Mdir", str(work), *generics, *map(str, files)])
    assert f": {RTL}/" not in made.stderr, made.stderr  # a warning, which a changed copy may have
    include = Path(_run(["verilator", "--getenv", "VERILATOR_ROOT"]).stdout.strip()) / "include"
    compiler = [*_clang(), f"-DBEAT_BYTES={beat}", f"-I{work}", *_includes(include), "-c"]
    written = sorted(work.glob("Vdla*.cpp"))
    once = [path for path in written if "Slow" in path.name]  # runs when it starts, and never again
    often = [path for path in written if path not in once]
    objects = []
    for name, level, files in (("once", "-O0", once), ("often", optimise, [*often, HARNESS])):
        (work / f"{name}.cc").write_text("".join(f'#include "{path}"\n' for path in files))
        objects.append(str(work / f"{name}.o"))
        _run([*compiler, level, str(work / f"{name}.cc"), "-o", objects[-1]])
    _run(["g++", "-o", str(work / "dla"), *objects, *_runtime(include)])
    return work / "dla"


def _clang() -> list[str]:
    """Clang of the package ziglang with g++'s headers: it takes half of g++'s time for the same file."""
    found = importlib.util.find_spec("ziglang")
    assert found is not None, "`make rtl` installs ziglang"
    assert found.origin is not None
    folder = Path(found.origin).parent
    return [str(folder / "zig"), "clang", "-w", "-std=c++17", "-resource-dir", str(folder / "lib")]


def _includes(include: Path) -> list[str]:
    return [f"-isystem{include}", f"-isystem{include}/vltstd"]


def _runtime(include: Path) -> list[str]:
    """Verilator's own library, compiled once."""
    KEPT.mkdir(parents=True, exist_ok=True)
    objects = []
    for name in ("verilated", "verilated_threads"):
        target = KEPT / f"{name}.o"
        with _lock(target):
            if not target.exists():
                part = target.with_suffix(".part")
                source = str(include / f"{name}.cpp")
                _run([*_clang(), "-O1", *_includes(include), "-c", source, "-o", str(part)])
                os.replace(part, target)
        objects.append(str(target))
    return [*objects, "-pthread"]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command[:3])}…:\n{done.stdout}{done.stderr}"
    return done
