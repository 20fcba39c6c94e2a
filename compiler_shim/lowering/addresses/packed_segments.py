"""A plan as the planner of prefetches sees it: nodes and chains, what they occupy, load and compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import fsum
from typing import NamedTuple

from dlasim.compiler_shim.lowering.addresses.allocation import Gap
from dlasim.compiler_shim.lowering.addresses.sram_plan import Occupied, SramPlan
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.dataclass import dataclass
from dlasim.isa.instructions import Unit

MAX_SLOTS = 16  # in which the tasks of a segment are looked at


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


@dataclass(slots=True)
class PackedSegment:
    """A node or a chain: its first step, what it occupies, the constants of its nodes, how many tasks or
    rounds it has, and for how many cycles it computes, and loads all else: tensors, and pieces again."""

    step: int
    occupied: Occupied
    constants: list[Constants]
    tasks: int
    compute_cycles: float
    tensor_cycles: float
    is_chain: bool = False
    is_other_unit: bool = False  # than that of the segment before
    tasks_of_slot: int = field(init=False)  # a slot is a group of tasks
    slots: int = field(init=False)
    load_cycles: float = field(init=False)  # of all its loads
    first_cycles: float = field(
        init=False
    )  # of as many pieces as there are buffers for: it cannot begin without

    def __post_init__(self) -> None:
        self.tasks_of_slot = -(-self.tasks // MAX_SLOTS)
        self.slots = -(-self.tasks // self.tasks_of_slot)
        constants = self.constants
        self.load_cycles = fsum(
            [self.tensor_cycles, *[each.pieces * each.piece_cycles for each in constants]]
        )
        self.first_cycles = fsum([min(len(each.gaps), each.pieces) * each.piece_cycles for each in constants])

    def tasks_of(self, constants: Constants) -> int:
        """How many tasks use a piece; in a chain, any of them may."""
        if self.is_chain or constants.is_loaded_again:
            return 1
        return self.tasks // constants.pieces


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
            segment = part.on(machine, computing)
            segment.is_other_unit = before not in (None, part.units[0])
            found.append(segment)
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

    def on(self, machine: MachineModel, computing: Mapping[int, float] | None) -> PackedSegment:
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
        compute, is_chain = max(of_unit.values()), self._chain is not None
        return PackedSegment(
            self._steps[0], self._occupied, constants, self._tasks, compute, tensors, is_chain
        )
