"""Writes command words: only registers that changed, and only the waits that a data dependence needs.

Every operation comes with the memory it accesses. Emission knows which operations a WAIT has shown to be
complete, and before an operation that conflicts with one still in flight on another unit it writes the
weakest WAIT that orders the two. Conflicts are judged on address ranges, and on channel slices within
interleaved ranges; what this calls a conflict may still be none, never the other way round.

Results are stored late, so that the units overlap: a tile computes; then the results of the tile before are
stored; then the next tile is loaded. Where a load or a computation accesses what a deferred store still reads
or writes, the store comes first: the order of dependent accesses never changes.

Where the bus has more to do than the units, computations are put off as stores are: loads of the next tasks
come first, as long as they do not conflict, so that DMA_IN has transfers in its queue while the units wait.
"""

from __future__ import annotations

from dlasim.compiler_shim.lowering.emission.commands import (
    CFG_REGISTER,
    CFG_VALUE,
    CFG_WORD,
    MAX_OUTSTANDING,
    WAIT_OUTSTANDING,
    WAIT_UNIT,
    WAIT_WORD,
    register,
)
from dlasim.compiler_shim.lowering.emission.records import (
    COMPUTATIONS,
    OUTPUT_TENSOR,
    InFlight,
    MemoryAccess,
    PlannedOperation,
    StreamBuilder,
)
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.isa.instruction_rows import RECORD_BYTES, UNITS, Unit
from dlasim.native.routine import inlined, routine

_UNITS = len(UNITS)
_DMA_IN, _MAC, _VECTOR = int(Unit.DMA_IN), int(Unit.MAC), int(Unit.VECTOR)
_IN, _OUT, _WEIGHTS, _RECORDS = (register(f"{name}_ADDR") for name in ("IN", "OUT", "WEIGHT", "PARAM"))
_LOW = 0xFFFF_FFFF


@routine
def conflict(one: MemoryAccess, other: MemoryAccess) -> int:
    """Whether two accesses may meet in a byte that one of them writes."""
    if one.space != other.space or one.end <= other.start or other.end <= one.start:
        return 0
    if not (one.is_write or other.is_write):
        return 0
    stride = one.stride
    if stride and stride == other.stride:
        apart = (other.phase - one.phase) % stride
        return 1 if apart < one.run or stride - apart < other.run else 0
    return 1


@routine
def write_load(stream: StreamBuilder, load: PlannedOperation) -> None:
    """Write a load; before it computations that were put off, where they conflict or so many loads have
    overtaken them that the queue of DMA_IN is full."""
    count = _conflicting(stream, load)
    while count < stream.put_off and _loads_since(stream, count) >= stream.most_ahead:
        count += 1
    write_put_off(stream, count)
    _write_all(stream, load)


@inlined
def _loads_since(stream: StreamBuilder, number: int) -> int:
    """How many loads were written since one of the computations was put off."""
    return stream.issued[_DMA_IN] - stream.loads_before[(stream.oldest + number) % COMPUTATIONS]


@routine
def put_off(stream: StreamBuilder, place: int, is_stored: int, ends_task: int) -> None:
    """Let the next computation wait."""
    stream.is_stored[place], stream.ends_task[place] = is_stored, ends_task
    stream.loads_before[place] = stream.issued[_DMA_IN]
    stream.put_off += 1


@routine
def write_put_off(stream: StreamBuilder, count: int) -> None:
    """Write so many of the computations that were put off; after each task the store of the one before."""
    for _ in range(count):
        place = stream.oldest
        stream.oldest, stream.put_off = (place + 1) % COMPUTATIONS, stream.put_off - 1
        _write_all(stream, stream.computes[place])
        if stream.ends_task[place]:
            write_deferred_store(stream)
            stream.deferred_store = place if stream.is_stored[place] else NONE


@routine
def _conflicting(stream: StreamBuilder, operation: PlannedOperation) -> int:
    """How many of the computations that were put off must be written before an operation."""
    found = 0
    for number in range(stream.put_off):
        place = (stream.oldest + number) % COMPUTATIONS
        meets = _conflicts(operation, stream.computes[place])
        if not meets and stream.is_stored[place]:
            meets = _conflicts(operation, stream.stores[place])
        if meets:
            found = number + 1
    return found


@routine
def _write_all(stream: StreamBuilder, operation: PlannedOperation) -> None:
    """Write all repetitions of an operation; before one the deferred store, where they conflict."""
    for repeat in range(operation.repeats):
        if repeat:
            _advance_channel(stream, operation, repeat)
        if stream.deferred_store != NONE and _must_follow_store(stream, operation):
            write_deferred_store(stream)
        _write(stream, operation)


@routine
def write_deferred_store(stream: StreamBuilder) -> None:
    """Write the store that was put off, if there is one."""
    store = stream.deferred_store
    if store != NONE:
        stream.deferred_store = NONE
        _write(stream, stream.stores[store])


@routine
def configure(stream: StreamBuilder, number: int, value: int) -> None:
    """Write an operand register unless it holds the value already."""
    if stream.register_file[number] != value:
        stream.register_file[number] = value
        append_word(stream, (CFG_WORD + number * CFG_REGISTER) | (value & _LOW) << CFG_VALUE)


@routine
def append_word(stream: StreamBuilder, word: int) -> None:
    """Write one word."""
    count = stream.word_count
    stream.words[count] = word
    stream.word_count = count + 1


@routine
def _advance_channel(stream: StreamBuilder, operation: PlannedOperation, repeat: int) -> None:
    """The same one channel further."""
    facts, node = stream.facts[operation.node], stream.nodes[operation.node]
    for index in range(operation.register_count):
        number = operation.registers[index]
        if number == _IN:
            if repeat % facts.sizes.multiplier == 0:
                operation.values[index] += node.tensors[0].element_bytes
        elif number == _OUT:
            operation.values[index] += node.tensors[OUTPUT_TENSOR].element_bytes
        elif number == _WEIGHTS:
            operation.values[index] += facts.sizes.weight_bytes
        elif number == _RECORDS:
            operation.values[index] += RECORD_BYTES
    operation.box.channel += 1


@routine
def _conflicts(operation: PlannedOperation, other: PlannedOperation) -> int:
    """Whether two operations conflict in any of their accesses."""
    for index in range(operation.access_count):
        for number in range(other.access_count):
            if conflict(operation.accesses[index], other.accesses[number]):
                return 1
    return 0


@routine
def _must_follow_store(stream: StreamBuilder, operation: PlannedOperation) -> int:
    """Whether the operation conflicts with the deferred store, or waits for compute as long as it does."""
    store = stream.stores[stream.deferred_store]
    if _conflicts(operation, store) or _waits_as_long(stream, operation, store, _MAC):
        return 1
    return _waits_as_long(stream, operation, store, _VECTOR)


@routine
def _waits_as_long(
    stream: StreamBuilder, operation: PlannedOperation, store: PlannedOperation, unit: int
) -> int:
    """Whether the operation must wait for a unit, until the store need not wait for it any more."""
    if operation.unit == unit:
        return 0
    number = _newest_conflict(stream, operation, unit)
    return 1 if number != NONE and number >= _newest_conflict(stream, store, unit) else 0


@routine
def _newest_conflict(stream: StreamBuilder, operation: PlannedOperation, unit: int) -> int:
    """The number of the unit's newest operation that this one conflicts with, or NONE."""
    slot = stream.newest[unit]
    while slot != NONE:
        flight = stream.in_flight[slot]
        for other in range(flight.access_count):
            theirs = flight.accesses[other]
            space, start, end = theirs.space, theirs.start, theirs.end
            for index in range(operation.access_count):
                # What most pairs fail is checked here: in Python a call costs more than the check.
                ours = operation.accesses[index]
                if start < ours.end and ours.start < end and space == ours.space and conflict(ours, theirs):
                    return flight.number
        slot = flight.older
    return NONE


@routine
def _write(stream: StreamBuilder, operation: PlannedOperation) -> None:
    """Write the registers, the waits and the operation."""
    before = stream.word_count
    unit = operation.unit
    if operation.node != NONE and operation.node != stream.configured_node:
        _configure_node(stream, operation.node)
    for index in range(operation.register_count):
        if stream.register_file[operation.registers[index]] != operation.values[index]:
            configure(stream, operation.registers[index], operation.values[index])
    for other in range(_UNITS):
        if other != unit and stream.newest[other] != NONE:
            _wait_for(stream, operation, other)
    if operation.tensor != NONE and stream.keeps_slices:
        piece = stream.slices[stream.slice_count]
        piece.word, piece.tensor = stream.word_count, operation.tensor
        piece.box.assign(operation.box)
        stream.slice_count += 1
    append_word(stream, operation.word)
    stream.operation_count += 1
    _add_in_flight(stream, operation)
    _extend_span(stream, before, operation.layer)


@routine
def _configure_node(stream: StreamBuilder, step: int) -> None:
    """Set what stays the same over all tiles of a node."""
    facts = stream.facts[step]
    stream.configured_node = step
    for index in range(facts.fixed_count):
        configure(stream, facts.fixed_registers[index], facts.fixed_values[index])


@routine
def _wait_for(stream: StreamBuilder, operation: PlannedOperation, unit: int) -> None:
    """Write a WAIT for what the operation conflicts with on a unit."""
    number = _newest_conflict(stream, operation, unit)
    if number == NONE:
        return
    outstanding = min(stream.issued[unit] - number - 1, MAX_OUTSTANDING)
    append_word(stream, WAIT_WORD | unit << WAIT_UNIT | outstanding << WAIT_OUTSTANDING)
    _retire(stream, unit, stream.issued[unit] - outstanding)


@routine
def _retire(stream: StreamBuilder, unit: int, done: int) -> None:
    """Of a unit's operations all before number `done` are complete: their slots are free."""
    newer, slot = NONE, stream.newest[unit]
    while slot != NONE and stream.in_flight[slot].number >= done:
        newer, slot = slot, stream.in_flight[slot].older
    if newer == NONE:
        stream.newest[unit] = NONE
    else:
        stream.in_flight[newer].older = NONE
    while slot != NONE:
        flight = stream.in_flight[slot]
        older = flight.older
        flight.older = stream.free_slot
        stream.free_slot = slot
        slot = older


@routine
def _free_slot(stream: StreamBuilder) -> int:
    """A slot for one more operation in flight."""
    slot = stream.free_slot
    if slot == NONE:
        slot = stream.used_slots
        stream.used_slots = slot + 1
    else:
        stream.free_slot = stream.in_flight[slot].older
    return slot


@routine
def _add_in_flight(stream: StreamBuilder, operation: PlannedOperation) -> None:
    """The operation is in flight from now on."""
    unit, slot = operation.unit, _free_slot(stream)
    flight = stream.in_flight[slot]
    flight.older = stream.newest[unit]
    stream.newest[unit] = slot
    flight.number = stream.issued[unit]
    stream.issued[unit] += 1
    flight.access_count = operation.access_count
    _copy_accesses(operation, flight)


@routine
def _copy_accesses(operation: PlannedOperation, flight: InFlight) -> None:
    for index in range(operation.access_count):
        flight.accesses[index].assign(operation.accesses[index])


@routine
def _extend_span(stream: StreamBuilder, before: int, layer: int) -> None:
    """The words since `before` belong to a layer."""
    count = stream.span_count
    if count:
        last = stream.spans[count - 1]
        if last.layer == layer and last.first + last.count == before:
            last.count = stream.word_count - last.first
            return
    span = stream.spans[count]
    span.first = before
    span.count = stream.word_count - before
    span.layer = layer
    stream.span_count = count + 1
