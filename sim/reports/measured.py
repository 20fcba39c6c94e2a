"""What an inference measured, worked out once: the numbers from which the table of figures takes its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Inference
from dlasim.sim.physical.activity import EnergyCounts, count_operations
from dlasim.sim.physical.energy import Energies, EnergyModel, operation_nj
from dlasim.sim.physical.memory_macros import area_uncertainty_mm2, areas_mm2
from dlasim.sim.physical.technology import technology
from dlasim.sim.programs.footprint import all_footprints
from dlasim.sim.reports.figure_parts import KINDS
from dlasim.sim.timing.accounting import Account, Cycles, account_cycles
from dlasim.sim.timing.lower_bound import Bound, program_bound
from dlasim.sim.timing.memory_timing import memories_of
from dlasim.sim.timing.plan import Plan


@dataclass(slots=True)
class LayerCosts:
    """What one layer cost; `pes` are those of the machine.

    `cycles` are attributed: each cycle counts for one layer, so they add up. `busy_cycles` are those in which
    the layer runs, so two layers that overlap both count them.
    """

    name: str
    operator: str
    kind: str
    unit: str
    pes: int
    cycles: int = 0
    busy_cycles: int = 0
    macs: int = 0
    tiles: int = 0
    read: int = 0
    written: int = 0
    energy_nj: float = 0.0

    @property
    def utilization(self) -> float:
        """MACs per PE and busy cycle; 0 on the CPU."""
        return _share(self.macs, self.pes * self.busy_cycles) if self.unit == "dla" else 0.0


@dataclass(frozen=True, eq=False)
class Measured:
    """One inference of a program on a machine."""

    program: Program
    config: DlaConfig
    inference: Inference
    wall_seconds: Mapping[str, float]
    instructions: int | None = None  # of the CPU, if a board counted them

    @cached_property
    def layers(self) -> list[LayerCosts]:
        """The costs of each layer, in the model's order."""
        found = layer_costs(self.program, self.config, self.inference, self._layer_numbers, self._cycles)
        sums = np.zeros(len(found) + 1)  # the first is of no layer
        for numbers, energies in zip(self._layer_numbers, self._energies, strict=True):
            sums += np.bincount(numbers + 1, operation_nj(energies), len(sums))
        for layer, energy in zip(found, sums[1:].tolist(), strict=True):
            layer.energy_nj = energy
            if layer.unit == "cpu":  # the estimated CPU executes an instruction a cycle
                layer.energy_nj += self._model.instructions_nj(layer.cycles)
        return found

    @cached_property
    def _layer_numbers(self) -> list[NDArray[np.int64]]:
        """By run the layer of each operation, -1 for none."""
        layer_of = self.program.layer_of_words()
        return [
            layer_of[run.first_word :][run.plan.stream.positions[: run.plan.operations]]
            for run in self.inference.runs
        ]

    @cached_property
    def _cycles(self) -> list[Cycles]:
        """Where those of each run went."""
        runs, count = zip(self.inference.runs, self._layer_numbers, strict=True), len(self.program.layers)
        return [account_cycles(run.plan.timeline, run.plan.costs, numbers, count) for run, numbers in runs]

    @cached_property
    def _model(self) -> EnergyModel:
        return EnergyModel(technology(self.config.technology), self.config)

    @cached_property
    def _counts(self) -> list[EnergyCounts]:
        """What the operations of each run do that takes energy."""
        return [count_operations(run.plan) for run in self.inference.runs]

    @cached_property
    def _energies(self) -> list[Energies]:
        """What these take."""
        return [self._model.operations(counts) for counts in self._counts]

    def on_machine(self, config: DlaConfig) -> Measured:
        """The same program on a machine with another size of SRAM, clock or technology, which changes what
        its accesses and operations take, and no more."""
        other = replace(self, config=config)
        kept = {name: getattr(self, name) for name in ("_counts", "_cycles", "_layer_numbers")}
        vars(other).update(kept)  # where cached_property keeps them
        return other

    @cached_property
    def energy(self) -> dict[str, float]:
        """Nanojoules by component, their sum and how far that may be off."""
        executed = self.cpu_cycles if self.instructions is None else self.instructions
        model, cycles = self._model, self.inference.total_cycles
        parts = model.inference(self._energies, cycles, self.dla_cycles, executed)
        return parts | {"total": sum(parts.values()), "uncertainty": model.uncertainty(parts)}

    @cached_property
    def area_mm2(self) -> Mapping[str, float]:
        """Square millimetres by component, their sum and how far that may be off."""
        known = technology(self.config.technology)
        parts = areas_mm2(self.config, known)
        uncertainty = area_uncertainty_mm2(self.config, known)
        return parts | {"total": sum(parts.values()), "uncertainty": uncertainty}

    @property
    def supply_volts(self) -> float:
        """The supply at which the machine reaches its clock."""
        return self._model.supply.volts

    @cached_property
    def account(self) -> Account | None:
        """Where the cycles of all streams went; None without a stream."""
        return total_account(cycles.account for cycles in self._cycles)

    @property
    def dla_cycles(self) -> int:
        """Cycles of all streams."""
        return self.account.total if self.account else 0

    @property
    def dma_cycles(self) -> int:
        """Cycles of the streams in which a transfer runs."""
        return self.account.only_dma + self.account.both if self.account else 0

    @property
    def cpu_cycles(self) -> int:
        """Cycles in which the CPU works."""
        return sum(end - start for start, end in self.inference.cpu_spans)

    @property
    def overlap_cycles(self) -> int:
        """Cycles in which CPU and DLA both work."""
        return sum(
            max(0, min(end, run.end) - max(start, run.start))
            for start, end in self.inference.cpu_spans
            for run in self.inference.runs
        )

    @property
    def utilization(self) -> float:
        """MACs per PE and cycle of all streams."""
        return _share(self.macs, self.config.pes * self.dla_cycles)

    @cached_property
    def cycles_by_kind(self) -> dict[str, int]:
        """The DLA's cycles by the kind of layer that owns them."""
        by_kind = dict.fromkeys(KINDS, 0)
        for layer in self.layers:
            if layer.unit == "dla":
                by_kind[layer.kind] = by_kind.get(layer.kind, 0) + layer.cycles
        return by_kind

    @cached_property
    def bound(self) -> Bound | None:
        """The least that the units need; None for a program that does not say its work."""
        work = self.program.work
        cpu = {span.call: span.end - span.start for span in self.inference.host}
        return program_bound(self.config, self.program, cpu) if len(work) or cpu else None

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the DLA."""
        return sum(run.plan.macs for run in self.inference.runs)

    def moved_bytes(self, unit: Unit) -> int:
        """Bytes that a DMA unit moved."""
        costs = [run.plan.costs for run in self.inference.runs]
        return sum(int(cost.dma_bytes[cost.unit == unit].sum()) for cost in costs)

    @cached_property
    def memory_bytes(self) -> dict[str, dict[str, int]]:
        """Bytes read from and written to each memory."""
        found = {}
        for number, memory in enumerate(memories_of(self.config)):
            read = written = 0
            for run in self.inference.runs:
                costs = run.plan.costs
                here = costs.memory == number
                read += int(costs.dma_bytes[here & (costs.unit == Unit.DMA_IN)].sum())
                written += int(costs.dma_bytes[here & (costs.unit == Unit.DMA_OUT)].sum())
            found[memory.name] = {"read": read, "write": written}
        return found

    @property
    def sram_peak_bytes(self) -> int:
        """One past the highest byte of SRAM in use: as the compiler says, else as the operations touch it."""
        return self.program.requirement.sram_peak_bytes or sram_high_water(self.inference)


def layer_costs(
    program: Program,
    config: DlaConfig,
    inference: Inference,
    layers: Sequence[NDArray[np.int64]],
    cycles: Sequence[Cycles],
) -> list[LayerCosts]:
    """The costs of each layer but its energy, in the model's order; by run the layers of its operations, and
    where its cycles went."""
    columns = np.zeros((len(program.layers) + 1, 6), np.int64)  # the first row is of no layer
    for run, numbers, found in zip(inference.runs, layers, cycles, strict=True):
        columns += _run_columns(run.plan, numbers, found)
    for span in inference.host:
        number, spent = program.host_calls[span.call].layer, span.end - span.start
        columns[number + 1, :2] += spent
        columns[number + 1, 2] = program.layers[number].macs
    on_cpu = {call.layer for call in program.host_calls}
    return [
        LayerCosts(
            layer.name, layer.operator, layer.kind.name, "cpu" if i in on_cpu else "dla", config.pes, *row
        )
        for i, (layer, row) in enumerate(zip(program.layers, columns[1:].tolist(), strict=True))
    ]


def _run_columns(plan: Plan, layers: NDArray[np.int64], cycles: Cycles) -> NDArray[np.int64]:
    """What a run adds to the numbers of layers, from their cycles on."""
    costs, unit = plan.costs, plan.costs.unit
    read, written = (costs.dma_bytes * (unit == each) for each in (Unit.DMA_IN, Unit.DMA_OUT))
    counts = cycles.owned, costs.macs, unit >= Unit.MAC, read, written
    columns = [np.bincount(layers + 1, each, len(cycles.busy)) for each in counts]
    return np.stack((columns[0], cycles.busy, *columns[1:]), axis=1).astype(np.int64)


def total_account(accounts: Iterable[Account]) -> Account | None:
    """The account of all streams together."""
    total: Account | None = None
    for each in accounts:
        total = each if total is None else total + each
    return total


def sram_high_water(inference: Inference) -> int:
    """One past the highest SRAM byte that any operation touches."""
    peak = 0
    for run in inference.runs:
        for _, batch in run.plan.stream.batches(run.plan.operations):
            for footprint in all_footprints(batch):
                ends = np.where(footprint.present, footprint.box.end, 0)
                peak = max(peak, int(np.max(ends, initial=0)))
    return peak


def _share(part: int, whole: int) -> float:
    """The share of a whole; 0 of nothing."""
    return round(part / whole, 6) if whole else 0.0
