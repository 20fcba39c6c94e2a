"""Which operations of a stream are surely legal: one routine that follows the writes to operand registers.

`checks` says what is legal, and examines the others: those with a fault, and those of which this does not
know, such as windows with wide dilations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.isa.instruction_rows import (
    COPIED_BYTES,
    PACKED_BYTES,
    RECORD_BYTES,
    Channels,
    Elements,
    Extent,
    Instruction,
    Operand,
    Unit,
    Weights,
    adds_tensor,
    has_channel_scales,
    is_one_pass,
)
from dlasim.isa.registers import EXTENT_BITS, MAX_EXTENT, OPERAND_COLUMN, Region
from dlasim.isa.weight_code import CODE_BYTES, STEP_WEIGHTS
from dlasim.native.record import Record, Records, array, member, pointer
from dlasim.native.routine import Numbers, Routine, routine
from dlasim.native.storage import filled_memory, lead_to
from dlasim.sim.programs.footprint import (
    Box,
    are_runs_disjoint,
    box_end,
    dma_prefix,
    element_bytes,
    is_present,
)
from dlasim.sim.programs.operand_writes import IS_SIGNED, follow_writes
from dlasim.sim.programs.overlaps import are_slices, is_in_place

if TYPE_CHECKING:
    from dlasim.sim.programs.stream import DecodedStream

MAX_STEPS = 1 << 48
EXTENTS = {extent: number for number, extent in enumerate(Extent)}
_ONE_PASS = "out=int8 and init=zero or bias"
_MAX_OPERANDS = 7
_IN_SIZE, _OUT_SIZE, _KERNEL = OPERAND_COLUMN["IN_SIZE"], OPERAND_COLUMN["OUT_SIZE"], OPERAND_COLUMN["KERNEL"]
_IN_CHANNELS, _OUT_CHANNELS = OPERAND_COLUMN["IN_CHANNELS"], OPERAND_COLUMN["OUT_CHANNELS"]
_STRIDE, _DILATION, _PAD = OPERAND_COLUMN["STRIDE"], OPERAND_COLUMN["DILATION"], OPERAND_COLUMN["PAD"]
_SUM_MIN, _SUM_MAX = OPERAND_COLUMN["SUM_MIN"], OPERAND_COLUMN["SUM_MAX"]
_ACT_MIN, _ACT_MAX = OPERAND_COLUMN["ACT_MIN"], OPERAND_COLUMN["ACT_MAX"]
_VIEWS = {
    Extent.INPUT: (_IN_SIZE, _IN_CHANNELS),
    Extent.OUTPUT: (_OUT_SIZE, _OUT_CHANNELS),
    Extent.ROWS_OF_INPUT: (_OUT_SIZE, _IN_CHANNELS),
}
_LINES = {  # bytes for each output channel, tap and input channel, and whether it has several of each
    Extent.CONV_WEIGHTS: (1, 1, 1, 1),
    Extent.DEPTH_WEIGHTS: (1, 1, 1, 0),
    Extent.MATRIX: (1, 1, 0, 1),
    Extent.RECORDS: (RECORD_BYTES, 1, 0, 0),
}


class BoxRegisters(Record):
    """The registers that hold a box."""

    address: int = 0
    planes: int = 0
    plane_stride: int = 0
    runs: int = 0
    run_stride: int = 0
    run_bytes: int = 0


class OperandRules(Record):
    """Where an operand lies, and what is asked of it.

    A view has a register for both sizes and one for its channels. A line has so many bytes for each output
    channel, tap and input channel, where it has several of them. `extent` is its number in EXTENTS.
    """

    place: BoxRegisters = member(BoxRegisters)
    is_view: int = 0
    is_line: int = 0
    size: int = 0
    channels: int = 0
    element_bytes: int = 0
    line_bytes: int = 0
    has_outputs: int = 0
    has_taps: int = 0
    has_inputs: int = 0
    is_disjoint: int = 0
    is_like_output: int = 0
    extent: int = 0
    writes: int = 0


class WordRules(Record):
    """What a command word asks of its operation; of computing ones, the last operand is the output.

    A transfer that unpacks or decodes is one run of `least_bytes` to `most_bytes` in the SRAM; in system
    memory it has `saved_bytes` less, or with `is_fixed` as many as `fixed_bytes`."""

    is_faulty: int = 0
    is_one_run: int = 0
    least_bytes: int = 0
    most_bytes: int = 0
    saved_bytes: int = 0
    is_fixed: int = 0
    fixed_bytes: int = 0
    is_transfer: int = 0
    is_mac: int = 0
    writes_system: int = 0
    clamps: int = 0
    clamps_sums: int = 0
    is_grouped: int = 0
    is_equal: int = 0
    has_window: int = 0
    region: int = 0
    system: BoxRegisters = member(BoxRegisters)
    operand_count: int = 0
    operands: list[OperandRules] = array(OperandRules, _MAX_OPERANDS)


class StreamRules(Record):
    """The words of a stream, the positions of its operations, and which of these are left in doubt.

    `rules` has what the different words of operations ask, and `rules_of` which of them each operation has.
    """

    operations: int = 0
    sram_bytes: int = 0
    words: Numbers = pointer(int)
    positions: Numbers = pointer(int)
    file: Numbers = pointer(int)
    is_signed: Numbers = pointer(int)
    rules_of: Numbers = pointer(int)
    region_bytes: Numbers = pointer(int)
    is_read_only: Numbers = pointer(int)
    rules: Records[WordRules] = pointer(WordRules)
    is_doubtful: Numbers = pointer(int)


@routine
def look_for_doubts(stream: StreamRules) -> int:
    """Mark the operations that are not surely legal, and count them."""
    doubts = position = 0
    for number in range(stream.operations):
        follow_writes(stream.file, stream.is_signed, stream.words, position, stream.positions[number])
        position = stream.positions[number]
        if not _is_legal(stream, stream.rules[stream.rules_of[number]]):
            stream.is_doubtful[number] = 1
            doubts += 1
    return doubts


LEGALITY = Routine(look_for_doubts, "legality")


@routine
def _is_legal(stream: StreamRules, word: WordRules) -> bool:
    """Whether an operation is surely legal."""
    file = stream.file
    if word.is_faulty or (word.is_transfer and not _is_legal_transfer(stream, word)):
        return False
    if not word.is_transfer and not _has_legal_sizes(file, word):
        return False
    output = operand_box(file, word.operands[word.operand_count - 1])
    width = word.operands[word.operand_count - 1].element_bytes
    for number in range(word.operand_count):
        operand = word.operands[number]
        box = operand_box(file, operand)
        if box_end(box) > stream.sram_bytes:
            return False
        if (
            operand.element_bytes > 1
            and (box.address | box.plane_stride | box.run_stride) % operand.element_bytes
        ):
            return False
        if operand.is_disjoint and not are_runs_disjoint(box):
            return False
        if (
            number < word.operand_count - 1
            and box.address < box_end(output)
            and output.address < box_end(box)
        ):
            is_apart = operand.is_view and are_slices(box, output)
            if operand.is_like_output and operand.element_bytes == width:
                is_apart = is_apart or is_in_place(box, output, word.is_mac)
            if not is_apart:
                return False
    return True


@routine
def _is_legal_transfer(stream: StreamRules, word: WordRules) -> bool:
    """Whether a transfer stays within its region."""
    box, region = _box(stream.file, word.system), stream.file[word.region]
    end = box_end(box) - word.saved_bytes
    if word.is_one_run:
        if box.runs * box.planes > 1 or not word.least_bytes <= box.run_bytes <= word.most_bytes:
            return False
        if word.is_fixed:
            end = box.address + word.fixed_bytes
    if end > stream.region_bytes[region]:
        return False
    return not word.writes_system or (not stream.is_read_only[region] and are_runs_disjoint(box))


@routine
def _has_legal_sizes(file: Numbers, word: WordRules) -> bool:
    """Whether shapes go together, and numbers stay within 64 bits."""
    outputs, inputs = file[_OUT_CHANNELS], file[_IN_CHANNELS]
    if word.clamps and file[_ACT_MIN] > file[_ACT_MAX]:
        return False
    if word.clamps_sums and file[_SUM_MIN] > file[_SUM_MAX]:
        return False
    if (word.is_grouped and outputs % inputs) or (word.is_equal and outputs != inputs):
        return False
    most = (
        MAX_STEPS // ((file[_OUT_SIZE] & MAX_EXTENT) * (file[_OUT_SIZE] >> EXTENT_BITS)) // outputs // inputs
    )
    if most < (file[_KERNEL] & MAX_EXTENT) * (file[_KERNEL] >> EXTENT_BITS):
        return False
    if not word.has_window:
        return True
    return _meets_input(file, 0) and _meets_input(file, EXTENT_BITS)


@routine
def _meets_input(file: Numbers, low: int) -> bool:
    """Whether every window has a tap inside the input, along the axis whose numbers begin at a bit."""
    size, outputs = file[_IN_SIZE] >> low & MAX_EXTENT, file[_OUT_SIZE] >> low & MAX_EXTENT
    kernel, stride = file[_KERNEL] >> low & MAX_EXTENT, file[_STRIDE] >> low & MAX_EXTENT
    dilation, pad = file[_DILATION] >> low & MAX_EXTENT, file[_PAD] >> low & MAX_EXTENT
    is_met = (kernel - 1) * dilation >= pad and (outputs - 1) * stride - pad < size
    return is_met and (kernel == 1 or dilation <= size)


@routine
def operand_box(file: Numbers, operand: OperandRules) -> Box:
    """The bytes of an operand."""
    place = operand.place
    if operand.is_view:
        height, width = file[operand.size] & MAX_EXTENT, file[operand.size] >> EXTENT_BITS
        run_bytes = file[operand.channels] * operand.element_bytes
        return Box(
            file[place.address], height, file[place.plane_stride], width, file[place.run_stride], run_bytes
        )
    if operand.is_line:
        length = operand.line_bytes
        if operand.has_outputs:
            length *= file[_OUT_CHANNELS]
        if operand.has_taps:
            length *= (file[_KERNEL] & MAX_EXTENT) * (file[_KERNEL] >> EXTENT_BITS)
        if operand.has_inputs:
            length *= file[_IN_CHANNELS]
        return Box(file[place.address], 1, 0, 1, 0, length)
    return _box(file, place)


@routine
def _box(file: Numbers, place: BoxRegisters) -> Box:
    return Box(
        file[place.address], file[place.planes], file[place.plane_stride], file[place.runs],
        file[place.run_stride], file[place.run_bytes],
    )  # fmt: skip


def find_doubtful(
    stream: DecodedStream,
    sram_bytes: int,
    region_bytes: Mapping[int, int] | None,
    read_only: NDArray[np.bool_],
    has_int16: bool = True,
    has_sums: bool = True,
) -> NDArray[np.bool_]:
    """For each operation whether it has to be examined."""
    words, rules_of = np.unique(stream.words[stream.positions], return_inverse=True)
    sizes = [1 << 62 if region_bytes is None else region_bytes.get(number, 0) for number in Region]
    is_doubtful = np.zeros(len(stream), np.int64)
    rules = StreamRules(len(stream), sram_bytes)
    lead_to(rules, words=stream.words.view(np.int64), positions=stream.positions, file=stream.start.copy())
    lead_to(rules, is_signed=IS_SIGNED, rules_of=rules_of, region_bytes=np.array(sizes))
    lead_to(rules, is_read_only=read_only, is_doubtful=is_doubtful)
    asked = [word_rules(word, has_int16, has_sums) for word in words.tolist()]
    rules.rules = filled_memory(WordRules, asked).pointer
    LEGALITY(rules)
    return is_doubtful.astype(bool)


@lru_cache(maxsize=1024)
def word_rules(word: int, has_int16: bool, has_sums: bool) -> WordRules:
    """What a command word asks of a machine; whether that has elements of int16, and can add a tensor to the
    results of MAC."""
    decoded = codec.decode(word)
    instruction, fields = decoded.instruction, decoded.values
    assert instruction is not None, "only legal words are operations"
    rules = WordRules()
    rules.is_faulty = any(word_faults(instruction, fields, has_int16, has_sums))
    rules.clamps_sums = adds_tensor(fields)
    rules.is_transfer, rules.is_mac = instruction.is_transfer, instruction.unit is Unit.MAC
    rules.writes_system, rules.clamps = instruction.unit is Unit.DMA_OUT, instruction.clamps
    rules.is_grouped = instruction.channels is Channels.GROUPED
    rules.is_equal = instruction.channels is Channels.EQUAL
    rules.has_window = instruction.has_window and not instruction.pads_window
    if instruction.is_transfer:
        prefix = dma_prefix(instruction)
        rules.region = OPERAND_COLUMN[f"{prefix}_REGION"]
        rules.system = _transfer_registers(prefix, f"{prefix}_OFFSET", "STRIDE")
        _set_run(rules, fields)
    present = [operand for operand in instruction.operands if is_present(fields, operand)]
    rules.operand_count = len(present)
    for number, operand in enumerate(present):
        rules.operands[number] = _operand_rules(instruction, fields, operand)
    return rules


def _set_run(rules: WordRules, fields: Mapping[str, int]) -> None:
    """The run of a transfer that unpacks or decodes."""
    if "packed" in fields:
        rules.saved_bytes = fields["packed"] * PACKED_BYTES
        rules.is_one_run, rules.least_bytes, rules.most_bytes = 1, 2 * rules.saved_bytes, MAX_STEPS
    if "copied" in fields:
        copied, steps, words = fields["copied"] * COPIED_BYTES, fields["steps"], fields["words"]
        most = copied + steps * STEP_WEIGHTS if words <= steps else -1
        rules.is_one_run, rules.least_bytes, rules.most_bytes = 1, copied, most
        rules.is_fixed, rules.fixed_bytes = 1, copied + words * CODE_BYTES


def word_faults(
    instruction: Instruction, fields: Mapping[str, int], has_int16: bool, has_sums: bool
) -> Iterator[str]:
    """What is wrong with a command word, whatever the registers hold: a machine may lack int16, of which
    products have no int32 results, and sums in the output stage, which take complete results of int8."""
    is_int16 = fields.get("elements", Elements.INT8) == Elements.INT16
    if not has_int16 and (is_int16 or instruction.needs_int16):
        yield "this machine has no elements of int16"
    if is_int16 and instruction.unit is Unit.MAC and not is_one_pass(fields):
        yield f"elements of int16 need {_ONE_PASS}"
    if not is_int16 and fields.get("weights", Weights.INT8) == Weights.INT16:
        yield "weights=int16 needs elements=int16"
    if adds_tensor(fields):
        if not has_sums:
            yield "this machine's MAC unit adds no tensor to its results"
        if is_int16 or not is_one_pass(fields) or not has_channel_scales(fields):
            yield f"sum=tensor needs elements=int8, quant=channel, {_ONE_PASS}"


def _operand_rules(instruction: Instruction, fields: Mapping[str, int], operand: Operand) -> OperandRules:
    rules, extent = OperandRules(), operand.extent
    rules.element_bytes = element_bytes(fields, operand)
    rules.is_disjoint = operand.writes or extent is Extent.INPUT
    rules.is_like_output = extent is Extent.OUTPUT
    rules.extent, rules.writes = EXTENTS[extent], operand.writes
    if extent is Extent.TRANSFER:
        rules.place = _transfer_registers(dma_prefix(instruction), operand.register, "SRAM_STRIDE")
        return rules
    rules.place.address = OPERAND_COLUMN[operand.registers[0]]
    if extent.is_view:
        rules.is_view = 1
        rules.place.run_stride, rules.place.plane_stride = (
            OPERAND_COLUMN[name] for name in operand.registers[1:]
        )
        rules.size, rules.channels = _VIEWS[extent]
    else:
        rules.is_line = 1
        line = _LINES.get(extent, (extent.table_bytes, 0, 0, 0))
        assert line[0], f"how long is {extent.name}?"
        rules.line_bytes, rules.has_outputs, rules.has_taps, rules.has_inputs = line
        if extent is Extent.MATRIX:
            rules.line_bytes *= rules.element_bytes
    return rules


def _transfer_registers(prefix: str, address: str, stride: str) -> BoxRegisters:
    names = ("PLANES", f"PLANE_{stride}", "RUNS", f"RUN_{stride}", "RUN_BYTES")
    return BoxRegisters(OPERAND_COLUMN[address], *(OPERAND_COLUMN[f"{prefix}_{name}"] for name in names))
