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


def plan_memory(program: Program, firmware: Firmware, image_bytes: int) -> BoardLayout:
    """Regions one after another on the heap; memories as large as they must be, or the board's usual."""
    missing = [name for name in ("__heap_start", launch.SYMBOL) if name not in firmware.symbols]
    if missing:
        raise InputError(f"{firmware.origin}: no symbol {missing[0]}; this firmware cannot run programs")
    need, addresses = program.requirement, []
    position = firmware.symbols["__heap_start"]
    for size in (need.inputs_bytes, need.outputs_bytes, need.arena_bytes):
        position += -position % REGION_ALIGNMENT
        addresses.append(position)
        position += size
    usual = MemoryMap()
    ram = _memory_bytes(position - usual.ram.base)
    flash = _memory_bytes(usual.program.base - usual.flash.base + image_bytes)
    return BoardLayout(
        MemoryMap(ram, flash), Launch(inputs=addresses[0], outputs=addresses[1], arena=addresses[2])
    )


def _memory_bytes(needed: int) -> int:
    return max(_MIN_MEMORY_BYTES, needed + -needed % PAGE_BYTES)
