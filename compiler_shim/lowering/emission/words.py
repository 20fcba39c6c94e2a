"""Writes command words: only registers that changed, and only the waits that a data dependence needs.

Every operation comes with the memory it touches. Emission knows which operations a WAIT has shown to be
complete, and before an operation that conflicts with one still in flight on another unit it writes the
weakest WAIT that orders the two. Conflicts are judged on address ranges, and on channel slices within
interleaved ranges; what this calls a conflict may still be none, never the other way round.

Results are stored late, so that the units overlap: a tile computes; then the results of the tile before are
stored; then the next tile is loaded. Where a load or a computation touches what a store that was put off
still reads or writes, the store comes first: the order of dependent accesses never changes.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.emission.layout import (
    BOX_LENGTH,
    CFG_REGISTER,
    CFG_VALUE,
    CFG_WORD,
    F_NUMBER,
    F_OLDER,
    F_TOUCH,
    F_TOUCHES,
    FILE,
    FIXED,
    FLYING_LENGTH,
    H_BYTES,
    HOME_LENGTH,
    IS_WITNESSED,
    ISSUED,
    MOST_OUTSTANDING,
    N_FIXED,
    N_HOMES,
    N_MULTIPLIER,
    N_PAIRS,
    N_UNIT_WEIGHTS,
    NEWEST,
    NONE,
    O_BOX,
    O_LAYER,
    O_MOVES,
    O_NODE,
    O_PAIRS,
    O_REGISTERS,
    O_TENSOR,
    O_TOUCH,
    O_TOUCHES,
    O_UNIT,
    O_WORD,
    OUTPUT_HOME,
    R_CHANNEL,
    SLICE_LENGTH,
    SLICES,
    SPAN_LENGTH,
    SPANS,
    SPARE,
    STORE,
    T_END,
    T_PHASE,
    T_RUN,
    T_SPACE,
    T_START,
    T_STRIDE,
    T_WRITES,
    TOUCH_LENGTH,
    USED,
    WAIT_OUTSTANDING,
    WAIT_UNIT,
    WAIT_WORD,
    WORDS,
    register,
)
from dlasim.isa.instructions import RECORD_BYTES, UNITS, Unit
from dlasim.native.routine import Numbers, routine

_UNITS = len(UNITS)
_MAC, _VECTOR = int(Unit.MAC), int(Unit.VECTOR)
_IN, _OUT, _WEIGHTS, _RECORDS = (register(f"{name}_ADDR") for name in ("IN", "OUT", "WEIGHT", "PARAM"))
_LOW = 0xFFFF_FFFF


@routine
def conflict(one: Numbers, at: int, other: Numbers, there: int) -> int:
    """Whether two touches may meet in a byte that one of them writes."""
    if one[at + T_SPACE] != other[there + T_SPACE] or one[at + T_END] <= other[there + T_START]:
        return 0
    if other[there + T_END] <= one[at + T_START] or not (one[at + T_WRITES] or other[there + T_WRITES]):
        return 0
    stride = one[at + T_STRIDE]
    if stride and stride == other[there + T_STRIDE]:
        apart = (other[there + T_PHASE] - one[at + T_PHASE]) % stride
        return 1 if apart < one[at + T_RUN] or stride - apart < other[there + T_RUN] else 0
    return 1


@routine
def in_order(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, operation: int
) -> None:
    """Write an operation, and all its repetitions; before it the store that was put off, where they meet."""
    for move in range(desk[operation + O_MOVES]):
        if move:
            _move(desk, operation, move)
        store = desk[STORE]
        if store != NONE and (_meet(desk, operation, store) or _waits_for_compute(desk, flying, operation)):
            flush(desk, flying, words, spans, slices)
        _emit(desk, flying, words, spans, slices, operation)


@routine
def flush(desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers) -> None:
    """Write the store that was put off, if there is one."""
    store = desk[STORE]
    if store != NONE:
        desk[STORE] = NONE
        _emit(desk, flying, words, spans, slices, store)


@routine
def configure(desk: Numbers, words: Numbers, number: int, value: int) -> None:
    """Write an operand register unless it holds the value already."""
    if desk[FILE + number] != value:
        desk[FILE + number] = value
        words[desk[WORDS]] = (CFG_WORD + number * CFG_REGISTER) | (value & _LOW) << CFG_VALUE
        desk[WORDS] += 1


@routine
def _move(desk: Numbers, operation: int, move: int) -> None:
    """The same one channel further."""
    node = desk[operation + O_NODE]
    for at in range(operation + O_PAIRS, operation + O_PAIRS + 2 * desk[operation + O_REGISTERS], 2):
        number = desk[at]
        if number == _IN:
            if move % desk[node + N_MULTIPLIER] == 0:
                desk[at + 1] += desk[node + N_HOMES + H_BYTES]
        elif number == _OUT:
            desk[at + 1] += desk[node + N_HOMES + OUTPUT_HOME * HOME_LENGTH + H_BYTES]
        elif number == _WEIGHTS:
            desk[at + 1] += desk[node + N_UNIT_WEIGHTS]
        elif number == _RECORDS:
            desk[at + 1] += RECORD_BYTES
    desk[operation + O_BOX + R_CHANNEL] += 1


@routine
def _meet(desk: Numbers, operation: int, store: int) -> int:
    """Whether an operation touches what the store does."""
    first, others = operation + O_TOUCH, store + O_TOUCH
    for at in range(first, first + TOUCH_LENGTH * desk[operation + O_TOUCHES], TOUCH_LENGTH):
        for there in range(others, others + TOUCH_LENGTH * desk[store + O_TOUCHES], TOUCH_LENGTH):
            if conflict(desk, at, desk, there):
                return 1
    return 0


@routine
def _waits_for_compute(desk: Numbers, flying: Numbers, operation: int) -> int:
    """Whether the operation conflicts with compute that is still in flight."""
    unit = desk[operation + O_UNIT]
    if unit != _MAC and _latest(desk, flying, operation, _MAC) >= 0:
        return 1
    return 1 if unit != _VECTOR and _latest(desk, flying, operation, _VECTOR) >= 0 else 0


@routine
def _latest(desk: Numbers, flying: Numbers, operation: int, unit: int) -> int:
    """The number of the unit's newest operation that this one conflicts with, or NONE."""
    first = operation + O_TOUCH
    last = first + TOUCH_LENGTH * desk[operation + O_TOUCHES]
    flight = desk[NEWEST + unit]
    while flight != NONE:
        others = flight + F_TOUCH
        for there in range(others, others + TOUCH_LENGTH * flying[flight + F_TOUCHES], TOUCH_LENGTH):
            space, start, end = flying[there + T_SPACE], flying[there + T_START], flying[there + T_END]
            for at in range(first, last, TOUCH_LENGTH):
                # What most pairs fail is looked at here: in Python a call costs more than the look.
                is_near = start < desk[at + T_END] and desk[at + T_START] < end
                if is_near and space == desk[at + T_SPACE] and conflict(desk, at, flying, there):
                    return flying[flight + F_NUMBER]
        flight = flying[flight + F_OLDER]
    return NONE


@routine
def _emit(
    desk: Numbers, flying: Numbers, words: Numbers, spans: Numbers, slices: Numbers, operation: int
) -> None:
    """Write the registers, the waits and the operation."""
    before = desk[WORDS]
    unit = desk[operation + O_UNIT]
    node = desk[operation + O_NODE]
    if node != NONE and node != desk[FIXED]:
        desk[FIXED] = node
        for at in range(node + N_PAIRS, node + N_PAIRS + 2 * desk[node + N_FIXED], 2):
            configure(desk, words, desk[at], desk[at + 1])
    for at in range(operation + O_PAIRS, operation + O_PAIRS + 2 * desk[operation + O_REGISTERS], 2):
        if desk[FILE + desk[at]] != desk[at + 1]:
            configure(desk, words, desk[at], desk[at + 1])
    for other in range(_UNITS):
        if other != unit and desk[NEWEST + other] != NONE:
            _order_after(desk, flying, words, operation, other)
    word = desk[WORDS]
    if desk[operation + O_TENSOR] != NONE and desk[IS_WITNESSED]:
        at = desk[SLICES] * SLICE_LENGTH
        slices[at] = word
        slices[at + 1] = desk[operation + O_TENSOR]
        for number in range(BOX_LENGTH):
            slices[at + 2 + number] = desk[operation + O_BOX + number]
        desk[SLICES] += 1
    words[word] = desk[operation + O_WORD]
    desk[WORDS] = word + 1
    _let_fly(desk, flying, operation, unit)
    _span(desk, spans, before, desk[operation + O_LAYER])


@routine
def _order_after(desk: Numbers, flying: Numbers, words: Numbers, operation: int, unit: int) -> None:
    """Write a WAIT for what the operation conflicts with on a unit."""
    number = _latest(desk, flying, operation, unit)
    if number == NONE:
        return
    issued = desk[ISSUED + unit]
    outstanding = min(issued - number - 1, MOST_OUTSTANDING)
    words[desk[WORDS]] = WAIT_WORD | unit << WAIT_UNIT | outstanding << WAIT_OUTSTANDING
    desk[WORDS] += 1
    _land(desk, flying, unit, issued - outstanding)


@routine
def _land(desk: Numbers, flying: Numbers, unit: int, done: int) -> None:
    """Of a unit's operations all before number `done` are complete."""
    newer, flight = NONE, desk[NEWEST + unit]
    while flight != NONE and flying[flight + F_NUMBER] >= done:
        newer, flight = flight, flying[flight + F_OLDER]
    if newer == NONE:
        desk[NEWEST + unit] = NONE
    else:
        flying[newer + F_OLDER] = NONE
    while flight != NONE:
        older = flying[flight + F_OLDER]
        flying[flight + F_OLDER] = desk[SPARE]
        desk[SPARE] = flight
        flight = older


@routine
def _let_fly(desk: Numbers, flying: Numbers, operation: int, unit: int) -> None:
    """The operation is in flight."""
    flight = desk[SPARE]
    if flight == NONE:
        flight = desk[USED]
        desk[USED] += FLYING_LENGTH
    else:
        desk[SPARE] = flying[flight + F_OLDER]
    flying[flight + F_OLDER] = desk[NEWEST + unit]
    desk[NEWEST + unit] = flight
    flying[flight + F_NUMBER] = desk[ISSUED + unit]
    desk[ISSUED + unit] += 1
    count = desk[operation + O_TOUCHES]
    flying[flight + F_TOUCHES] = count
    for number in range(TOUCH_LENGTH * count):
        flying[flight + F_TOUCH + number] = desk[operation + O_TOUCH + number]


@routine
def _span(desk: Numbers, spans: Numbers, before: int, layer: int) -> None:
    """The words since `before` belong to a layer."""
    count = desk[SPANS]
    at = (count - 1) * SPAN_LENGTH
    if count and spans[at + 2] == layer and spans[at] + spans[at + 1] == before:
        spans[at + 1] = desk[WORDS] - spans[at]
        return
    spans[at + SPAN_LENGTH] = before
    spans[at + SPAN_LENGTH + 1] = desk[WORDS] - before
    spans[at + SPAN_LENGTH + 2] = layer
    desk[SPANS] = count + 1
