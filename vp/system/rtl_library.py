"""The RTL of a machine as a library. Verilator and the C++ compiler build it when it is first needed, and the
cache of compiled code keeps it.

Nothing is loaded by a path: bytes come from the private cache and go to an anonymous file of this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from dlasim.errors import InputError, RunError
from dlasim.native.object_file import seal, unseal
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.memory_tables import MAX_MEMORIES, SYSTEM
from dlasim.sim.configuration.parameters import Rtl
from dlasim.sim.timing.cost import beat_bytes
from dlasim.sim.timing.memory_timing import memories_of, memory_numbers
from dlasim.sim.timing.output_stage import scaled_cycles
from dlasim.system.cache import Cache, open_cache

PACKAGES = ("dla_isa.sv", "dla_fixed_point.sv", "dla_memory.sv", "dla_words.sv")  # before what uses them
FAST_PRODUCTS = "-DDLA_FAST_PRODUCTS"  # by the operator, in half as much code as what a chip has
WAVEFORMS = {".vcd": ("--trace", "Vcd", "verilated_vcd"), ".fst": ("--trace-fst", "Fst", "verilated_fst")}
# Loops of many statements stay loops: a quarter less C++ to compile, which is as fast.
VERILATE = (
    "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "--top-module", "dla",
    "-Wno-fatal", "--output-split-cfuncs", "1000", "--unroll-stmts", "1000",
)  # fmt: skip
# As in rtl/dla_memory.sv: the bits of a memory's fields; the number of a memory, for each of so many regions
MEMORY_BITS = {
    "bandwidth": 32, "bus_bandwidth": 32, "latency": 32, "burst_bytes": 32, "burst_overhead": 32,
    "outstanding": 8, "bus": 8,
}  # fmt: skip
NUMBER_BITS, REGIONS = 4, 8
_LOCK = "rtl.lock"
RtlParameters = dict[str, int | str]  # numbers, and wide ones as text
_INSTALL = "install Verilator and a C++ compiler (Debian: apt-get install verilator g++ zlib1g-dev)"


def refusal(config: DlaConfig) -> str:
    """Why the RTL does not support this machine, or nothing."""
    for name, parameter in PARAMETERS.items():
        value, limit = getattr(config, name), parameter.rtl_limit
        if limit is not None and not limit.allows(value):
            return f"{name} {limit.text} (got {value})"
    word = config.sram_bandwidth
    if word == 1 or word & (word - 1):
        return f"sram_bandwidth must be unlimited or a power of 2, and not 1 (got {word})"
    if not config.accumulators and _works_in_blocks(config):
        return (
            "accumulators must be at least 1 where sram_bandwidth, mac_results or mac_weights is limited, or "
            "mac_step_group is not 1 (got unlimited)"
        )
    return ""


def _works_in_blocks(config: DlaConfig) -> bool:
    """Whether the RTL's array takes a step for a block of pixels before the next step."""
    return (
        bool(config.sram_bandwidth or config.mac_results or config.mac_weights) or config.mac_step_group > 1
    )


def parameters(config: DlaConfig) -> RtlParameters:
    """The RTL's parameters for a machine."""
    inputs, outputs = config.lanes
    rows, columns = config.pixel_tile
    own = {
        "INPUT_LANES": inputs, "OUTPUT_LANES": outputs, "PIXEL_ROWS": rows, "PIXEL_COLUMNS": columns,
        "FINGERPRINT": config.fingerprint,
    }  # fmt: skip
    rates = {
        f"{name.upper().removesuffix('S')}_CYCLES": scaled_cycles(getattr(config, name))
        for name in _given_as(Rtl.CYCLES_EACH)
    }
    choices = {
        name.upper(): PARAMETERS[name].choices.index(getattr(config, name)) for name in _given_as(Rtl.CHOICE)
    }
    same = {name.upper(): getattr(config, name) for name in _given_as(Rtl.SAME)}
    return same | choices | {"VECTOR_LANES": config.elements} | own | rates | _memories(config)


def _memories(config: DlaConfig) -> RtlParameters:
    """Those of the memories: how many, a row of each named one, and the number of the one of each region."""
    _, *named = memories = memories_of(config)
    buses = [SYSTEM, *sorted({memory.bus for memory in named} - {SYSTEM})]
    fields = [
        buses.index(row.bus) if name == "bus" else getattr(row, name)
        for row in reversed(named)
        for name in MEMORY_BITS
    ]
    numbers = memory_numbers(config)[::-1]
    return {
        "MEMORIES": len(memories),
        "NAMED_MEMORIES": _literal(tuple(MEMORY_BITS.values()) * MAX_MEMORIES, fields),
        "REGION_MEMORIES": _literal(REGIONS * (NUMBER_BITS,), numbers),
    }


def _literal(widths: tuple[int, ...], fields: Sequence[int]) -> str:
    """Fields of so many bits as one number; the last one is that of the lowest bits."""
    packed = 0
    for width, field in zip(widths[len(widths) - len(fields) :], fields, strict=True):
        packed = packed << width | field
    return f"{sum(widths)}'h{packed:x}"


def _given_as(form: Rtl) -> list[str]:
    return [name for name, parameter in PARAMETERS.items() if parameter.rtl is form]


def load(config: DlaConfig, waveform: str = "") -> ctypes.CDLL:
    """The library of a machine; with a waveform's suffix, one that can write it."""
    if reason := refusal(config):
        raise InputError(f"--dla rtl: the RTL does not support this machine: {reason}")
    return _library(_object(config, waveform))


@cache
def _library(content: bytes) -> ctypes.CDLL:
    # Stays open while the library is loaded: the loader takes a file of the same name for the same library.
    file = os.memfd_create("dlasim-rtl")
    try:
        with os.fdopen(file, "wb", closefd=False) as memory:
            memory.write(content)
        return ctypes.CDLL(f"/proc/self/fd/{file}")
    except OSError as error:
        os.close(file)
        raise RunError(f"--dla rtl: cannot load the RTL's library: {error}") from error


def _object(config: DlaConfig, waveform: str) -> bytes:
    """From the cache, or built."""
    sources = {path.name: path.read_bytes() for path in _sources()}
    values = parameters(config)
    tools = [_tool(name) for name in ("verilator", "g++")]
    key = hashlib.sha256(repr((sorted(values.items()), waveform, sorted(sources.items()))).encode())
    key.update(_run([tools[0], "--version"], Path("/")).encode())
    name = f"rtl-{key.hexdigest()[:20]}.o"

    def build() -> bytes:
        try:
            with tempfile.TemporaryDirectory(prefix="dlasim-rtl-") as work:
                return _build(values, beat_bytes(config), waveform, sources, Path(work), tools)
        except OSError as error:
            raise RunError(f"--dla rtl: cannot build the RTL: {error.strerror}") from error

    try:
        kept = open_cache()
    except RunError:
        return build()
    with kept:
        return _kept(kept, name, build)


def _kept(cache: Cache, name: str, build: Callable[[], bytes]) -> bytes:
    """From the cache, or built and kept there where possible; one process at a time builds."""
    if (content := unseal(cache.read(name))) is not None:
        return content
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # no room for the lock's file: two processes may do the same work
            stack.enter_context(cache.lock(_LOCK))
        if (content := unseal(cache.read(name))) is not None:  # another process built it meanwhile
            return content
        content = build()
        with contextlib.suppress(OSError):  # a full disk, for one: the next run builds it again
            cache.write(name, seal(content))
        cache.prune()
        return content


def _sources() -> Iterator[Path]:
    folder = Path(str(resources.files("dlasim")), "rtl")
    yield from sorted(folder.glob("*.sv"))
    yield folder / "verilator" / "device.cpp"


def _tool(name: str) -> str:
    """A program by its whole path; never one of the current folder."""
    path = os.pathsep.join(part for part in os.get_exec_path() if os.path.isabs(part))
    found = shutil.which(name, path=path)
    if found is None:
        raise RunError(f"--dla rtl: {name} is not installed; {_INSTALL}")
    return found


def _build(
    values: RtlParameters,
    beat: int,
    waveform: str,
    sources: dict[str, bytes],
    work: Path,
    tools: list[str],
) -> bytes:
    for name, content in sources.items():
        (work / name).write_bytes(content)
    modules = [*PACKAGES, *(name for name in sources if name.endswith(".sv") and name not in PACKAGES)]
    verilator, compiler = tools
    option, kind, runtime = WAVEFORMS.get(waveform, ("", "", ""))
    make = [verilator, *VERILATE, FAST_PRODUCTS, "--Mdir", "made", "--timescale", "1ps/1ps"]
    make += [option] if option else []
    _run([*make, *(f"-G{name}={value}" for name, value in values.items()), *modules], work)
    include = Path(_run([verilator, "--getenv", "VERILATOR_ROOT"], work).strip()) / "include"
    defines = [f"-DBEAT_BYTES={beat}"]
    if option:
        header = f'"{runtime}_c.h"'
        defines += [f"-DTRACER=Verilated{kind}C", f"-DTRACER_HEADER={header}", "-DVM_TRACE=1"]
    base = [compiler, "-std=c++17", "-fPIC", "-fno-gnu-unique", *defines, "-Imade", f"-isystem{include}"]
    base += [f"-isystem{include}/vltstd"]
    written = sorted((work / "made").glob("Vdla*.cpp"))
    once = [path.name for path in written if "Slow" in path.name]  # runs when it starts, and never again
    often = [path.name for path in written if path.name not in once]
    names = ["verilated", "verilated_threads", *([f"{runtime}_c"] if runtime else [])]
    parts = (
        ("once", "-O0", [f"made/{name}" for name in once]),
        ("often", "-O1", [*(f"made/{name}" for name in often), "device.cpp"]),
        *((name, "-O1", [str(include / f"{name}.cpp")]) for name in names),
    )
    for name, level, files in parts:
        (work / f"{name}.cc").write_text("".join(f'#include "{path}"\n' for path in files))
        _run([*base, "-I.", level, "-c", f"{name}.cc", "-o", f"{name}.obj"], work)
    objects = [f"{name}.obj" for name, _, _ in parts]
    libraries = ["-pthread", *(["-lz"] if waveform == ".fst" else [])]
    _run([compiler, "-shared", "-s", "-o", "library", *objects, *libraries], work)
    return (work / "library").read_bytes()


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines()
        what = lines[0].strip()[:200] if lines else f"exit code {done.returncode}"
        raise RunError(f"--dla rtl: {Path(command[0]).name} failed: {what}; {_INSTALL}")
    return done.stdout
