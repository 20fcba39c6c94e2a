"""What an inference takes in energy: counts of the simulator times constants of a technology.

`docs/cost-model.md` says what is counted and what is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of
from dlasim.isa.instructions import Unit
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical import area, memory_macros
from dlasim.sim.physical.activity import Activity, stream_activity
from dlasim.sim.physical.supply import Supply, supply_for
from dlasim.sim.physical.technology import MemoryEnergy, Technology
from dlasim.sim.timing.memory_timing import memories_of, memory_numbers
from dlasim.sim.timing.plan import Plan
from dlasim.sim.timing.sram_words import stream_accesses

_NANO = 1e-3  # nanojoules in a picojoule

Energies = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Events:
    """What each operation of a stream does, and in how many accesses its bytes cross the SRAM's ports."""

    activity: Activity
    accesses: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EnergyModel:
    """A technology and a machine, as the energies of their events."""

    technology: Technology
    config: DlaConfig

    @property
    def port_bytes(self) -> int:
        """Bytes of an access of the SRAM."""
        return memory_macros.port_bytes(self.config)

    @property
    def supply(self) -> Supply:
        """The supply at which the machine reaches its clock."""
        return supply_for(self.technology, self.config.clock_mhz)

    def events(self, plan: Plan) -> Events:
        """What the operations of a stream do that takes energy. It does not depend on the SRAM's size."""
        count = plan.operations
        crossed = plan.costs.sram_bytes[:count]
        accesses = stream_accesses(self.config, plan.stream.batches(count), crossed, self.port_bytes)
        return Events(stream_activity(count, plan.stream.batches(count)), accesses)

    def operations(self, plan: Plan, events: Events | None = None) -> Energies:
        """Picojoules of each operation of a stream, by component; `events` are its own, if they are known."""
        costs, count = plan.costs, plan.operations
        events = events or self.events(plan)
        activity = events.activity
        access = memory_macros.sram_access_pj(self.config, self.technology) * self.supply.energy
        return {
            "mac": self._pj("mac_pj") * costs.macs[:count],
            "requantization": self._pj("requantization_pj") * activity.requantizations,
            "vector": self._pj("element_pj") * activity.elements,
            "sram": access * events.accesses,
            "buffers": self._buffers(plan, events),
            "memory": self._per_byte()[costs.unit[:count], activity.regions] * costs.dma_bytes[:count],
            "clock": self._clock(plan, activity.requantizations),
        }

    def _pj(self, name: str) -> float:
        """Picojoules of an event at the machine's supply."""
        return self.technology.value(name) * self.supply.energy

    def _buffers(self, plan: Plan, events: Events) -> NDArray[np.float64]:
        """Picojoules of each operation's buffers. In each cycle of work the line buffer gives an input, and
        once for the pixels of a block the weight buffer gives weights. What crosses the SRAM's ports is
        written to a line buffer first."""
        found = memory_macros.macros(self.config)
        unit, work = plan.costs.unit[: plan.operations], plan.costs.work[: plan.operations]
        block = np.clip(events.activity.pixels, 1, self.config.accumulators or None)
        counts = {
            "mac_lines": np.where(unit == Unit.MAC, work + events.accesses, 0),
            "vector_lines": np.where(unit == Unit.VECTOR, work + events.accesses, 0),
            "weight_buffer": np.where(unit == Unit.MAC, work / block, 0),
            "accumulators": np.where(unit == Unit.MAC, 2 * work, 0),
        }
        energies: NDArray[np.float64] = np.zeros(plan.operations)
        for name in found.keys() & counts.keys():
            energies = energies + found[name].access_pj(self.technology) * self.supply.energy * counts[name]
        return energies

    def _clock(self, plan: Plan, requantizations: NDArray[np.int64]) -> NDArray[np.float64]:
        """Picojoules of the flip-flops of each operation's unit while it runs. Registers behind an
        accumulator have a clock only where a result passes, and of a lane's accumulators only one has it."""
        unit = plan.costs.unit[: plan.operations]
        passed = area.block_area("mac_result").flip_flops * np.where(unit == Unit.MAC, requantizations, 0)
        clocked = self._flip_flops()[unit] * (plan.timeline.end - plan.timeline.start)
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

    def leaked_nj(self, milliwatts: float, cycles: int) -> float:
        """Nanojoules of a power in so many cycles: milliwatts times microseconds."""
        return milliwatts * cycles / self.supply.clock_mhz

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


def total_nj(energies: Energies) -> dict[str, float]:
    """Nanojoules of all operations, by component."""
    return {name: float(energy.sum()) * _NANO for name, energy in energies.items()}


def operation_nj(energies: Energies) -> NDArray[np.float64]:
    """Nanojoules of each operation."""
    total: NDArray[np.float64] = sum(energies.values(), np.zeros(())) * _NANO
    return total
