"""The command words of a program as they grow, node by node and stream by stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.constants import ConstantPool
from dlasim.compiler_shim.lowering.emission.layout import (
    FINGERPRINT,
    FLYING_LENGTH,
    INNER,
    IS_OPEN,
    IS_WITNESSED,
    MOST_FIXED,
    MOST_REGISTERS,
    NODE_LENGTH,
    NODES,
    NONE,
    POOL_BYTES,
    SCHEDULE,
    SLICE_LENGTH,
    SLICES,
    SPAN_LENGTH,
    SPANS,
    USED,
    WORDS,
)
from dlasim.compiler_shim.lowering.emission.rows import Placed
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.lowering.stripes import Chain
from dlasim.isa.instructions import UNITS
from dlasim.isa.records import SLICE, SPAN
from dlasim.native.routine import Memory

_WORDS_PER_OPERATION = MOST_FIXED + MOST_REGISTERS + len(UNITS)  # with one for itself, a wait for each other

_OPERATIONS_AT_A_TIME = 1 << 12  # room for more than these may never be filled


class Emitter:
    """Writes nodes and chains one after the other; `halt` ends a stream."""

    def __init__(self, pool: ConstantPool, fingerprint: int, is_witnessed: bool) -> None:
        """`is_witnessed` for debug slices, and for the bytes of constants."""
        is_compiled = EMIT.is_ready()
        self._desk, self._flying, self._words, self._spans, self._slices, self._offsets = (
            Memory(is_compiled) for _ in range(6)
        )
        self._pool, self._is_witnessed = pool, is_witnessed
        self.streams: list[tuple[int, int]] = []
        self._head = [0] * (USED + 1)
        self._head[IS_WITNESSED], self._head[FINGERPRINT] = int(is_witnessed), fingerprint
        self._desk.reserve(NODES, 0)
        self._desk.put(0, self._head)

    def node(self, placed: Placed) -> None:
        """All tiles of a node."""
        moves = placed.cut.channels if placed.node.one_by_one else 1
        pieces = placed.groups * placed.passes
        self._offsets.put(0, [NONE] * pieces)
        operations = placed.passes * (len(placed.inputs) + 1 + moves) + 1
        self._emit([placed.row(0)], placed.tiles, operations)
        self._note(placed, 0)

    def chain(self, chain: Chain, members: Sequence[Placed]) -> None:
        """All stripes of a chain."""
        self._offsets.put(0, [NONE] * len(members))
        self._desk.put(INNER, chain.inner_addresses)
        schedule = [number for stripe in chain.schedule for rows in stripe for number in (*rows, rows.kept)]
        self._desk.put(SCHEDULE, schedule)
        moves = sum(placed.cut.channels if placed.node.one_by_one else 1 for placed in members)
        rows = [placed.row(number) for number, placed in enumerate(members)]
        self._emit(rows, len(chain.schedule), moves + 4 * len(members) + 1)
        for number, placed in enumerate(members):
            self._note(placed, number)

    def halt(self) -> None:
        """End the stream."""
        first = sum(self.streams[-1]) if self.streams else 0
        self._emit([], 1, 1)
        self.streams.append((first, self._head[WORDS] - first))

    @property
    def words(self) -> NDArray[np.uint64]:
        """The command words."""
        return self._words.array(self._head[WORDS]).view(np.uint64)

    @property
    def spans(self) -> NDArray[np.void]:
        """Which words belong to which layer."""
        return _records(self._spans, self._head[SPANS] * SPAN_LENGTH, SPAN.dtype)

    @property
    def slices(self) -> NDArray[np.void]:
        """What each compute instruction writes of a tensor."""
        return _records(self._slices, self._head[SLICES] * SLICE_LENGTH, SLICE.dtype)

    def _emit(self, rows: list[list[int]], tiles: int, operations: int) -> None:
        """All tiles, or stripes; one is no more than so many operations."""
        self._desk.put(POOL_BYTES, [self._pool.size_bytes])
        for number, row in enumerate(rows):
            self._desk.put(NODES + number * NODE_LENGTH, row)
        piece = -(-_OPERATIONS_AT_A_TIME // operations)
        for first in range(0, tiles, piece):
            end = min(first + piece, tiles)
            self._reserve((end - first) * operations)
            EMIT(
                self._desk, self._flying, self._words, self._spans, self._slices, self._offsets,
                len(rows), first, end,
            )  # fmt: skip
            self._head = self._desk.take(0, USED + 1)
        self._pool.size_bytes = self._head[POOL_BYTES]

    def _reserve(self, operations: int) -> None:
        """Room for so many more."""
        head = self._head
        used = head[USED] if head[IS_OPEN] else 0
        self._flying.reserve(used + operations * FLYING_LENGTH, used)
        self._words.reserve(head[WORDS] + operations * _WORDS_PER_OPERATION, head[WORDS])
        self._spans.reserve((head[SPANS] + operations) * SPAN_LENGTH, head[SPANS] * SPAN_LENGTH)
        if self._is_witnessed:
            self._slices.reserve((head[SLICES] + operations) * SLICE_LENGTH, head[SLICES] * SLICE_LENGTH)

    def _note(self, placed: Placed, first: int) -> None:
        """Tell the pool what the pieces of a node's constants are made of."""
        if not self._is_witnessed:
            return
        offsets = self._offsets.take(first, first + placed.groups * placed.passes)
        for number, offset in enumerate(offsets):
            if offset != NONE:
                self._pool.note(offset, placed.pack(*divmod(number, placed.passes)))


def _records(memory: Memory, count: int, dtype: np.dtype[np.void]) -> NDArray[np.void]:
    return memory.array(count).astype("<u4").view(dtype)
