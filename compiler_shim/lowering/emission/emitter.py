"""The command words of a program as they grow, node by node and stream by stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.chains import Chain
from dlasim.compiler_shim.lowering.constants import ConstantPool
from dlasim.compiler_shim.lowering.emission.allocated_node import AllocatedNode
from dlasim.compiler_shim.lowering.emission.records import (
    MAX_FIXED,
    MAX_REGISTERS,
    NONE,
    InFlight,
    Load,
    Slice,
    Span,
    StreamBuilder,
    StripeRows,
)
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.isa.file_records import SLICE, SPAN
from dlasim.isa.instructions import UNITS
from dlasim.native.backend import Backend
from dlasim.native.number_memory import NumberMemory
from dlasim.native.shipped import SHIPPED
from dlasim.native.storage import RecordMemory, bind, create

_WORDS_PER_OPERATION = MAX_FIXED + MAX_REGISTERS + len(UNITS)  # with one for itself, a wait for each other

_OPERATIONS_AT_A_TIME = 1 << 12  # room for more than these may never be filled


class Later(NamedTuple):
    """After a task, or a round of a chain, some pieces of a node's constants are loaded for later tasks."""

    task: int
    node: AllocatedNode
    first: int
    pieces: int


class Emitter:
    """Writes nodes and chains one after the other; `halt` ends a stream."""

    def __init__(
        self, pool: ConstantPool, fingerprint: int, keeps_slices: bool, backend: Backend = SHIPPED
    ) -> None:
        """`keeps_slices` for debug slices, and for the bytes of constants."""
        self._run = backend.runner(EMIT)
        is_compiled = self._run.is_compiled
        self._stream = create(StreamBuilder, is_compiled)
        self._stream.keeps_slices, self._stream.fingerprint = int(keeps_slices), fingerprint
        self._words, self._offsets = NumberMemory(is_compiled), NumberMemory(is_compiled)
        self._ahead_addresses = NumberMemory(is_compiled)
        self._spans, self._slices = RecordMemory(Span, is_compiled), RecordMemory(Slice, is_compiled)
        self._stripes = RecordMemory(StripeRows, is_compiled)
        self._in_flight = RecordMemory(InFlight, is_compiled)
        self._loads = RecordMemory(Load, is_compiled)
        self._memories: dict[str, NumberMemory | RecordMemory[Any]] = {
            "words": self._words,
            "spans": self._spans,
            "slices": self._slices,
            "stripes": self._stripes,
            "loads": self._loads,
            "in_flight": self._in_flight,
            "constant_offsets": self._offsets,
            "ahead_addresses": self._ahead_addresses,
        }
        self._packed: dict[tuple[object, ...], list[int]] = {}  # offsets of the pieces of constants
        self._addresses: list[int] = []
        self._ahead: dict[int, list[int]] = {}  # offsets in the pool of what came ahead, by node
        self._pool, self._keeps_slices = pool, keeps_slices
        self.streams: list[tuple[int, int]] = []

    def node(self, allocated: AllocatedNode, later: Sequence[Later] = ()) -> None:
        """All tasks of a node, and between them loads for later tasks."""
        repeats = allocated.cut.channels if allocated.node.one_by_one else 1
        loads = self._list_loads(later)
        self._put_node(0, allocated, 0)
        operations = len(allocated.inputs) + 1 + repeats + 1
        self._emit(1, allocated.tasks, operations, loads)
        self._note(allocated, 0)

    def chain(self, chain: Chain, members: Sequence[AllocatedNode], later: Sequence[Later] = ()) -> None:
        """All rounds of a chain, and between them loads for later tasks."""
        stream, loads = self._stream, self._list_loads(later)
        stream.groups = chain.groups
        stream.between_addresses[: len(chain.inner_addresses)] = chain.inner_addresses
        first_constants = [0, *accumulate(allocated.groups * allocated.passes for allocated in members)]
        for number, allocated in enumerate(members):
            self._put_node(number, allocated, first_constants[number])
        schedule = [rows for stripe in chain.schedule for rows in stripe]
        self._stripes.put([StripeRows(*rows, rows.kept) for rows in schedule])
        repeats = sum(allocated.cut.channels if allocated.node.one_by_one else 1 for allocated in members)
        self._emit(len(members), chain.rounds, repeats + 4 * len(members) + 1, loads)
        for number, allocated in enumerate(members):
            self._note(allocated, first_constants[number])

    def _put_node(self, number: int, allocated: AllocatedNode, first_constant: int) -> None:
        """A node of what is emitted next, where its pieces of constants are in the pool, and which came
        ahead."""
        self._offsets.put(first_constant, self._known_offsets(allocated))
        if allocated.ahead:
            self._ahead_addresses.put(first_constant, allocated.ahead)
        self._stream.nodes[number].assign(allocated.record(number, first_constant))

    def halt(self) -> None:
        """End the stream."""
        first = sum(self.streams[-1]) if self.streams else 0
        self._emit(0, 1, 1)
        self.streams.append((first, self._stream.word_count - first))

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

    def _known_offsets(self, allocated: AllocatedNode) -> list[int]:
        """Where the pieces of a node's constants are in the pool: those that came ahead, or with an earlier
        image of a batch."""
        known = (
            self._ahead.pop(allocated.step) if allocated.ahead else self._packed.get(allocated.constants, [])
        )
        return [*known, *[NONE] * (allocated.groups * allocated.passes - len(known))]

    def _emit(self, nodes: int, tasks: int, operations: int, loads: Sequence[Load] = ()) -> None:
        """All tasks, or pieces of a chain; one is no more than so many operations."""
        stream = self._stream
        self._loads.put(loads)
        stream.load_count, stream.next_load = len(loads), 0
        stream.pool_bytes = self._pool.size_bytes
        piece = -(-_OPERATIONS_AT_A_TIME // operations)
        for start in range(0, tasks, piece):
            end = min(start + piece, tasks)
            self._reserve((end - start) * operations + len(loads) - stream.next_load)  # also for the last
            self._run(stream, nodes, start, end)
        self._pool.size_bytes = stream.pool_bytes

    def _list_loads(self, later: Sequence[Later]) -> list[Load]:
        """Loads of pieces of constants, which get their offsets in the pool now."""
        loads: list[Load] = []
        for each in later:
            numbers = range(each.first, each.first + each.pieces)
            offsets = [self._pool.reserve(each.node.constant_bytes(number)) for number in numbers]
            self._ahead.setdefault(each.node.step, []).extend(offsets)
            loads += each.node.loads(each.task, each.first, offsets)
        return loads

    def _reserve(self, operations: int) -> None:
        """Room for so many more."""
        stream = self._stream
        used = stream.used_slots if stream.is_open else 0
        words = stream.word_count
        self._in_flight.reserve(used + operations, used)
        self._words.reserve(words + operations * _WORDS_PER_OPERATION, words)
        self._spans.reserve(stream.span_count + operations, stream.span_count)
        if self._keeps_slices:
            self._slices.reserve(stream.slice_count + operations, stream.slice_count)
        addresses = [memory.address for memory in self._memories.values()]
        if addresses != self._addresses:
            self._addresses = addresses
            for name, memory in self._memories.items():
                bind(stream, name, memory)

    def _note(self, allocated: AllocatedNode, first: int) -> None:
        """Tell the pool what the pieces of a node's constants are made of."""
        offsets = self._offsets.take(first, first + allocated.groups * allocated.passes)
        self._packed[allocated.constants] = offsets
        if not self._keeps_slices:
            return
        for number, offset in enumerate(offsets):
            if offset != NONE:
                self._pool.note(offset, allocated.pack(*divmod(number, allocated.passes)))
