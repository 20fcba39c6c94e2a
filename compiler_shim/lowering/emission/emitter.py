"""The command words of a program: all its streams by one call of the routine that writes them, or by as many
as use up its room.

Segments, each a node or a chain, are rows of numbers, the slots of the records that describe them. The memory
of one program serves for the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.constants import ConstantPool
from dlasim.compiler_shim.lowering.addresses.sram_plan import Prefetch, SramPlan
from dlasim.compiler_shim.lowering.emission.network_nodes import (
    constant_operands,
    facts_memory,
    value_bytes,
)
from dlasim.compiler_shim.lowering.emission.planned_nodes import EmissionMemory, PlannedNodes
from dlasim.compiler_shim.lowering.emission.records import (
    COMPUTATIONS,
    MAX_FIXED,
    MAX_REGISTERS,
    NONE,
    EmittedSegment,
    Load,
    Place,
    StreamBuilder,
    StripeRows,
)
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.isa.file_records import SLICE, SPAN
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.registers import Region
from dlasim.native.record import layout
from dlasim.native.storage import Store, pointer_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import packs_weights, queue_depth

_WORDS_PER_OPERATION = MAX_FIXED + MAX_REGISTERS + len(UNITS)  # with one for itself, a wait for each other

_OPERATIONS_AT_A_TIME = 1 << 12  # room for more than these may never be filled
_SEGMENT = layout(EmittedSegment).fields
_STEP, _NODES, _TASKS, _GROUPS, _STRIPE, _LOAD, _LOADS, _LOAD_FIRST, _OPERATIONS, _VALUE, _VALUES = (
    each.slot for each in _SEGMENT.values()
)


class Emitter:
    """Writes the streams of a plan. Steps of each stream follow each other in `runs`; the constants that host
    calls read before each, and after the last, are `pooled`."""

    def __init__(
        self,
        network: PlacedNetwork,
        nodes: PlannedNodes,
        places: Store[Place],
        config: DlaConfig,
        keeps_slices: bool,
        memory: EmissionMemory,
    ) -> None:
        self._network, self._nodes, self._places, self._memory = network, nodes, places, memory
        self._unpacks, self._keeps_slices = packs_weights(config), keeps_slices
        stream = self._stream = StreamBuilder()
        stream.keeps_slices, stream.fingerprint = int(keeps_slices), config.fingerprint
        stream.unpacks = int(self._unpacks)
        stream.most_ahead = queue_depth(config)  # with more, loads would wait to be issued

    def write(self, plan: SramPlan, runs: Sequence[Sequence[int]], pooled: Sequence[Sequence[int]]) -> None:
        """Write all words."""
        segments = _SegmentRows(self._network, self._nodes, plan, runs, pooled)
        stream, nodes = self._stream, self._nodes
        self._memory.ends.reserve(len(runs) + 1, 0)
        fixed: dict[str, Store[Any]] = {
            "facts": facts_memory(self._network),
            "nodes": nodes.records,
            "places": self._places,
            "ends": self._memory.ends,
            "value_bytes": value_bytes(self._network),
            "constant_offsets": nodes.constant_offsets,
            "coded_words": nodes.coded_words,
            "coded_steps": nodes.coded_steps,
            "prefetch_addresses": nodes.prefetch_addresses,
        }
        for name, store in fixed.items():
            setattr(stream, name, store.pointer)
        stream.segments, stream.segment_count = pointer_to(segments.rows, EmittedSegment), len(segments.rows)
        stream.values = pointer_to(np.array(segments.values, np.int64))
        stream.stripes = pointer_to(np.array(segments.stripes, np.int64), StripeRows)
        stream.loads = pointer_to(np.array(segments.loads, np.int64), Load)
        self._run(segments.rows)

    def _run(self, rows: NDArray[np.int64]) -> None:
        """Call the routine until nothing is left."""
        most = int(rows[:, _OPERATIONS].max())  # also for the last task there must seem to be room
        operations = int((rows[:, _TASKS] * rows[:, _OPERATIONS]).sum())
        room, is_left = min(operations + most, max(most, _OPERATIONS_AT_A_TIME)), 1
        while is_left:
            self._reserve(room)
            is_left = EMIT(self._stream)

    def _reserve(self, operations: int) -> None:
        """Make room for this many more operations."""
        stream, memory = self._stream, self._memory
        used = stream.used_slots if stream.is_open else 0
        words = stream.word_count
        memory.in_flight.reserve(used + operations, used)
        memory.words.reserve(words + operations * _WORDS_PER_OPERATION, words)
        memory.spans.reserve(stream.span_count + operations, stream.span_count)
        if self._keeps_slices:
            memory.slices.reserve(stream.slice_count + operations, stream.slice_count)
        stream.operation_limit = stream.operation_count + operations
        stream.in_flight, stream.words = memory.in_flight.pointer, memory.words.pointer
        stream.spans, stream.slices = memory.spans.pointer, memory.slices.pointer

    @property
    def words(self) -> NDArray[np.uint64]:
        """The command words, until another program is written."""
        return self._memory.words.view()[: self._stream.word_count].view(np.uint64)

    @property
    def streams(self) -> list[tuple[int, int]]:
        """The first word of each stream, and how many there are."""
        ends = self._memory.ends.take(0, self._stream.stream_count)
        return [(first, end - first) for first, end in zip([0, *ends], ends, strict=False)]

    @property
    def spans(self) -> NDArray[np.void]:
        """Which words belong to which layer."""
        return self._memory.spans.array(self._stream.span_count).astype("<u4").view(SPAN.dtype).ravel()

    @property
    def slices(self) -> NDArray[np.void]:
        """What each compute instruction writes of a tensor."""
        return self._memory.slices.array(self._stream.slice_count).astype("<u4").view(SLICE.dtype).ravel()

    @property
    def pool_bytes(self) -> int:
        """The bytes of all constants."""
        return self._stream.pool_bytes

    def pool(self) -> ConstantPool:
        """All constants in their places."""
        pool, nodes = ConstantPool(self.pool_bytes), self._nodes
        for value, (space, offset, _) in enumerate(self._places.view().tolist()):
            if space == Region.CONSTANTS:
                data = self._network.values[value].data
                assert data is not None, "nothing else is among the constants"
                pool.note(offset, data.tobytes)
        for step in nodes.steps:
            first, pieces = int(nodes.first[step]), int(nodes.pieces[step])
            for number, offset in enumerate(nodes.constant_offsets.take(first, first + pieces)):
                if offset != NONE:
                    pool.note(offset, nodes.pack(step, number, self._unpacks))
        return pool


class _SegmentRows:
    """The segments of a plan, and the end of each stream. A task is no more than its `operations`, with all
    loads for later tasks, and computations and stores that were put off."""

    def __init__(
        self,
        network: PlacedNetwork,
        nodes: PlannedNodes,
        plan: SramPlan,
        runs: Sequence[Sequence[int]],
        pooled: Sequence[Sequence[int]],
    ) -> None:
        self._network, self._nodes, self._plan = network, nodes, plan
        self.values, self.stripes, self.loads = list[int](), list[int](), list[int]()
        firsts = [steps[0] for steps in plan.parts]
        preload = 2 if plan.kept.addresses else 0  # rows for constants that stay in SRAM, and their end
        ends = np.searchsorted(firsts, [steps[-1] for steps in runs], "right")  # parts until each run's end
        numbers, sizes = np.arange(len(runs)), np.diff(ends, prepend=0)
        self._begins = (ends - sizes + numbers + preload).tolist()
        self._row_of_part = np.arange(len(firsts)) + np.repeat(numbers, sizes) + preload
        self.rows = np.zeros((preload + len(firsts) + len(runs) + 1, len(_SEGMENT)), np.int64)
        self.rows[:-1, _TASKS] = self.rows[:, _OPERATIONS] = 1  # the last row only gives values their places
        if firsts:
            found = self.rows[self._row_of_part]
            found[:, _STEP], found[:, _NODES], found[:, _TASKS] = firsts, 1, nodes.tasks[firsts]
            found[:, _OPERATIONS] = nodes.operations[firsts]
            self.rows[self._row_of_part] = found
        self._row_of = np.zeros(len(network.nodes), np.int64)
        self._row_of[firsts] = self._row_of_part
        self._add_chains()
        self._put_off()
        if preload:
            kept = [Prefetch(step, 0, 0, int(nodes.pieces[step])) for step in nodes.kept_steps]
            self._add_loads(0, kept)
        for step, loads in plan.prefetches.loads.items():
            self._add_loads(int(self._row_of[step]), loads)
        self._add_values(pooled, bool(preload))

    def _add_chains(self) -> None:
        repeats = self._nodes.repeats
        for step, chain in self._plan.chains.items():
            row, steps = self.rows[self._row_of[step]], list(chain.steps)
            self._row_of[steps] = self._row_of[step]
            row[_NODES], row[_GROUPS], row[_STRIPE] = len(steps), chain.groups, len(self.stripes) // 4
            row[_TASKS] = chain.groups + 1 if chain.groups else len(chain.schedule)
            row[_OPERATIONS] = repeats[steps].sum() + 4 * len(steps) + 1
            self.stripes += [number for stripe in chain.schedule for each in stripe for number in each]

    def _put_off(self) -> None:
        """Where a segment is to load first, tasks that follow may load before a task computes."""
        plan, repeats = self._plan, self._nodes.repeats
        for step in plan.prefetches.load_first:
            steps = plan.chains[step].steps if step in plan.chains else (step,)
            if (repeats[list(steps)] == 1).all():
                self.rows[self._row_of[step], _LOAD_FIRST] = 1
        if self.rows[:, _LOAD_FIRST].any():
            self.rows[:, _OPERATIONS] += 2 * COMPUTATIONS

    def _add_loads(self, number: int, loads: Sequence[Prefetch]) -> None:
        row = self.rows[number]
        row[_LOAD], row[_LOADS] = len(self.loads) // 4, len(loads)
        row[_OPERATIONS] += sum([each.pieces for each in loads])
        self.loads += [each for load in loads for each in load]

    def _add_values(self, pooled: Sequence[Sequence[int]], preloads: bool) -> None:
        """Give constants that are tensors to the first row of the stream before which they get their places:
        those that host calls before it read, and the operands of its nodes and of what it loads."""
        operands, (before, *later) = constant_operands(self._network), pooled
        used = [(int(self._row_of[step]), 0, step) for step in operands]
        for step, loads in self._plan.prefetches.loads.items() if operands else ():
            row = int(self._row_of[step])
            used += [
                (row, number, load.step) for number, load in enumerate(loads, 1) if load.step in operands
            ]
        used.sort(reverse=True)
        if preloads:
            self._place_values(0, [*before, *[each for step in operands for each in operands[step]]])
            before = []
        for begin, end, constants in zip(
            self._begins, [*self._begins[1:], len(self.rows)], (before, *later), strict=False
        ):
            found = list(constants)
            while used and used[-1][0] < end:
                found += operands[used.pop()[2]]
            self._place_values(begin, found)
        self._place_values(-1, pooled[-1] if self._begins else before)

    def _place_values(self, number: int, values: Iterable[int]) -> None:
        first = len(self.values)
        self.values += values
        if len(self.values) > first:
            self.rows[number, _VALUE], self.rows[number, _VALUES] = first, len(self.values) - first
