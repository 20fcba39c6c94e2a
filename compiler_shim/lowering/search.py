"""Finds the cheapest cut of a node within a budget of SRAM; a routine."""

from __future__ import annotations

from dlasim.compiler_shim.lowering import cuts
from dlasim.native.routine import Numbers, Routine, routine

PIECES = 4
MAX_EXTENT = (1 << 16) - 1  # what a size register holds

# What is found: the budget from which on it is always the same; what the best cut has least of, one after the
# other; what else it takes; and the cut itself. 0 tasks where no cut fits.
(
    AMPLE, CYCLES, TASKS, SRAM_BYTES, READ_BYTES,
    CUT_ROWS, CUT_COLUMNS, CUT_CHANNELS, CUT_DEPTH, CUT_OUTER, CUT_DOUBLE, BUFFERS,
) = range(12)  # fmt: skip
FOUND_NUMBERS = BUFFERS + cuts.BUFFER_NUMBERS


@routine
def search(
    geometry: Numbers, machine: Numbers, budget: int, by_channels: int, group: Numbers, found: Numbers
) -> int:
    """Find the best cut within a budget, or the paper's."""
    found[AMPLE] = found[TASKS] = 0
    if by_channels:
        _cut_channels(geometry, machine, budget, group, found)
    else:
        depth = geometry[cuts.DEPTH]
        _note_ample(geometry, machine, group, found)
        _cut_all(geometry, machine, depth, budget, group, found)
        while depth > 1 and not found[TASKS]:
            depth = half(depth)  # only where nothing else fits, since that costs accumulators
            _cut_all(geometry, machine, depth, budget, group, found)
    if found[TASKS]:
        cuts.describe_group(geometry, found[CUT_CHANNELS], found[CUT_DEPTH], group)
        cuts.list_buffers(
            geometry, group, found[CUT_ROWS], found[CUT_COLUMNS], found[CUT_OUTER], found[CUT_DOUBLE],
            found, BUFFERS,
        )  # fmt: skip
    return found[TASKS]


SEARCH = Routine(search, "search", (__name__, cuts.__name__, "dlasim.isa.instructions"))


@routine
def half(depth: int) -> int:
    """The next smaller number of input channels worth trying."""
    return -(-depth // 2)


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
def _cut_channels(geometry: Numbers, machine: Numbers, budget: int, group: Numbers, found: Numbers) -> None:
    """The paper's cut: the whole input, single buffers, and as many output channels as fit beside it."""
    height, width, depth = geometry[cuts.HEIGHT], geometry[cuts.WIDTH], geometry[cuts.DEPTH]
    step = geometry[cuts.STEP]
    low, high = 0, geometry[cuts.CHANNELS] // step + 1
    steps = high - 1
    while high - low > 1:
        cuts.describe_group(geometry, steps * step, depth, group)
        needed = cuts.sram_bytes(geometry, group, height, width, 1, 0)
        found[AMPLE] = max(found[AMPLE], needed)  # all channels come first
        if needed <= budget:
            low = steps
        else:
            high = steps
        steps = (low + high) // 2
    if low:
        cuts.describe_group(geometry, low * step, depth, group)
        cuts.describe_costs(geometry, machine, low * step, depth, group)
        _consider(geometry, machine, low * step, depth, height, width, 1, 0, group, found)


@routine
def _note_ample(geometry: Numbers, machine: Numbers, group: Numbers, found: Numbers) -> None:
    """From here on every cut worth trying is as large as can be: with all channels, or second buffers for
    everything in the largest part of them, which takes more than any smaller one."""
    channels, lanes = geometry[cuts.CHANNELS], machine[cuts.OUTPUT_LANES]
    part, _ = smaller_group(channels, geometry[cuts.STEP], lanes, channels, 1)
    height, width = geometry[cuts.HEIGHT], min(geometry[cuts.WIDTH], MAX_EXTENT)
    rows = min(height, MAX_EXTENT) if geometry[cuts.WIDTH] <= MAX_EXTENT else 1
    for size in (channels, part):
        if size:
            cuts.describe_group(geometry, size, geometry[cuts.DEPTH], group)
            found[AMPLE] = max(found[AMPLE], cuts.sram_bytes(geometry, group, rows, width, 0, 1))


@routine
def _cut_all(
    geometry: Numbers, machine: Numbers, depth: int, budget: int, group: Numbers, found: Numbers
) -> None:
    """Try groups of all sizes over `depth` input channels."""
    channels, step, lanes = geometry[cuts.CHANNELS], geometry[cuts.STEP], machine[cuts.OUTPUT_LANES]
    size, parts = channels, 1
    while size:
        cuts.describe_group(geometry, size, depth, group)
        cuts.describe_costs(geometry, machine, size, depth, group)
        _cut_group(geometry, machine, size, depth, budget, group, found)
        size, parts = smaller_group(channels, step, lanes, size, parts)


@routine
def _cut_group(
    geometry: Numbers, machine: Numbers, channels: int, depth: int, budget: int, group: Numbers,
    found: Numbers,
) -> None:  # fmt: skip
    """Try the largest tiles of a group that fit, in both orders, with and without second buffers."""
    for outer in (1, 0):
        spatial = 0
        rows, columns = largest(geometry, group, outer, 1, budget)
        if rows:
            spatial = cuts.spatial_tiles(geometry, rows, columns)
            _consider(geometry, machine, channels, depth, rows, columns, outer, 1, group, found)
            if rows >= 2 * PIECES and cuts.travels(geometry):  # smaller: less wait for the first and the last
                rows = -(-rows // PIECES)
                _consider(geometry, machine, channels, depth, rows, columns, outer, 1, group, found)
        if spatial != 1:  # room for a larger tile without second buffers
            rows, columns = largest(geometry, group, outer, 0, budget)
            if rows:
                _consider(geometry, machine, channels, depth, rows, columns, outer, 0, group, found)
        if spatial == 1 or (spatial and group[cuts.GROUPS] == 1):
            break  # with one tile along an axis both orders are the same


@routine
def _consider(
    geometry: Numbers, machine: Numbers, channels: int, depth: int, rows: int, columns: int, outer: int,
    double: int, group: Numbers, found: Numbers,
) -> None:  # fmt: skip
    """Keep a cut if it is the best so far."""
    cycles, tasks, read = cuts.estimate(geometry, machine, group, rows, columns, outer, double)
    if found[TASKS] and (cycles, tasks) > (found[CYCLES], found[TASKS]):
        return
    needed = cuts.sram_bytes(geometry, group, rows, columns, outer, double)
    if found[TASKS] and (cycles, tasks, needed) >= (found[CYCLES], found[TASKS], found[SRAM_BYTES]):
        return
    found[CYCLES], found[TASKS], found[SRAM_BYTES], found[READ_BYTES] = cycles, tasks, needed, read
    found[CUT_ROWS], found[CUT_COLUMNS] = rows, columns
    found[CUT_CHANNELS], found[CUT_DEPTH] = channels, depth
    found[CUT_OUTER], found[CUT_DOUBLE] = outer, double


@routine
def largest(geometry: Numbers, group: Numbers, outer: int, double: int, budget: int) -> tuple[int, int]:
    """Rows and columns of the largest tile that fits, evened out, 0 for none; columns are cut only below one
    row."""
    height, width = geometry[cuts.HEIGHT], geometry[cuts.WIDTH]
    if width <= MAX_EXTENT:
        rows = _most(geometry, group, 1, outer, double, budget)
        if rows:
            return even(height, rows), width
    columns = _most(geometry, group, 0, outer, double, budget)
    return (1, even(width, columns)) if columns else (0, 0)


@routine
def even(whole: int, size: int) -> int:
    """Pieces of nearly one size, no more of them than pieces of `size`."""
    return -(-whole // -(-whole // size))


@routine
def _most(geometry: Numbers, group: Numbers, by_rows: int, outer: int, double: int, budget: int) -> int:
    """The most rows of full width that fit, or the most columns of one row; 0 for none.

    Needs grow with the size, in nearly even steps, but for the whole, which needs no second buffers.
    """
    limit = min(geometry[cuts.HEIGHT] if by_rows else geometry[cuts.WIDTH], MAX_EXTENT)
    rows, columns = (limit, geometry[cuts.WIDTH]) if by_rows else (1, limit)
    if cuts.sram_bytes(geometry, group, rows, columns, outer, double) <= budget:
        return limit
    cuts.describe_lines(geometry, group, by_rows, outer, double)
    low, high = 0, limit  # what fits, and what does not
    guess = min(max((budget - group[cuts.START]) // max(group[cuts.SLOPE], 1), 1), limit - 1)
    while high - low > 1:
        middle = guess if low < guess < high else (low + high) // 2
        if cuts.lines_bytes(group, middle) <= budget:
            low, guess = middle, middle + 1
        else:
            high, guess = middle, middle - 1
    return low
