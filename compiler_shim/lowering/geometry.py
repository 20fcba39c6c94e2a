"""What cutting a node into tiles takes, whatever the machine: how many tiles, and which buffers.

A geometry remembers what it has worked out, since layers, budgets and, in a sweep, machines repeat; there is
one for each shape of node and homes of its tensors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import RECORD_BYTES, TABLE_BYTES

ALIGNMENT = 4
ACCUMULATOR_BYTES = 4
MAX_EXTENT = (1 << 16) - 1  # what a size register holds
ENDLESS = 1 << 62  # more than any budget
MOST_REMEMBERED = 20_000

Buffers = tuple[tuple[int, int], ...]


def align(size: int) -> int:
    """Rounded up to the alignment of int32 operands."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Homes:
    """Where a node's tensors live: True where a tensor stays in SRAM."""

    inputs: tuple[bool, ...]
    output: bool


class Cut(NamedTuple):
    """Rows, columns, output channels and input channels of a tile, and the order of the tiles.

    `weights_outer`: all pixels for one group of channels before the next group; else the other way round.
    `double`: buffers that are filled more than once have a second copy.
    """

    rows: int
    columns: int
    channels: int
    depth: int
    weights_outer: bool
    double: bool

    @property
    def text(self) -> str:
        """The tile as people read it: rows x columns x output channels / input channels, and the order."""
        order = "channels outer" if self.weights_outer else "pixels outer"
        buffers = ", double" if self.double else ""
        return f"{self.rows}x{self.columns}x{self.channels}/{self.depth} {order}{buffers}"


def total_bytes(buffers: Buffers) -> int:
    """What buffers take in SRAM."""
    total = 0
    for size, copies in buffers:
        total += (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT * copies
    return total


class Counts(NamedTuple):
    """Spatial tiles, groups of output channels, passes over the input channels; and how often the first
    input and the constants are loaded."""

    spatial: int
    groups: int
    passes: int
    input_loads: int
    constant_loads: int

    @property
    def tasks(self) -> int:
        """Tiles to compute."""
        return self.spatial * self.groups * self.passes


class Traffic(NamedTuple):
    """What a cut takes and moves: tasks and tiles of output, transfers and bytes in, the bytes that the
    first task waits for, and all buffers together."""

    tasks: int
    tiles: int
    loads: int
    read_bytes: int
    first_bytes: int
    sram_bytes: int


@cache
def node_geometry(
    out_shape: tuple[int, int, int], in_shape: tuple[int, int, int], kernel: tuple[int, int],
    stride: tuple[int, int], dilation: tuple[int, int], element_bytes: tuple[int, int],
    broadcast: tuple[int, int], is_dense: bool, constants: tuple[int, bool, bool],
    home_inputs: tuple[bool, ...], home_output: bool,
) -> Geometry:  # fmt: skip
    """The one geometry of nodes like this."""
    return Geometry(
        out_shape, in_shape, kernel, stride, dilation, element_bytes, broadcast, is_dense, constants,
        Homes(home_inputs, home_output),
    )  # fmt: skip


def geometry_of(node: DlaNode, homes: Homes) -> Geometry:
    """The geometry of a node whose tensors live there."""
    return node_geometry(
        node.out_shape, node.in_shape, node.kernel, node.stride, node.dilation,
        (node.in_element_bytes, node.out_element_bytes), node.broadcast, node.is_dense,
        (node.weight_bytes_per_channel, node.records is not None, node.table is not None),
        homes.inputs, homes.output,
    )  # fmt: skip


class Geometry:
    """Nodes of one shape, their tensors at home somewhere."""

    def __init__(
        self, out_shape: tuple[int, int, int], in_shape: tuple[int, int, int], kernel: tuple[int, int],
        stride: tuple[int, int], dilation: tuple[int, int], element_bytes: tuple[int, int],
        broadcast: tuple[int, int], is_dense: bool, constants: tuple[int, bool, bool], homes: Homes,
    ) -> None:  # fmt: skip
        self.height, self.width, self.channels = out_shape
        self.is_dense, self.homes = is_dense, homes
        self.depth = in_shape[2] if is_dense else 1
        self.step = 1 if is_dense else out_shape[2] // in_shape[2]  # channels that cannot be parted
        weight_bytes, has_records, self._has_table = constants
        self._unit_weights = weight_bytes // self.depth
        self._record = RECORD_BYTES if has_records else 0
        self._reach = [(taps - 1) * apart + 1 for taps, apart in zip(kernel, dilation, strict=True)]
        self._in_bytes, self._out_bytes = element_bytes
        self._in_shape, self._stride, self._broadcast = in_shape, stride, broadcast
        self._traffic: dict[Cut, Traffic] = {}
        self._cuts: dict[tuple[int, int], tuple[Cut, ...]] = {}
        self.ample: dict[int, int] = {}  # by lanes, the budget from which on the choice is always the same
        self._largest: dict[Cut, tuple[list[int], list[int], list[Cut | None]]] = {}

    def weight_depth(self, depth: int) -> int:
        """Bytes of weights of one output channel over `depth` input channels."""
        return self._unit_weights * depth

    def constant_bytes(self, channels: int, depth: int) -> int:
        """Bytes of the weights, records and table of a group of output channels, as they are packed."""
        if self._has_table:
            return TABLE_BYTES
        return align(channels * self._unit_weights * depth) + channels * self._record

    def input_bytes(self, cut: Cut) -> int:
        """Bytes of the first input's tile."""
        tall, wide, _ = self._in_shape
        height = min((cut.rows - 1) * self._stride[0] + self._reach[0], tall)
        width = min((cut.columns - 1) * self._stride[1] + self._reach[1], wide)
        deep = cut.depth if self.is_dense else -(-cut.channels // self.step)
        return height * width * deep * self._in_bytes

    def second_bytes(self, cut: Cut) -> int:
        """Bytes of the second input's tile."""
        tall, wide = self._broadcast
        return (cut.rows if tall else 1) * (cut.columns if wide else 1) * cut.channels * self._in_bytes

    def output_bytes(self, rows: int, columns: int, channels: int) -> int:
        """Bytes of an output tile."""
        return rows * columns * channels * self._out_bytes

    @property
    def written_bytes(self) -> int:
        """Bytes of the output that go to system memory."""
        return 0 if self.homes.output else self.output_bytes(self.height, self.width, self.channels)

    def counts(self, cut: Cut) -> Counts:
        """How many tiles there are, and how often what they share is loaded."""
        spatial = -(-self.height // cut.rows) * -(-self.width // cut.columns)
        groups, passes = -(-self.channels // cut.channels), -(-self.depth // cut.depth)
        constant = spatial * groups * passes
        inputs = constant
        if passes == 1:
            if cut.weights_outer or groups == 1:
                constant = groups
            if self.is_dense and (spatial == 1 or not cut.weights_outer):
                inputs = spatial
        return Counts(spatial, groups, passes, inputs, 1 if self._has_table else constant)

    def buffers(self, cut: Cut, counts: Counts) -> Buffers:
        """Sizes and copies of all buffers."""
        copies = 2 if cut.double else 1
        homes, tasks = self.homes, counts.tasks
        parts = [
            (0, 1) if homes.inputs[0] else (self.input_bytes(cut), copies if counts.input_loads > 1 else 1)
        ]
        if len(homes.inputs) > 1:
            parts.append((0, 1) if homes.inputs[1] else (self.second_bytes(cut), copies if tasks > 1 else 1))
        parts.append(
            (self.constant_bytes(cut.channels, cut.depth), copies if counts.constant_loads > 1 else 1)
        )
        pixels = cut.rows * cut.columns * cut.channels
        parts.append((pixels * ACCUMULATOR_BYTES if counts.passes > 1 else 0, 1))
        size = pixels * self._out_bytes
        parts.append((0, 1) if homes.output else (size, copies if tasks > counts.passes else 1))
        return tuple(parts)

    def sram_bytes(self, cut: Cut) -> int:
        """SRAM that a cut takes."""
        return total_bytes(self.buffers(cut, self.counts(cut)))

    def traffic(self, cut: Cut) -> Traffic:
        """What a cut takes and moves."""
        found = self._traffic.get(cut)
        if found is None:
            if len(self._traffic) >= MOST_REMEMBERED:
                self._traffic.clear()
            found = self._traffic[cut] = self._work_out(cut)
        return found

    def _work_out(self, cut: Cut) -> Traffic:
        counts = self.counts(cut)
        buffers = self.buffers(cut, counts)
        loads, read, first = 0, 0, 0
        times = (counts.input_loads, counts.tasks)[: len(self.homes.inputs)]
        for (size, _), often in zip(buffers, (*times, counts.constant_loads), strict=False):
            if size:
                loads, read, first = loads + often, read + often * size, first + size
        return Traffic(counts.tasks, counts.spatial * counts.groups, loads, read, first, total_bytes(buffers))

    def known_cuts(self, lanes: int, budget: int) -> tuple[Cut, ...] | None:
        """The cuts worth trying for so many lanes within a budget, if they have been found before."""
        return self._cuts.get((lanes, budget))

    def remember_cuts(self, lanes: int, budget: int, cuts: tuple[Cut, ...]) -> tuple[Cut, ...]:
        """Keep the cuts worth trying."""
        if len(self._cuts) >= MOST_REMEMBERED:
            self._cuts.clear()
        self._cuts[lanes, budget] = cuts
        return cuts

    def largest(self, shape: Cut, budget: int) -> Cut | None:
        """The cut with the most rows that fits, then evened out; columns are cut only below one row.

        One answer holds for a range of budgets: from what it needs to what the next larger would need.
        """
        lows, highs, cuts = self._largest.setdefault(shape, ([], [], []))
        spot = bisect_right(lows, budget) - 1
        if spot >= 0 and budget < highs[spot]:
            return cuts[spot]
        if len(lows) >= MOST_REMEMBERED:
            lows, highs, cuts = self._largest[shape] = ([], [], [])
            spot = -1
        low, high, cut = self._find_largest(shape, budget)
        lows.insert(spot + 1, low)
        highs.insert(spot + 1, high)
        cuts.insert(spot + 1, cut)
        return cut

    def largest_needs(self, shape: Cut) -> int:
        """The budget from which on the largest cut is always the same."""
        self.largest(shape, ENDLESS - 1)
        lows, _, _ = self._largest[shape]
        return lows[-1]

    def _find_largest(self, shape: Cut, budget: int) -> tuple[int, int, Cut | None]:
        """The cut, and the range of budgets for which it is the largest."""
        low, high, rows = 0, ENDLESS, 0
        if self.width <= MAX_EXTENT:
            limit = min(self.height, MAX_EXTENT)
            rows, low, high = most(lambda size: self.sram_bytes(shape._replace(rows=size)), limit, budget)
        if rows:
            return low, high, shape._replace(rows=even(self.height, rows))
        limit = min(self.width, MAX_EXTENT)
        columns, more, less = most(lambda size: self.sram_bytes(shape._replace(columns=size)), limit, budget)
        cut = shape._replace(columns=even(self.width, columns)) if columns else None
        return max(low, more), min(high, less), cut


def even(whole: int, size: int) -> int:
    """Pieces of nearly one size, no more of them than pieces of `size`."""
    return -(-whole // -(-whole // size))


def most(needed: Callable[[int], int], limit: int, budget: int) -> tuple[int, int, int]:
    """The largest size up to `limit` for which no more than the budget is needed, 0 for none; and the
    budgets [low, high) for which that is so.

    Needs grow with the size, in nearly even steps, but for the whole, which needs no second buffer.
    """
    whole = needed(limit)
    if whole <= budget:
        return limit, whole, ENDLESS
    least = needed(1)
    if least > budget:
        return 0, 0, min(least, whole)
    low, high = 1, limit
    low_need, high_need = least, whole
    guess = 1 + (budget - least) // max(needed(min(2, limit)) - least, 1)
    while high - low > 1:
        middle = guess if low < guess < high else (low + high) // 2
        need = needed(middle)
        if need <= budget:
            low, guess, low_need = middle, middle + 1, need
        else:
            high, guess, high_need = middle, middle - 1, need
    return low, low_need, min(high_need, whole)
