"""How much of Unicorn's speed the virtual prototype keeps while it counts every instruction and cycle.

Runs the same ELF three ways: on Unicorn as it comes, on Unicorn with the board's TLB hook (which makes
stores fast) but no counting, and on the board. Programs are compiled by ziglang:

    python benchmarks/vp_mips.py [--write]

With --write the ratios go to benchmarks/compared/times.csv and into the page.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import unicorn
from compared import statements
from unicorn import riscv_const

from dlasim.vp.devices import memory_map
from dlasim.vp.programs.elf import Firmware, read_elf
from dlasim.vp.system.board import Board

FIRMWARE = Path(__file__).parents[1] / "firmware"

INTEGER_LOOP = """
static unsigned keys[3000];
int main(void)
{
    unsigned state = 1;
    for (int i = 0; i < 3000; i++)
        keys[i] = state = state * 1664525u + 1013904223u;
    for (int i = 1; i < 3000; i++) {
        unsigned key = keys[i];
        int j = i;
        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
    return keys[1] < keys[0];
}
"""

CONVOLUTION = """
enum { SIZE = 34, CHANNELS = 32, OUT = 32 };
static signed char input[SIZE][SIZE][CHANNELS], weights[OUT][3][3][CHANNELS];
static int output[OUT][OUT][OUT];
int main(void)
{
    for (unsigned i = 0; i < sizeof input; i++)
        (&input[0][0][0])[i] = (signed char)(i * 37);
    for (unsigned i = 0; i < sizeof weights; i++)
        (&weights[0][0][0][0])[i] = (signed char)(i * 73);
    for (int y = 0; y < OUT; y++)
        for (int x = 0; x < OUT; x++)
            for (int oc = 0; oc < OUT; oc++) {
                int sum = 0;
                for (int ky = 0; ky < 3; ky++)
                    for (int kx = 0; kx < 3; kx++)
                        for (int ic = 0; ic < CHANNELS; ic++)
                            sum += input[y + ky][x + kx][ic] * weights[oc][ky][kx][ic];
                output[y][x][oc] = sum;
            }
    return output[3][4][5] == 12345;
}
"""

REGISTER_LOOP = """
int main(void)
{
    unsigned x = 1, sum = 0;
    for (int i = 0; i < 20000000; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        sum += x;
    }
    return sum == 0;
}
"""

PROGRAMS = {
    "sort": ("integer loop (insertion sort)", INTEGER_LOOP),
    "convolution": ("int8 convolution 3x3x32", CONVOLUTION),
    "xorshift": ("registers only (xorshift)", REGISTER_LOOP),
}


def build(folder: Path, source: str) -> Path:
    """Compiles a program with the board's start-up code."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("this benchmark compiles its programs: pip install ziglang")
    headers = Path(spec.submodule_search_locations[0]) / "lib" / "include"
    (folder / "program.c").write_text(source)
    flags = "-target riscv32-freestanding-none -march=rv32imac -mabi=ilp32 -mcmodel=medany -O3 -ffreestanding"
    flags += f" -nostdinc -isystem {headers} -I{FIRMWARE / 'include'} -I{FIRMWARE / 'boot'}"
    objects = []
    boot = [FIRMWARE / "boot" / name for name in ("crt0.S", "trap.S", "trap.c")]
    for path in [*boot, folder / "program.c"]:
        objects.append(str(folder / f"{path.name}.o"))
        zig("clang", *flags.split(), "-c", str(path), "-o", objects[-1])
    zig("ld.lld", "-T", str(FIRMWARE / "board.ld"), *objects, "-o", str(folder / "program.elf"))
    return folder / "program.elf"


def zig(*arguments: str) -> None:
    """Runs a tool of the toolchain."""
    subprocess.run([sys.executable, "-m", "ziglang", *arguments], check=True)


def run_raw(firmware: Firmware, fast_stores: bool) -> float:
    """CPU seconds on Unicorn without any counting."""
    engine: Any = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    engine.ctl_set_cpu_model(riscv_const.UC_CPU_RISCV32_SIFIVE_E31)
    layout = memory_map.MemoryMap()
    if fast_stores:
        engine.ctl_set_tlb_mode(unicorn.UC_TLB_VIRTUAL)
        engine.hook_add(unicorn.UC_HOOK_TLB_FILL, identity_with_rights)
    rights = {layout.flash.base: 5, layout.ram.base: 7}
    for region in (layout.flash, layout.ram):
        engine.mem_map(region.base, region.size_bytes, rights[region.base])
    for segment in firmware.segments:
        engine.mem_write(segment.load_address, segment.data)
    exit_page = memory_map.EXIT
    engine.mmio_map(
        exit_page.base, exit_page.size_bytes, lambda *_: 0, None, lambda uc, *_: uc.emu_stop(), None
    )
    start = time.process_time()
    engine.emu_start(firmware.entry, 0)
    return time.process_time() - start


def identity_with_rights(_: Any, address: int, access: int, entry: Any, __: Any) -> bool:
    """The rights that the board's own, native TLB hook gives."""
    entry.paddr = address & ~0xFFF
    entry.perms = 3 if address >= memory_map.RAM_BASE and access != unicorn.UC_MEM_FETCH else 7
    return True


def run_board(firmware: Firmware, instructions: list[int]) -> float:
    """CPU seconds on the board, and (appended) how many instructions it counted."""
    board = Board()
    board.load(firmware)
    start = time.process_time()
    result = board.run()
    seconds = time.process_time() - start
    assert result.exit_code == 0, result.summary(firmware)
    instructions.append(result.instructions)
    return seconds


def fastest(firmware: Firmware, repeats: int) -> tuple[int, list[float]]:
    """Instructions, and seconds raw, raw with the TLB hook, on the board: the best of some runs each, taken
    in turn, so that other load on the machine meets all three."""
    counted: list[int] = []
    ways: tuple[Callable[[], float], ...] = (
        lambda: run_raw(firmware, False),
        lambda: run_raw(firmware, True),
        lambda: run_board(firmware, counted),
    )
    rounds = [[way() for way in ways] for _ in range(repeats)]
    assert len(set(counted)) == 1, "the board must be deterministic"
    return counted[0], [min(seconds) for seconds in zip(*rounds, strict=True)]


def main() -> None:
    """Prints a row per program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="also into the pages")
    arguments = parser.parse_args()
    found = {}
    print(f"{'program':32} {'raw':>7} {'raw+TLB':>8} {'board':>7}  MIPS   board/raw  board/raw+TLB")
    for name, (title, source) in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            firmware = read_elf(build(Path(folder), source))
        instructions, seconds = fastest(firmware, arguments.repeats)
        rates = instructions / np.array(seconds) / 1e6
        ratios = rates[2] / rates[:2]
        print(f"{title:32} {rates[0]:7.0f} {rates[1]:8.0f} {rates[2]:7.0f}        ", end="")
        print(f"{ratios[0]:9.2f}  {ratios[1]:13.2f}")
        found[f"mips_{name}_hook"] = f"{rates[1] / rates[0]:.2f}"
        found[f"mips_{name}_board"] = f"{ratios[0]:.2f}"
    if arguments.write:
        statements.record(**found)


if __name__ == "__main__":
    main()
