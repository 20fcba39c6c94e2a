"""Nodes and chains whose buffers have addresses, and what the planner of prefetches reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from struct import Struct
from typing import NamedTuple

from dlasim.compiler_shim.lowering.addresses.allocation import Gap
from dlasim.compiler_shim.lowering.emission.records import buffer_slots
from dlasim.compiler_shim.lowering.loads.load_records import (
    GIVEN_OF_CONSTANTS,
    GIVEN_OF_SEGMENT,
    NONE,
    TimedConstants,
    TimedSegment,
)
from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel, Tiling, TilingProblem
from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.native.record import SLOT_BYTES, slots_of

_SEGMENT, _CONSTANTS = (
    Struct(f"{given}q{SLOT_BYTES * (slots_of(kind) - given)}x")
    for kind, given in ((TimedSegment, GIVEN_OF_SEGMENT), (TimedConstants, GIVEN_OF_CONSTANTS))
)
_RANGE, _TILE = Struct("3q"), Struct("6q")


class Constants(NamedTuple):
    """The constants of a node of a segment: its number there, how many pieces, bytes of the largest, cycles
    of loading one, the buffers that they have, and whether pieces are loaded again. If not, the buffers are
    free where all pieces are prefetched."""

    node: int
    pieces: int
    piece_bytes: int
    piece_cycles: int
    gaps: Sequence[Gap]
    is_loaded_again: bool = False


@dataclass(slots=True)
class PackedSegment:
    """A node or a chain on a machine: what it occupies, the constants of its nodes, how many tasks or rounds
    it has, for how many cycles it computes, and loads all else: tensors, and pieces again; and its first and
    last unit.

    The slots of its records do not depend on what comes before it.
    """

    gaps: Sequence[Gap]
    constants: Sequence[Constants]
    tasks: int
    compute_cycles: int
    tensor_cycles: int
    port_cycles: int = 0
    is_chain: bool = False
    units: tuple[int, int] = (0, 0)
    pieces: int = field(init=False)
    most_cycles: int = field(init=False)  # of computations and loads
    slots: bytes = field(init=False)
    constant_slots: bytes = field(init=False)
    range_slots: bytes = field(init=False)

    def __post_init__(self) -> None:
        owners, cycles = dict[Gap, int](), (self.compute_cycles, self.tensor_cycles)
        rows, gaps, constants = list[bytes](), self.gaps, self.constants
        for number, each in enumerate(constants):
            owners |= dict.fromkeys(each.gaps, number)
            tasks = 1 if self.is_chain or each.is_loaded_again else self.tasks // each.pieces
            numbers = each.pieces, tasks, each.piece_bytes, each.piece_cycles, each.is_loaded_again
            rows.append(_CONSTANTS.pack(*numbers, len(each.gaps)))
        self.pieces = sum([each.pieces for each in constants])
        self.most_cycles = sum([*cycles, *[each.pieces * each.piece_cycles for each in constants]])
        self.constant_slots = b"".join(rows)
        self.range_slots = b"".join([_RANGE.pack(*gap, owners.get(gap, NONE)) for gap in gaps])
        counts = len(gaps), len(constants)
        self.slots = _SEGMENT.pack(self.tasks, self.is_chain, *self.units, *cycles, self.port_cycles, *counts)


class PackedNodes:
    """A node or a chain whose buffers fit between the tensors in SRAM: by node its problem, its tiling, the
    addresses of its buffers, and what those of constants occupy; what all occupies; for a chain its pieces
    and the addresses of the buffers between nodes."""

    def __init__(
        self,
        problems: Sequence[TilingProblem],
        tilings: Sequence[Tiling],
        buffers: Sequence[tuple[tuple[int, ...], ...]],
        constant_gaps: Sequence[Sequence[Gap]],
        gaps: Sequence[Gap],
        used_bytes: int,
        chain: ChainTiling | None = None,
        inner: tuple[int, ...] = (),
    ) -> None:
        self.problems, self.tilings, self.buffers = problems, tilings, buffers
        self.gaps, self.used_bytes, self.chain, self.inner = gaps, used_bytes, chain, inner
        self._constant_gaps = constant_gaps
        self._on, self._slots = dict[MachineModel, PackedSegment](), b""

    @property
    def slots(self) -> bytes:
        """By node the tasks, and the slots of its tile shape and of its buffers' addresses, for emission."""
        if not self._slots:
            self._slots = self._list_slots()
        return self._slots

    def _list_slots(self) -> bytes:
        each_node = zip(self.tilings, self.buffers, strict=True)
        return b"".join(
            [
                _TILE.pack(tiling.tasks, *tiling.tile_shape[:5]) + buffer_slots(buffers)
                for tiling, buffers in each_node
            ]
        )

    @property
    def rounds(self) -> int:
        """Its tasks, or what a chain has instead."""
        return self.tilings[0].tasks if self.chain is None else self.chain.layout.rounds

    def with_tiling(self, tiling: Tiling) -> PackedNodes:
        """A single node cut in another way that fits into the same buffers."""
        same = self.buffers, self._constant_gaps, self.gaps, self.used_bytes
        return PackedNodes(self.problems, (tiling,), *same)

    def on(self, machine: MachineModel) -> PackedSegment:
        """What it computes and loads on a machine; found once for equal nodes of a plan."""
        found = self._on.get(machine)
        if found is None:
            found = self._on[machine] = self._find(machine)
        return found

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

    def _find(self, machine: MachineModel) -> PackedSegment:
        chain, constants, tasks = self.chain, list[Constants](), self.rounds
        nodes = list(zip(self.problems, self.tilings, strict=True))
        facts = [problem.facts(tiling, tasks, machine) for problem, tiling in nodes]
        for number, each in enumerate(facts):
            if each.piece_cycles:
                sizes = each.pieces, each.piece_bytes, each.piece_cycles
                constants.append(Constants(number, *sizes, self._constant_gaps[number], each.loads_again > 0))
        tensors = facts[0].tensor_cycles + facts[0].loads_again * facts[0].piece_cycles
        return PackedSegment(
            self.gaps,
            constants,
            tasks,
            self.busiest([each.compute_cycles for each in facts]),
            tensors if chain is None else chain.tensor_cycles,
            sum([each.port_cycles for each in facts]),
            chain is not None,
            (self.problems[0].unit, self.problems[-1].unit),
        )
