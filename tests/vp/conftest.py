"""Builds the test programs with the cross toolchain of the `firmware` extra, and runs them."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FIRMWARE = Path(__file__).parents[2] / "firmware"
PROGRAMS = Path(__file__).parent / "programs"
BOOT = ("crt0.S", "trap.S", "trap.c")

Build = Callable[..., Path]


class Toolchain:
    """Compiles and links; objects are kept for the session."""

    def __init__(self, folder: Path) -> None:
        spec = importlib.util.find_spec("ziglang")
        if spec is None or not spec.submodule_search_locations:
            pytest.skip("ziglang is not installed: nothing to build test programs with")
        self._headers = Path(spec.submodule_search_locations[0]) / "lib" / "include"
        self._folder = folder
        self._objects: dict[tuple[Path, str], Path] = {}

    def link(self, sources: list[Path], defines: tuple[str, ...], boot: bool) -> Path:
        """An ELF made from `sources`, with start-up and traps unless `boot` is off."""
        everything = [FIRMWARE / "boot" / name for name in BOOT] * boot + sources
        objects = [self._compile(source, defines) for source in everything]
        elf = self._folder / f"{sources[0].stem}{''.join(defines)}.elf"
        script = ["--gc-sections", "-T", str(FIRMWARE / "board.ld")]
        self._zig("ld.lld", *script, *map(str, objects), "-o", str(elf))
        return elf

    def _compile(self, source: Path, defines: tuple[str, ...]) -> Path:
        key = (source, " ".join(defines))
        if key not in self._objects:
            target = self._folder / f"{source.name}{''.join(defines)}.o"
            flags = "-target riscv32-freestanding-none -march=rv32imac_zicsr -mabi=ilp32 -mcmodel=medany -O2"
            flags += " -ffreestanding -nostdinc -ffunction-sections -fdata-sections -Wall -Wextra -Werror -g"
            folders = (self._headers, FIRMWARE / "include", FIRMWARE / "boot", PROGRAMS)
            includes = [part for folder in folders for part in ("-isystem", str(folder))]
            definitions = [f"-D{define}" for define in defines]
            arguments = [*flags.split(), *includes, *definitions, "-c", str(source), "-o", str(target)]
            self._zig("clang", *arguments)
            self._objects[key] = target
        return self._objects[key]

    def _zig(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ziglang", *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    """One per session."""
    return Toolchain(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def build(toolchain: Toolchain, tmp_path: Path) -> Build:
    """build("sort") compiles programs/sort.c; build(source="...") a text, in C or assembly."""

    def make(
        name: str = "", *defines: str, source: str = "", assembly: bool = False, boot: bool = True
    ) -> Path:
        if source:
            made = len(list(tmp_path.iterdir()))
            path = tmp_path / f"program{made}.{'S' if assembly else 'c'}"
            path.write_text(source if assembly else f'#include "support.h"\n{source}')
        else:
            path = PROGRAMS / f"{name}.c"
        return toolchain.link([path], defines, boot)

    return make


@pytest.fixture(scope="session")
def qemu() -> Callable[..., str]:
    """Runs an ELF on QEMU's `virt` machine, an instruction a tick; returns what it printed."""
    program = shutil.which("qemu-system-riscv32")
    if program is None:
        pytest.skip("qemu-system-riscv32 is not installed: nothing to compare counts with")

    def run(elf: Path, cpu: str = "rv32") -> str:
        machine = ["-M", "virt", "-cpu", cpu, "-bios", "none", "-icount", "shift=0"]
        machine += ["-display", "none", "-monitor", "none", "-serial", "stdio"]
        loader = f"loader,file={elf},cpu-num=0"
        done = subprocess.run(
            [program, *machine, "-device", loader], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
