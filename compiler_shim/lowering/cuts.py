"""What a cut takes and costs: routines over the numbers of a geometry and of a machine.

Both say all that matters of a node and of a configuration. A `group` is what tiles of so many output channels
over so many input channels share, whatever their rows and columns.
"""

from __future__ import annotations

from dlasim.isa.instructions import TABLE_BYTES
from dlasim.native.routine import Numbers, routine

ALIGNMENT = 4
ACCUMULATOR_BYTES = 4

BUFFER_NUMBERS = 10  # bytes and copies of the buffers of two inputs, constants, accumulator and output

# A geometry: sizes of the output; input channels that one output channel reads, and output channels that
# cannot be parted; bytes of constants; rows and columns of the input that a tile reads; bytes of a channel of
# a pixel that travel, 0 for what stays in SRAM and where there is none.
(
    HEIGHT, WIDTH, CHANNELS, DEPTH, STEP, IS_DENSE, TAPS,
    WEIGHT_BYTES, RECORD_BYTES, HAS_TABLE,
    INPUT_HEIGHT, INPUT_WIDTH, STRIDE_ROWS, STRIDE_COLUMNS, REACH_ROWS, REACH_COLUMNS,
    SECOND_HAS_ROWS, SECOND_HAS_COLUMNS, INPUT_BYTES, SECOND_BYTES, OUTPUT_BYTES,
    GEOMETRY_NUMBERS,
) = range(22)  # fmt: skip

# A machine as one class of nodes meets it: channels at a time, bytes per cycle (0 for no limit), cycles of a
# transfer besides its bytes, cycles of a task besides its work, and the same for each of its channels.
OUTPUT_LANES, INPUT_LANES, RATE, LATENCY, TASK_CYCLES, CHANNEL_CYCLES, MACHINE_NUMBERS = range(7)

# A group: how many there are, passes over the input channels, bytes of constants, bytes of a pixel of the
# inputs, the accumulator and the output, cycles of work over all groups, cycles of a task. Then what one of
# several tiles takes by its lines (rows, or columns of one row): what is always there, and for each buffer
# bytes of a line and copies; last a start and a slope, as if nothing were rounded up.
(
    GROUPS, PASSES, CONSTANTS, INPUT_PIXEL, SECOND_PIXEL, SUM_PIXEL, OUTPUT_PIXEL, WORK, FIXED,
    STEADY, LINE_STRIDE, LINE_REACH, INPUT_LINES, INPUT_LINE, INPUTS, SECOND_LINE, SECONDS, SUM_LINE,
    OUTPUT_LINE, OUTPUTS, START, SLOPE, GROUP_NUMBERS,
) = range(23)  # fmt: skip


@routine
def align(size: int) -> int:
    """Rounded up to the alignment of int32 operands."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@routine
def packed_bytes(channels: int, depth: int, weight_bytes: int, record_bytes: int, has_table: int) -> int:
    """Bytes of the table, or of weights and records, of output channels over so many input channels."""
    if has_table:
        return TABLE_BYTES
    return align(channels * weight_bytes * depth) + channels * record_bytes


@routine
def constant_bytes(geometry: Numbers, channels: int, depth: int) -> int:
    """Bytes of the constants of a group of output channels, as they are packed."""
    return packed_bytes(channels, depth, geometry[WEIGHT_BYTES], geometry[RECORD_BYTES], geometry[HAS_TABLE])


@routine
def work_cycles(geometry: Numbers, machine: Numbers, channels: int, depth: int) -> int:
    """Cycles of pure work, in groups of output channels and passes over the input channels."""
    lanes, all_channels = machine[OUTPUT_LANES], geometry[CHANNELS]
    groups = all_channels // channels * -(-channels // lanes) + -(-(all_channels % channels) // lanes)
    work = geometry[HEIGHT] * geometry[WIDTH] * geometry[TAPS] * groups
    if geometry[IS_DENSE]:
        lanes, whole = machine[INPUT_LANES], geometry[DEPTH]
        work *= whole // depth * -(-depth // lanes) + -(-(whole % depth) // lanes)
    return work


@routine
def task_cycles(machine: Numbers, channels: int) -> int:
    """Cycles that a task takes besides its work."""
    return machine[TASK_CYCLES] + machine[CHANNEL_CYCLES] * channels


@routine
def describe_group(geometry: Numbers, channels: int, depth: int, group: Numbers) -> None:
    """Fill in what does not depend on the machine."""
    step, passes = geometry[STEP], -(-geometry[DEPTH] // depth)
    deep = depth if geometry[IS_DENSE] else -(-channels // step)
    group[GROUPS], group[PASSES] = -(-geometry[CHANNELS] // channels), passes
    group[CONSTANTS] = constant_bytes(geometry, channels, depth)
    group[INPUT_PIXEL] = deep * geometry[INPUT_BYTES]
    group[SECOND_PIXEL] = channels * geometry[SECOND_BYTES]
    group[SUM_PIXEL] = channels * ACCUMULATOR_BYTES if passes > 1 else 0
    group[OUTPUT_PIXEL] = channels * geometry[OUTPUT_BYTES]


@routine
def describe_costs(geometry: Numbers, machine: Numbers, channels: int, depth: int, group: Numbers) -> None:
    """Fill in what does."""
    group[WORK] = work_cycles(geometry, machine, channels, depth)
    group[FIXED] = task_cycles(machine, channels)


@routine
def extent(size: int, stride: int, reach: int, whole: int) -> int:
    """Rows of the input that so many rows of the output read; or columns."""
    read = (size - 1) * stride + reach
    return read if read < whole else whole


@routine
def tile_bytes(geometry: Numbers, group: Numbers, rows: int, columns: int) -> tuple[int, int, int, int]:
    """Bytes of a tile of the first and the second input, the accumulator and the output."""
    tall = extent(rows, geometry[STRIDE_ROWS], geometry[REACH_ROWS], geometry[INPUT_HEIGHT])
    wide = extent(columns, geometry[STRIDE_COLUMNS], geometry[REACH_COLUMNS], geometry[INPUT_WIDTH])
    second = group[SECOND_PIXEL]
    if second:
        second *= (rows if geometry[SECOND_HAS_ROWS] else 1) * (
            columns if geometry[SECOND_HAS_COLUMNS] else 1
        )
    pixels = rows * columns
    return tall * wide * group[INPUT_PIXEL], second, pixels * group[SUM_PIXEL], pixels * group[OUTPUT_PIXEL]


@routine
def spatial_tiles(geometry: Numbers, rows: int, columns: int) -> int:
    """How many tiles cover the output's pixels."""
    return -(-geometry[HEIGHT] // rows) * -(-geometry[WIDTH] // columns)


@routine
def load_counts(geometry: Numbers, group: Numbers, spatial: int, outer: int) -> tuple[int, int]:
    """How often the first input and the constants are loaded, with `spatial` tiles of the pixels."""
    groups, passes = group[GROUPS], group[PASSES]
    constants = spatial * groups * passes
    inputs = constants
    if passes == 1:
        if outer or groups == 1:
            constants = groups
        if geometry[IS_DENSE] and (spatial == 1 or not outer):
            inputs = spatial
    return inputs, 1 if geometry[HAS_TABLE] else constants


@routine
def buffer_copies(
    geometry: Numbers, group: Numbers, spatial: int, outer: int, double: int
) -> tuple[int, int, int, int]:
    """Buffers for the first and the second input, the constants and the output: with `double` a second one
    for what is filled more than once."""
    inputs, constants = load_counts(geometry, group, spatial, outer)
    tiles = spatial * group[GROUPS]
    return (
        1 + double if inputs > 1 else 1,
        1 + double if tiles * group[PASSES] > 1 else 1,
        1 + double if constants > 1 else 1,
        1 + double if tiles > 1 else 1,
    )


@routine
def sram_bytes(geometry: Numbers, group: Numbers, rows: int, columns: int, outer: int, double: int) -> int:
    """What all buffers take together."""
    spatial = spatial_tiles(geometry, rows, columns)
    inputs, seconds, constants, outputs = buffer_copies(geometry, group, spatial, outer, double)
    input_bytes, second_bytes, accumulator, output = tile_bytes(geometry, group, rows, columns)
    return (
        align(input_bytes) * inputs
        + align(second_bytes) * seconds
        + align(group[CONSTANTS]) * constants
        + align(accumulator)
        + align(output) * outputs
    )


@routine
def describe_lines(geometry: Numbers, group: Numbers, by_rows: int, outer: int, double: int) -> None:
    """Fill in what one of several tiles takes, line by line."""
    inputs, seconds, constants, outputs = buffer_copies(geometry, group, 2, outer, double)
    width = geometry[WIDTH] if by_rows else 1
    input_bytes, second, accumulator, output = tile_bytes(geometry, group, 1, width)
    stride, reach = geometry[STRIDE_ROWS], geometry[REACH_ROWS]
    lines, grows = geometry[INPUT_HEIGHT], geometry[SECOND_HAS_ROWS]
    if not by_rows:
        stride, reach = geometry[STRIDE_COLUMNS], geometry[REACH_COLUMNS]
        lines, grows = geometry[INPUT_WIDTH], geometry[SECOND_HAS_COLUMNS]
    steady = align(group[CONSTANTS]) * constants
    if not grows:
        steady += align(second) * seconds
        second = 0
    line = input_bytes // extent(1, stride, reach, lines)
    group[STEADY], group[LINE_STRIDE], group[LINE_REACH] = steady, stride, reach
    group[INPUT_LINES], group[INPUT_LINE], group[INPUTS] = lines, line, inputs
    group[SECOND_LINE], group[SECONDS], group[SUM_LINE] = second, seconds, accumulator
    group[OUTPUT_LINE], group[OUTPUTS] = output, outputs
    group[START] = steady + line * (reach - stride) * inputs
    group[SLOPE] = line * stride * inputs + second * seconds + accumulator + output * outputs


@routine
def lines_bytes(group: Numbers, size: int) -> int:
    """What all buffers take together for one of several tiles of so many lines."""
    lines = extent(size, group[LINE_STRIDE], group[LINE_REACH], group[INPUT_LINES])
    return (
        group[STEADY]
        + align(lines * group[INPUT_LINE]) * group[INPUTS]
        + align(size * group[SECOND_LINE]) * group[SECONDS]
        + align(size * group[SUM_LINE])
        + align(size * group[OUTPUT_LINE]) * group[OUTPUTS]
    )


@routine
def list_buffers(
    geometry: Numbers, group: Numbers, rows: int, columns: int, outer: int, double: int, listed: Numbers,
    at: int,
) -> None:  # fmt: skip
    """Write bytes and copies of each input, the constants, the accumulator and the output."""
    spatial = spatial_tiles(geometry, rows, columns)
    inputs, seconds, constants, outputs = buffer_copies(geometry, group, spatial, outer, double)
    input_bytes, second, accumulator, output = tile_bytes(geometry, group, rows, columns)
    listed[at], listed[at + 1] = input_bytes, inputs if input_bytes else 1
    listed[at + 2], listed[at + 3] = second, seconds if second else 1
    listed[at + 4], listed[at + 5] = group[CONSTANTS], constants
    listed[at + 6], listed[at + 7] = accumulator, 1
    listed[at + 8], listed[at + 9] = output, outputs if output else 1


@routine
def travels(geometry: Numbers) -> bool:
    """Whether any tensor lives outside of SRAM."""
    return geometry[INPUT_BYTES] + geometry[SECOND_BYTES] + geometry[OUTPUT_BYTES] > 0


@routine
def estimate(
    geometry: Numbers, machine: Numbers, group: Numbers, rows: int, columns: int, outer: int, double: int
) -> tuple[int, int, int]:
    """Cycles, tasks and bytes read; loads, computation and stores overlap where buffers are double."""
    spatial = spatial_tiles(geometry, rows, columns)
    tiles = spatial * group[GROUPS]
    tasks = tiles * group[PASSES]
    input_loads, constant_loads = load_counts(geometry, group, spatial, outer)
    input_bytes, second_bytes, _, _ = tile_bytes(geometry, group, rows, columns)
    constants = group[CONSTANTS]
    read = input_loads * input_bytes + tasks * second_bytes + constant_loads * constants
    latency, rate = machine[LATENCY], machine[RATE]
    written = geometry[HEIGHT] * geometry[WIDTH] * geometry[CHANNELS] * geometry[OUTPUT_BYTES]
    compute = group[WORK] + tasks * group[FIXED]
    move_in = (
        (input_loads if input_bytes else 0)
        + (tasks if second_bytes else 0)
        + (constant_loads if constants else 0)
    ) * latency
    move_out = tiles * latency if written else 0
    ends = latency
    if rate:
        move_in += read // rate
        move_out += written // rate
        ends += (input_bytes + second_bytes + constants) // rate
    cycles = compute + move_in + move_out
    if double and tasks > 1:
        cycles = min(cycles, max(compute, move_in, move_out) + ends + move_out // tiles)
    return cycles, tasks, read
