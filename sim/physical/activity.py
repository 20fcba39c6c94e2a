"""What the operations of a stream do that takes energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import SOFTMAX_PASSES, Elements, Unit, Weights
from dlasim.isa.registers import Region
from dlasim.native.record import Record, Records, layout, member, pointer, slots_of
from dlasim.native.routine import Numbers, Routine, routine
from dlasim.native.storage import lead_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.memory_macros import port_bytes
from dlasim.sim.programs.legality import WordRules, word_rules
from dlasim.sim.programs.operand_writes import IS_SIGNED, OPCODE_MASK, follow_writes
from dlasim.sim.timing.cost import word_costs
from dlasim.sim.timing.operation_costs import read_sizes
from dlasim.sim.timing.output_stage import multiplications
from dlasim.sim.timing.plan import Plan
from dlasim.sim.timing.sram_words import Crossing, CrossingList, list_crossings
from dlasim.sim.timing.word_costs import WordCosts

NO_REGION = -1
_REGIONS = max(Region) + 2  # with none
RECIPROCAL_MULTIPLICATIONS = 7  # of OP_SOFTMAX for each pixel


class CountedWord(Record):
    """What a command word of an operation says of its activity: int32 multiplications of each result and of
    each pixel, where a division counts as one; steps of the vector lanes for each result and tap; and
    multiplications of bytes for a product of the MAC unit."""

    costs: WordCosts = member(WordCosts)
    rules: WordRules = member(WordRules)
    of_result: int = 0
    of_pixel: int = 0
    steps: int = 0
    passes: int = 1


class Activity(Record):
    """Of an operation: the region of system memory that a transfer reads or writes, else NO_REGION; turns in
    which MAC takes the pixels of the output, 0 of transfers; multiplications of bytes; int32 multiplications;
    steps of the vector lanes."""

    region: int = NO_REGION
    turns: int = 0
    macs: int = 0
    requantizations: int = 0
    elements: int = 0


class ActivityCounter(Record):
    """The words of a stream, the positions of its operations, which of the different words each is, and by
    operation its multiplications and the bytes that cross the SRAM's ports; rows and columns of pixels that
    MAC takes in a turn."""

    operations: int = 0
    pixel_rows: int = 1
    pixel_columns: int = 1
    found: CrossingList = member(CrossingList)
    words: Numbers = pointer(int)
    positions: Numbers = pointer(int)
    file: Numbers = pointer(int)
    is_signed: Numbers = pointer(int)
    word_of: Numbers = pointer(int)
    counted: Records[CountedWord] = pointer(CountedWord)
    macs: Numbers = pointer(int)
    sram_bytes: Numbers = pointer(int)
    activity: Records[Activity] = pointer(Activity)


@routine
def count_activity(counter: ActivityCounter) -> int:
    """What each operation does, and what crosses the SRAM's ports meanwhile; how many crossings there are."""
    position, file, sizes = 0, counter.file, counter.found.sizes
    for number in range(counter.operations):
        follow_writes(file, counter.is_signed, counter.words, position, counter.positions[number])
        position = counter.positions[number]
        word, activity = counter.counted[counter.word_of[number]], counter.activity[number]
        costs = word.costs
        activity.region, activity.turns, pixels, results = NO_REGION, 0, 0, 0
        if word.rules.is_transfer:
            activity.region = file[costs.region]
        else:
            read_sizes(sizes, file)
            pixels = sizes.rows * sizes.columns
            activity.turns = -(-sizes.rows // counter.pixel_rows) * -(-sizes.columns // counter.pixel_columns)
            results = pixels * sizes.channels
        taps = sizes.kernel_rows * sizes.kernel_columns if costs.kind.has_window else 1
        activity.macs = counter.macs[number] * word.passes
        activity.requantizations = results * word.of_result + pixels * word.of_pixel
        activity.elements = results * word.steps * taps
        list_crossings(counter.found, number, costs, word.rules, file, counter.sram_bytes[number])
    return counter.found.count


ACTIVITY = Routine(count_activity, "activity")


@dataclass(frozen=True, slots=True)
class EnergyCounts:
    """What takes energy: of each operation, or of each group of operations. It does not depend on the size of
    the SRAM, and the energy of a row is linear in all but its unit and region."""

    unit: NDArray[np.int64]
    region: NDArray[np.int64]
    macs: NDArray[Any]
    requantizations: NDArray[Any]
    elements: NDArray[Any]
    accesses: NDArray[Any]  # in which the bytes cross the SRAM's ports
    work: NDArray[Any]  # cycles
    weights: NDArray[Any]  # that the weight buffer gives: once for the pixels of a block
    dma_bytes: NDArray[Any]
    cycles: NDArray[Any]  # in which the unit runs

    def rows(self) -> list[NDArray[Any]]:
        """All that the energy is linear in."""
        return [getattr(self, field.name) for field in fields(self)[2:]]


def count_operations(plan: Plan) -> EnergyCounts:
    """The counts of each operation of a stream."""
    config, stream, costs, count = plan.config, plan.stream, plan.costs, plan.operations
    unit, work, words = costs.unit[:count], costs.work[:count], stream.words[stream.positions[:count]]
    # Sizes in the words of transfers decide nothing here, and make hundreds of different words.
    alike = np.where(unit < Unit.MAC, words & np.uint64(OPCODE_MASK), words)
    _, first, word_of = np.unique(alike, return_index=True, return_inverse=True)
    counted = np.frombuffer(
        b"".join([counted_word(config, word) for word in words[first].tolist()]), np.int64
    )
    operands = counted.reshape(-1, slots_of(CountedWord))[:, _OPERAND_COUNT][word_of]
    activity = np.empty((count, len(layout(Activity).fields)), np.int64)
    crossings = np.empty((int(operands.sum()), len(layout(Crossing).fields)), np.int64)
    counter = ActivityCounter(count, *config.pixel_tile)
    counter.found.width = width = port_bytes(config)
    lead_to(counter.found, crossings=crossings)
    lead_to(counter, words=stream.words.view(np.int64), positions=stream.positions, file=stream.start.copy())
    lead_to(counter, is_signed=IS_SIGNED, word_of=word_of, counted=counted, activity=activity)
    lead_to(counter, macs=costs.macs, sram_bytes=costs.sram_bytes)
    ACTIVITY(counter)
    region, turns, macs, requantizations, elements = activity.T
    numbers, moved, sizes, runs, word_bytes = crossings.T
    accesses = np.bincount(numbers, moved / sizes * (runs * (word_bytes / width)), count)
    block = np.clip(turns, 1, config.accumulators or None)
    return EnergyCounts(
        unit, region, macs, requantizations, elements, accesses, work, work / block, costs.dma_bytes[:count],
        plan.timeline.end - plan.timeline.start,
    )  # fmt: skip


@lru_cache(maxsize=1024)
def counted_word(config: DlaConfig, word: int) -> bytes:
    """A command word of an operation as a record, for others to copy."""
    decoded = codec.decode(word)
    instruction, values = decoded.instruction, decoded.values
    assert instruction is not None, "only legal words are operations"
    made = CountedWord(costs=word_costs(config, word), rules=word_rules(word, True, True))
    if instruction.is_transfer:
        return bytes(made)
    made.of_result = multiplications(instruction, values)
    made.passes <<= values.get("elements", Elements.INT8) == Elements.INT16
    made.passes <<= values.get("weights", Weights.INT8) == Weights.INT16
    if instruction.unit is Unit.VECTOR:
        made.steps = SOFTMAX_PASSES if instruction.normalizes_rows else 1
    if instruction.normalizes_rows and not instruction.needs_int16:
        made.of_pixel = RECIPROCAL_MULTIPLICATIONS
    return bytes(made)


_RULES = layout(CountedWord).fields["rules"].slot
_OPERAND_COUNT = _RULES + layout(WordRules).fields["operand_count"].slot


def grouped(counts: Sequence[EnergyCounts]) -> EnergyCounts:
    """The sums of all operations of one unit and region."""
    keys = np.concatenate([each.unit * _REGIONS + each.region - NO_REGION for each in counts])
    columns = zip(*(each.rows() for each in counts), strict=True)
    known, row_of = np.unique(keys, return_inverse=True)
    sums = [np.bincount(row_of, np.concatenate(column), len(known)) for column in columns]
    return EnergyCounts(known // _REGIONS, known % _REGIONS + NO_REGION, *sums)
