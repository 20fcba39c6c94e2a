"""What an operation costs: each formula once, over whole numbers or arrays of them.

The timing model (`word_costs.py`, `operation_costs.py`) applies them to all operations of a stream, and the
compiler's estimates (`tile_costs.py` in `compiler_shim/lowering/tiles/`) to one tile of a layer. They are
routines, so that a search over tiles can be compiled. Only numbers that belong to the machine may decide a
branch: all others may be arrays. `docs/timing-model.md` explains every formula.
"""

from __future__ import annotations

from dlasim.native.record import Record
from dlasim.native.routine import routine


class BusCosts(Record):
    """A memory behind its bus, for the transfers of one direction. `rate` is the bytes that a transfer alone
    moves in `rate_cycles`, 0 for no limit; the latencies of `outstanding` transfers overlap; `alone` and
    `shared` are the terms of a fraction: what a transfer does alone, and beside one of the other direction
    (both 0 where that never slows it down). `packed_rate` is the bytes that it unpacks in `rate_cycles`,
    `step_cycles` what a step of the decoder takes."""

    rate: int = 0
    rate_cycles: int = 0
    latency: int = 0
    outstanding: int = 0
    burst_bytes: int = 0
    burst_overhead: int = 0
    alone: int = 0
    shared: int = 0
    packed_rate: int = 0
    step_cycles: int = 0


class UnitCosts(Record):
    """What a compute unit is for one instruction: channels, and rows and columns of pixels, that it works on
    at a time; steps that it takes together; cycles that loading the weights of a step takes; cycles until
    the SRAM answers its first request, to fill it and to drain it; bytes that cross the SRAM's ports in a
    cycle, 0 for no limit, and bytes of a word; bytes of its line buffer and of its weight buffer, and the
    accumulators of a lane, each ENOUGH where there is no limit; cycles of the output stage for RESULTS_SCALE
    results, 0 for none; how often the lanes pass over the channels of a pixel, and the cycles of each pixel
    in which they wait; whether input and results pass in whole blocks."""

    input_lanes: int = 0
    output_lanes: int = 0
    pixel_rows: int = 1
    pixel_columns: int = 1
    step_group: int = 1
    load_cycles: int = 1
    latency: int = 0
    fill: int = 0
    drain: int = 0
    port_rate: int = 0
    word: int = 0
    line_buffer: int = 0
    weight_buffer: int = 0
    accumulators: int = 0
    result_cycles: int = 0
    passes: int = 1
    row_cycles: int = 0
    in_blocks: int = 0


ENOUGH = 1 << 40  # more than any operation can use
RESULTS_SCALE = 1 << 16
# From a request at the SRAM's ports until its words have crossed: one enters a slot, in the next they cross.
PORT_LATENCY = 2


@routine
def ceil_div(value: int, by: int) -> int:
    """Quotient rounded up."""
    return -(-value // by)


@routine
def select(truth: int, chosen: int, other: int) -> int:
    """`chosen` where the truth value is 1, `other` where it is 0."""
    return other + (chosen - other) * truth


@routine
def excess(value: int, limit: int) -> int:
    """How far the value exceeds the limit; 0 where it does not."""
    return (value - limit) * (value > limit)


@routine
def pixel_turns(unit: UnitCosts, rows: int, columns: int) -> int:
    """The turns in which the lanes take these rows and columns of pixels."""
    return ceil_div(rows, unit.pixel_rows) * ceil_div(columns, unit.pixel_columns)


@routine
def overhead_cycles(unit: UnitCosts) -> int:
    """Cycles of an operation before and after its work."""
    return unit.latency + unit.fill + unit.drain


@routine
def output_steps(unit: UnitCosts, taps: int, slices: int) -> int:
    """Cycles in which the lanes work on their outputs: one for each tap and slice of input channels. Where
    steps come in groups, those are of slices of a tap, and for what remains of slices or of taps."""
    group = unit.step_group
    rest = slices % group
    by_taps = rest * ceil_div(taps, group) * group
    by_slices = (1 - (rest == 0)) * taps * group
    return slices // group * group * taps + by_taps - excess(by_taps, by_slices)


@routine
def loaded_turns(unit: UnitCosts, turns: int) -> int:
    """Cycles of a step: a block of pixels takes no less than loading the step's weights."""
    last = (turns - 1) % unit.accumulators + 1
    whole = (turns - 1) // unit.accumulators
    return turns + excess(unit.load_cycles, last) + whole * excess(unit.load_cycles, unit.accumulators)


@routine
def lane_cycles(unit: UnitCosts, turns: int, taps: int, in_channels: int, out_channels: int) -> int:
    """Cycles in which the lanes work: some steps for each turn and each group of output channels."""
    steps = output_steps(unit, taps, ceil_div(in_channels, unit.input_lanes)) * unit.passes
    rows = (in_channels > 0) * (out_channels > 0)
    of_turn = steps * ceil_div(out_channels, unit.output_lanes) + unit.row_cycles * rows
    return loaded_turns(unit, turns) * of_turn


@routine
def merge_runs(run_bytes: int, runs: int, run_stride: int, planes: int, plane_stride: int) -> tuple[int, int]:
    """Bytes and number of the runs that are contiguous in memory: touching runs, then planes, merge."""
    merged = select((run_stride == run_bytes) | (runs == 1), runs, 1)
    run_bytes, runs = run_bytes * merged, runs // merged
    whole = select((runs == 1) & ((plane_stride == run_bytes) | (planes == 1)), planes, 1)
    return run_bytes * whole, runs * (planes // whole)


@routine
def placed_beats(
    bus: BusCosts,
    run_bytes: int,
    runs: int,
    planes: int,
    run_stride: int,
    plane_stride: int,
    run_sram_stride: int,
    plane_sram_stride: int,
) -> int:
    """Cycles on the bus for a transfer. A beat lies in two runs of the SRAM at most: runs shorter than a beat
    share it only where they touch there, too."""
    wide = run_bytes * bus.rate_cycles >= bus.rate
    merged, count = merge_runs(
        run_bytes,
        runs,
        select(wide | (run_sram_stride == run_bytes), run_stride, -1),
        planes,
        select(wide | (plane_sram_stride == run_bytes * runs), plane_stride, -1),
    )
    burst, bursts = merge_runs(run_bytes, runs, run_stride, planes, plane_stride)
    return beat_cycles(bus, merged, count) + request_cycles(bus, burst, bursts)


@routine
def transfer_beats(bus: BusCosts, run_bytes: int, runs: int) -> int:
    """Cycles on the bus for `runs` separate runs, when nothing else is on it; latency apart."""
    return beat_cycles(bus, run_bytes, runs) + request_cycles(bus, run_bytes, runs)


@routine
def beat_cycles(bus: BusCosts, run_bytes: int, runs: int) -> int:
    """Cycles in which their bytes cross the bus."""
    return runs * ceil_div(run_bytes * bus.rate_cycles, bus.rate) if bus.rate else 0 * runs


@routine
def request_cycles(bus: BusCosts, run_bytes: int, runs: int) -> int:
    """Cycles of the requests in front of their bursts."""
    if not bus.burst_overhead:
        return 0 * runs
    return runs * ceil_div(run_bytes, bus.burst_bytes) * bus.burst_overhead


@routine
def unpack_beats(bus: BusCosts, size: int, packed: int) -> int:
    """Cycles on the bus for a run of `size` bytes of memory, the first `packed` of which are unpacked."""
    cycles = request_cycles(bus, size, 1) + beat_cycles(bus, size - packed, 1)
    return cycles + ceil_div(packed * bus.rate_cycles, bus.packed_rate)


@routine
def decode_beats(bus: BusCosts, size: int, steps: int, copied: int) -> int:
    """Cycles on the bus for a run of `size` bytes of memory: so many steps, then bytes that are copied."""
    return request_cycles(bus, size, 1) + steps * bus.step_cycles + beat_cycles(bus, copied, 1)


@routine
def contention_cycles(bus: BusCosts, beats: int, other_beats: int) -> int:
    """How many cycles contention adds to transfers that need `beats` cycles on the bus alone, while others
    need `other_beats`."""
    if not bus.alone:
        return 0
    together = beats - excess(beats, other_beats)
    return together * (bus.alone - bus.shared) // bus.shared


@routine
def port_cycles(port_rate: int, moved_bytes: int) -> int:
    """Cycles that the SRAM's ports need to move these bytes."""
    return ceil_div(moved_bytes, port_rate) if port_rate else 0 * moved_bytes


@routine
def output_cycles(results: int, cycles_each: int) -> int:
    """Cycles that the output stage needs for these results, each of which takes a fraction of a cycle."""
    return ceil_div(results * cycles_each, RESULTS_SCALE)


@routine
def stall_cycles(unit: UnitCosts, moved_bytes: int, busy: int) -> int:
    """Cycles that the ports need beyond those in which the unit is busy anyway."""
    return excess(port_cycles(unit.port_rate, moved_bytes), busy)


@routine
def lines_moved(unit: UnitCosts, line_bytes: int, rows: int, span: int, tap_rows: int) -> int:
    """Lines of the input that cross the ports where the taps read `rows` different ones, `tap_rows` times in
    all. A line buffer that holds the `span` lines under a window keeps what is read again; one that holds
    fewer keeps as large a part of that."""
    missing = excess(span, unit.line_buffer // line_bytes)
    return rows + excess(tap_rows, rows) * missing // span


@routine
def weight_bytes_moved(unit: UnitCosts, blocks: int, weight_bytes: int) -> int:
    """Bytes of a group's weights that cross the ports: all of them for the first block of pixels, then for
    each further one what the weight buffer does not hold."""
    return weight_bytes + (blocks - 1) * excess(weight_bytes, unit.weight_buffer)


@routine
def block_lanes(unit: UnitCosts, channels: int, turns: int) -> int:
    """Output channels of a block of pixels: a group, or where blocks are handed over whole as many groups as
    the accumulators hold."""
    if not unit.in_blocks:
        return unit.output_lanes + 0 * turns
    groups = ceil_div(channels, unit.output_lanes)
    held = unit.accumulators // turns
    held += 1 - (held > 0)
    return unit.output_lanes * (held - excess(held, groups))


@routine
def block_outputs(unit: UnitCosts, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of pixels of the first block."""
    most = unit.accumulators * unit.pixel_rows * unit.pixel_columns
    block_rows = ceil_div(most, columns)
    return block_rows - excess(block_rows, rows), columns - excess(columns, most)


@routine
def lines_under(outputs: int, stride: int, window: int, size: int) -> int:
    """Rows or columns that the windows of neighbouring outputs read, of an input that has `size` of them."""
    read = (outputs - 1) * (stride - excess(stride, window)) + window
    return read - excess(read, size)


@routine
def last_block_turns(unit: UnitCosts, turns: int) -> int:
    """Turns of the last block of pixels."""
    return (turns - 1) % unit.accumulators + 1


@routine
def last_block_pixels(unit: UnitCosts, pixels: int, turns: int) -> int:
    """Pixels of the last block."""
    return pixels - excess(pixels, last_block_turns(unit, turns) * ceil_div(pixels, turns))


@routine
def loaded_block(unit: UnitCosts, turns: int) -> int:
    """Cycles of a step on a block of so many turns: no fewer than loading its weights takes."""
    return turns + excess(unit.load_cycles, turns)


@routine
def leaving_cycles(unit: UnitCosts, turns: int, results: int) -> int:
    """Cycles in which the results of some turns leave: at most a turn in each, unless blocks are handed over
    whole."""
    cycles = output_cycles(results, unit.result_cycles)
    return cycles + (1 - unit.in_blocks) * excess(turns, cycles)


@routine
def output_stall_cycles(
    unit: UnitCosts, pixels: int, turns: int, channels: int, last_channels: int, work: int, steps: int
) -> int:
    """Cycles that an operation takes beyond its work because its results leave at a limited rate: those of
    a turn when its last step is done, or of a block when that is done. `last_channels` are those of the last
    group, and `steps` are those of a turn and a group.

    The longest of three ways to the end: all work, then the last results; the first block, then all results;
    the results of all groups but the last, then its work. Where lanes have accumulators for two blocks, a
    block waits on each way until the one before the last has left them."""
    left = last_results_cycles(unit, pixels, turns, last_channels, steps)
    block = turns - excess(turns, unit.accumulators)
    first = loaded_block(unit, block) * (steps - 1)
    whole = channels - last_channels
    if unit.in_blocks:  # all groups of a block but its last cycle; the last block may have fewer of them
        lanes = block_lanes(unit, channels, turns)
        each_group = steps // ceil_div(last_channels, unit.output_lanes)
        first = loaded_block(unit, block) * each_group * (lanes // unit.output_lanes) - 1
        both = last_channels + whole - excess(whole, lanes)  # of the last two blocks
        leaving = leaving_cycles(unit, turns, pixels * both)
        left += (turns == block) * excess(excess(leaving, 1 + loaded_block(unit, block) * steps), left)
    groups = whole // unit.output_lanes  # besides the last
    early = first + leaving_cycles(unit, groups * turns, pixels * whole)
    late = early + leaving_cycles(unit, turns, pixels * last_channels)
    if unit.in_blocks or unit.accumulators == ENOUGH or not (unit.result_cycles or unit.port_rate):
        return left + excess(excess(late, work), left)
    lanes = channels - excess(channels, unit.output_lanes)
    return ways_out(unit, pixels, turns, lanes, groups, work, steps, left, early, late)


@routine
def ways_out(
    unit: UnitCosts,
    pixels: int,
    turns: int,
    lanes: int,
    groups: int,
    work: int,
    steps: int,
    left: int,
    early: int,
    late: int,
) -> int:
    """The output stall where lanes have accumulators for two blocks. A block begins when the one before the
    last has left them, `fill` cycles after its last results were made: on the way through either, the block
    between does not count. That is longer where a group ends with a short block, and with blocks shorter than
    the pipeline."""
    block = turns - excess(turns, unit.accumulators)
    short = last_block_turns(unit, turns)
    blocks, is_cut = ceil_div(turns, unit.accumulators), 1 - (turns == block)
    loaded = loaded_block(unit, block)
    leaves = leaving_cycles(unit, block, ceil_div(pixels * block, turns) * lanes)
    short_leaves = leaving_cycles(unit, short, ceil_div(pixels * short, turns) * lanes)
    works, short_works = loaded * steps, loaded_block(unit, short) * steps
    after_work, after_results = leaves + unit.fill - loaded, works + unit.fill - loaded
    before = groups * blocks
    pairs = (before + blocks - 1) // 2
    late += waits(groups * is_cut, pairs, after_results, short_leaves, leaves)
    early += waits((groups - 1) * is_cut, (before - 2) // 2, after_results, short_leaves, leaves)
    early -= short_leaves - is_cut * excess(short_leaves, works)  # of the block between
    mixed = (before > 1) * (early + unit.fill + steps * loaded_turns(unit, turns) + left)
    left += waits(groups * is_cut, pairs, after_work, short_works, works)
    late += excess(mixed, late)
    return left + excess(excess(late, work), left)


@routine
def waits(cut: int, pairs: int, span: int, short: int, block: int) -> int:
    """Cycles that blocks wait for accumulators: so many times behind a short block, or in each pair of
    blocks, where the span from one block to the next but one is longer than the block between."""
    behind_short, behind_block = cut * excess(span, short), pairs * excess(span, block)
    return behind_short + excess(behind_block, behind_short)


@routine
def last_results_cycles(unit: UnitCosts, pixels: int, turns: int, last_channels: int, steps: int) -> int:
    """Cycles after the work until the results of the last one or two blocks, of `last_channels` channels,
    have left."""
    last = last_block_turns(unit, turns)
    before = turns - last  # of the last block; the one before it may be larger
    before -= excess(before, unit.accumulators)
    loaded = loaded_block(unit, last)
    results = last_block_pixels(unit, pixels, turns) * last_channels
    left = excess(leaving_cycles(unit, last, results), select(unit.in_blocks, 1, loaded))
    both = pixels - excess(pixels, (before + last) * ceil_div(pixels, turns))
    leaving = leaving_cycles(unit, before + last, both * last_channels)
    return left + excess(excess(leaving, select(unit.in_blocks, 1, before) + loaded * steps), left)


@routine
def first_fetch_cycles(
    unit: UnitCosts,
    channels: int,
    pixels: int,
    turns: int,
    depth: int,
    filter_bytes: int,
    record_bytes: int,
    pixel_bytes: int,
    block_input: int,
    input_bytes: int,
) -> int:
    """Cycles before the first step of an operation, or lost in its first pass over a block of pixels, until
    the ports have brought what that reads: records, the first weights, and the input. `filter_bytes` and
    `record_bytes` are those of an output channel, and `pixel_bytes` are read for it and a pixel; `depth`
    input channels are shared, of `input_bytes` each. Weights cross in words of each filter. Where blocks are
    handed over whole, that is not counted, and the work waits for the input of the first one, `block_input`
    pixels of the channels of a group of steps, as much as the line buffer holds."""
    first = channels - excess(channels, unit.output_lanes)
    slice_depth = unit.input_lanes * select(unit.in_blocks, unit.step_group, 1)
    shared = depth - excess(depth, slice_depth)
    block = turns - excess(turns, unit.accumulators)
    together = unit.pixel_rows * unit.pixel_columns
    word = (1 - unit.in_blocks) * (depth > 0) * (filter_bytes - excess(filter_bytes, unit.word))
    at_once = first * (record_bytes + shared + excess(word, shared) + (depth == 0))
    each_pixel = shared * input_bytes + first * pixel_bytes
    read = (pixels - excess(pixels, block * together)) * each_pixel
    if unit.in_blocks:
        own = channels - excess(channels, block_lanes(unit, channels, turns))
        read = block_input * (shared + own * (depth == 0)) * input_bytes
        return port_cycles(unit.port_rate, at_once + read - excess(read, unit.line_buffer))
    start = (pixels - excess(pixels, together)) * each_pixel
    start = excess(port_cycles(unit.port_rate, at_once + start), 1)
    return start + excess(excess(port_cycles(unit.port_rate, at_once + read), block), start)


@routine
def grouped_costs(
    unit: UnitCosts,
    channels: int,
    pixels: int,
    turns: int,
    work: int,
    each_group: int,
    by_channel: int,
    weight_bytes: int,
    result_bytes: int,
    first_fetch: int,
) -> tuple[int, int, int]:
    """Cycles that the output stage and then the ports add to the work, and the bytes that cross the ports in
    all. One group of output channels follows the other; the last may be smaller. No group uses time at the
    ports that another one leaves.

    `each_group` bytes are read by every group, and cross only once if the line buffer holds them;
    `by_channel` bytes cross once, in proportion to a group's channels; `weight_bytes` are those of an output
    channel, and `result_bytes` those of a result. The work begins after the cycles of the `first_fetch`."""
    lanes, blocks = block_lanes(unit, channels, turns), ceil_div(turns, unit.accumulators)
    whole, rest = channels // lanes, channels % lanes
    has_whole, has_rest = 1 - (whole == 0), 1 - (rest == 0)
    is_kept = 1 - (each_group > unit.line_buffer)
    lane_work = work // ceil_div(channels, unit.output_lanes)
    group_work = lane_work * (lanes // unit.output_lanes)
    last_work = lane_work * ceil_div(rest, unit.output_lanes)
    last_share = by_channel // channels * rest
    one = (by_channel - last_share) // (whole + 1 - has_whole)
    one += weight_bytes_moved(unit, blocks, lanes * weight_bytes)
    first = is_kept * has_whole  # whether the first group alone reads the input
    moved = (whole - first) * one + (1 - is_kept) * whole * each_group
    last = weight_bytes_moved(unit, blocks, rest * weight_bytes) + last_share
    last += has_rest * (1 - first) * each_group
    last_channels = select(has_rest, rest, lanes)
    steps = select(has_rest, last_work, group_work) // loaded_turns(unit, turns)
    output = output_stall_cycles(unit, pixels, turns, channels, last_channels, work, steps)
    if unit.in_blocks:  # the last block is written when all of it has left the output stage
        results = last_block_pixels(unit, pixels, turns) * last_channels
        first_fetch = first_fetch + port_cycles(unit.port_rate, results * result_bytes)
    stall = stall_cycles(unit, first * (one + each_group), first * group_work)
    stall += stall_cycles(unit, moved, (whole - first) * group_work)
    stall += stall_cycles(unit, last, last_work)
    stall = first_fetch + excess(excess(stall, output), first_fetch)
    return output, stall, first * (one + each_group) + moved + last


@routine
def lane_costs(
    unit: UnitCosts, work: int, pixels: int, channels: int, cycles_each: int, moved_bytes: int, taps: int,
    input_bytes: int,
) -> tuple[int, int]:  # fmt: skip
    """The same two terms where a pixel's channels are done in turns of the lanes, each of which gives results
    in its last step, or in the last pass over the pixel. The input pixels under the first window come with
    all of their channels, in its first turn, and nothing can hide that."""
    if unit.passes > 1:
        output = row_output_cycles(unit, pixels, channels, cycles_each)
    else:
        output = turn_output_cycles(unit, work, pixels, channels, cycles_each)
    stall = stall_cycles(unit, moved_bytes, work + output)
    first = (taps > 1) * stall_cycles(unit, taps * channels * input_bytes, taps)
    return output, first + excess(stall, first)


@routine
def turn_output_cycles(unit: UnitCosts, work: int, pixels: int, channels: int, cycles_each: int) -> int:
    """Cycles beyond the work where a step with results waits until less than a cycle is left of those before.
    So a turn takes its steps or its results, whichever is longer; a pixel's last turn may have fewer
    channels, with which the stage does not make up for the others. The last results leave when
    the steps are done."""
    turns = ceil_div(channels, unit.output_lanes)
    before = (turns - 1) * unit.output_lanes  # channels of a pixel's other turns
    steps = work // (pixels * turns)
    early = excess(before * cycles_each // RESULTS_SCALE, (turns - 1) * steps)
    taken = early + turns * steps  # of a pixel, but for the fractions that follow
    more = excess(channels * cycles_each, taken * RESULTS_SCALE)
    last = excess(output_cycles(channels - before, cycles_each), 1)
    last += excess(output_cycles(channels, cycles_each), early + (turns - 1) * steps + 1 + last)
    return pixels * early + ceil_div((pixels - 1) * more, RESULTS_SCALE) + last


@routine
def row_output_cycles(unit: UnitCosts, pixels: int, channels: int, cycles_each: int) -> int:
    """Cycles that passes over the channels of pixels wait for the output stage. A step of the last pass waits
    for the results of the one before; those of a pixel's last step leave while the next pixel's first passes
    go on."""
    before = (ceil_div(channels, unit.output_lanes) - 1) * unit.output_lanes
    steps = before // unit.output_lanes
    early = excess(output_cycles(before, cycles_each), steps)
    last = output_cycles(channels - before, cycles_each)
    until_next = (unit.passes - 1) * (steps + 1) + unit.row_cycles + 1
    return pixels * early + (pixels - 1) * excess(last, until_next) + excess(last, 1)


@routine
def row_crossings(unit: UnitCosts, row_bytes: int) -> int:
    """How often the channels of a pixel cross the ports: in every pass if no line buffer holds them."""
    return select(row_bytes > unit.line_buffer, unit.passes, 1)


@routine
def positions_read(size: int, outputs: int, kernel: int, stride: int, dilation: int, common: int) -> int:
    """Rows or columns that some tap reads. Tap t of output i reads stride*i + dilation*t, as does every
    (i + dilation/g, t - stride/g), g being their greatest common divisor `common`."""
    again = excess(outputs, dilation // common) * excess(kernel, stride // common)
    read = outputs * kernel - again
    return read - excess(read, size)
