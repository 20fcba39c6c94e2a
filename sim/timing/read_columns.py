"""The columns of a stream from its command words, by one routine that follows the operand registers."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.native.record import Record, Records, array, member, pointer
from dlasim.native.routine import Numbers, Routine, routine
from dlasim.native.storage import Store, filled_memory, pointer_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.footprint import STEP_LIMIT
from dlasim.sim.programs.operand_writes import IS_SIGNED, OPCODE_MASK, values_of, write_register
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.contention import DEMAND_STEPS, TRANSFERRING, UNIT_COUNT
from dlasim.sim.timing.cost import dma_shares_ports, memory_costs, port_capacity, word_costs
from dlasim.sim.timing.formulas import BusCosts
from dlasim.sim.timing.issue import HALT, IRQ, WAIT
from dlasim.sim.timing.memory_timing import memories_of, memory_numbers
from dlasim.sim.timing.word_costs import (
    KNOWN_OPERATIONS,
    KnownOperation,
    OperationCosting,
    OperationTerms,
    WordCosts,
    cost_operation,
    cost_registers,
    is_moderate_machine,
)

_UNIT, _OUTSTANDING = (BY_MNEMONIC["WAIT"].field(name) for name in ("unit", "max_outstanding"))
_NO_EVENT = 255
_WRITE = _NO_EVENT - 1  # among the kinds of events, a write to a register
_KINDS = np.full(256, _NO_EVENT)  # by opcode
for _row in INSTRUCTIONS:
    if _row.is_operation:
        _KINDS[_row.opcode] = _row.unit
for _name, _kind in (("CFG", _WRITE), ("WAIT", WAIT), ("IRQ", IRQ), ("HALT", HALT)):
    _KINDS[BY_MNEMONIC[_name].opcode] = _kind
_UNIT_LOW, _UNIT_MASK = _UNIT.low, (1 << _UNIT.width) - 1
_OUTSTANDING_LOW, _OUTSTANDING_MASK = _OUTSTANDING.low, (1 << _OUTSTANDING.width) - 1
_NONE = -1
_MAX_WORDS = 1 << 10  # different words of operations that are kept, for one machine
_COST_REGISTERS = pointer_to(np.array(cost_registers()))
_MAX_TOTAL = 1 << 61  # cycles of all operations that 64 bits are sure to suffice for
START = values_of(np.array(reset_file()))


class ReadUnit(Record):
    """A unit: the place of its first operation in the columns, and of its next; and the most that any of them
    wants of the ports."""

    first: int = 0
    next: int = 0
    most_demand: int = 0


class WordReader(Record):
    """Reads the words of a stream up to HALT, and fills the columns.

    `count`: words of the stream. `position`: words that have been read. `events`: events that were found in
    them. `is_untimed`: at most products take time, `pes` of them a cycle; nothing does if that is 0.
    `opcodes`: the kind of event of each opcode. `is_signed`: which registers are signed. `known`: the words
    of operations whose costs are in `known_costs`. `newest`: by opcode, the index of its newest known word.
    `older`: by known word, the index of the one before it with the same opcode. `spare`: another word of an
    operation, with its costs. `costing` works out one operation at a time.
    """

    count: int = 0
    position: int = 0
    events: int = 0
    total: int = 0
    capacity: int = 0
    is_dma_apart: int = 0
    is_untimed: int = 0
    pes: int = 0
    units: list[ReadUnit] = array(ReadUnit, UNIT_COUNT)
    costing: OperationCosting = member(OperationCosting)
    spare: int = 0
    spare_costs: WordCosts = member(WordCosts)
    known_costs: Records[WordCosts] = pointer(WordCosts)
    words: Numbers = pointer(int)
    opcodes: Numbers = pointer(int)
    is_signed: Numbers = pointer(int)
    known: Numbers = pointer(int)
    newest: Numbers = pointer(int)
    older: Numbers = pointer(int)
    memory_latencies: Numbers = pointer(int)
    reached: Numbers = pointer(int)
    kinds: Numbers = pointer(int)
    arguments: Numbers = pointer(int)
    totals: Numbers = pointer(int)
    heads: Numbers = pointer(int)
    actives: Numbers = pointer(int)
    tails: Numbers = pointer(int)
    demands: Numbers = pointer(int)
    memories: Numbers = pointer(int)
    work: Numbers = pointer(int)
    latencies: Numbers = pointer(int)
    output_stalls: Numbers = pointer(int)
    sram_stalls: Numbers = pointer(int)
    macs: Numbers = pointer(int)
    dma_bytes: Numbers = pointer(int)
    sram_bytes: Numbers = pointer(int)


@routine
def read_words(reader: WordReader, is_counting: int) -> int:
    """Count the events; or fill in the columns: returns the position of an operation whose word is not known,
    `count` at the end, or -1 if 64 bits may not hold the numbers."""
    if is_counting:
        return _count_events(reader)
    while reader.position < reader.count:
        word = reader.words[reader.position]
        kind = reader.opcodes[word & OPCODE_MASK]
        if kind == _WRITE:
            write_register(reader.costing.file, reader.is_signed, word)
        elif kind < WAIT:
            index = reader.newest[word & OPCODE_MASK]
            while index != _NONE and reader.known[index] != word:
                index = reader.older[index]
            if index == _NONE and reader.spare != word:
                return reader.position
            costs = reader.spare_costs if index == _NONE else reader.known_costs[index]
            if not _add_operation(reader, word, costs):
                return _NONE
        elif kind == WAIT:
            kind += (word >> _UNIT_LOW) & _UNIT_MASK
            _add_event(reader, kind, (word >> _OUTSTANDING_LOW) & _OUTSTANDING_MASK)
        elif kind != _NO_EVENT:
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
    events = position = 0
    while position < reader.count:
        kind = reader.opcodes[reader.words[position] & OPCODE_MASK]
        position += 1
        if kind < UNIT_COUNT:
            reader.units[kind].next += 1
        if kind < _WRITE:
            events += 1
        if kind == HALT:
            reader.count = position
    place = 0
    for number in range(UNIT_COUNT):
        unit = reader.units[number]
        unit.first, operations = place, unit.next
        unit.next = place
        place += operations
    reader.total = place
    return events + 1


@routine
def _add_event(reader: WordReader, kind: int, argument: int) -> None:
    """One more event, at the word that is read."""
    number = reader.events
    reader.reached[number], reader.kinds[number] = reader.position + 1, kind
    reader.arguments[number] = argument
    reader.events += 1


@routine
def _add_operation(reader: WordReader, word: int, costs: WordCosts) -> bool:
    """Whether the numbers of an operation may have the size that they need; if so, add it."""
    terms, unit = reader.costing.terms, reader.units[costs.number]
    if not cost_operation(reader.costing, word, costs):
        return False
    latency = reader.memory_latencies[terms.memory] if costs.number < TRANSFERRING else costs.unit.latency
    head, tail = latency + costs.unit.fill, costs.unit.drain
    if reader.is_untimed:
        latency = head = tail = terms.output_stall = terms.sram_stall = 0
        terms.work = -(-terms.macs // reader.pes) if reader.pes else 0
    active = terms.work + terms.output_stall + terms.sram_stall
    total = head + active + tail
    if reader.costing.is_any_size:
        active, total = min(active, STEP_LIMIT), min(total, STEP_LIMIT)
    elif total > _MAX_TOTAL - reader.total:
        return False
    demand = 0
    if active > 0 and not (reader.is_dma_apart and costs.number < TRANSFERRING):
        demand = min(-(-terms.moved_bytes * DEMAND_STEPS // active), reader.capacity)
    reader.total += total
    unit.most_demand = max(unit.most_demand, demand)
    place = unit.next
    unit.next += 1
    reader.totals[place], reader.heads[place] = total, head
    reader.actives[place], reader.tails[place] = active, tail
    reader.demands[place], reader.memories[place] = demand, terms.memory
    reader.latencies[place] = latency
    _store_terms(reader, terms, place)
    _add_event(reader, costs.number, place)
    return True


@routine
def _store_terms(reader: WordReader, terms: OperationTerms, place: int) -> None:
    """Fill in what the walk does not read."""
    reader.work[place], reader.macs[place] = terms.work, terms.macs
    reader.output_stalls[place], reader.sram_stalls[place] = terms.output_stall, terms.sram_stall
    reader.dma_bytes[place], reader.sram_bytes[place] = terms.dma_bytes, terms.moved_bytes


class ReadingMachine:
    """What is the same for all streams on a machine. Words of operations are added as they are met; nothing
    moves, since several streams may be read at the same time."""

    def __init__(self, config: DlaConfig) -> None:
        self._config, self._lock = config, Lock()
        buses = [memory_costs(config, memory) for memory in memories_of(config)]
        self._count, self.is_moderate = 0, is_moderate_machine((), buses)
        self._words = Store(WordCosts, _MAX_WORDS)
        self._known, self._older = np.zeros(_MAX_WORDS, np.int64), np.zeros(_MAX_WORDS, np.int64)
        self._newest = np.full(len(_KINDS), _NONE)
        of_reader = {
            "opcodes": _KINDS,
            "is_signed": IS_SIGNED,
            "known": self._known,
            "newest": self._newest,
            "older": self._older,
            "memory_latencies": np.array([bus.latency for bus in buses]),
        }
        self._of_reader = {name: pointer_to(numbers) for name, numbers in of_reader.items()}
        self._buses = filled_memory(BusCosts, buses).pointer
        self._memory_of = pointer_to(np.array(memory_numbers(config)))

    def reader(self, file: NDArray[np.int64]) -> WordReader:
        """One that follows the operand registers in `file`, and lacks columns."""
        config, reader = self._config, WordReader()
        reader.capacity, reader.is_dma_apart = port_capacity(config), int(not dma_shares_ports(config))
        reader.is_untimed = int(config.timing != "full")
        reader.pes = config.pes if config.timing == "macs" else 0
        for name, found in self._of_reader.items():
            setattr(reader, name, found)
        reader.known_costs, costing = self._words.pointer, reader.costing
        costing.file, costing.memory_of, costing.buses = pointer_to(file), self._memory_of, self._buses
        costing.cost_registers = _COST_REGISTERS
        costing.known = Store(KnownOperation, KNOWN_OPERATIONS).pointer
        return reader

    def fill(self, read: Any, reader: WordReader) -> bool:
        """Whether 64 bits hold the numbers of a stream, or `reader` takes any; if so, fill its columns. Its
        events have been counted."""
        reader.total = 0
        position = read(reader, 0)
        while position < reader.count:
            if position == _NONE or not self._add(reader, reader.words[position]):
                return False
            position = read(reader, 0)
        return True

    def _add(self, reader: WordReader, word: int) -> bool:
        """Whether an operation has costs for which 64 bits may suffice, or `reader` takes any; if so, the
        reader knows its word from now on, and others do as long as there is room."""
        costs, opcode = word_costs(self._config, word & (1 << 64) - 1), word & OPCODE_MASK
        if not (reader.costing.is_any_size or is_moderate_machine((costs,), ())):
            return False
        with self._lock:
            number = self._count
            if number == _MAX_WORDS or reader.costing.is_any_size:
                reader.spare = word
                reader.spare_costs.assign(costs)
                return True
            self._words[number].assign(costs)
            self._known[number] = word
            self._older[number] = self._newest[opcode]
            self._count += 1
            self._newest[opcode] = number  # last: others may be reading
        return True


@lru_cache(maxsize=8)
def reading_machine(config: DlaConfig) -> ReadingMachine:
    """The same for all readers of a machine."""
    return ReadingMachine(config)
