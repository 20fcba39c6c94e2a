"""A plan as the planner of prefetches sees it: nodes and chains, what they occupy, load and compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlasim.compiler_shim.lowering.addresses.allocation import Gap
from dlasim.compiler_shim.lowering.addresses.sram_plan import Occupied, SramPlan
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.isa.instructions import Unit


class Constants(NamedTuple):
    """The constants of a node: its step, how many pieces, bytes of the largest, cycles of loading one, the
    buffers that they have, and whether pieces are loaded again. If not, the buffers are free where all pieces
    are prefetched."""

    step: int
    pieces: int
    piece_bytes: int
    piece_cycles: float
    gaps: tuple[Gap, ...]
    is_loaded_again: bool = False


class PackedSegment(NamedTuple):
    """A node or a chain: its first step, what it occupies, the constants of its nodes, how many tasks or
    rounds it has, and for how many cycles it computes, and loads all else: tensors, and pieces again; whether
    its first unit is another than the last of the segment before."""

    step: int
    occupied: Occupied
    constants: list[Constants]
    tasks: int
    compute_cycles: float
    tensor_cycles: float
    is_chain: bool = False
    is_other_unit: bool = False


class PackedPlan:
    """A plan whose segments are described for several machines, or with several times."""

    def __init__(self, plan: SramPlan) -> None:
        self.plan = plan
        chained = plan.chained
        self._parts = [
            _PlanPart(plan, plan.chains[step].steps if step in plan.chains else (step,))
            for step in sorted(plan.tilings)
            if step in plan.chains or step not in chained
        ]

    def segments(
        self, machine: MachineModel, computing: Mapping[int, float] | None = None
    ) -> list[PackedSegment]:
        """Its segments on a machine; `computing` are the cycles of the nodes by step, if known."""
        found, before = list[PackedSegment](), None
        for part in self._parts:
            found.append(part.on(machine, computing, before not in (None, part.units[0])))
            before = part.units[-1]
        return found


class _PlanPart:
    """A node or a chain of a plan, and what does not depend on the machine."""

    def __init__(self, plan: SramPlan, steps: Sequence[int]) -> None:
        self._steps, self._chain = steps, plan.chains.get(steps[0])
        self._tilings = [plan.tilings[step] for step in steps]
        self._tasks = self._tilings[0].tasks if self._chain is None else self._chain.rounds
        self._problems = [plan.problems[step] for step in steps]
        self.units = [problem.unit for problem in self._problems]
        self._occupied = plan.occupied[steps[0]]
        self._gaps = [plan.constant_gaps[step] for step in steps]

    def on(
        self, machine: MachineModel, computing: Mapping[int, float] | None, is_other_unit: bool
    ) -> PackedSegment:
        """The segment on a machine; units of a chain work side by side."""
        of_unit, constants = dict[Unit, float](), list[Constants]()
        tensors = 0.0 if self._chain is None else self._chain.tensor_cycles
        each_node = zip(self._steps, self._problems, self._tilings, self.units, self._gaps, strict=True)
        for step, problem, tiling, unit, gaps in each_node:
            facts = problem.facts(tiling, self._tasks, machine)
            cycles = facts.compute_cycles if computing is None else computing[step]
            of_unit[unit] = of_unit.get(unit, 0) + cycles
            if facts.piece_cycles:
                again = facts.loads_again > 0
                size = facts.piece_bytes
                constants.append(Constants(step, facts.pieces, size, facts.piece_cycles, gaps, again))
            if self._chain is None:
                tensors = facts.tensor_cycles + facts.loads_again * facts.piece_cycles
        return PackedSegment(
            self._steps[0],
            self._occupied,
            constants,
            self._tasks,
            max(of_unit.values()),
            tensors,
            self._chain is not None,
            is_other_unit,
        )
