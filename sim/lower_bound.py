"""A lower bound of an inference's cycles: what each unit must do, however the layers are cut and ordered.

Section WORK of a program lists the compulsory work: each layer's computation on whole tensors, each constant
once, and the tensors that the DLA must read or write because the user or the CPU has them. No plan for the
same placement is faster than the most loaded unit. `docs/planner.md` says how close plans come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dlasim.isa.instructions import BY_OPCODE, Unit
from dlasim.isa.registers import Region
from dlasim.sim import formulas
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import memory_costs, transfer_rate, unit_costs
from dlasim.sim.formulas import ENOUGH
from dlasim.sim.memory_timing import memories_of, memory_numbers

CPU = "CPU"


@dataclass(frozen=True, slots=True)
class Bound:
    """Cycles that each unit needs at least; `cpu` stands beside the units of the DLA."""

    units: Mapping[str, int]

    @property
    def cycles(self) -> int:
        """Those of the most loaded unit."""
        return max(self.units.values(), default=0)

    @property
    def unit(self) -> str:
        """The most loaded unit."""
        return max(self.units, key=lambda name: self.units[name], default="")


def find_bound(config: DlaConfig, work: Iterable[np.void], cpu_cycles: int = 0) -> Bound:
    """The bound of records of section WORK, beside a CPU that is busy for so many cycles."""
    cycles: defaultdict[str, int] = defaultdict(int)
    moved: dict[str, list[int]] = {unit.name: [0] * len(Region) for unit in (Unit.DMA_IN, Unit.DMA_OUT)}
    for _, opcode, count, *sizes in (row.item() for row in work):
        instruction = BY_OPCODE[opcode]
        unit = instruction.unit
        assert unit is not None, "the reader lets only operations pass"
        if instruction.is_transfer:
            moved[unit.name][sizes[0]] += count
        elif config.timing == "full":
            cycles[unit.name] += _compute_cycles(config, instruction.mnemonic, count, *sizes)
        elif config.timing == "macs" and unit is Unit.MAC:
            cycles[unit.name] += -(-count * prod(sizes) // config.pes)
    if config.timing == "full":
        cycles |= _bus_cycles(config, moved)
    if cpu_cycles:
        cycles[CPU] = cpu_cycles
    return Bound(dict(cycles))


def layer_bounds(config: DlaConfig, work: Any, layers: int) -> list[Bound]:
    """The bound of each layer of a program alone."""
    return [find_bound(config, work[work["layer"] == layer]) for layer in range(layers)]


def _compute_cycles(config: DlaConfig, mnemonic: str, *sizes: int) -> int:
    """All results leave through the output stage; a pool may have none to scale. The SRAM's ports count
    nothing: what crosses them depends on the tiles."""
    unit = unit_costs(config, mnemonic)
    pixels, taps, in_channels, channels = sizes
    turns = formulas.ceil_div(pixels, unit.pixel_rows * unit.pixel_columns)
    unit.accumulators = ENOUGH  # tiles need not be of whole blocks
    work = formulas.lane_cycles(unit, turns, taps, in_channels, channels)
    output = formulas.output_cycles(pixels * channels, unit.result_cycles)
    return unit.fill + max(work, output) + unit.drain


def _bus_cycles(config: DlaConfig, moved: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """What the bytes of each direction, by region, take on the bus; together no less than what both share, a
    memory or a bus, needs for them."""
    of_unit = {unit: _memory_beats(config, sizes) for unit, sizes in moved.items()}
    beats = {unit: sum(parts) for unit, parts in of_unit.items() if any(parts)}
    if beats:
        both = [sum(parts) for parts in zip(*of_unit.values(), strict=True)]
        most = max(beats, key=lambda unit: beats[unit])
        beats[most] = max(beats[most], _shared_cycles(config, both))
    return beats


def _memory_beats(config: DlaConfig, sizes: Sequence[int]) -> list[int]:
    """Cycles on the bus for the bytes of one direction, by memory."""
    in_memory = [0] * len(memories_of(config))
    for number, size in zip(memory_numbers(config), sizes, strict=True):
        in_memory[number] += size
    return [
        formulas.transfer_beats(memory_costs(config, memory), size, 1)
        for memory, size in zip(memories_of(config), in_memory, strict=True)
    ]


def _shared_cycles(config: DlaConfig, beats: Sequence[int]) -> int:
    """Cycles that the busiest memory or bus needs for transfers of both directions, by memory."""
    work: defaultdict[tuple[str, str, int], int] = defaultdict(int)
    for memory, cycles in zip(memories_of(config), beats, strict=True):
        amount = cycles * transfer_rate(config, memory)
        work["memory", memory.name, memory.bandwidth] += amount
        work["bus", memory.bus, memory.bus_bandwidth] += amount
    return max((amount // rate for (_, _, rate), amount in work.items() if rate), default=0)
