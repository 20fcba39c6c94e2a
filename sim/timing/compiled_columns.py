"""What the walk reads of a stream, from its command words by one routine.

It is what machine code does instead of `stream.decode_stream`, `cost.stream_costs` and
`walk_columns.list_columns`, where only times are wanted of a program that the compiler has made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import registers
from dlasim.isa.instruction_rows import OPCODE
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.native.record import Record, array, member, pointer
from dlasim.native.routine import Numbers, Routine, routine
from dlasim.native.storage import Store, filled_memory, pointer_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.compiled_costs import (
    COLUMNS,
    StreamCosts,
    WordCosts,
    cost_operation,
    is_moderate_machine,
)
from dlasim.sim.timing.contention import DEMAND_STEPS, TRANSFERRING, UNIT_COUNT
from dlasim.sim.timing.cost import dma_shares_ports, memory_costs, word_costs
from dlasim.sim.timing.formulas import BusCosts
from dlasim.sim.timing.issue import HALT, WAIT
from dlasim.sim.timing.memory_timing import memories_of, memory_numbers
from dlasim.sim.timing.walk_columns import (
    EVENT_COLUMNS,
    KINDS,
    NO_EVENT,
    OPERATION_COLUMNS,
    OUTSTANDING_FIELD,
    UNIT_FIELD,
    WalkColumns,
    port_capacity,
)

_CFG = BY_MNEMONIC["CFG"]
_WRITE = NO_EVENT - 1  # among the kinds, a write to a register
_KIND_OF_OPCODE = [*KINDS[: _CFG.opcode].tolist(), _WRITE, *KINDS[_CFG.opcode + 1 :].tolist()]
_OPCODE_MASK = OPCODE.mask
_REGISTER, _VALUE = _CFG.field("register"), _CFG.field("value")
_REGISTER_LOW, _REGISTER_MASK = _REGISTER.low, (1 << _REGISTER.width) - 1
_VALUE_LOW, _VALUE_MASK, _VALUE_SIGN = _VALUE.low, (1 << _VALUE.width) - 1, _VALUE.width - 1
_UNIT_LOW, _UNIT_MASK = UNIT_FIELD.low, (1 << UNIT_FIELD.width) - 1
_OUTSTANDING_LOW, _OUTSTANDING_MASK = OUTSTANDING_FIELD.low, (1 << OUTSTANDING_FIELD.width) - 1
_FIRST_REGISTER = registers.OPERANDS[0].index
_NONE = -1
_MAX_WORDS = 1 << 10  # different words of operations, for one machine
_MAX_TOTAL = 1 << 61  # cycles of all operations
_START = [
    pattern - (1 << 32 if register.fields[0].signed and pattern >> 31 else 0)
    for register, pattern in zip(registers.OPERANDS, reset_file(), strict=True)
]


class ReadUnit(Record):
    """A unit: the place of its first operation in the columns, and of its next; and the most that any of them
    wants of the ports."""

    first: int = 0
    next: int = 0
    most_demand: int = 0


class WordReader(Record):
    """Reads the words of a stream up to HALT, and fills the columns.

    `count`: words of the stream. `position`: words that have been read. `events`: events that were found in
    them. `opcodes`: the kind of event of each opcode. `is_signed`: which registers are signed. `known`: the
    words of operations whose costs are in `costs.words`. `newest`: by opcode, the index of its newest known
    word. `older`: by known word, the index of the one before it with the same opcode. `latencies`: by memory.
    `costs` works out one operation at a time.
    """

    count: int = 0
    position: int = 0
    events: int = 0
    total: int = 0
    capacity: int = 0
    is_dma_apart: int = 0
    units: list[ReadUnit] = array(ReadUnit, UNIT_COUNT)
    costs: StreamCosts = member(StreamCosts)
    words: Numbers = pointer(int)
    opcodes: Numbers = pointer(int)
    is_signed: Numbers = pointer(int)
    known: Numbers = pointer(int)
    newest: Numbers = pointer(int)
    older: Numbers = pointer(int)
    latencies: Numbers = pointer(int)
    reached: Numbers = pointer(int)
    kinds: Numbers = pointer(int)
    arguments: Numbers = pointer(int)
    totals: Numbers = pointer(int)
    heads: Numbers = pointer(int)
    actives: Numbers = pointer(int)
    tails: Numbers = pointer(int)
    demands: Numbers = pointer(int)
    memories: Numbers = pointer(int)


@routine
def read_words(reader: WordReader, is_counting: int) -> int:
    """Count the events, 0 without HALT; or fill in the columns: returns the position of an operation whose
    word is not known, `count` at the end, or -1 if 64 bits may not hold the numbers."""
    if is_counting:
        return _count_events(reader)
    while reader.position < reader.count:
        word = reader.words[reader.position]
        kind = reader.opcodes[word & _OPCODE_MASK]
        if kind == _WRITE:
            _write_register(reader, word)
        elif kind < WAIT:
            index = reader.newest[word & _OPCODE_MASK]
            while index != _NONE and reader.known[index] != word:
                index = reader.older[index]
            if index == _NONE:
                return reader.position
            if not _add_operation(reader, reader.costs.words[index]):
                return _NONE
        elif kind == WAIT:
            kind += (word >> _UNIT_LOW) & _UNIT_MASK
            _add_event(reader, kind, (word >> _OUTSTANDING_LOW) & _OUTSTANDING_MASK)
        elif kind != NO_EVENT:
            _add_event(reader, kind, 0)
        reader.position += 1
    _add_event(reader, HALT, 0)
    reader.reached[reader.events - 1] = reader.count
    return reader.count


READ = Routine(read_words, "columns")


@routine
def _count_events(reader: WordReader) -> int:
    """The events of the words up to HALT and of the end of the stream; notes where each unit's operations
    go."""
    events = 0
    for position in range(reader.count):
        kind = reader.opcodes[reader.words[position] & _OPCODE_MASK]
        if kind < UNIT_COUNT:
            reader.units[kind].next += 1
        if kind < _WRITE:
            events += 1
        if kind == HALT:
            reader.count = position + 1
            place = 0
            for number in range(UNIT_COUNT):
                unit = reader.units[number]
                unit.first, operations = place, unit.next
                unit.next = place
                place += operations
            reader.total = place
            return events + 1
    return 0


@routine
def _write_register(reader: WordReader, word: int) -> None:
    """A write to an operand register."""
    place = ((word >> _REGISTER_LOW) & _REGISTER_MASK) - _FIRST_REGISTER
    value = (word >> _VALUE_LOW) & _VALUE_MASK
    if reader.is_signed[place] and value >> _VALUE_SIGN:
        value -= _VALUE_MASK + 1
    reader.costs.file[place] = value


@routine
def _add_event(reader: WordReader, kind: int, argument: int) -> None:
    """One more event, at the word that is read."""
    number = reader.events
    reader.reached[number], reader.kinds[number] = reader.position + 1, kind
    reader.arguments[number] = argument
    reader.events += 1


@routine
def _add_operation(reader: WordReader, word: WordCosts) -> bool:
    """Whether 64 bits hold the numbers of an operation; if so, add it."""
    costs, unit = reader.costs, reader.units[word.number]
    costs.memory[0] = 0
    if not cost_operation(costs, word, 0):
        return False
    if word.number < TRANSFERRING:
        active, latency = costs.work[0], reader.latencies[costs.memory[0]]
    else:
        active = costs.work[0] + costs.output_stall[0] + costs.sram_stall[0]
        latency = word.unit.latency
    head, place = latency + word.unit.fill, unit.next
    total = head + active + word.unit.drain
    if total > _MAX_TOTAL - reader.total:
        return False
    reader.total += total
    unit.next += 1
    demand = 0
    if active > 0 and not (reader.is_dma_apart and word.number < TRANSFERRING):
        demand = min(-(-costs.moved_bytes[0] * DEMAND_STEPS // active), reader.capacity)
    unit.most_demand = max(unit.most_demand, demand)
    reader.totals[place], reader.heads[place] = total, head
    reader.actives[place], reader.tails[place] = active, word.unit.drain
    reader.demands[place], reader.memories[place] = demand, costs.memory[0]
    _add_event(reader, word.number, place)
    return True


def read_columns(config: DlaConfig, words: NDArray[np.uint64]) -> WalkColumns | None:
    """The columns of a legal stream; None where 64 bits may not hold the numbers, or the configuration leaves
    costs out."""
    machine = _machine(config)
    if config.timing != "full" or not machine.is_moderate:
        return None
    reader = machine.reader(words)
    events = READ(reader, 1)
    if not events:
        return None
    operations = reader.total
    reader.total = 0
    columns = {name: np.zeros(events, np.int64) for name in EVENT_COLUMNS}
    columns |= {name: np.zeros(operations, np.int64) for name in OPERATION_COLUMNS}
    for name, column in columns.items():
        setattr(reader, name, pointer_to(column))
    position = READ(reader, 0)
    while position < reader.count:
        if position == _NONE or not machine.add(int(words[position])):
            return None
        position = READ(reader, 0)
    return _found(reader, columns)


def _found(reader: WordReader, columns: Mapping[str, NDArray[np.int64]]) -> WalkColumns:
    units = [reader.units[number] for number in range(UNIT_COUNT)]
    return WalkColumns(
        [unit.first for unit in units],
        float(reader.total),
        sum([unit.most_demand for unit in units]),
        *[columns[name][: reader.events] for name in EVENT_COLUMNS],
        *[columns[name] for name in OPERATION_COLUMNS],
    )


class _Machine:
    """What is the same for all streams on a machine. Words of operations are added as they are met; nothing
    moves, since several streams may be read at the same time."""

    def __init__(self, config: DlaConfig) -> None:
        self._config, self._lock = config, Lock()
        buses = [memory_costs(config, memory) for memory in memories_of(config)]
        self._count, self.is_moderate = 0, is_moderate_machine((), buses)
        self._words = Store(WordCosts, _MAX_WORDS)
        self._known, self._older = np.zeros(_MAX_WORDS, np.int64), np.zeros(_MAX_WORDS, np.int64)
        self._newest = np.full(len(KINDS), _NONE)
        of_reader = {
            "opcodes": np.array(_KIND_OF_OPCODE),
            "is_signed": np.array([register.fields[0].signed for register in registers.OPERANDS]),
            "known": self._known,
            "newest": self._newest,
            "older": self._older,
            "latencies": np.array([bus.latency for bus in buses]),
        }
        self._of_reader = {name: pointer_to(numbers) for name, numbers in of_reader.items()}
        self._buses = filled_memory(BusCosts, buses).pointer
        self._memory_of = pointer_to(np.array(memory_numbers(config)))

    def reader(self, words: NDArray[np.uint64]) -> WordReader:
        """One that has read nothing yet."""
        config, reader = self._config, WordReader()
        reader.count, reader.capacity = len(words), port_capacity(config)
        reader.is_dma_apart = int(not dma_shares_ports(config))
        for name, found in self._of_reader.items():
            setattr(reader, name, found)
        reader.words, costs = pointer_to(words.view(np.int64)), reader.costs
        for name in COLUMNS:
            setattr(costs, name, pointer_to(np.zeros(1, np.int64)))
        costs.file, costs.memory_of = pointer_to(np.array(_START)), self._memory_of
        costs.words, costs.buses = self._words.pointer, self._buses
        return reader

    def add(self, word: int) -> bool:
        """Whether there is room for a word of an operation, with costs that 64 bits hold; if so, it is known
        from now on."""
        costs, opcode = word_costs(self._config, word), word & _OPCODE_MASK
        with self._lock:
            number = self._count
            if number == _MAX_WORDS or not is_moderate_machine((costs,), ()):
                return False
            self._words[number].assign(costs)
            self._known[number] = word - (word >> 63 << 64)
            self._older[number] = self._newest[opcode]
            self._count += 1
            self._newest[opcode] = number  # last: others may be reading
        return True


@lru_cache(maxsize=8)
def _machine(config: DlaConfig) -> _Machine:
    return _Machine(config)
