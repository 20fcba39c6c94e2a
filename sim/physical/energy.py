"""What an inference takes in energy: counts of the simulator times constants of a technology.

`docs/cost-model.md` says what is counted and what is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical import area, block_areas, memory_macros
from dlasim.sim.physical.activity import EnergyCounts
from dlasim.sim.physical.supply import Supply, supply_for
from dlasim.sim.physical.technology import MemoryEnergy, Technology
from dlasim.sim.reports.figure_parts import ENERGY_COMPONENTS
from dlasim.sim.timing.memory_timing import memories_of, memory_numbers

_NANO = 1e-3  # nanojoules in a picojoule

Energies = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class EnergyModel:
    """A technology and a machine, as the energies of their events."""

    technology: Technology
    config: DlaConfig

    @cached_property
    def supply(self) -> Supply:
        """The supply at which the machine reaches its clock."""
        return supply_for(self.technology, self.config.clock_mhz)

    def operations(self, counts: EnergyCounts) -> Energies:
        """Picojoules of each operation or group of operations, by component."""
        access = memory_macros.sram_access_pj(self.config, self.technology) * self.supply.energy
        return {
            "mac": self._pj("mac_pj") * counts.macs,
            "requantization": self._pj("requantization_pj") * counts.requantizations,
            "vector": self._pj("element_pj") * counts.elements,
            "sram": access * counts.accesses,
            "buffers": self._buffers(counts),
            "memory": self._per_byte()[counts.unit, counts.region] * counts.dma_bytes,
            "clock": self._clock(counts),
        }

    def inference(
        self, operations: Sequence[Energies], cycles: int, dla_cycles: int, instructions: int
    ) -> dict[str, float]:
        """Nanojoules of an inference by component: of its operations, and of all its cycles, in some of which
        streams run and the CPU executes instructions."""
        parts = dict.fromkeys(ENERGY_COMPONENTS, 0.0)
        for energies in operations:
            for name, energy in energies.items():
                parts[name] += float(energy.sum()) * _NANO
        parts["clock"] += self.control_clock_nj(dla_cycles)
        parts["sram_leakage"] = self.leaked_nj(self.memory_leakage_mw(), cycles)
        parts["logic_leakage"] = self.leaked_nj(self.logic_leakage_mw(), cycles)
        parts["cpu"] = self.instructions_nj(instructions)
        return parts

    def _pj(self, name: str) -> float:
        """Picojoules of an event at the machine's supply."""
        return self.technology.value(name) * self.supply.energy

    def _buffers(self, counts: EnergyCounts) -> NDArray[np.float64]:
        """Picojoules of the units' buffers. In each cycle of work the line buffer gives an input, and
        once for the pixels of a block the weight buffer gives weights. What crosses the SRAM's ports is
        written to a line buffer first."""
        found = memory_macros.macros(self.config)
        unit, work = counts.unit, counts.work
        uses = {
            "mac_lines": np.where(unit == Unit.MAC, work + counts.accesses, 0),
            "vector_lines": np.where(unit == Unit.VECTOR, work + counts.accesses, 0),
            "weight_buffer": np.where(unit == Unit.MAC, counts.weights, 0),
            "accumulators": np.where(unit == Unit.MAC, 2 * work, 0),
        }
        energies: NDArray[np.float64] = np.zeros(len(unit))
        for name in found.keys() & uses.keys():
            energies = energies + found[name].access_pj(self.technology) * self.supply.energy * uses[name]
        return energies

    def _clock(self, counts: EnergyCounts) -> NDArray[np.float64]:
        """Picojoules of the flip-flops of each unit while it runs. Registers behind an accumulator have a
        clock only where a result passes, and of a lane's accumulators only one has it."""
        behind_sums = block_areas.block_area("mac_result", BITS=area.sum_bits(self.config)).flip_flops
        passed = behind_sums * np.where(counts.unit == Unit.MAC, counts.requantizations, 0)
        clocked = self._flip_flops()[counts.unit] * counts.cycles
        energies: NDArray[np.float64] = self._pj("flip_flop_clock_pj") * (clocked + passed)
        return energies

    def _flip_flops(self) -> NDArray[np.float64]:
        """Those that have a clock while a unit works, by unit; each direction of the DMA has half of its."""
        parts = area.areas(self.config)
        flip_flops = np.zeros(len(Unit))
        flip_flops[[Unit.DMA_IN, Unit.DMA_OUT]] = parts["dma"].flip_flops / 2
        flip_flops[Unit.MAC] = parts["mac"].flip_flops - area.flip_flops_behind_sums(self.config)
        flip_flops[Unit.VECTOR] = parts["vector"].flip_flops
        return flip_flops

    def _per_byte(self) -> NDArray[np.float64]:
        """Picojoules of a byte by unit and region. The last column is of operations other than transfers."""
        table = np.zeros((len(Unit), max(Region) + 2))
        for region in Region:
            memory = self._memory_of(region)
            table[Unit.DMA_IN, region] = memory.read_pj_per_byte
            table[Unit.DMA_OUT, region] = memory.write_pj_per_byte
        return table

    def _memory_of(self, region: Region) -> MemoryEnergy:
        """The technology's memory for a region: the one that the machine's named memory gives in `energy`,
        else the one with the same name, else the one that the technology assigns to the region."""
        memory = memories_of(self.config)[memory_numbers(self.config)[region]]
        known = self.technology.memories
        if memory.energy and memory.energy not in known:
            raise InputError(
                f"memories.{memory.name}.energy must be {one_of(sorted(known))}, the memories of technology "
                f"{self.technology.name} (got {memory.energy!r})"
            )
        return known.get(memory.energy or memory.name) or self.technology.memory_of(region)

    def control_clock_nj(self, cycles: int) -> float:
        """Nanojoules that the clock of host window, issue stage and ports takes while streams run."""
        parts = area.areas(self.config)
        flip_flops = parts["control"].flip_flops + parts["ports"].flip_flops
        return self._pj("flip_flop_clock_pj") * flip_flops * cycles * _NANO

    def memory_leakage_mw(self) -> float:
        """Milliwatts that the DLA's memories lose."""
        return memory_macros.memory_leakage_mw(self.config, self.technology) * self.supply.leakage

    def logic_leakage_mw(self) -> float:
        """The same of the logic: nanowatts of a gate are milliwatts of a thousand, divided by a thousand."""
        kge = sum(part.kge for part in area.areas(self.config).values())
        return self.technology.value("gate_leakage_nw") * kge * _NANO * self.supply.leakage

    def leaked_nj(self, milliwatts: float, cycles: float) -> float:
        """Nanojoules of a power in so many cycles: milliwatts times microseconds."""
        return milliwatts * cycles / self.supply.clock_mhz

    def computing_pj(self) -> float:
        """Picojoules of a cycle in which the MAC unit works: clock and leakage of the logic."""
        clock = self._pj("flip_flop_clock_pj") * float(self._flip_flops()[Unit.MAC])
        return clock + (self.control_clock_nj(1) + self.leaked_nj(self.logic_leakage_mw(), 1)) / _NANO

    def least_mac_nj(self, macs: int, cycles: int, constant_bytes: int) -> float:
        """Nanojoules of a layer on the MAC unit at least, without leakage: its multiply-accumulates, in each
        cycle as many as there are PEs; the clock of its cycles; and its constants, read once."""
        buffers = memory_macros.macros(self.config)
        accesses = {"mac_lines": 1, "accumulators": 2}  # in each cycle of work
        step = sum(
            count * buffers[name].access_pj(self.technology) * self.supply.energy
            for name, count in accesses.items()
            if name in buffers
        )
        clock = self._pj("flip_flop_clock_pj") * float(self._flip_flops()[Unit.MAC])
        read = float(self._per_byte()[Unit.DMA_IN, Region.CONSTANTS])
        computed = (
            (self._pj("mac_pj") + step / self.config.pes) * macs + clock * cycles + read * constant_bytes
        )
        return computed * _NANO + self.control_clock_nj(cycles)

    def byte_pj(self) -> list[float]:
        """Picojoules of a byte that is read from each region, or written to it, if that takes more."""
        return [float(energy) for energy in self._per_byte().max(axis=0)[:-1]]

    def cpu_cycle_pj(self) -> float:
        """Picojoules of a cycle in which the CPU executes an instruction."""
        return (self.instructions_nj(1) + self.leaked_nj(self.logic_leakage_mw(), 1)) / _NANO

    def instructions_nj(self, count: int) -> float:
        """Nanojoules of instructions of the CPU."""
        return self._pj("instruction_pj") * count * _NANO

    def uncertainty(self, energies: Mapping[str, float]) -> float:
        """How far the sum may be off, in the same unit, if every constant is off in the same direction."""
        constants, used = self.technology.constants, [self._memory_of(region) for region in Region]
        shares = {
            "mac": constants["mac_pj"].uncertainty,
            "requantization": constants["requantization_pj"].uncertainty,
            "vector": constants["element_pj"].uncertainty,
            "sram": self.technology.sram.uncertainty,
            "buffers": self.technology.buffers.uncertainty,
            "memory": max(memory.uncertainty for memory in used),
            "clock": constants["flip_flop_clock_pj"].uncertainty,
            "sram_leakage": self.technology.sram.uncertainty,
            "logic_leakage": constants["gate_leakage_nw"].uncertainty,
            "cpu": constants["instruction_pj"].uncertainty,
        }
        return sum(shares[name] * energy for name, energy in energies.items())


def operation_nj(energies: Energies) -> NDArray[np.float64]:
    """Nanojoules of each operation."""
    total: NDArray[np.float64] = sum(energies.values(), np.zeros(())) * _NANO
    return total
