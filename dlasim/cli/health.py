"""Examines the installation for `dlasim doctor` without importing packages that may be broken."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from dlasim import __version__
from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.installation import FROM_CHECKOUT, extra_command
from dlasim.system.cache import cache_folder
from dlasim.system.processes import start

DISTRIBUTION = "dlasim"
# What each is needed for.
EXTRAS = {
    "verify": "`dlasim verify`, which compares with TensorFlow's kernels",
    "onnx": "`dlasim verify model.onnx`, which compares with onnxruntime",
    "quantize": "`dlasim quantize`, which makes an int8 network of a float one",
    "media": "pictures as inputs: `dlasim run --input image.png`",
    "search": "`dlasim search` with Optuna's samplers",
    "distributed": "sweeps on several machines: `dlasim sweep --scheduler`",
    "firmware": "building firmware from C sources; a prebuilt one is included",
    "docs": "the documentation site",
    "rtl": "synthesis of the RTL's blocks",
    "quick": "the quick tests, `make quick`",
    "test": "all tests",
    "dev": "checks of style and types, the wheel",
}
PROGRAMS = (
    (("gdb-multiarch", "riscv32-unknown-elf-gdb", "riscv64-unknown-elf-gdb"), "debugging firmware"),
    (("verilator",), "the RTL in place of the simulator: `dlasim run --dla rtl`"),
    (("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc"), "building firmware with GCC"),
    (("qemu-system-riscv32",), "tests that compare the board with it"),
)
_FEATURES = {
    "x86_64": {"AVX2": "avx2", "AVX-512": "avx512f", "AVX-512 VNNI": "avx512_vnni", "AVX VNNI": "avx_vnni"},
    "aarch64": {"NEON": "asimd", "dot product": "asimddp", "int8 matrix": "i8mm"},
}
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*([^;]*?)\s*(?:;.*?extra\s*==\s*[\"']([^\"']+)[\"'].*)?")
_MAX_SECONDS = 60
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution that dlasim requires; `state` is ok, old or missing."""

    name: str
    wanted: str
    found: str | None
    state: str


@dataclass(frozen=True, slots=True)
class Extra:
    """A set of optional packages."""

    name: str
    purpose: str
    packages: tuple[Package, ...]

    @property
    def is_ready(self) -> bool:
        """Whether all its packages are installed."""
        return all(package.state == "ok" for package in self.packages)

    @property
    def command(self) -> str:
        """The command that installs it."""
        return extra_command(self.name)


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that some part of dlasim can use."""

    name: str
    purpose: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code compiled for this CPU: what it does, and which command builds it if it is missing."""

    name: str
    purpose: str
    is_built: bool
    builder: str


@dataclass(frozen=True, slots=True)
class Health:
    """The result of the examination."""

    version: str
    python: str
    platform: str
    processor: str
    cores: int
    features: dict[str, bool]
    cache: str
    required: tuple[Package, ...]
    extras: tuple[Extra, ...]
    programs: tuple[Tool, ...]
    compiled: tuple[Compiled, ...] = ()  # empty if the packages that it needs are missing

    @property
    def is_healthy(self) -> bool:
        """Whether every required package is installed and new enough."""
        return all(package.state == "ok" for package in self.required)


def examine() -> Health:
    """Examine this machine and this installation."""
    requirements = list(_requirements())
    processor, flags = _processor()
    names = _FEATURES.get(platform.machine(), {})
    return Health(
        version=__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        processor=processor,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        features={name: flag in flags for name, flag in names.items()},
        cache=_cache(),
        required=tuple(_package(name, wanted) for name, wanted, extra in requirements if not extra),
        extras=tuple(_extra(name, requirements) for name in EXTRAS),
        programs=tuple(_tool(names, purpose) for names, purpose in PROGRAMS),
        compiled=tuple(_compiled()),
    )


def _requirements() -> Iterator[tuple[str, str, str | None]]:
    """Name, version wanted, and the extra it belongs to."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        raise RunError(f"dlasim is not installed; run {FROM_CHECKOUT} in its checkout") from None
    for line in lines:
        if match := _REQUIREMENT.fullmatch(line):
            yield match[1], match[2].strip("() "), match[3]


def _extra(name: str, requirements: list[tuple[str, str, str | None]]) -> Extra:
    packages = tuple(_package(package, wanted) for package, wanted, extra in requirements if extra == name)
    return Extra(name, EXTRAS[name], packages)


def _package(name: str, wanted: str) -> Package:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Package(name, wanted, None, "missing")
    return Package(name, wanted, found, "ok" if _is_new_enough(found, wanted) else "old")


def _is_new_enough(found: str, wanted: str) -> bool:
    """Checks lower bounds only; pip takes care of the rest."""
    bounds = re.findall(r">=\s*([\d.]+)", wanted)
    return all(_release(found) >= _release(bound) for bound in bounds)


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    release = tuple(int(part) for part in numbers[0].split(".")) if numbers else ()
    return release + (0,) * (4 - len(release))


def _tool(names: tuple[str, ...], purpose: str) -> Tool:
    found = next((path for name in names if (path := shutil.which(name))), None)
    return Tool(names[0], purpose, found)


def _compiled() -> list[Compiled]:
    """Runs in a separate process, because it imports packages that may be broken."""
    quiet = subprocess.DEVNULL
    try:
        with start("dlasim.cli.compiled_code", stdin=quiet, stdout=subprocess.PIPE, stderr=quiet) as process:
            try:
                output, _ = process.communicate(timeout=_MAX_SECONDS)
            finally:
                process.kill()
        return [Compiled(**each) for each in json.loads(output)]
    except (OSError, ValueError, RunError, subprocess.SubprocessError):
        return []


def _processor() -> tuple[str, frozenset[str]]:
    """The processor's name and its feature flags, as far as the system reports them."""
    try:
        text = _CPUINFO.read_text(errors="replace")
    except OSError:
        return platform.processor() or platform.machine(), frozenset()
    lines: dict[str, str] = dict(re.findall(r"^([^\t:\n]+?)\s*:[ \t]*(.*)$", text, re.MULTILINE))
    flags = lines.get("flags", lines.get("Features", ""))
    return lines.get("model name", platform.machine()), frozenset(flags.split())


def _cache() -> str:
    try:
        return str(cache_folder())
    except RunError as error:
        return str(error)
