"""The command words of a program as they grow, node by node and stream by stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from dlasim.compiler_shim.lowering.emission.streams import EMIT, LOADS
from dlasim.compiler_shim.lowering.stripes import Chain
from dlasim.isa.file_records import SLICE, SPAN
from dlasim.isa.instructions import UNITS
from dlasim.native.backend import Backend
from dlasim.native.number_memory import NumberMemory
from dlasim.native.shipped import SHIPPED
from dlasim.native.storage import RecordMemory, bind, create

_WORDS_PER_OPERATION = MAX_FIXED + MAX_REGISTERS + len(UNITS)  # with one for itself, a wait for each other

_OPERATIONS_AT_A_TIME = 1 << 12  # room for more than these may never be filled


class Later(NamedTuple):
    """After so many tiles, pieces of a later node's constants are loaded."""

    tiles: int
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
        }
        self._packed: dict[tuple[object, ...], list[int]] = {}  # offsets of the pieces of constants
        self._addresses: list[int] = []
        self._ahead: dict[int, list[int]] = {}  # offsets in the pool of what came ahead, by node
        self._pool, self._keeps_slices = pool, keeps_slices
        self.streams: list[tuple[int, int]] = []

    def node(self, allocated: AllocatedNode, later: Sequence[Later] = ()) -> None:
        """All tiles of a node, and between them loads for later nodes."""
        repeats = allocated.cut.channels if allocated.node.one_by_one else 1
        self._offsets.put(0, self._known_offsets(allocated))
        self._stream.nodes[0] = allocated.record(0, 0)
        operations = allocated.passes * (len(allocated.inputs) + 1 + repeats) + 1
        self._emit(1, allocated.tiles, operations, later)
        self._note(allocated, 0)

    def chain(self, chain: Chain, members: Sequence[AllocatedNode], later: Sequence[Later] = ()) -> None:
        """All stripes of a chain, and between them loads for later nodes."""
        self._offsets.put(0, [self._known_offsets(allocated)[0] for allocated in members])
        self._stream.between_addresses[: len(chain.inner_addresses)] = chain.inner_addresses
        for number, allocated in enumerate(members):
            self._stream.nodes[number] = allocated.record(number, number)
        schedule = [rows for stripe in chain.schedule for rows in stripe]
        self._stripes.put([StripeRows(*rows, rows.kept) for rows in schedule])
        repeats = sum(allocated.cut.channels if allocated.node.one_by_one else 1 for allocated in members)
        self._emit(len(members), len(chain.schedule), repeats + 4 * len(members) + 1, later)
        for number, allocated in enumerate(members):
            self._note(allocated, number)

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

    def _emit(self, nodes: int, tiles: int, operations: int, later: Sequence[Later] = ()) -> None:
        """All tiles, or stripes; one is no more than so many operations."""
        first = 0
        for load in later:
            self._emit_tiles(nodes, first, load.tiles, operations)
            self._emit_loads(load)
            first = load.tiles
        self._emit_tiles(nodes, first, tiles, operations)

    def _emit_tiles(self, nodes: int, first: int, stop: int, operations: int) -> None:
        self._stream.pool_bytes = self._pool.size_bytes
        piece = -(-_OPERATIONS_AT_A_TIME // operations)
        for start in range(first, stop, piece):
            end = min(start + piece, stop)
            self._reserve((end - start) * operations)
            self._run(self._stream, nodes, start, end)
        self._pool.size_bytes = self._stream.pool_bytes

    def _emit_loads(self, load: Later) -> None:
        """Load pieces of a later node's constants, which get their offsets in the pool now."""
        numbers = range(load.first, load.first + load.pieces)
        offsets = [self._pool.reserve(load.node.constant_bytes(number)) for number in numbers]
        self._ahead.setdefault(load.node.step, []).extend(offsets)
        self._loads.put(load.node.loads(load.first, offsets))
        self._reserve(len(offsets))
        self._run(self._stream, LOADS, 0, len(offsets))

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
