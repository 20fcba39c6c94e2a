"""A plan as the planner of prefetches sees it: nodes and chains, what they occupy, load and compute."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from math import fsum

from dlasim.compiler_shim.lowering.allocation import Gap
from dlasim.compiler_shim.lowering.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.tile_buffers import align
from dlasim.compiler_shim.lowering.tiling import MachineModel
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

    def __post_init__(self) -> None:
        self.tasks_of_slot = -(-self.tasks // MAX_SLOTS)
        self.slots = -(-self.tasks // self.tasks_of_slot)

    @property
    def first_cycles(self) -> float:
        """Loads of as many pieces as there are buffers for; without them the segment cannot begin."""
        return fsum([min(len(each.gaps), each.pieces) * each.piece_cycles for each in self.constants])

    @property
    def load_cycles(self) -> float:
        """All its loads."""
        return fsum([self.tensor_cycles, *[each.pieces * each.piece_cycles for each in self.constants]])

    def tasks_of(self, constants: Constants) -> int:
        """How many tasks use a piece; in a chain, any of them may."""
        if self.is_chain or constants.is_loaded_again:
            return 1
        return self.tasks // constants.pieces


def describe(
    plan: SramPlan, machine: MachineModel, computing: Mapping[int, float] | None = None
) -> list[PackedSegment]:
    """The segments of a plan on a machine; `computing` are the cycles of the nodes by step, if known."""
    chained, found, before = plan.chained, list[PackedSegment](), None
    for step in sorted(plan.tilings):
        if step in plan.chains:
            segment, last = _describe_chain(plan, step, machine, computing), plan.chains[step].steps[-1]
        elif step not in chained:
            segment, last = _describe_node(plan, step, machine, computing), step
        else:
            continue
        segment.is_other_unit = before not in (None, _unit(plan, step))
        found.append(segment)
        before = _unit(plan, last)
    return found


def _unit(plan: SramPlan, step: int) -> Unit | None:
    return BY_MNEMONIC[plan.problems[step].node.mnemonic].unit


def _describe_node(
    plan: SramPlan, step: int, machine: MachineModel, computing: Mapping[int, float] | None
) -> PackedSegment:
    problem, tiling = plan.problems[step].on(machine), plan.tilings[step]
    constants, loads = _constants(plan, step, machine), problem.tensor_cycles(tiling.tile_shape)
    compute = problem.compute_cycles(tiling.tasks) if computing is None else computing[step]
    occupied = [*plan.residents.during((step,)), *_buffers(plan, step)]
    return PackedSegment(step, occupied, constants, tiling.tasks, compute, loads)


def _describe_chain(
    plan: SramPlan, step: int, machine: MachineModel, computing: Mapping[int, float] | None
) -> PackedSegment:
    """MAC and VECTOR work side by side."""
    chain = plan.chains[step]
    occupied, constants = [*plan.residents.during(chain.steps), *chain.inner_gaps], list[Constants]()
    of_unit: dict[Unit | None, float] = defaultdict(float)
    for member in chain.steps:
        occupied += _buffers(plan, member)
        constants += _constants(plan, member, machine)
        problem = plan.problems[member].on(machine)
        cycles = problem.compute_cycles(chain.rounds) if computing is None else computing[member]
        of_unit[_unit(plan, member)] += cycles
    loads = max(chain.load_cycles - sum([each.pieces * each.piece_cycles for each in constants]), 0)
    return PackedSegment(step, occupied, constants, chain.rounds, max(of_unit.values()), loads, is_chain=True)


def _buffers(plan: SramPlan, step: int) -> list[Gap]:
    """What the buffers of a node occupy."""
    return [
        (address, address + align(size))
        for addresses, (size, _) in zip(plan.buffers[step], plan.tilings[step].buffers, strict=True)
        for address in addresses
        if size
    ]


def _constants(plan: SramPlan, step: int, machine: MachineModel) -> list[Constants]:
    """The constants of a node that may be prefetched. Those of a host's tensor may not."""
    problem, tiling = plan.problems[step], plan.tilings[step]
    place = len(problem.in_sram.inputs)
    size, pieces = tiling.buffers[place][0], problem.first_pieces(tiling)
    if not size or problem.node.matrix is not None:
        return []
    cycles = machine.constants_cycles(size)
    if not cycles:
        return []  # loads take no time on this machine
    is_loaded_again = problem.loads_again(tiling)
    # The last piece is smaller than the others.
    part = 1.0 if is_loaded_again else min(problem.constant_bytes / (pieces * size), 1.0)
    gaps = tuple([(address, address + align(size)) for address in plan.buffers[step][place]])
    return [Constants(step, pieces, align(size), cycles * part, gaps, is_loaded_again)]
