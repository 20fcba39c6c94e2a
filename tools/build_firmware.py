"""Builds the firmware with the cross compiler of the `firmware` extra (ziglang): always the same bytes from
the same sources and compiler. With --check, compares with the prebuilt ELF and fails on a difference.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dlasim.installation import extra_command

ROOT = Path(__file__).resolve().parent.parent
FIRMWARE = ROOT / "firmware"
PREBUILT = FIRMWARE / "prebuilt" / "firmware.elf"
COMPILER_NOTE = FIRMWARE / "prebuilt" / "COMPILER"

TARGET_FLAGS = (
    "-target",
    "riscv32-freestanding-none",
    "-march=rv32imac_zicsr",
    "-mabi=ilp32",
    "-mcmodel=medany",
)
COMPILE_FLAGS = (
    *TARGET_FLAGS, "-std=c11", "-O2", "-ffreestanding", "-nostdinc", "-fwrapv", "-fno-strict-aliasing",
    "-fomit-frame-pointer", "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Werror",
)  # fmt: skip


def compiler_name() -> str:
    """The compiler's package and version: what the bytes of a build depend on besides the sources."""
    try:
        return f"ziglang {importlib.metadata.version('ziglang')}"
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"the firmware is built with ziglang; run {extra_command('firmware')}")


def library_sources() -> list[Path]:
    """Everything but the firmware's own main(): what an application is linked with."""
    sources = [*(FIRMWARE / "boot").glob("*.[cS]"), *(FIRMWARE / "src").rglob("*.c")]
    return sorted(source for source in sources if source.name != "main.c")


def compile_library(folder: Path) -> list[Path]:
    """The objects of the library, in an empty folder."""
    return [_compile(source, folder) for source in library_sources()]


def build(
    output: Path, main: Path = FIRMWARE / "src" / "main.c", library: Sequence[Path] | None = None
) -> None:
    """The ELF of a main() and the library, of which the objects may be there already."""
    with tempfile.TemporaryDirectory() as folder:
        objects = [*(compile_library(Path(folder)) if library is None else library)]
        objects.append(_compile(main, Path(folder)))
        options = ("--gc-sections", "--discard-locals", "-T", str(FIRMWARE / "board.ld"))
        _zig("ld.lld", *options, *map(str, objects), "-o", str(output))


def _compile(source: Path, folder: Path) -> Path:
    target = folder / f"{len(list(folder.iterdir())):03}-{source.name}.o"
    folders = (FIRMWARE / "include", FIRMWARE / "boot", FIRMWARE / "src")
    includes = ["-isystem", str(_compiler_headers())]
    includes += [part for path in folders for part in ("-I", str(path))]
    _zig("clang", *COMPILE_FLAGS, *includes, "-c", str(source), "-o", str(target))
    return target


def _compiler_headers() -> Path:
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "lib" / "include"


def _zig(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-P", "-m", "ziglang", *arguments], check=False, env=os.environ)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> int:
    """Build, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the prebuilt ELF")
    parser.add_argument("--main", type=Path, default=FIRMWARE / "src" / "main.c", help="another main()")
    parser.add_argument("-o", "--output", type=Path, help="where the ELF goes (default: the prebuilt one)")
    given = parser.parse_args()
    compiler = compiler_name()
    if given.check:
        return _check(compiler)
    output = given.output or PREBUILT
    build(output, given.main)
    if output == PREBUILT:
        COMPILER_NOTE.write_text(compiler + "\n", encoding="utf-8")
    print(f"built {output}: {output.stat().st_size:,} bytes, {compiler}")
    return 0


def _check(compiler: str) -> int:
    shipped = COMPILER_NOTE.read_text(encoding="utf-8").strip()
    if compiler != shipped:
        print(f"cannot compare: this is {compiler}, the prebuilt firmware was built with {shipped}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "firmware.elf"
        build(fresh)
        same = fresh.read_bytes() == PREBUILT.read_bytes()
    print("the prebuilt firmware matches its sources" if same else "stale: run `make firmware`")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
