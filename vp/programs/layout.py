"""Where a program's regions lie in the board's memories."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.configuration.sizes import MIB
from dlasim.vp.devices.memory_map import PAGE_BYTES, MemoryMap
from dlasim.vp.programs import launch
from dlasim.vp.programs.elf import Firmware
from dlasim.vp.programs.launch import Launch

REGION_ALIGNMENT = 64
_MIN_MEMORY_BYTES = 64 * MIB


@dataclass(frozen=True, slots=True)
class BoardLayout:
    """The board's memories and where the program's regions lie in them."""

    memory_map: MemoryMap
    launch: Launch


def plan_memory(
    program: Program, firmware: Firmware, image_bytes: int, slots: int = 1, carried: int = 0
) -> BoardLayout:
    """Regions one after another on the heap, inputs and outputs in so many places, and behind them a table of
    what is carried; memories as large as they must be, or the board's usual."""
    missing = [name for name in ("__heap_start", launch.SYMBOL) if name not in firmware.symbols]
    if missing:
        raise InputError(f"{firmware.origin}: no symbol {missing[0]}; this firmware cannot run programs")
    need = program.requirement
    inputs_stride, outputs_stride = map(_aligned, (need.inputs_bytes, need.outputs_bytes))
    inputs = _aligned(firmware.symbols["__heap_start"])
    outputs = inputs + slots * inputs_stride
    arena = outputs + slots * outputs_stride
    table = _aligned(arena + need.arena_bytes)
    usual = MemoryMap()
    ram = _memory_bytes(table + carried * launch.CARRIED_BYTES - usual.ram.base)
    flash = _memory_bytes(usual.program.base - usual.flash.base + image_bytes)
    place = Launch(
        inputs=inputs, outputs=outputs, arena=arena, slots=slots, inputs_stride=inputs_stride,
        outputs_stride=outputs_stride, carried=table, carried_count=carried,
    )  # fmt: skip
    return BoardLayout(MemoryMap(ram, flash), place)


def _aligned(position: int) -> int:
    return position + -position % REGION_ALIGNMENT


def _memory_bytes(needed: int) -> int:
    return max(_MIN_MEMORY_BYTES, needed + -needed % PAGE_BYTES)
