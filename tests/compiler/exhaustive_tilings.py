"""Every tiling of random nodes, tried tile by tile: what the search for tilings is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from math import ceil

import numpy as np

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.addresses.sram_plan import TileShape
from dlasim.compiler_shim.lowering.tiles.tile_buffers import DOUBLE, DOUBLE_TENSORS, SINGLE
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.timing import cost
from dlasim.sim.timing.formulas import lane_cycles
from tests.compiler.problems import InSram, Problem, Tiling

KINDS = "OP_CONV", "OP_DEPTH_CONV", "channel by channel", "OP_E_ADD", "OP_POOL", "OP_C_MAX", "OP_ACT_LUT"


def random_node(rng: np.random.Generator, most: int) -> DlaNode:
    """A node of any kind with at most so many rows, columns and channels."""

    def size(low: int = 1, high: int | None = None) -> int:
        """Up to `high`, else any order of magnitude up to the most."""
        return int(rng.integers(low, high + 1) if high is not None else (most + 1) ** rng.uniform())

    kind = str(rng.choice(KINDS))
    channels, multiplier = size(), 1
    kernel = stride = dilation = broadcast = (1, 1)
    inputs: tuple[int, ...] = (0,)
    if kind in ("OP_CONV", "OP_DEPTH_CONV", "channel by channel", "OP_POOL"):
        kernel, stride, dilation = (
            (size(1, 3), size(1, 3)),
            (size(1, 2), size(1, 2)),
            (size(1, 2), size(1, 2)),
        )
    if kind in ("OP_DEPTH_CONV", "channel by channel"):
        multiplier = size(1, 3)
    if kind in ("OP_E_ADD", "OP_C_MAX"):
        inputs, broadcast = (0, 1), (size(0, 1), size(0, 1))
    height, width = size(), size()
    has_constants = kind in ("OP_CONV", "OP_DEPTH_CONV", "channel by channel")
    in_shape = (
        max((height - 1) * stride[0] + size(-1, 3), 1),
        max((width - 1) * stride[1] + size(-1, 3), 1),
        size() if kind == "OP_CONV" else channels,
    )
    return DlaNode(
        "OP_CONV" if kind == "channel by channel" else kind, 0, inputs, 9, in_shape,
        (height, width, channels * multiplier), kernel, stride, dilation,
        weights=2 if has_constants else None,
        records=3 if has_constants and rng.integers(4) else None,
        table=4 if kind == "OP_ACT_LUT" else None,
        is_channel_by_channel=kind == "channel by channel",
        out_element_bytes=int(rng.choice([1, 4])), broadcast=broadcast,
    )  # fmt: skip


def random_config(rng: np.random.Generator, **changes: object) -> DlaConfig:
    """A machine; now and then its transfers, its tasks or both take next to nothing."""
    pes = int(rng.choice([1, 4, 16]))
    machine = {
        "parallel": str(rng.choice(["input", "output", f"{max(pes // 4, 1)}x{min(pes, 4)}"])),
        "pes": pes,
        "dma_bandwidth": int(rng.choice([0, 1, 8])),
        "dma_latency": int(rng.choice([0, 64])),
        "dma_shared_bandwidth": int(rng.choice([0, 0, 3, 9])),
        "dma_burst_bytes": int(rng.choice([4, 64])),
        "dma_burst_overhead": int(rng.choice([0, 0, 2, 8])),
        "vector_lanes": int(rng.choice([1, 4])),
        "issue_cycles": int(rng.choice([0, 1])),
        "mac_fill": int(rng.choice([0, 4])),
        # `Walk` knows neither the SRAM's ports nor the output stage.
        **dict.fromkeys(
            ("sram_bandwidth", "mac_results", "vector_requantizations", "vector_divisions"), "unlimited"
        ),
    }
    return DlaConfig().replace(**machine | changes)


def random_problem(rng: np.random.Generator, most: int, config: DlaConfig | None = None) -> Problem:
    """A node on a machine, its tensors anywhere."""
    node = random_node(rng, most)
    in_sram = InSram(tuple(bool(rng.integers(3) == 0) for _ in node.inputs), bool(rng.integers(3) == 0))
    return Problem(node, MachineModel(random_config(rng) if config is None else config), in_sram)


class Walk:
    """The tiles of a shape one after the other, as they would run."""

    def __init__(self, problem: Problem, tile_shape: TileShape) -> None:
        self._problem, self._node, self.tile_shape = problem, problem.node, tile_shape
        self.tiles = list(self._tiles())

    def _tiles(self) -> Iterator[tuple[int, int, int, int]]:
        """First row, column, output channel and input channel of each."""
        height, width, channels = self._node.out_shape
        depth = self._node.in_shape[2] if self._node.is_dense else 1
        pixels = list(
            product(range(0, height, self.tile_shape.rows), range(0, width, self.tile_shape.columns))
        )
        groups = range(0, channels, self.tile_shape.channels)
        order = (
            [(pixel, group) for group in groups for pixel in pixels]
            if self.tile_shape.is_channels_outer
            else [(pixel, group) for pixel in pixels for group in groups]
        )
        for (row, column), group in order:
            for first in range(0, depth, self.tile_shape.depth):
                yield row, column, group, first

    def _spread(self, axis: int, size: int) -> int:
        """Rows or columns of the input under so many of the output."""
        node = self._node
        reach = (node.kernel[axis] - 1) * node.dilation[axis]
        return min((size - 1) * node.stride[axis] + reach + 1, node.in_shape[axis])

    def parts(self) -> list[tuple[int, int]]:
        """For each input and the constants: bytes of a full tile, and how often one is loaded."""
        node, tile_shape, in_sram = self._node, self.tile_shape, self._problem.in_sram
        deep = tile_shape.depth if node.is_dense else -(-tile_shape.channels // node.multiplier)
        taps = node.kernel[0] * node.kernel[1]
        sizes = [self._spread(0, tile_shape.rows) * self._spread(1, tile_shape.columns) * deep]
        keys = [
            [(row, column, first if node.is_dense else group) for row, column, group, first in self.tiles]
        ]
        if len(node.inputs) > 1:
            tall, wide = node.broadcast
            sizes.append(
                (tile_shape.rows if tall else 1) * (tile_shape.columns if wide else 1) * tile_shape.channels
            )
            keys.append(list(range(len(self.tiles))))
        weights = (
            tile_shape.channels
            * taps
            * (tile_shape.depth if node.is_dense else 1)
            * (node.weights is not None)
        )
        constants = -(-weights // 4) * 4 + tile_shape.channels * 12 * (node.records is not None)
        sizes = [
            0 if is_in_sram else size * node.in_element_bytes
            for size, is_in_sram in zip(sizes, in_sram.inputs, strict=True)
        ]
        sizes.append(256 if node.table is not None else constants)
        keys.append([0 if node.table is not None else tile[2:] for tile in self.tiles])
        return [
            (size, 1 + sum(a != b for a, b in pairwise(key))) for size, key in zip(sizes, keys, strict=True)
        ]

    def buffers(self) -> tuple[tuple[int, int], ...]:
        """Bytes and copies."""
        node, tile_shape = self._node, self.tile_shape
        *inputs, (size, loads) = self.parts()
        constants = (size, 1 + (tile_shape.buffering == DOUBLE and loads > 1))
        inputs = [(size, 1 + (tile_shape.buffering != SINGLE and loads > 1)) for size, loads in inputs]
        inputs = [part if part[0] else (0, 1) for part in inputs]
        pixels = tile_shape.rows * tile_shape.columns * tile_shape.channels
        sums = 4 * pixels * any(first for *_, first in self.tiles)
        outputs = {tile[:3] for tile in self.tiles}
        output = (pixels * node.out_element_bytes, 1 + (tile_shape.buffering != SINGLE and len(outputs) > 1))
        return (*inputs, constants, (sums, 1), (0, 1) if self._problem.in_sram.output else output)

    def work(self) -> int:
        """Cycles on the lanes, by the simulator's formulas."""
        node, tile_shape, config = self._node, self.tile_shape, self._problem.machine.config
        height, width, channels = node.out_shape
        pixels, taps = height * width, node.kernel[0] * node.kernel[1]
        groups = [
            min(tile_shape.channels, channels - group) for group in range(0, channels, tile_shape.channels)
        ]
        if node.weights is None:
            unit = cost.unit_costs(config, "OP_FILL")
            return sum(lane_cycles(unit, pixels, taps, 1, group) for group in groups)
        if not node.is_dense and not node.is_channel_by_channel:
            unit = cost.unit_costs(config, "OP_DEPTH_CONV")
            return sum(lane_cycles(unit, pixels, taps, 1, group) for group in groups)
        unit = cost.unit_costs(config, "OP_CONV")
        if node.is_channel_by_channel:
            return channels * lane_cycles(unit, pixels, taps, 1, 1)
        depth = node.in_shape[2]
        passes = [min(tile_shape.depth, depth - first) for first in range(0, depth, tile_shape.depth)]
        shapes = product(passes, groups)
        return sum(lane_cycles(unit, pixels, taps, deep, group) for deep, group in shapes)

    def cycles(self) -> int:
        """Loads, computation and stores one after the other, or beside each other with double buffers."""
        node, tile_shape, config = self._node, self.tile_shape, self._problem.machine.config
        is_mac = node.weights is not None
        ends = config.mac_fill + config.mac_drain if is_mac else config.vector_fill + config.vector_drain
        words = 14 * config.issue_cycles + config.check_cycles
        task = (
            (ends + 5 * config.issue_cycles + config.check_cycles) * tile_shape.channels + words
            if node.is_channel_by_channel
            else ends + words
        )
        compute = self.work() + len(self.tiles) * task
        *loads, store = self.beats()
        parts = [(beats, loads) for beats, (size, loads) in zip(loads, self.parts(), strict=True) if size]
        stores = len({tile[:3] for tile in self.tiles}) * (not self._problem.in_sram.output)
        beats_in, beats_out = sum(beats * loads for beats, loads in parts), store * stores
        move_in = beats_in + sum(loads for _, loads in parts) * config.dma_latency
        move_out = beats_out + stores * config.dma_latency
        total = compute + move_in + move_out
        if tile_shape.buffering != SINGLE and len(self.tiles) > 1:
            first = sum(beats for beats, _ in parts) + config.dma_latency
            last = store + config.dma_latency if stores else 0
            size, fills = self.parts()[-1]
            if tile_shape.buffering == DOUBLE_TENSORS and size:
                compute += (fills - 1) * (loads[-1] + config.dma_latency)
            rate, shared = config.dma_bandwidth or 1 << 40, config.dma_shared_bandwidth or 1 << 41
            rate = min(rate, shared)
            both = min(beats_in, beats_out)  # that long each would be on the bus if it were alone there
            slower = both * max(2 * rate - shared, 0) // shared
            total = min(total, max(compute, move_in + slower, move_out + slower) + first + last)
        return total

    def beats(self) -> list[int]:
        """Cycles on the bus of a full tile of each input, of the constants and of the output."""
        node, tile_shape, in_sram = self._node, self.tile_shape, self._problem.in_sram
        _, width, channels = node.out_shape
        deep = tile_shape.depth if node.is_dense else -(-tile_shape.channels // node.multiplier)
        box = (self._spread(0, tile_shape.rows), self._spread(1, tile_shape.columns), deep)
        boxes = [(node.in_shape[1:], box)]
        if len(node.inputs) > 1:
            tall, wide = node.broadcast
            box = (tile_shape.rows if tall else 1, tile_shape.columns if wide else 1, tile_shape.channels)
            boxes.append(((width if wide else 1, channels), box))
        found = [
            0 if is_in_sram else self._bus(self._runs(*box, node.in_element_bytes))
            for box, is_in_sram in zip(boxes, in_sram.inputs, strict=True)
        ]
        box = (tile_shape.rows, tile_shape.columns, tile_shape.channels)
        out = 0 if in_sram.output else self._bus(self._runs((width, channels), box, node.out_element_bytes))
        return [*found, self._bus([self.parts()[-1][0]]), out]

    @staticmethod
    def _runs(tensor: tuple[int, int], box: tuple[int, int, int], element_bytes: int) -> list[int]:
        """The bytes of each contiguous run of a box of a tensor with such rows."""
        (width, channels), (rows, columns, deep) = tensor, box
        runs: list[int] = []
        end = None
        for row, column in product(range(rows), range(columns)):
            start = (row * width + column) * channels * element_bytes
            if start == end:
                runs[-1] += deep * element_bytes
            else:
                runs.append(deep * element_bytes)
            end = start + deep * element_bytes
        return runs

    def _bus(self, runs: list[int]) -> int:
        """Whole beats for each run, and something for each burst."""
        config = self._problem.machine.config
        rates = [rate for rate in (config.dma_bandwidth, config.dma_shared_bandwidth) if rate]
        beats = sum(ceil(run / min(rates)) for run in runs) if rates else 0
        return beats + sum(ceil(run / config.dma_burst_bytes) for run in runs) * config.dma_burst_overhead

    def read_bytes(self) -> int:
        """Bytes into SRAM, every tile as if it were a full one."""
        return sum(size * loads for size, loads in self.parts())

    def tiling(self) -> Tiling:
        """All of it."""
        buffers = self.buffers()
        sram = sum(-(-size // 4) * 4 * copies for size, copies in buffers)
        return Tiling(self.tile_shape, buffers, sram, self.cycles(), len(self.tiles), self.read_bytes())


def sizes_of_groups(problem: Problem) -> list[int]:
    """All channels, their fractions in whole lanes, whole lanes, then halves of those; large ones first."""
    node, config = problem.node, problem.machine.config
    channels, step = node.out_shape[2], 1 if node.is_dense else node.multiplier
    lanes = config.lanes[1] if node.is_dense else config.depthwise_lanes
    lanes = 1 if node.is_channel_by_channel else lanes if node.weights is not None else config.vector_lanes
    unit = max(lanes // step, 1) * step
    sizes = {channels}
    for parts in (2, 3, 4, 5, 6, 12, 24, 48, 96):
        if channels // parts >= unit:
            sizes.add(ceil(channels / parts / unit) * unit)
    while unit > step:
        sizes |= {unit} if unit < channels else set()
        unit = max(-(-unit // 2) // step * step, step)
    return sorted(sizes | ({step} if step < channels else set()), reverse=True)


def largest(problem: Problem, shape: TileShape, budget: int) -> Tiling | None:
    """The most rows that fit, evened out, else the most columns of one row."""
    height, width, _ = problem.node.out_shape
    for axis, whole in (("rows", height), ("columns", width)):
        for size in range(whole, 0, -1):
            changes = {"columns": width, axis: size} if axis == "rows" else {"rows": 1, axis: size}
            if Walk(problem, shape._replace(**changes)).tiling().sram_bytes <= budget:
                changes[axis] = -(-whole // -(-whole // size))
                return Walk(problem, shape._replace(**changes)).tiling()
    return None


def candidates(problem: Problem, budget: int) -> list[Tiling]:
    """What is worth trying: single buffers where they make room for a larger tile, all or only those of the
    constants; halves of tiles with four rows or more; fewer input channels where nothing else fits, or while
    that helps much."""
    node = problem.node
    depth = node.in_shape[2] if node.is_dense else 1
    work = Walk(problem, TileShape(*node.out_shape, depth, True, SINGLE)).work()
    found: list[Tiling] = []
    before = 0
    while True:
        found += candidates_of_depth(problem, budget, depth)
        best = best_of(found).cycles if found else 0
        if depth == 1 or (found and (best == before or best <= work + work // 64)):
            return found
        before, depth = best, -(-depth // 2)


def candidates_of_depth(problem: Problem, budget: int, depth: int) -> Iterator[Tiling]:
    """Those of so many input channels at a time."""
    is_all_in_sram = all(problem.in_sram.inputs) and problem.in_sram.output
    for channels, outer in product(sizes_of_groups(problem), (True, False)):
        double = largest(problem, TileShape(1, 1, channels, depth, outer, DOUBLE), budget)
        smaller = double
        while smaller is not None:
            if smaller.sram_bytes <= budget:
                yield smaller
            rows = smaller.tile_shape.rows
            if rows < 4 or is_all_in_sram:
                break
            smaller = Walk(problem, smaller.tile_shape._replace(rows=-(-rows // 2))).tiling()
        if outer and channels < problem.channels:
            tensors = largest(problem, TileShape(1, 1, channels, depth, outer, DOUBLE_TENSORS), budget)
            yield from [] if tensors is None else [tensors]
        single = largest(problem, TileShape(1, 1, channels, depth, outer, SINGLE), budget)
        is_whole = double is not None and double.tile_shape[:2] == problem.node.out_shape[:2]
        if single is not None and not is_whole:
            yield single


def best_of(tilings: Iterable[Tiling]) -> Tiling:
    """The best of some, in this order: more tasks must gain a 128th."""
    best, *others = tilings
    for tiling in others:
        margin = tiling.cycles // 128 if tiling.tasks > best.tasks else 0
        if tiling.cycles + margin <= best.cycles and rank(tiling) < rank(best):
            best = tiling
    return best


def rank(tiling: Tiling) -> tuple[int, int, int]:
    return tiling.cycles, tiling.tasks, tiling.sram_bytes


def extreme_config(rng: np.random.Generator) -> DlaConfig:
    """A machine whose every cost is the least or the most allowed."""
    names = (
        "dma_bandwidth",
        "dma_latency",
        "dma_burst_bytes",
        "sram_bandwidth",
        "sram_ports",
        "issue_cycles",
        "mac_fill",
        "mac_drain",
        "vector_fill",
        "vector_drain",
    )
    extremes = {name: int(rng.choice(_range_of(name))) for name in names}
    for name in ("dma_burst_overhead", "dma_shared_bandwidth"):  # with the most, nothing fits into 64 bits
        extremes[name] = int(rng.choice([0, 0, 0, 0, 1, 1 << 10, PARAMETERS[name].high]))
    return random_config(rng, **extremes)


def _range_of(name: str) -> tuple[float, float]:
    return PARAMETERS[name].low, PARAMETERS[name].high
