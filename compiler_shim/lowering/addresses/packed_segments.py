"""A plan as the planner of prefetches sees it: nodes and chains, what they occupy, load and compute."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import fsum
from typing import NamedTuple

from dlasim.compiler_shim.lowering.addresses.allocation import Gap
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.segments.chains import Chain
from dlasim.compiler_shim.lowering.tiles.tile_buffers import align, packed_bytes
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.dataclass import dataclass
from dlasim.isa.instructions import BY_MNEMONIC, Unit

MAX_SLOTS = 16  # in which the tasks of a segment are looked at


@dataclass(frozen=True, slots=True)
class Constants:
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
    occupied: list[Gap]
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
        self._parts = list[_PlanPart]()
        for step in sorted(plan.tilings):
            if step in plan.chains:
                self._parts.append(_PlanPart(plan, plan.chains[step].steps, plan.chains[step]))
            elif step not in chained:
                self._parts.append(_PlanPart(plan, (step,)))

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

    def __init__(self, plan: SramPlan, steps: Sequence[int], chain: Chain | None = None) -> None:
        self._steps, self._chain, self._tiling = steps, chain, plan.tilings[steps[0]]
        self._tasks = self._tiling.tasks if chain is None else chain.rounds
        self._problems = [plan.problems[step] for step in steps]
        self.units = [BY_MNEMONIC[problem.node.mnemonic].unit for problem in self._problems]
        self._occupied = list(plan.residents.during(steps))
        if chain is not None:
            self._occupied += chain.inner_gaps
        for step in steps:
            self._occupied += _buffers(plan, step)
        self._loaded = [loaded for step in steps if (loaded := _LoadedConstants.of(plan, step)) is not None]

    def on(self, machine: MachineModel, computing: Mapping[int, float] | None) -> PackedSegment:
        """The segment on a machine; units of a chain work side by side."""
        of_unit: dict[Unit | None, float] = defaultdict(float)
        for step, unit, problem in zip(self._steps, self.units, self._problems, strict=True):
            compute = (
                problem.on(machine).compute_cycles(self._tasks) if computing is None else computing[step]
            )
            of_unit[unit] += compute
        constants = [each for loaded in self._loaded if (each := loaded.on(machine)).piece_cycles]
        if self._chain is None:
            loads: float = self._problems[0].tensor_cycles(self._tiling.tile_shape, machine)
            if constants:
                loads += self._loaded[0].loads_again * constants[0].piece_cycles
        else:
            loads = self._chain.tensor_cycles
        return PackedSegment(
            self._steps[0],
            self._occupied,
            constants,
            self._tasks,
            max(of_unit.values()),
            loads,
            is_chain=self._chain is not None,
        )


class _LoadedConstants(NamedTuple):
    """The constants of a node that may be prefetched."""

    step: int
    pieces: int
    piece_bytes: int
    packed_bytes: int  # of memory, from which twice as many of them may be unpacked
    part: float  # of the cycles of a whole piece that one takes on average: the last piece is smaller
    gaps: tuple[Gap, ...]
    loads_again: int  # of pieces that were loaded before

    @classmethod
    def of(cls, plan: SramPlan, step: int) -> _LoadedConstants | None:
        """Those of a step of a plan, None where there are none, or only those of a host's tensor."""
        problem, tiling = plan.problems[step], plan.tilings[step]
        place = len(problem.in_sram.inputs)
        size, pieces = tiling.buffers[place][0], problem.first_pieces(tiling)
        if not size or problem.node.matrix is not None:
            return None
        loads_again = problem.constant_loads(tiling.tile_shape) - pieces if problem.loads_again(tiling) else 0
        part = 1.0 if loads_again else min(problem.constant_bytes / (pieces * size), 1.0)
        gaps = tuple([(address, address + align(size)) for address in plan.buffers[step][place]])
        packed = packed_bytes(problem.geometry.sizes, tiling.tile_shape.channels, tiling.tile_shape.depth)
        return cls(step, pieces, size, packed, part, gaps, loads_again)

    def on(self, machine: MachineModel) -> Constants:
        """The same with the cycles of a load on a machine."""
        cycles = machine.constants_cycles(self.piece_bytes, self.packed_bytes) * self.part
        size = align(self.piece_bytes)
        return Constants(self.step, self.pieces, size, cycles, self.gaps, self.loads_again > 0)


def _buffers(plan: SramPlan, step: int) -> list[Gap]:
    """What the buffers of a node occupy."""
    return [
        (address, address + align(size))
        for addresses, (size, _) in zip(plan.buffers[step], plan.tilings[step].buffers, strict=True)
        for address in addresses
        if size
    ]
