"""Nodes and chains cut into tiles, addresses of their buffers, and what the planner of prefetches reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from struct import Struct

from dlasim.compiler_shim.lowering.addresses.allocation import Gap
from dlasim.compiler_shim.lowering.emission.records import BUFFERS
from dlasim.compiler_shim.lowering.loads.load_records import (
    GIVEN_OF_CONSTANTS,
    GIVEN_OF_SEGMENT,
    NONE,
    TimedConstants,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.tiles.geometry import Buffers
from dlasim.compiler_shim.lowering.tiles.tile_buffers import align
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel, Tiling, TilingProblem
from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import SLOT_BYTES, slots_of

_SEGMENT, _CONSTANTS = (
    Struct(f"{given}q{SLOT_BYTES * (slots_of(kind) - given)}x")
    for kind, given in ((TimedSegment, GIVEN_OF_SEGMENT), (TimedConstants, GIVEN_OF_CONSTANTS))
)
Range = tuple[int, int, int]  # start, end, and the number of the constants whose buffer it is, or NONE


class Constants(NamedTuple):
    """The constants of a node of a segment: its number there, how many pieces, bytes of the largest, cycles
    of loading one, how many buffers they have, and whether pieces are loaded again. If not, the buffers are
    free where all pieces are prefetched."""

    node: int
    pieces: int
    piece_bytes: int
    piece_cycles: int
    buffers: int
    is_loaded_again: bool = False


@dataclass(slots=True)
class SegmentWork:
    """A node or a chain on a machine: the constants of its nodes, how many tasks or rounds it has, for how
    many cycles it computes, loads all else (tensors, and pieces again), and needs the SRAM's ports; and its
    first and last unit."""

    constants: Sequence[Constants]
    tasks: int
    compute_cycles: int
    tensor_cycles: int
    port_cycles: int = 0
    is_chain: bool = False
    units: tuple[int, int] = (0, 0)
    pieces: int = field(init=False)
    most_cycles: int = field(init=False)  # of computations and loads
    constant_slots: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.pieces, rows = sum([each.pieces for each in self.constants]), list[bytes]()
        self.most_cycles = self.compute_cycles + self.tensor_cycles
        for each in self.constants:
            tasks = 1 if self.is_chain or each.is_loaded_again else self.tasks // each.pieces
            numbers = each.pieces, tasks, each.piece_bytes, each.piece_cycles, each.is_loaded_again
            rows.append(_CONSTANTS.pack(*numbers, each.buffers))
            self.most_cycles += each.pieces * each.piece_cycles
        self.constant_slots = b"".join(rows)

    def slots(self, ranges: int) -> bytes:
        """Those of its record, where it occupies so many ranges; they do not depend on what comes before."""
        cycles = self.compute_cycles, self.tensor_cycles, self.port_cycles
        return _SEGMENT.pack(self.tasks, self.is_chain, *self.units, *cycles, ranges, len(self.constants))


class PackedSegment(NamedTuple):
    """What a node or a chain does on a machine, and what it occupies."""

    work: SegmentWork
    ranges: Sequence[Range]


class CutNodes:
    """A node or a chain cut into tiles, wherever its buffers lie: by node its problem, its tiling and its
    buffers; the buffers between nodes; and for a chain its pieces. Buffers have numbers, in this order."""

    def __init__(
        self,
        problems: Sequence[TilingProblem],
        tilings: Sequence[Tiling],
        buffers: Sequence[Buffers],
        chain: ChainTiling | None = None,
    ) -> None:
        self.problems, self.tilings, self.chain, self._buffers = problems, tilings, chain, buffers
        sizes = [size for each in buffers for size, copies in each for _ in range(copies)]
        self.own = len(sizes)
        sizes += chain.layout.inner if chain is not None else ()
        self.sizes = [align(size) for size in sizes]
        self.sram_bytes = sum(self.sizes)
        self.largest_first = sorted(range(len(sizes)), key=lambda number: -sizes[number])
        self._numbers, self._occupied = list[int](), list[tuple[int, int, int]]()
        self._occupied += [(number, self.sizes[number], NONE) for number in range(self.own, len(sizes))]
        self._describe()
        self._slots = Struct(f"{len(self._numbers)}q")
        self._on = dict[MachineModel, tuple[SegmentWork, Sequence[tuple[int, int, int]]]]()
        self._smaller = dict[Tiling, CutNodes]()

    def _describe(self) -> None:
        """List the slots of nodes, complements of what is known and the numbers of buffers instead of their
        addresses; and by buffer that occupies any bytes its number, its size, and the node of whose constants
        it is."""
        first = 0
        for node, (problem, tiling, buffers) in enumerate(
            zip(self.problems, self.tilings, self._buffers, strict=True)
        ):
            self._numbers += [~each for each in (tiling.tasks, *tiling.tile_shape[:5])]
            inputs = len(problem.in_sram.inputs)
            for place, (size, copies) in enumerate(buffers):
                owner = node if place == inputs else NONE
                if size:
                    self._occupied += [(first + copy, align(size), owner) for copy in range(copies)]
                self._numbers += (~copies, first, first + copies - 1) if copies else (~1, ~0, ~0)
                first += copies
                if place == 0 and len(buffers) < BUFFERS:  # no second input
                    self._numbers += (~1, ~0, ~0)

    def slots(self, addresses: Sequence[int]) -> bytes:
        """By node the tasks, and the slots of its tile shape and of its buffers' addresses, for emission."""
        return self._slots.pack(*[addresses[each] if each >= 0 else ~each for each in self._numbers])

    def on(self, machine: MachineModel) -> tuple[SegmentWork, Sequence[tuple[int, int, int]]]:
        """What it computes and loads on a machine; and by range that its buffers occupy the number of the
        buffer, its size, and the number of the constants that it is for."""
        found = self._on.get(machine)
        if found is None:
            found = self._on[machine] = self._find(machine)
        return found

    @property
    def rounds(self) -> int:
        """Its tasks, or what a chain has instead."""
        return self.tilings[0].tasks if self.chain is None else self.chain.layout.rounds

    def busiest(self, cycles: Sequence[int]) -> int:
        """What the busiest unit computes, given the cycles of each node; units of a chain work side by
        side, a round apart."""
        if len(cycles) == 1:
            return cycles[0]
        of_unit = dict[Unit, int]()
        for problem, each in zip(self.problems, cycles, strict=True):
            of_unit[problem.unit] = of_unit.get(problem.unit, 0) + each
        most = max(of_unit.values())
        return most + (sum(cycles) - most) // self.rounds

    def with_tiling(self, tiling: Tiling) -> CutNodes:
        """A single node cut in another way that fits into the same buffers."""
        if tiling not in self._smaller:
            self._smaller[tiling] = CutNodes(self.problems, (tiling,), self._buffers)
        return self._smaller[tiling]

    def _find(self, machine: MachineModel) -> tuple[SegmentWork, Sequence[tuple[int, int, int]]]:
        chain, constants, tasks, owners = self.chain, list[Constants](), self.rounds, {NONE: NONE}
        nodes = list(zip(self.problems, self.tilings, strict=True))
        facts = [problem.facts(tiling, tasks, machine) for problem, tiling in nodes]
        for node, each in enumerate(facts):
            owners[node] = NONE
            if each.piece_cycles:
                owners[node] = len(constants)
                buffers = sum([owner == node for _, _, owner in self._occupied])
                sizes = each.pieces, each.piece_bytes, each.piece_cycles
                constants.append(Constants(node, *sizes, buffers, each.loads_again > 0))
        tensors = facts[0].tensor_cycles + facts[0].loads_again * facts[0].piece_cycles
        work = SegmentWork(
            constants,
            tasks,
            self.busiest([each.compute_cycles for each in facts]),
            tensors if chain is None else chain.tensor_cycles,
            sum([each.port_cycles for each in facts]),
            chain is not None,
            (self.problems[0].unit, self.problems[-1].unit),
        )
        return work, [(number, size, owners[owner]) for number, size, owner in self._occupied]


class PackedNodes:
    """A node or a chain whose buffers fit between the tensors in SRAM: how it is cut, the addresses of its
    buffers, and what tensors occupy."""

    def __init__(self, cut: CutNodes, addresses: Sequence[int], taken: Sequence[Gap]) -> None:
        self.cut, self.addresses, self._taken = cut, tuple(addresses), taken
        self._on, self._slots = dict[MachineModel, PackedSegment](), b""

    @property
    def inner(self) -> tuple[int, ...]:
        """The addresses of the buffers between nodes."""
        return self.addresses[self.cut.own :]

    @property
    def ranges(self) -> tuple[Gap, ...]:
        """The addresses of tensors and buffers."""
        sizes = zip(self.addresses, self.cut.sizes, strict=True)
        return (*self._taken, *[(start, start + size) for start, size in sizes if size])

    @property
    def used_bytes(self) -> int:
        """Of buffers and tensors."""
        return self.taken_bytes + self.cut.sram_bytes

    @property
    def taken_bytes(self) -> int:
        """Of tensors."""
        return sum([end - start for start, end in self._taken])

    @property
    def slots(self) -> bytes:
        """By node the tasks, and the slots of its tile shape and of its buffers' addresses, for emission."""
        if not self._slots:
            self._slots = self.cut.slots(self.addresses)
        return self._slots

    def with_tiling(self, tiling: Tiling) -> PackedNodes:
        """A single node cut in another way that fits into the same buffers."""
        return PackedNodes(self.cut.with_tiling(tiling), self.addresses, self._taken)

    def on(self, machine: MachineModel) -> PackedSegment:
        """What it does on a machine, and what it occupies; found once for equal nodes of a plan."""
        found = self._on.get(machine)
        if found is None:
            work, occupied = self.cut.on(machine)
            ranges, addresses = [(start, end, NONE) for start, end in self._taken], self.addresses
            ranges += [(addresses[each], addresses[each] + size, owner) for each, size, owner in occupied]
            found = self._on[machine] = PackedSegment(work, ranges)
        return found
