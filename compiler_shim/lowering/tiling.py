"""How good a tiling of a node is: an estimate of its cycles on one machine.

`geometry` says what a cut takes, `search` finds the cheapest; this module says what one costs. Estimates use
the simulator's own cost functions for the units, and assume that loads, computation and stores overlap where
buffers are double.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlasim.compiler_shim.lowering.geometry import (
    Buffers,
    Cut,
    Homes,
    Traffic,
    geometry_of,
    total_bytes,
)
from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from dlasim.sim import cost
from dlasim.sim.config import DlaConfig

WORDS_PER_TASK = 14  # command words of a typical task, for estimates
ONE_BY_ONE_WORDS = 5  # command words for each channel after the first


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
        return self.read_bytes + problem.geometry.written_bytes


class TilingProblem:
    """One node on one configuration, with its tensors at home somewhere."""

    def __init__(self, node: DlaNode, config: DlaConfig, homes: Homes) -> None:
        self.node, self.config, self.homes = node, config, homes
        self.geometry = geometry_of(node, homes)
        self.height, self.width, self.channels = node.out_shape
        self.depth, self.step = self.geometry.depth, self.geometry.step
        self.is_dense = self.geometry.is_dense
        self.is_mac = BY_MNEMONIC[node.mnemonic].unit is Unit.MAC
        self.lanes = self._channel_lanes()
        self._input_lanes = config.lanes[0]
        self._rate, self._latency = cost.dma_rate(config), config.dma_latency
        self._written = self.geometry.written_bytes

    def _channel_lanes(self) -> int:
        if self.node.one_by_one:
            return 1
        if not self.is_mac:
            return self.config.vector_lanes
        return self.config.lanes[1] if self.is_dense else self.config.depthwise_lanes

    def tiling(self, cut: Cut) -> Tiling:
        """A cut with its estimate."""
        traffic = self.geometry.traffic(cut)
        buffers = self.geometry.buffers(cut, self.geometry.counts(cut))
        return Tiling(cut, buffers, self.cycles(cut, traffic), traffic.tasks, traffic.read_bytes)

    def rank(self, cut: Cut) -> tuple[int, int, int]:
        """What the best cut has least of."""
        traffic = self.geometry.traffic(cut)
        return self.cycles(cut, traffic), traffic.tasks, traffic.sram_bytes

    def cycles(self, cut: Cut, traffic: Traffic) -> int:
        """The estimate."""
        rate, latency, written = self._rate, self._latency, self._written
        move_in = (traffic.read_bytes // rate if rate else 0) + traffic.loads * latency
        move_out = ((written // rate if rate else 0) + traffic.tiles * latency) if written else 0
        compute = self._compute_cycles(cut, traffic.tasks)
        cycles = compute + move_in + move_out
        if cut.double and traffic.tasks > 1:
            ends = (traffic.first_bytes // rate if rate else 0) + latency + move_out // traffic.tiles
            cycles = min(cycles, max(compute, move_in, move_out) + ends)
        return cycles

    def _compute_cycles(self, cut: Cut, tasks: int) -> int:
        return self.waves(cut.channels, cut.depth) + tasks * self.task_cycles(cut.channels)

    def waves(self, channels: int | None = None, depth: int | None = None) -> int:
        """Cycles of pure work, in groups of output channels and passes over the input channels."""
        node = self.node
        channels, depth = channels or self.channels, depth or self.depth
        whole, rest = divmod(self.channels, channels)
        groups = whole * -(-channels // self.lanes) + -(-rest // self.lanes)
        deep = 1
        if self.is_dense:
            full, part = divmod(self.depth, depth)
            lanes = self._input_lanes
            deep = full * -(-depth // lanes) + -(-part // lanes)
        return self.height * self.width * node.kernel[0] * node.kernel[1] * deep * groups

    def task_cycles(self, channels: int | None = None) -> int:
        """Cycles that a task takes besides its work."""
        config = self.config
        fixed = config.vector_fill + config.vector_drain
        if self.is_mac:
            fixed = config.mac_fill + config.mac_drain
            if self.node.one_by_one:
                fixed = (fixed + ONE_BY_ONE_WORDS * config.issue_cycles) * (channels or self.channels)
        return fixed + WORDS_PER_TASK * config.issue_cycles
