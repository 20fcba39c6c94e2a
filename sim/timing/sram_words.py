"""In how many accesses an operation's bytes cross the SRAM's ports: a word that is partly used takes a whole
one.

Bytes that follow each other cross in the same words, even if they belong to several pixels.
`docs/cost-model.md` says what is counted, and what that leaves out.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import Extent
from dlasim.native.record import Record, Records, member, pointer
from dlasim.native.routine import Number, Numbers, routine
from dlasim.sim.programs.footprint import Box
from dlasim.sim.programs.legality import EXTENTS, OperandRules, WordRules, operand_box
from dlasim.sim.timing.formulas import block_lanes, ceil_div, pixel_turns, row_crossings
from dlasim.sim.timing.operation_costs import OperationSizes, common_divisor, window_bytes
from dlasim.sim.timing.word_costs import WordCosts

_INPUT = EXTENTS[Extent.INPUT]
_INPUTS = (_INPUT, EXTENTS[Extent.ROWS_OF_INPUT])
_WEIGHTS = tuple(EXTENTS[each] for each in (Extent.CONV_WEIGHTS, Extent.DEPTH_WEIGHTS, Extent.MATRIX))
_LONG_WORDS = 8  # as LONG in rtl/dla_slices.sv


class Crossing(Record):
    """Bytes of an operand that cross in an operation. If all `size` bytes of the operand cross once, that
    takes the words of `runs` times `word_bytes`; those of a run may be a mean."""

    operation: int = 0
    moved: int = 0
    size: int = 0
    runs: int = 0
    word_bytes: int = 0


class CrossingList(Record):
    """What crosses in operations, in words of `width` bytes; `sizes` are those of the operation at hand."""

    width: int = 0
    count: int = 0
    crossings: Records[Crossing] = pointer(Crossing)
    sizes: OperationSizes = member(OperationSizes)


@routine
def list_crossings(
    found: CrossingList, operation: int, costs: WordCosts, rules: WordRules, file: Numbers, moved_bytes: int
) -> None:
    """Add a crossing for each operand of an operation, which moves so many bytes in all: weights take what
    others leave, and come last."""
    left, weights = moved_bytes, rules.operand_count
    for number in range(rules.operand_count):
        operand = rules.operands[number]
        if operand.extent in _WEIGHTS:
            weights = number
        else:
            crossing = found.crossings[found.count]
            found.count += 1
            crossing.operation = operation
            _cross(crossing, found, costs, operand, operand_box(file, operand))
            left -= crossing.moved
    if weights < rules.operand_count:
        crossing = found.crossings[found.count]
        found.count += 1
        crossing.operation, crossing.moved = operation, left
        operand = rules.operands[weights]
        _cross_weights(crossing, found, costs, operand, operand_box(file, operand).address)


@routine
def _cross(
    crossing: Crossing, found: CrossingList, costs: WordCosts, operand: OperandRules, box: Box
) -> None:
    """What crosses of an operand but weights: first a `part` of each run, then as much more of each."""
    unit, kind, sizes, width = costs.unit, costs.kind, found.sizes, found.width
    moved = crossing.size = box.planes * box.runs * box.run_bytes
    part = box.run_bytes
    if operand.extent == _INPUT:
        moved = window_bytes(unit, kind, sizes)
    elif unit.passes > 1 and operand.is_view and not operand.writes:
        moved *= row_crossings(unit, box.run_bytes)
    if kind.is_mac:
        lanes = block_lanes(unit, sizes.channels, pixel_turns(unit, sizes.rows, sizes.columns))
        if operand.extent in _INPUTS and not kind.is_depthwise:
            if moved > unit.line_buffer:
                moved *= ceil_div(sizes.channels, lanes)
            if _is_sliced(costs, sizes, box, width):
                crossing.moved, crossing.runs = moved, box.planes * box.runs
                crossing.word_bytes = ((box.run_bytes + width - 2) // width + 1) * width
                return
        elif not (operand.is_view and box.planes * box.runs == 1):
            # A group of output channels after the other, which at a single pixel follow each other; records
            # cross as weights do
            together = lanes if operand.is_view else unit.output_lanes
            part = min(ceil_div(together * box.run_bytes, sizes.channels), box.run_bytes)
    crossing.moved = moved
    crossing.runs, crossing.word_bytes = touch_words(box, part, width)


@routine
def _is_sliced(costs: WordCosts, sizes: OperationSizes, box: Box, width: int) -> Number:
    """Whether pixels under a single tap that are not whole words cross a word of each after the other, and so
    share none: several long ones, where the line buffer has no room for two blocks."""
    if costs.kind.has_window and sizes.kernel_rows * sizes.kernel_columns > 1:
        return False
    beyond = box.address % width + box.plane_stride % width + box.run_stride % width + box.run_bytes % width
    crowded = 2 * costs.unit.accumulators * box.run_bytes > costs.unit.line_buffer
    return beyond > 0 and crowded and box.run_bytes >= _LONG_WORDS * width and box.planes * box.runs > 1


@routine
def _cross_weights(
    crossing: Crossing, found: CrossingList, costs: WordCosts, operand: OperandRules, address: int
) -> None:
    """What brings all weights once. In a convolution, the filters of the lanes cross in turn, a word at a
    time. Filters that are shorter than a word, and those of one tap of a depthwise convolution, cross as one
    run for each group."""
    kind, sizes, width = costs.kind, found.sizes, found.width
    channels, size = sizes.channels, 1  # of a filter
    if kind.has_window:
        size = sizes.kernel_rows * sizes.kernel_columns
    lanes = min(channels, costs.unit.output_lanes)
    if kind.is_depthwise:
        crossing.runs = size
        crossing.word_bytes = _part_words(address, channels, lanes, width, 0, channels, channels)
    else:
        size *= sizes.in_channels * operand.element_bytes
        crossing.runs = 1
        crossing.word_bytes = _part_words(address, channels * size, lanes * size, width, 0, 0, 0)
        if size >= width:
            begins = width - 1 if size % width else address % width
            crossing.runs, crossing.word_bytes = channels, ((begins + size - 1) // width + 1) * width
    crossing.size = channels * size


@routine
def touch_words(box: Box, part: int, width: int) -> tuple[int, int]:
    """Words that the runs of a box touch, if first `part` bytes of each run cross, then as many more of each
    until all have: so many times the words of so many bytes.

    A run or a plane that continues in the same word or in the next shares it. Planes of one run are runs.
    """
    planes, runs, run_stride = box.planes, box.runs, box.run_stride
    if runs == 1:
        planes, runs, run_stride = 1, planes, box.plane_stride
    follows = run_stride == part or part <= run_stride <= width or runs == 1
    is_dense = follows and (box.plane_stride == runs * run_stride or planes == 1)
    count, reach, plane_step, run_step = planes * runs, 0, box.plane_stride, run_stride
    if follows:
        count, reach, run_step = planes, (runs - 1) * run_stride, 0
    if is_dense:
        count, reach, plane_step = 1, reach + (planes - 1) * box.plane_stride, 0
    return count, _part_words(box.address, box.run_bytes, part, width, reach, plane_step, run_step)


@routine
def _part_words(
    address: int, run_bytes: int, part: int, width: int, reach: int, plane_step: int, run_step: int
) -> int:
    """Bytes of the words that the parts of a run touch, each with `reach` further bytes: the mean over runs
    that lie these strides apart."""
    whole, rest, common = run_bytes // part, run_bytes % part, width
    if whole + (rest > 0) > 1:
        common = common_divisor(common, part)
    common = common_divisor(common_divisor(common, plane_step), run_step)
    begins = address % common
    touched = whole * _touched(begins, part + reach, common, width)
    return touched + (_touched(begins, rest + reach, common, width) if rest else 0)


@routine
def _touched(begins: int, run_bytes: int, common: int, width: int) -> int:
    """Bytes of the words of a run that begins `begins` bytes after a multiple of `common`, a divisor of the
    width: the mean over those multiples."""
    return width + (begins + run_bytes - 1) // common * common
