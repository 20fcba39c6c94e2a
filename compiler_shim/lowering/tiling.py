"""How a node is cut into tiles: the buffers that a tiling takes, and an estimate of its cycles.

`search` finds the cheapest tiling; this module says what one costs. Estimates use the simulator's own cost
functions for the units, and assume that loads, computation and stores overlap where buffers are double.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import BY_MNEMONIC, RECORD_BYTES, TABLE_BYTES, Unit
from dlasim.sim import cost
from dlasim.sim.config import DlaConfig

ALIGNMENT = 4
ACCUMULATOR_BYTES = 4
MAX_EXTENT = (1 << 16) - 1  # what a size register holds
WORDS_PER_TASK = 14  # command words of a typical task, for estimates
ONE_BY_ONE_WORDS = 5  # command words for each channel after the first

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


@dataclass(frozen=True, slots=True)
class Tiling:
    """A cut with what it takes: `buffers` are (bytes, copies) of each input, the constants, the accumulator
    and the output, 0 bytes where there is none."""

    cut: Cut
    buffers: Buffers
    cycles: int
    tasks: int
    read_bytes: int

    @property
    def sram_bytes(self) -> int:
        """All buffers together."""
        return total_bytes(self.buffers)

    def moved_bytes(self, problem: TilingProblem) -> int:
        """Bytes over the bus."""
        if problem.homes.output:
            return self.read_bytes
        return self.read_bytes + problem.output_bytes(problem.height, problem.width, problem.channels)


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


class TilingProblem:
    """One node on one configuration, with its tensors at home somewhere."""

    def __init__(self, node: DlaNode, config: DlaConfig, homes: Homes) -> None:
        self.node, self.config, self.homes = node, config, homes
        self.height, self.width, self.channels = node.out_shape
        self.is_dense = node.is_dense
        self.depth = node.in_shape[2] if self.is_dense else 1
        self.step = 1 if self.is_dense else node.multiplier  # channels that cannot be parted
        self.instruction = BY_MNEMONIC[node.mnemonic]
        self.lanes = self._channel_lanes()
        self._has_table = node.table is not None
        self._unit_weights = node.weight_bytes_per_channel // self.depth
        self._record = RECORD_BYTES if node.records is not None else 0
        self._reach = [
            (kernel - 1) * dilation + 1 for kernel, dilation in zip(node.kernel, node.dilation, strict=True)
        ]
        self._element = node.in_element_bytes
        self._in_shape, self._stride = node.in_shape, node.stride

    def _channel_lanes(self) -> int:
        if self.node.one_by_one:
            return 1
        if self.instruction.unit is not Unit.MAC:
            return self.config.vector_lanes
        return self.config.lanes[1] if self.is_dense else self.config.depthwise_lanes

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
        return height * width * deep * self._element

    def second_bytes(self, cut: Cut) -> int:
        """Bytes of the second input's tile."""
        tall, wide = self.node.broadcast
        return (cut.rows if tall else 1) * (cut.columns if wide else 1) * cut.channels * self._element

    def output_bytes(self, rows: int, columns: int, channels: int) -> int:
        """Bytes of an output tile."""
        return rows * columns * channels * self.node.out_element_bytes

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
        size = pixels * self.node.out_element_bytes
        parts.append((0, 1) if homes.output else (size, copies if tasks > counts.passes else 1))
        return tuple(parts)

    def sram_bytes(self, cut: Cut) -> int:
        """SRAM that a cut takes."""
        return total_bytes(self.buffers(cut, self.counts(cut)))

    def tiling(self, cut: Cut) -> Tiling:
        """A cut with its estimate."""
        counts = self.counts(cut)
        buffers = self.buffers(cut, counts)
        loads, read, first = 0, 0, 0
        times = (counts.input_loads, counts.tasks)[: len(self.homes.inputs)]
        for (size, _), often in zip(buffers, (*times, counts.constant_loads), strict=False):
            if size:
                loads, read, first = loads + often, read + often * size, first + size
        tiles = counts.spatial * counts.groups
        written = 0 if self.homes.output else self.output_bytes(self.height, self.width, self.channels)
        rate, latency = cost.dma_rate(self.config), self.config.dma_latency
        move_in = (read // rate if rate else 0) + loads * latency
        move_out = ((written // rate if rate else 0) + tiles * latency) if written else 0
        compute = self._compute_cycles(cut, counts)
        cycles = compute + move_in + move_out
        if cut.double and counts.tasks > 1:
            ends = (first // rate if rate else 0) + latency + move_out // tiles
            cycles = min(cycles, max(compute, move_in, move_out) + ends)
        return Tiling(cut, buffers, cycles, counts.tasks, read)

    def _compute_cycles(self, cut: Cut, counts: Counts) -> int:
        fixed = self.task_cycles(cut.channels)
        if cut.channels == self.channels and cut.depth == self.depth:
            return self.waves() + counts.tasks * fixed
        return self.waves(cut.channels, cut.depth) + counts.tasks * fixed

    def waves(self, channels: int | None = None, depth: int | None = None) -> int:
        """Cycles of pure work, in groups of output channels and passes over the input channels."""
        node = self.node
        channels, depth = channels or self.channels, depth or self.depth
        whole, rest = divmod(self.channels, channels)
        groups = whole * -(-channels // self.lanes) + -(-rest // self.lanes)
        deep = 1
        if self.is_dense:
            full, part = divmod(self.depth, depth)
            lanes = self.config.lanes[0]
            deep = full * -(-depth // lanes) + -(-part // lanes)
        return self.height * self.width * node.kernel[0] * node.kernel[1] * deep * groups

    def task_cycles(self, channels: int | None = None) -> int:
        """Cycles that a task takes besides its work."""
        config = self.config
        fixed = config.vector_fill + config.vector_drain
        if self.instruction.unit is Unit.MAC:
            fixed = config.mac_fill + config.mac_drain
            if self.node.one_by_one:
                fixed = (fixed + ONE_BY_ONE_WORDS * config.issue_cycles) * (channels or self.channels)
        return fixed + WORDS_PER_TASK * config.issue_cycles
