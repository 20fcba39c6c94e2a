"""Finds the cheapest tile shape of a node within a budget of SRAM; a routine."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    DOUBLE,
    DOUBLE_TENSORS,
    SINGLE,
    constant_bytes,
    describe_group,
    extent,
    has_transfers,
    list_buffers,
    spatial_tiles,
    sram_bytes,
)
from dlasim.compiler_shim.lowering.tiles.tile_costs import (
    describe_costs,
    estimate,
    least_cycles,
    least_price,
    tiled_cycles,
    work_cycles,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    BufferSizes,
    ChannelGroup,
    MachineCosts,
    NodeSizes,
    Tile,
)
from dlasim.isa.registers import MAX_EXTENT
from dlasim.native.record import Record, member
from dlasim.native.routine import routine

PREFETCH_PART = 4  # a node's constants are assumed to get such a part of the SRAM before it begins
PIECE_PART = 4  # of which pieces are no more than such a part
MAX_OVERHEAD_PART = 64  # a node is near its work alone if all else adds no more than such a part of it
# More tiles must gain more than such a part of the cycles. With a 1024th, MobileNetV2 lost 0.8 % from an
# issue cycle to none; with a 64th, DS-CNN took 0.9 % longer on a machine, a small MNIST network 1.0 %.
MIN_GAIN_PART = 128
# Tiles with fewer rows are not halved: estimates leave out most of what many small ones take. Without, DS-CNN
# with nothing fused took 22 % longer where blocks are handed over whole; with 8, MobileNetV2 0.4 %.
FEWEST_HALVED = 4


class KnownTiling(Record):
    """The best tiling of a problem within a budget, 0 tasks for none; `older` is the one found before."""

    older: int = 0
    budget: int = 0
    cycles: int = 0
    tasks: int = 0
    sram_bytes: int = 0
    read_bytes: int = 0
    tile: Tile = member(Tile)
    buffers: BufferSizes = member(BufferSizes)


class Search(Record):
    """What the search works on and finds.

    With a budget of `sufficient_bytes` or more it always finds the same. `best` is the tiling with the fewest
    cycles, then tasks, then bytes of SRAM.
    """

    group: ChannelGroup = member(ChannelGroup)
    tile: Tile = member(Tile)
    sufficient_bytes: int = 0
    best: KnownTiling = member(KnownTiling)


@routine
def search(sizes: NodeSizes, machine: MachineCosts, found: Search, budget: int, by_channels: int) -> int:
    """Find the best tile shape within a budget, or the paper's."""
    found.sufficient_bytes = found.best.tasks = 0
    if by_channels:
        _cut_channels(sizes, machine, found, budget)
    else:
        _cut_depths(sizes, machine, found, budget)
    if found.best.tasks:
        describe_group(sizes, found.best.tile.channels, found.best.tile.depth, found.group)
        list_buffers(sizes, found.group, found.best.tile, found.best.buffers)
    return found.best.tasks


@routine
def _cut_depths(sizes: NodeSizes, machine: MachineCosts, found: Search, budget: int) -> None:
    """Try all input channels at once, then halves of them while nothing fits, or while that helps a node that
    is far from its work alone: passes cost accumulators, but make room for second buffers, and the line
    buffer may hold the whole input of one."""
    depth, before = sizes.depth, 0
    work, is_cut = least_cycles(sizes, machine), 1 - sizes.is_matrix_in_sram
    if machine.is_mac and (sizes.input_element_bytes > 1 or sizes.input_count > 1):
        is_cut = 0  # the sums of int16 do not fit into int32; a tensor is added to complete results
    near = work + work // MAX_OVERHEAD_PART + least_price(sizes, machine)
    while depth:
        _find_sufficient_bytes(sizes, machine, found, depth)
        _cut_all(sizes, machine, found, depth, budget)
        if found.best.tasks and found.best.cycles == before and not _may_be_kept(sizes, machine, depth):
            return
        if found.best.tasks and found.best.cycles <= near:
            return
        before = found.best.cycles if found.best.tasks else 0
        depth = half(depth) if depth > 1 and is_cut else 0


@routine
def _may_be_kept(sizes: NodeSizes, machine: MachineCosts, depth: int) -> int:
    """Whether the line buffer could hold the whole input if a tile read fewer input channels, but cannot with
    `depth` of them."""
    pixels = sizes.input_height * sizes.input_width * sizes.input_element_bytes
    can_help = machine.is_mac and machine.rereads_input and machine.unit.port_rate
    return 1 if can_help and pixels <= machine.unit.line_buffer < pixels * depth else 0


@routine
def half(size: int) -> int:
    """The next smaller number of input channels or rows worth trying."""
    return -(-size // 2)


@routine
def smaller_group(channels: int, step: int, lanes: int, size: int, parts: int) -> tuple[int, int]:
    """The next smaller size of a group of channels worth trying, 0 after the last, and how many parts of all
    channels it stands for: all of them, fractions in whole lanes, then halves (0 parts) down to the least."""
    unit = max(lanes // step, 1) * step
    smaller = size
    while smaller >= size:
        if parts:
            parts = parts + 1 if parts < 6 else parts * 2
            if channels // parts >= unit:
                smaller = -(-channels // parts)
                smaller = -(-smaller // unit) * unit
            else:
                parts, smaller = 0, unit
        elif smaller <= step:
            return 0, 0
        else:
            smaller = max(half(smaller) // step * step, step)
    return smaller, parts


@routine
def _set_tile(tile: Tile, rows: int, columns: int, is_channels_outer: int, buffering: int) -> None:
    tile.rows, tile.columns = rows, columns
    tile.is_channels_outer, tile.buffering = is_channels_outer, buffering


@routine
def _set_group(sizes: NodeSizes, found: Search, channels: int, depth: int) -> None:
    found.tile.channels, found.tile.depth = channels, depth
    describe_group(sizes, channels, depth, found.group)


@routine
def _cut_channels(sizes: NodeSizes, machine: MachineCosts, found: Search, budget: int) -> None:
    """The paper's tiling: the whole input, single buffers, and as many output channels as fit next to it."""
    step = sizes.step
    low, high = 0, sizes.channels // step + 1
    steps = high - 1
    _set_tile(found.tile, sizes.height, sizes.width, 1, SINGLE)
    while high - low > 1:
        _set_group(sizes, found, steps * step, sizes.depth)
        needed = sram_bytes(sizes, found.group, found.tile)
        found.sufficient_bytes = max(found.sufficient_bytes, needed)  # all channels come first
        if needed <= budget:
            low = steps
        else:
            high = steps
        steps = (low + high) // 2
    if low:
        _set_group(sizes, found, low * step, sizes.depth)
        describe_costs(sizes, machine, low * step, sizes.depth, found.group)
        _consider(sizes, machine, found)


@routine
def _find_sufficient_bytes(sizes: NodeSizes, machine: MachineCosts, found: Search, depth: int) -> None:
    """The budget in which every tile shape worth trying is as large as it can be: with all channels, or with
    second buffers for everything in the largest part of them, which takes more than any smaller part; of all
    rows, or half of them, of which there are two."""
    channels, lanes = sizes.channels, machine.unit.output_lanes
    part, _ = smaller_group(channels, sizes.step, lanes, channels, 1)
    rows = min(sizes.height, MAX_EXTENT) if sizes.width <= MAX_EXTENT else 1
    for size in (channels, part):
        if size:
            _set_group(sizes, found, size, depth)
            for count in (rows, half(rows)):
                _set_tile(found.tile, count, min(sizes.width, MAX_EXTENT), 0, DOUBLE)
                needed = sram_bytes(sizes, found.group, found.tile)
                found.sufficient_bytes = max(found.sufficient_bytes, needed)
    if machine.assumes_prefetch and not sizes.has_matrix:
        whole = PIECE_PART * constant_bytes(sizes, channels, depth)
        found.sufficient_bytes = max(found.sufficient_bytes, whole)


@routine
def _cut_all(sizes: NodeSizes, machine: MachineCosts, found: Search, depth: int, budget: int) -> None:
    """Try groups of all sizes over `depth` input channels, until they are too many: work grows with them."""
    size, parts, least = sizes.channels, 1, work_cycles(sizes, machine, sizes.channels, depth)
    while size:
        _set_group(sizes, found, size, depth)
        constants, tasks = found.group.constant_bytes, found.group.groups * found.group.passes
        # Where loading weights takes longer than a block of pixels, small tiles may take less than this work.
        more = tasks if machine.unit.load_cycles == 1 else 0
        if _is_too_long(found, more, least + tasks * machine.task_cycles):
            return
        is_small = 1
        if machine.assumes_prefetch and constants and not sizes.has_matrix:
            found.group.prefetched_pieces = budget // PREFETCH_PART // constants
            is_small = constants * PIECE_PART <= budget or size <= sizes.step
        if is_small:
            describe_costs(sizes, machine, size, depth, found.group)
            if not _is_too_long(found, more, found.group.work_cycles + tasks * found.group.task_cycles):
                _cut_group(sizes, machine, found, budget)
        size, parts = smaller_group(sizes.channels, sizes.step, machine.unit.output_lanes, size, parts)


@routine
def _cut_group(sizes: NodeSizes, machine: MachineCosts, found: Search, budget: int) -> None:
    """Try the largest tiles of a group that fit, in both orders, with and without second buffers."""
    tile = found.tile
    for outer in (1, 0):
        spatial = 0
        if choose_largest(sizes, found, outer, DOUBLE, budget):
            spatial = spatial_tiles(sizes, tile.rows, tile.columns)
            _consider(sizes, machine, found)
            if cut_to_kept(sizes, machine, tile) and sram_bytes(sizes, found.group, tile) <= budget:
                _consider(sizes, machine, found)  # parts take more than the whole
            while tile.rows >= FEWEST_HALVED and has_transfers(sizes):  # less wait for the first and the last
                tile.rows = half(tile.rows)
                if sram_bytes(sizes, found.group, tile) <= budget:
                    _consider(sizes, machine, found)
        if outer and found.group.groups > 1 and choose_largest(sizes, found, 1, DOUBLE_TENSORS, budget):
            _consider(sizes, machine, found)
        if spatial != 1 and choose_largest(sizes, found, outer, SINGLE, budget):
            _consider(sizes, machine, found)  # a larger tile without second buffers
            if cut_to_kept(sizes, machine, tile):
                _consider(sizes, machine, found)
        if spatial == 1 or (spatial and found.group.groups == 1):
            break  # with one tile along an axis both orders are the same


@routine
def _consider(sizes: NodeSizes, machine: MachineCosts, found: Search) -> None:
    """Keep the tile if it is the best so far; with more tasks, if that is not by a little, since estimates
    leave out most of what makes small tiles slow. What it takes at least decides first."""
    tile, group = found.tile, found.group
    tasks = spatial_tiles(sizes, tile.rows, tile.columns) * group.groups * group.passes
    work = tiled_cycles(sizes, machine.unit, group.work_cycles, tile.rows, tile.columns)
    if _is_too_long(found, tasks, work + tasks * group.task_cycles):
        return
    cycles, tasks, read = estimate(sizes, machine, found.group, found.tile)
    if _is_too_long(found, tasks, cycles):
        return
    needed = sram_bytes(sizes, found.group, found.tile)
    best = found.best
    if best.tasks and (cycles, tasks, needed) >= (best.cycles, best.tasks, best.sram_bytes):
        return
    best.cycles, best.tasks, best.sram_bytes, best.read_bytes = cycles, tasks, needed, read
    best.tile.assign(found.tile)


@routine
def _is_too_long(found: Search, tasks: int, cycles: int) -> bool:
    """Whether this takes longer than the best so far, or too little less for more tasks."""
    gain = cycles // MIN_GAIN_PART if tasks > found.best.tasks else 0
    return found.best.tasks > 0 and cycles + gain > found.best.cycles


@routine
def choose_largest(sizes: NodeSizes, found: Search, outer: int, buffering: int, budget: int) -> int:
    """Make the tile the largest that fits, evened out, 0 for none; columns are cut only below one row."""
    height, width, tile = sizes.height, sizes.width, found.tile
    if width <= MAX_EXTENT:
        _set_tile(tile, min(height, MAX_EXTENT), width, outer, buffering)
        rows = _most_lines(sizes, found, 1, budget)
        if rows:
            tile.rows = even(height, rows)
            return 1
    _set_tile(tile, 1, min(width, MAX_EXTENT), outer, buffering)
    columns = _most_lines(sizes, found, 0, budget)
    if columns:
        tile.columns = even(width, columns)
    return 1 if columns else 0


@routine
def cut_to_kept(sizes: NodeSizes, machine: MachineCosts, tile: Tile) -> int:
    """Cut a tile to the rows, or the columns of one row, whose input the line buffer holds, so that it
    crosses the ports once and not for each group of output channels; 0 where that is no smaller tile."""
    pixel_bytes = tile.depth * sizes.input_element_bytes
    kept = machine.unit.line_buffer // pixel_bytes
    if not (machine.is_mac and machine.rereads_input and machine.unit.port_rate and kept):
        return 0
    columns = extent(tile.columns, sizes.stride_width, sizes.window_width, sizes.input_width)
    rows = outputs_under(kept // columns, sizes.stride_height, sizes.window_height)
    if rows:
        rows = min(rows, tile.rows)
        is_smaller = 1 if rows < tile.rows else 0
        tile.rows = even(sizes.height, rows)
        return is_smaller
    height = extent(1, sizes.stride_height, sizes.window_height, sizes.input_height)
    columns = outputs_under(kept // height, sizes.stride_width, sizes.window_width)
    if not 0 < columns < tile.columns:
        return 0
    tile.rows, tile.columns = 1, even(sizes.width, columns)
    return 1


@routine
def outputs_under(lines: int, stride: int, window: int) -> int:
    """The rows of the output for which these rows of the input suffice; or columns."""
    return (lines - window) // stride + 1 if lines >= window else 0


@routine
def even(whole: int, size: int) -> int:
    """Pieces of nearly one size, no more of them than pieces of `size`."""
    return -(-whole // -(-whole // size))


@routine
def _most_lines(sizes: NodeSizes, found: Search, by_rows: int, budget: int) -> int:
    """The most rows of full width that fit, or the most columns of one row; 0 for none.

    Needs grow with the size, but for the whole, which needs no second buffers.
    """
    tile = found.tile
    limit = tile.rows if by_rows else tile.columns
    if sram_bytes(sizes, found.group, tile) <= budget:
        return limit
    low, high = 0, limit  # what fits, and what does not
    while high - low > 1:
        middle = (low + high) // 2
        if by_rows:
            tile.rows = middle
        else:
            tile.columns = middle
        if sram_bytes(sizes, found.group, tile) <= budget:
            low = middle
        else:
            high = middle
    return low
