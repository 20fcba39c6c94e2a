"""The race checker's two entries: one stream, and a whole program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np

from dlasim.errors import printable
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE
from dlasim.isa.program import Program
from dlasim.isa.registers import Region
from dlasim.sim.programs.checks import first_fault
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import DecodedStream, decode_stream
from dlasim.sim.races.accesses import SPACE_BYTES, AccessTable, access_table, memory_name
from dlasim.sim.races.boxes import Ints, common_byte, intersect
from dlasim.sim.races.findings import OperandAccess, Race, RaceReport, UninitialisedRead
from dlasim.sim.races.pairs import Order, PairFinder, order_of
from dlasim.sim.races.written import WrittenMap, uninitialised_reads

LIMIT = 20  # findings of each kind; more of them rarely tell more
PAIRS_AT_ONCE = 1 << 16  # bounds the memory of the exact test; neither its result nor its time
_MAX_OUTSTANDING = BY_MNEMONIC["WAIT"].field("max_outstanding").highest
_NO_LAYER = ""

TextOf = Callable[[int], str]  # of a word, by its number


def _unknown(word: int) -> str:
    return _NO_LAYER


def check_races(
    stream: DecodedStream,
    sram_bytes: int,
    *,
    operations: int | None = None,
    first_word: int = 0,
    layer_of: TextOf | None = None,
    source_of: TextOf | None = None,
    written: WrittenMap | None = None,
    limit: int = LIMIT,
    region_bytes: Mapping[Region, int] | None = None,
) -> RaceReport:
    """The races and uninitialised reads of one stream, the first `limit` of each.

    `operations` says how many of its operations run (`Plan.operations`); without it the operand checks are
    made here. `first_word` is added to positions, and `layer_of` and `source_of` tell the layer and the
    source line of a word so numbered.
    `written` carries what earlier streams wrote, and is brought up to date; without it SRAM starts unwritten.
    `region_bytes` tell how far a cursor may move.
    """
    if operations is None:
        fault = first_fault(stream, sram_bytes, None)
        operations = int(np.searchsorted(stream.positions, fault.position)) if fault else len(stream)
    table = access_table(stream, operations, region_bytes)
    check = _StreamCheck(stream, table, operations, first_word, layer_of or _unknown, source_of or _unknown)
    races, all_races = check.races(limit)
    reads = check.uninitialised(WrittenMap(sram_bytes) if written is None else written, limit)
    return RaceReport(races, reads, all_races and len(reads) < limit)


def check_program(program: Program, limit: int = LIMIT) -> RaceReport:
    """The races and uninitialised reads of one inference: its streams in the order of the steps.

    Registers and SRAM carry over from stream to stream. A stream that faults stops the machine, so the
    check ends at the fault.
    """
    written = WrittenMap(program.requirement.sram_bytes)
    names = _LayerNames(program)
    total = RaceReport()
    for first_word, stream, operations in _executed(program):
        report = check_races(
            stream,
            program.requirement.sram_bytes,
            operations=operations,
            first_word=first_word,
            layer_of=names.of,
            source_of=program.lines.place,
            written=written,
            limit=limit,
            region_bytes=program.region_bytes,
        )
        total = _joined(total, report, limit)
        if not total.is_complete:
            break
    return total


def _executed(program: Program) -> Iterator[tuple[int, DecodedStream, int]]:
    """First word, stream and number of operations of each stream that runs."""
    requirement = program.requirement
    sizes = {int(region): size for region, size in program.region_bytes.items()}
    file = reset_file()
    for step in program.steps:
        if not step.is_stream:
            continue
        place = program.streams[step.index]
        words = program.commands[place.first_word : place.first_word + place.words]
        stream = decode_stream(words, file, requirement.fingerprint)
        fault = first_fault(stream, requirement.sram_bytes, sizes)
        if fault is not None:
            yield place.first_word, stream, int(np.searchsorted(stream.positions, fault.position))
            return
        yield place.first_word, stream, len(stream)
        file = [int(value) & 0xFFFF_FFFF for value in stream.final_file]


def _joined(total: RaceReport, report: RaceReport, limit: int) -> RaceReport:
    races = (*total.races, *report.races)
    reads = (*total.uninitialised, *report.uninitialised)
    full = len(races) >= limit or len(reads) >= limit
    return RaceReport(races[:limit], reads[:limit], total.is_complete and report.is_complete and not full)


class _LayerNames:
    """Names of layers by command word, looked up only for what is reported."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _layers(self) -> Ints:
        return self._program.layer_of_words()

    def of(self, word: int) -> str:
        """The name of the layer that a word belongs to."""
        layer = int(self._layers[word])
        known = 0 <= layer < len(self._program.layers)
        return printable(self._program.layers[layer].name) if known else _NO_LAYER


class _StreamCheck:
    """One stream under check."""

    def __init__(
        self,
        stream: DecodedStream,
        table: AccessTable,
        operations: int,
        first_word: int,
        layer_of: TextOf,
        source_of: TextOf,
    ) -> None:
        self._stream, self._table = stream, table
        self._first_word = first_word
        self._layer_of, self._source_of = layer_of, source_of
        self._order: Order = order_of(stream, operations)
        # What the WAITs that were proposed so far would have shown complete.
        self._complete = np.zeros(len(UNITS), np.int64)

    def races(self, limit: int) -> tuple[tuple[Race, ...], bool]:
        """The first races, and whether they are all. Each is found as if the waits of those before it had
        been inserted, so one missing WAIT is one race."""
        found: list[Race] = []
        finder = PairFinder(self._table, self._order)
        for first, last in finder.blocks():
            earlier, later = finder.candidates(first, last, self._complete)
            for chunk in self._chunks(later):
                for race in self._races_of(earlier[chunk], later[chunk]):
                    found.append(race)
                    if len(found) == limit:
                        return tuple(found), False
        return tuple(found), True

    def _chunks(self, later: Ints) -> Iterator[slice]:
        """Slices of about PAIRS_AT_ONCE that keep the pairs of one operation together."""
        operation = self._table.operation[later]
        first = 0
        while first < len(later):
            last = min(first + PAIRS_AT_ONCE, len(later)) - 1
            end = int(np.searchsorted(operation, operation[last], side="right"))
            yield slice(first, end)
            first = end

    def _races_of(self, earlier: Ints, later: Ints) -> Iterator[Race]:
        table, order = self._table, self._order
        unit, rank = order.unit[table.operation[earlier]], order.rank[table.operation[earlier]]
        open_pairs = np.flatnonzero(rank >= self._complete[unit])
        pairs = np.column_stack((earlier, later, unit, rank))[open_pairs]
        pairs = pairs[intersect(table.boxes.take(pairs[:, 0]), table.boxes.take(pairs[:, 1]))]
        # For each operation and each unit the latest conflict: its wait settles those before it too.
        latest: dict[tuple[int, int], tuple[int, int, int]] = {}
        for first, second, its_unit, its_rank in pairs.tolist():
            key = (int(table.operation[second]), its_unit)
            if key not in latest or latest[key][0] < its_rank:
                latest[key] = (its_rank, first, second)
        for (_, its_unit), (its_rank, first, second) in sorted(latest.items()):
            if its_rank >= self._complete[its_unit]:
                race = self._race(first, second)
                self._complete[its_unit] = its_rank + 1
                yield race

    def _race(self, earlier: int, later: int) -> Race:
        table, order = self._table, self._order
        before, after = int(table.operation[earlier]), int(table.operation[later])
        byte = common_byte(table.boxes.take(np.array([later])), table.boxes.take(np.array([earlier])))
        assert byte is not None, "the two tests for a common byte disagree"
        between = int(order.issued[order.unit[before], after] - order.rank[before]) - 1
        return Race(
            self._access(earlier), self._access(later), byte % SPACE_BYTES, min(between, _MAX_OUTSTANDING)
        )

    def uninitialised(self, written: WrittenMap, limit: int) -> tuple[UninitialisedRead, ...]:
        """The first reads of SRAM bytes that nothing wrote."""
        found = uninitialised_reads(self._table, written, limit)
        return tuple(UninitialisedRead(self._access(access), byte) for access, byte in found)

    def _access(self, number: int) -> OperandAccess:
        table, stream = self._table, self._stream
        position = int(stream.positions[table.operation[number]])
        instruction = BY_OPCODE[int(stream.opcodes[position])]
        box = table.boxes.one(number)
        first = box.address % SPACE_BYTES
        word = self._first_word + position
        return OperandAccess(
            word=word,
            mnemonic=instruction.mnemonic,
            unit=instruction.unit,
            layer=self._layer_of(word),
            operand=table.operands[table.operand[number]],
            writes=bool(table.writes[number]),
            memory=memory_name(int(table.space[number])),
            first=first,
            last=first + box.end - box.address - 1,
            runs=box.planes * box.runs,
            run_bytes=box.run_bytes,
            source=self._source_of(word),
        )
