"""The command words of a program as they grow, stream by stream.

The routine that writes them runs once for each stream, or as often as it has used up its room. Segments, each
a node or a chain, wait for that as rows of numbers, the slots of the records that describe them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.constants import ConstantPool
from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedNodes
from dlasim.compiler_shim.lowering.addresses.sram_plan import Prefetch, PrefetchPlan, Segment
from dlasim.compiler_shim.lowering.emission.network_nodes import facts_memory
from dlasim.compiler_shim.lowering.emission.planned_nodes import PlannedNodes
from dlasim.compiler_shim.lowering.emission.records import (
    COMPUTATIONS,
    MAX_FIXED,
    MAX_REGISTERS,
    NONE,
    EmittedSegment,
    InFlight,
    Load,
    Place,
    Slice,
    Span,
    StreamBuilder,
    StripeRows,
)
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.lowering.segments.chains import Rows
from dlasim.isa.file_records import SLICE, SPAN
from dlasim.isa.instruction_rows import UNITS
from dlasim.native.storage import Store
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import packs_weights, queue_depth

_WORDS_PER_OPERATION = MAX_FIXED + MAX_REGISTERS + len(UNITS)  # with one for itself, a wait for each other

_OPERATIONS_AT_A_TIME = 1 << 12  # room for more than these may never be filled


class Emitter:
    """Writes nodes and chains when `halt` ends their stream."""

    def __init__(
        self,
        network: PlacedNetwork,
        nodes: PlannedNodes,
        places: Store[Place],
        pool: ConstantPool,
        config: DlaConfig,
        keeps_slices: bool,
    ) -> None:
        """`keeps_slices` for debug slices, and for the bytes of constants."""
        self._stream = StreamBuilder()
        self._stream.keeps_slices, self._stream.fingerprint = int(keeps_slices), config.fingerprint
        self._unpacks = packs_weights(config)
        self._stream.unpacks = int(self._unpacks)
        self._stream.most_ahead = queue_depth(config)  # with more, loads would wait to be issued
        self._words, self._segments, self._stripes, self._loads = (
            Store(int),
            Store(EmittedSegment),
            Store(StripeRows),
            Store(Load),
        )
        self._in_flight, self._spans, self._slices = Store(InFlight), Store(Span), Store(Slice)
        self._memories: dict[str, Store[Any]] = {
            "facts": facts_memory(network),
            "nodes": nodes.records,
            "places": places,
            "segments": self._segments,
            "stripes": self._stripes,
            "loads": self._loads,
            "in_flight": self._in_flight,
            "words": self._words,
            "spans": self._spans,
            "slices": self._slices,
            "constant_offsets": nodes.constant_offsets,
            "coded_words": nodes.coded_words,
            "coded_steps": nodes.coded_steps,
            "prefetch_addresses": nodes.prefetch_addresses,
        }
        self._pool, self._nodes, self._keeps_slices = pool, nodes, keeps_slices
        self._repeats, self._operations_of = nodes.repeats.tolist(), nodes.operations.tolist()
        self._segment_rows: list[tuple[int, ...]] = []  # this and the following: of what waits
        self._stripe_rows: list[Rows] = []
        self._load_rows: list[Prefetch] = []
        self._steps: list[int] = []
        self._operations = self._most_operations = 0  # in all, and of one task with its loads
        self._puts_off = False
        self.streams: list[tuple[int, int]] = []

    def preload(self) -> None:
        """Load all constants that stay in SRAM."""
        loads = [Prefetch(step, 0, 0, int(self._nodes.pieces[step])) for step in self._nodes.kept_steps]
        self._add_segment(0, 0, 1, 0, 1, loads)

    def add(self, parts: Sequence[tuple[Segment, PackedNodes]], prefetches: PrefetchPlan) -> None:
        """All tasks of nodes, and all rounds of chains; between them loads for later tasks. Where a segment
        is to load first, tasks that follow may load before a task computes."""
        repeats, operations = self._repeats, self._operations_of
        for steps, nodes in parts:
            step, loads = steps[0], prefetches.loads.get(steps[0], ())
            chain, rounds = nodes.cut.chain, nodes.cut.rounds
            is_first = step in prefetches.load_first and all(repeats[each] == 1 for each in steps)
            self._puts_off |= is_first
            if chain is None:
                self._add_segment(step, 1, rounds, 0, operations[step], loads, is_first)
            else:
                layout, most = chain.layout, sum([repeats[each] for each in steps]) + 4 * len(steps) + 1
                self._add_segment(step, len(steps), rounds, layout.groups, most, loads, is_first)
                for stripe in layout.schedule:
                    self._stripe_rows += stripe
            self._steps += steps

    def halt(self) -> None:
        """End the stream."""
        self._add_segment(0, 0, 1, 0, 1, ())
        self._flush()
        first = sum(self.streams[-1]) if self.streams else 0
        self.streams.append((first, self._stream.word_count - first))

    def _flush(self) -> None:
        """Write what waits. Its constants are in the pool after that, and others can follow."""
        stream = self._stream
        self._describe()
        stream.segment_count, stream.segment, stream.task = len(self._segment_rows), 0, 0
        stream.pool_bytes = self._pool.size_bytes
        most = self._most_operations  # also for the last task there must seem to be room
        room = min(self._operations + most, max(most, _OPERATIONS_AT_A_TIME))
        is_left = 1
        while is_left:
            self._reserve(room)
            is_left = EMIT(stream)
        self._pool.size_bytes = stream.pool_bytes
        if self._keeps_slices:
            self._note()
        self._segment_rows, self._stripe_rows, self._load_rows, self._steps = [], [], [], []
        self._operations = self._most_operations = 0
        self._puts_off = False

    @property
    def words(self) -> NDArray[np.uint64]:
        """The command words."""
        return self._words.array(self._stream.word_count).view(np.uint64)

    @property
    def spans(self) -> NDArray[np.void]:
        """Which words belong to which layer."""
        return self._spans.array(self._stream.span_count).astype("<u4").view(SPAN.dtype).ravel()

    @property
    def slices(self) -> NDArray[np.void]:
        """What each compute instruction writes of a tensor."""
        return self._slices.array(self._stream.slice_count).astype("<u4").view(SLICE.dtype).ravel()

    def _add_segment(
        self,
        step: int,
        nodes: int,
        tasks: int,
        groups: int,
        operations: int,
        loads: Sequence[Prefetch],
        is_load_first: bool = False,
    ) -> None:
        """Let a segment wait. A task is no more than so many operations, loads for later tasks apart, and
        computations and stores that were put off."""
        operations += 2 * COMPUTATIONS * self._puts_off
        stripe, load, pieces = len(self._stripe_rows), len(self._load_rows), 0
        if loads:
            self._load_rows += loads
            pieces = sum([each.pieces for each in loads])
        most = operations + pieces
        row = step, nodes, tasks, groups, stripe, load, len(loads), is_load_first, most
        self._segment_rows.append(row)
        self._operations += tasks * operations + pieces
        if most > self._most_operations:
            self._most_operations = most

    def _describe(self) -> None:
        """Put what waits where the routine finds it, with room for the offsets of its constants."""
        self._segments.write(0, [number for row in self._segment_rows for number in row])
        self._stripes.write(0, [number for row in self._stripe_rows for number in row])
        self._loads.write(0, [number for row in self._load_rows for number in row])

    def _reserve(self, operations: int) -> None:
        """Make room for this many more operations."""
        stream = self._stream
        used = stream.used_slots if stream.is_open else 0
        words = stream.word_count
        self._in_flight.reserve(used + operations, used)
        self._words.reserve(words + operations * _WORDS_PER_OPERATION, words)
        self._spans.reserve(stream.span_count + operations, stream.span_count)
        if self._keeps_slices:
            self._slices.reserve(stream.slice_count + operations, stream.slice_count)
        stream.operation_limit = stream.operation_count + operations
        for name, memory in self._memories.items():
            setattr(stream, name, memory.pointer)

    def _note(self) -> None:
        """Tell the pool what the pieces of constants are made of."""
        for step in self._steps:
            first, nodes = int(self._nodes.first[step]), self._nodes
            pieces = int(nodes.pieces[step])
            for number, offset in enumerate(nodes.constant_offsets.take(first, first + pieces)):
                if offset != NONE:
                    self._pool.note(offset, nodes.pack(step, number, self._unpacks))
