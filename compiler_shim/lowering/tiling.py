"""How a node is cut into tiles: what fits, what it costs, and the cheapest of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import BY_MNEMONIC, RECORD_BYTES, TABLE_BYTES, Unit
from dlasim.sim import cost
from dlasim.sim.config import DlaConfig

ALIGNMENT = 4
ACCUMULATOR_BYTES = 4
MAX_EXTENT = (1 << 16) - 1  # what a size register holds
WORDS_PER_TASK = 14  # command words of a typical task, for estimates
ONE_BY_ONE_WORDS = 5  # command words for each channel after the first


def align(size: int) -> int:
    """Rounded up to the alignment of int32 operands."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Homes:
    """Where a node's tensors live: True where a tensor stays in SRAM."""

    inputs: tuple[bool, ...]
    output: bool


@dataclass(frozen=True, slots=True)
class Tiling:
    """Rows, columns, output channels and input channels of a tile, and the buffers that it takes.

    `weights_outer`: all pixels for one group of channels before the next; else the other way round.
    `buffers` are (bytes, copies) of: each input, constants, accumulator, output; 0 bytes where not needed.
    """

    rows: int
    columns: int
    channels: int
    depth: int
    weights_outer: bool
    buffers: tuple[tuple[int, int], ...]
    cycles: int
    tasks: int
    read_bytes: int

    @property
    def sram_bytes(self) -> int:
        """All buffers together."""
        return sum(align(size) * copies for size, copies in self.buffers)


class TilingProblem:
    """One node on one configuration, with its tensors at home somewhere."""

    def __init__(self, node: DlaNode, config: DlaConfig, homes: Homes) -> None:
        self.node, self.config, self.homes = node, config, homes
        self.height, self.width, self.channels = node.out_shape
        self.depth = node.in_shape[2] if node.is_dense else 1
        self.instruction = BY_MNEMONIC[node.mnemonic]
        self._lanes = self._channel_lanes()

    def _channel_lanes(self) -> int:
        if self.node.one_by_one:
            return 1
        if self.instruction.unit is not Unit.MAC:
            return self.config.vector_lanes
        return self.config.lanes[1] if self.node.is_dense else self.config.depthwise_lanes

    def patch(self, rows: int, columns: int) -> tuple[int, int]:
        """Input rows and columns that an output tile needs, at the most."""
        node = self.node
        reach = [
            (size - 1) * stride + (kernel - 1) * dilation + 1
            for size, stride, kernel, dilation in zip(
                (rows, columns), node.stride, node.kernel, node.dilation, strict=True
            )
        ]
        return min(reach[0], node.in_shape[0]), min(reach[1], node.in_shape[1])

    def input_bytes(self, which: int, rows: int, columns: int, channels: int, depth: int) -> int:
        """Bytes of an input's tile."""
        node = self.node
        if which == 1:
            rows, columns = (rows if node.broadcast[0] else 1), (columns if node.broadcast[1] else 1)
            return rows * columns * channels * node.in_element_bytes
        height, width = self.patch(rows, columns)
        deep = depth if node.is_dense else -(-channels // node.multiplier)
        return height * width * deep * node.in_element_bytes

    def constant_bytes(self, channels: int, depth: int) -> int:
        """Bytes of the weights, records and table of a group of output channels, as they are packed."""
        node = self.node
        if node.table is not None:
            return TABLE_BYTES
        weights = channels * self.weight_depth(depth)
        records = channels * RECORD_BYTES if node.records is not None else 0
        return align(weights) + records

    def weight_depth(self, depth: int) -> int:
        """Bytes of weights of one output channel over `depth` input channels."""
        return self.node.weight_bytes_per_channel // self.depth * depth

    def output_bytes(self, rows: int, columns: int, channels: int) -> int:
        """Bytes of an output tile."""
        return rows * columns * channels * self.node.out_element_bytes

    def buffers(
        self, rows: int, columns: int, channels: int, depth: int, weights_outer: bool, double: bool
    ) -> tuple[tuple[int, int], ...]:
        """Sizes and copies of all buffers."""
        spatial, groups, passes = self.counts(rows, columns, channels, depth)
        tasks = spatial * groups * passes
        copies = 2 if double else 1
        parts = []
        for which, resident in enumerate(self.homes.inputs):
            loads = self._input_loads(which, spatial, groups, passes, weights_outer)
            size = 0 if resident else self.input_bytes(which, rows, columns, channels, depth)
            parts.append((size, copies if loads > 1 else 1))
        loads = self._constant_loads(spatial, groups, passes, weights_outer)
        parts.append((self.constant_bytes(channels, depth), copies if loads > 1 else 1))
        pixels = rows * columns * channels
        parts.append((pixels * ACCUMULATOR_BYTES if passes > 1 else 0, 1))
        out = 0 if self.homes.output else self.output_bytes(rows, columns, channels)
        parts.append((out, copies if tasks > passes else 1))
        return tuple(parts)

    def counts(self, rows: int, columns: int, channels: int, depth: int) -> tuple[int, int, int]:
        """Number of spatial tiles, channel groups and passes over the input channels."""
        spatial = -(-self.height // rows) * -(-self.width // columns)
        return spatial, -(-self.channels // channels), -(-self.depth // depth)

    def _input_loads(self, which: int, spatial: int, groups: int, passes: int, weights_outer: bool) -> int:
        if passes > 1 or not self.node.is_dense or which:
            return spatial * groups * passes
        if weights_outer:
            return spatial * groups if spatial > 1 else 1
        return spatial

    def _constant_loads(self, spatial: int, groups: int, passes: int, weights_outer: bool) -> int:
        if self.node.table is not None:
            return 1
        if passes > 1:
            return spatial * groups * passes
        if weights_outer:
            return groups
        return spatial * groups if groups > 1 else 1

    def tiling(
        self, rows: int, columns: int, channels: int, depth: int, weights_outer: bool, double: bool
    ) -> Tiling:
        """A tiling of these sizes with its estimate."""
        buffers = self.buffers(rows, columns, channels, depth, weights_outer, double)
        spatial, groups, passes = self.counts(rows, columns, channels, depth)
        tasks = spatial * groups * passes
        compute = self._compute_cycles(channels, depth, tasks)
        read, loads, first = 0, 0, 0
        rate = cost.dma_rate(self.config)
        for which, resident in enumerate(self.homes.inputs):
            if not resident:
                times = self._input_loads(which, spatial, groups, passes, weights_outer)
                size = self.input_bytes(which, rows, columns, channels, depth)
                read, loads, first = read + times * size, loads + times, first + size
        times = self._constant_loads(spatial, groups, passes, weights_outer)
        size = self.constant_bytes(channels, depth)
        if size:
            read, loads, first = read + times * size, loads + times, first + size
        written = 0 if self.homes.output else self.output_bytes(self.height, self.width, self.channels)
        latency = self.config.dma_latency
        move_in = (read // rate if rate else 0) + loads * latency
        move_out = (written // rate if rate else 0) + (tasks // passes * latency if written else 0)
        if double or tasks == 1:
            ends = (first // rate if rate else 0) + latency + move_out // max(tasks // passes, 1)
            cycles = max(compute, move_in, move_out) + (ends if tasks > 1 else 0)
            if tasks == 1:
                cycles = compute + move_in + move_out
        else:
            cycles = compute + move_in + move_out
        return Tiling(rows, columns, channels, depth, weights_outer, buffers, cycles, tasks, read)

    def _compute_cycles(self, channels: int, depth: int, tasks: int) -> int:
        node, config = self.node, self.config
        pixels, taps = self.height * self.width, node.kernel[0] * node.kernel[1]
        whole, rest = divmod(self.channels, channels)
        groups = whole * -(-channels // self._lanes) + -(-rest // self._lanes)
        if self.instruction.unit is Unit.MAC:
            deep = 1
            if node.is_dense:
                full, part = divmod(self.depth, depth)
                lanes = config.lanes[0]
                deep = full * -(-depth // lanes) + -(-part // lanes)
            fixed = config.mac_fill + config.mac_drain
            if node.one_by_one:
                fixed = (fixed + ONE_BY_ONE_WORDS * config.issue_cycles) * channels
        else:
            deep, fixed = 1, config.vector_fill + config.vector_drain
        return pixels * taps * deep * groups + tasks * (fixed + WORDS_PER_TASK * config.issue_cycles)


def candidates(problem: TilingProblem, budget: int) -> Iterator[Tiling]:
    """Tilings that fit: for each group size the largest tiles, in both orders, with and without a second
    buffer; deeper cuts only where nothing else fits."""
    found = False
    for channels in _channel_choices(problem):
        for double in (True, False):
            for weights_outer in (True, False):
                tiling = _largest(problem, channels, problem.depth, weights_outer, double, budget)
                if tiling is not None:
                    found = True
                    yield tiling
    if found or problem.depth == 1:
        return
    depth = problem.depth
    while depth > 1 and not found:
        depth = -(-depth // 2)
        for channels in _channel_choices(problem):
            tiling = _largest(problem, channels, depth, True, True, budget) or _largest(
                problem, channels, depth, True, False, budget
            )
            if tiling is not None:
                found = True
                yield tiling


def best(problem: TilingProblem, budget: int) -> Tiling | None:
    """The cheapest tiling within `budget` bytes of SRAM; None where not even the smallest fits."""
    return min(candidates(problem, budget), key=lambda t: (t.cycles, t.tasks, t.sram_bytes), default=None)


def smallest(problem: TilingProblem) -> Tiling:
    """The tiling that needs the least SRAM."""
    step = problem.node.multiplier if not problem.node.is_dense else 1
    return problem.tiling(1, 1, step, 1, True, False)


def _channel_choices(problem: TilingProblem) -> list[int]:
    """Group sizes worth trying: all, and multiples of the lanes down to one channel."""
    step = problem.node.multiplier if not problem.node.is_dense else 1
    unit = max(problem._lanes // step, 1) * step
    choices = {problem.channels}
    parts = 2
    while problem.channels // parts >= unit:
        size = -(-problem.channels // parts)
        choices.add(-(-size // unit) * unit)
        parts = parts + 1 if parts < 6 else parts * 2
    if problem.channels > unit:
        choices.add(unit)
    size = unit
    while size > step:
        size = max(-(-size // 2) // step * step, step)
        if size < problem.channels:
            choices.add(size)
    return sorted(choices, reverse=True)


def _largest(
    problem: TilingProblem, channels: int, depth: int, weights_outer: bool, double: bool, budget: int
) -> Tiling | None:
    """The tiling with the most rows that fits, then evened out; columns are cut only below one row."""

    def fits(rows: int, columns: int) -> bool:
        parts = problem.buffers(rows, columns, channels, depth, weights_outer, double)
        return sum(align(size) * copies for size, copies in parts) <= budget

    height, width = min(problem.height, MAX_EXTENT), min(problem.width, MAX_EXTENT)
    if fits(1, width):
        rows = _most(lambda size: fits(size, width), height)
        rows = -(-problem.height // -(-problem.height // rows))
        if not fits(rows, width):
            return None
        return problem.tiling(rows, width, channels, depth, weights_outer, double)
    if not fits(1, 1):
        return None
    columns = _most(lambda size: fits(1, size), width)
    columns = -(-problem.width // -(-problem.width // columns))
    return problem.tiling(1, columns, channels, depth, weights_outer, double) if fits(1, columns) else None


def _most(fits: object, limit: int) -> int:
    """The largest size up to `limit` that fits, given that 1 does; larger tiles never need less."""
    assert callable(fits)
    if fits(limit):
        return limit
    low, high = 1, limit
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
