"""The order in which the tiles of a node, or the stripes of a chain, are loaded, computed and stored."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.emission.layout import (
    COMPUTES,
    FILE,
    FINGERPRINT,
    FIXED,
    H_OFFSET,
    HALT_WORD,
    HOME_LENGTH,
    INNER,
    IS_OPEN,
    ISSUED,
    N_CHANNELS,
    N_CHANNELS_OUTER,
    N_COLUMNS,
    N_DEPTH,
    N_GROUP,
    N_HEIGHT,
    N_HOMES,
    N_PASS,
    N_ROWS,
    N_WIDTH,
    NEWEST,
    NODE_LENGTH,
    NODES,
    NONE,
    OPERATION_LENGTH,
    OPERATIONS,
    OUTPUT_HOME,
    REQUIRE_CONFIG,
    SCHEDULE,
    SPARE,
    STORE,
    STORES,
    STRIPE_LENGTH,
    TILE,
    UNSET,
    USED,
    WORDS,
)
from dlasim.compiler_shim.lowering.emission.operations import copy, put_box
from dlasim.compiler_shim.lowering.emission.tiles import place_output, tile
from dlasim.compiler_shim.lowering.emission.words import configure, flush, in_order
from dlasim.isa.instructions import UNITS
from dlasim.native.routine import Numbers, Routine, routine

_UNITS = len(UNITS)
_FIRST_STORE, _SECOND_STORE = STORES


@routine
def emit(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, offsets: Numbers,
    members: int, first: int, end: int,
) -> int:  # fmt: skip
    """Write the words of some tiles of the node on the desk, of some stripes of a chain with several members,
    or without any the end of the stream. Returns how many words there are."""
    if not desk[IS_OPEN]:
        _begin(desk, words)
    if first == 0:
        desk[FIXED] = NONE
    if members == 0:
        _end(desk, flying, words, spans, slices)
    elif members == 1:
        _node(desk, flying, words, spans, slices, offsets, first, end)
    else:
        _chain(desk, flying, words, spans, slices, offsets, members, first, end)
    return desk[WORDS]


_LOWERING = "dlasim.compiler_shim.lowering"
EMIT = Routine(emit, "emission", (_LOWERING, f"{_LOWERING}.emission", "dlasim.isa"))


@routine
def _begin(desk: Numbers, words: Numbers) -> None:
    """A stream in which nothing is known yet: neither registers nor what is in flight."""
    for at in range(FILE, OPERATIONS):
        desk[at] = UNSET
    for unit in range(_UNITS):
        desk[ISSUED + unit], desk[NEWEST + unit] = 0, NONE
    desk[SPARE], desk[USED], desk[STORE], desk[IS_OPEN] = NONE, 0, NONE, 1
    configure(desk, words, REQUIRE_CONFIG, desk[FINGERPRINT])


@routine
def _end(desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers) -> None:
    flush(desk, flying, words, spans, slices)
    words[desk[WORDS]] = HALT_WORD
    desk[WORDS] += 1
    desk[IS_OPEN] = 0


@routine
def _node(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, offsets: Numbers,
    first: int, end: int,
) -> None:  # fmt: skip
    rows, columns, group = desk[NODES + N_ROWS], desk[NODES + N_COLUMNS], desk[NODES + N_GROUP]
    across = -(-desk[NODES + N_WIDTH] // columns)
    spots, groups = -(-desk[NODES + N_HEIGHT] // rows) * across, -(-desk[NODES + N_CHANNELS] // group)
    for number in range(first, end):
        if desk[NODES + N_CHANNELS_OUTER]:
            spot, channel = number % spots, number // spots
        else:
            spot, channel = number // groups, number % groups
        row, column = spot // across, spot % across
        _tile(
            desk, flying, words, spans, slices, offsets, row * rows, column * columns, channel * group
        )  # fmt: skip


@routine
def _tile(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, offsets: Numbers,
    row: int, column: int, channel: int,
) -> None:  # fmt: skip
    """A tile, in passes over the input channels; only the last has results."""
    rows = min(desk[NODES + N_ROWS], desk[NODES + N_HEIGHT] - row)
    columns = min(desk[NODES + N_COLUMNS], desk[NODES + N_WIDTH] - column)
    channels = min(desk[NODES + N_GROUP], desk[NODES + N_CHANNELS] - channel)
    put_box(desk, TILE, row, column, channel, rows, columns, channels)
    whole, size = desk[NODES + N_DEPTH], desk[NODES + N_PASS]
    store = _free_store(desk)
    address, is_stored = place_output(desk, NODES, store)
    for start in range(0, whole, size):
        depth = min(size, whole - start)
        tile(
            desk, flying, words, spans, slices, offsets, NODES, COMPUTES, start, depth, address, is_stored
        )  # fmt: skip
        in_order(desk, flying, words, spans, slices, COMPUTES)
        flush(desk, flying, words, spans, slices)
    if is_stored:
        desk[STORE] = store


@routine
def _chain(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, offsets: Numbers,
    members: int, start: int, stop: int,
) -> None:  # fmt: skip
    """For each stripe all loads, then all computations, then the store of what the last node computes."""
    for stripe in range(start, stop):
        store, count, is_stored = _free_store(desk), 0, 0
        for member in range(members):
            node = NODES + member * NODE_LENGTH
            at = SCHEDULE + (stripe * members + member) * STRIPE_LENGTH
            first, end = desk[at], desk[at + 1]
            if member + 1 < members:
                buffer, operation = desk[INNER + member], COMPUTES + count * OPERATION_LENGTH
                count += _turn_buffer(desk, node, buffer, desk[at + 2], desk[at + 3], desk[at + 4], operation)
            if end > first:
                put_box(desk, TILE, first, 0, 0, end - first, desk[node + N_WIDTH], desk[node + N_CHANNELS])
                address, is_stored = place_output(desk, node, store)
                tile(
                    desk, flying, words, spans, slices, offsets, node, COMPUTES + count * OPERATION_LENGTH,
                    0, desk[node + N_DEPTH], address, is_stored,
                )  # fmt: skip
                count += 1
        for number in range(count):
            in_order(desk, flying, words, spans, slices, COMPUTES + number * OPERATION_LENGTH)
        flush(desk, flying, words, spans, slices)
        if is_stored:
            desk[STORE] = store


@routine
def _turn_buffer(
    desk: Numbers, node: int, buffer: int, old_base: int, base: int, kept: int, operation: int
) -> int:
    """The buffer behind a node begins with row `base` from now on: tells the node and its follower, and moves
    the rows that are still needed; returns how many operations that takes."""
    size = desk[node + N_WIDTH] * desk[node + N_CHANNELS]
    desk[node + N_HOMES + OUTPUT_HOME * HOME_LENGTH + H_OFFSET] = buffer - base * size
    desk[node + NODE_LENGTH + N_HOMES + H_OFFSET] = buffer - base * size
    if kept:
        copy(desk, operation, node, buffer + (base - old_base) * size, buffer, kept * size)
    return 1 if kept else 0


@routine
def _free_store(desk: Numbers) -> int:
    """The one of two that is not put off."""
    return _SECOND_STORE if desk[STORE] == _FIRST_STORE else _FIRST_STORE
