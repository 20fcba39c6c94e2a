"""A lower bound of an inference's cycles: what each unit must do, however the layers are cut and ordered.

Section WORK of a program lists the compulsory work: each layer's computation on whole tensors, each constant
once, and the tensors that the DLA must read or write because the user or the CPU has them. No plan for the
same placement is faster than the most loaded unit. `docs/planner.md` says how close plans come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dlasim.isa.instructions import BY_OPCODE, Unit
from dlasim.sim import formulas
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import bus_costs, unit_costs
from dlasim.sim.formulas import ENOUGH

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
    moved: defaultdict[str, int] = defaultdict(int)
    for _, opcode, count, *sizes in (row.item() for row in work):
        instruction = BY_OPCODE[opcode]
        unit = instruction.unit
        assert unit is not None, "the reader lets only operations pass"
        if instruction.is_transfer:
            moved[unit.name] += count
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


def _bus_cycles(config: DlaConfig, moved: Mapping[str, int]) -> dict[str, int]:
    """What the bytes of each direction take on the bus; together no less than a shared bus needs for them."""
    bus = bus_costs(config)
    beats = {unit: formulas.transfer_beats(bus, size, 1) for unit, size in moved.items()}
    if bus.alone and len(beats) > 1:
        most = max(beats, key=lambda unit: beats[unit])
        together = sum(beats.values()) * bus.alone // (2 * bus.shared)
        beats[most] = max(beats[most], together)
    return beats
