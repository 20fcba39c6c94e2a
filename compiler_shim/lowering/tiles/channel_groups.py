"""Chains of nodes computed in groups of channels, so that what lies between them never leaves SRAM.

The channels of the first node's output are cut into groups. The nodes after it keep channels apart, as
depthwise convolutions and pools do; the last one may also sum over them, and then adds a group to its
accumulators in each pass. So the weights of all nodes are loaded side by side, a group of each at a time, and
each is used once. A buffer between two nodes holds two groups: the first node is a group ahead of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from dlasim.compiler_shim.lowering.segments.chains import ChainLayout, ChainTiling
from dlasim.compiler_shim.lowering.tiles.geometry import Geometry, TileShape
from dlasim.compiler_shim.lowering.tiles.search import smaller_group
from dlasim.compiler_shim.lowering.tiles.tile_buffers import DOUBLE, align
from dlasim.compiler_shim.lowering.tiles.tile_costs import contention_both, priced, task_traffic, work_cycles
from dlasim.compiler_shim.lowering.tiles.tile_records import MachineCosts, Tile
from dlasim.compiler_shim.lowering.tiles.tiling import TilingProblem
from dlasim.compiler_shim.lowering.tiles.transfers import latency_cycles
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from dlasim.isa.registers import MAX_EXTENT
from dlasim.sim.timing.formulas import port_cycles

COPIES = 2  # of the buffers between nodes
MIN_GAIN_PART = 8  # a chain must be able to save an eighth of its cycles


class ChannelTilings:
    """The tilings of one chain by groups of channels, none where its nodes cannot be cut so."""

    def __init__(self, problems: Sequence[TilingProblem]) -> None:
        self._problems = problems
        self._known: dict[int, ChainTiling] = {}  # by channels of a group

    def best(self, budget: int) -> ChainTiling | None:
        """The cheapest that fits."""
        sizes = [size for size in self._sizes if self._layouts[size].sram_bytes <= budget]
        fitting = [self._tiling(size) for size in sizes]
        return min(fitting, key=lambda tiling: tiling.cycles, default=None)

    @cached_property
    def _layouts(self) -> _GroupLayouts:
        return _layouts(tuple([problem.geometry for problem in self._problems]))

    @cached_property
    def _sizes(self) -> list[int]:
        """The sizes of a group that are worth trying."""
        found = list[int]()
        if not (_may_gain(self._problems) and _are_groupable(self._problems)):
            return found
        lanes = max([problem.machine_costs.unit.output_lanes for problem in self._problems])
        channels = self._problems[0].channels
        size, parts = smaller_group(channels, 1, lanes, channels, 1)
        while size >= lanes:  # smaller groups waste work
            found.append(size)
            size, parts = smaller_group(channels, 1, lanes, size, parts)
        return found

    def _tiling(self, size: int) -> ChainTiling:
        if size not in self._known:
            self._known[size] = _estimate(self._problems, self._layouts, size)
        return self._known[size]


def _may_gain(problems: Sequence[TilingProblem]) -> bool:
    """Whether some nodes load for longer than they compute, and others have time for it."""
    work = [problem.work_cycles for problem in problems]
    loads = [problem.constants_load_cycles for problem in problems]
    least = max(sum(work), sum(loads))
    return MIN_GAIN_PART * (sum(map(max, work, loads)) - least) >= least


def _are_groupable(problems: Sequence[TilingProblem]) -> bool:
    """Whether each node but the first and the last keeps channels separate, and each can be cut between any
    two channels."""
    for number, problem in enumerate(problems):
        node, geometry = problem.node, problem.geometry
        sizes = geometry.sizes
        if sizes.input_count > 1 or node.is_channel_by_channel or sizes.has_matrix:
            return False
        if max(problem.height, problem.width, sizes.input_height, sizes.input_width) > MAX_EXTENT:
            return False
        if not _sums(number, geometry) and geometry.step > 1:
            return False
        if sizes.is_dense and 0 < number < len(problems) - 1:
            return False
    return True


def _sums(number: int, geometry: Geometry) -> bool:
    """Whether a node of a chain sums over the groups."""
    return number > 0 and bool(geometry.sizes.is_dense)


def _tile_shape(number: int, geometry: Geometry, size: int) -> TileShape:
    """What a node computes at once, with `size` channels in a group."""
    channels, depth = size, geometry.depth
    if _sums(number, geometry):
        channels, depth = geometry.channels, size
    return TileShape(
        geometry.height, geometry.width, channels, depth, is_channels_outer=True, is_double=DOUBLE
    )


class _GroupLayouts(dict[int, ChainLayout]):
    """The layouts of a chain by channels of a group, which are the same for all machines."""

    def __init__(self, geometries: Sequence[Geometry]) -> None:
        super().__init__()
        self._geometries = geometries

    def __missing__(self, size: int) -> ChainLayout:
        tile_shapes = [
            _tile_shape(number, geometry, size) for number, geometry in enumerate(self._geometries)
        ]
        buffers = [
            geometry.buffers(tile_shape)
            for geometry, tile_shape in zip(self._geometries, tile_shapes, strict=True)
        ]
        inner = [COPIES * align(each.height * each.width * size) for each in self._geometries[:-1]]
        groups = -(-self._geometries[0].channels // size)
        tasks = (groups,) * len(tile_shapes)
        made = self[size] = ChainLayout(
            tuple(tile_shapes), tuple(buffers), tuple(inner), tasks, groups=groups
        )
        return made


_layouts = lru_cache(maxsize=512)(_GroupLayouts)


def _estimate(problems: Sequence[TilingProblem], layouts: _GroupLayouts, size: int) -> ChainTiling:
    """Loads, both units and the stores run side by side, once the first group is loaded; the nodes after the
    first compute the last group alone."""
    layout, costs = layouts[size], problems[0].machine_costs
    groups, channels = layout.groups, problems[0].channels
    busy = dict.fromkeys(Unit, 0)
    after = crossing = 0
    for number, (problem, tile_shape) in enumerate(zip(problems, layout.tile_shapes, strict=True)):
        sizes, machine = problem.geometry.sizes, problem.machine_costs
        stall, moved = task_traffic(sizes, machine, Tile(*tile_shape))
        taken = (
            work_cycles(sizes, machine, tile_shape.channels, tile_shape.depth) + groups * problem.task_cycles
        )
        taken += stall * channels // size  # the last group has fewer channels
        busy[BY_MNEMONIC[problem.node.mnemonic].unit] += taken
        after += taken // groups if number else 0
        crossing += moved * channels // size
    loads = _loads(problems, layout, costs)
    written = problems[-1].geometry.written_bytes
    stores = 1 if _sums(len(problems) - 1, problems[-1].geometry) else groups
    sending = problems[-1].store_beats(layout.tile_shapes[-1])
    store = sending + (costs.bus.latency if written else 0)
    contention, store_contention = contention_both(costs, loads.tensors, loads.constants, stores * sending)
    crossing += costs.dma_shares_ports * (loads.read_bytes + written)
    busiest = max(
        max(busy.values()) + (after if busy[Unit.VECTOR] else 0),
        loads.cycles + contention + after,
        stores * store + store_contention,
        port_cycles(costs.unit.port_rate, crossing),
    )
    cycles = loads.first + max(costs.bus.latency, costs.constants.latency) + busiest + store
    moved_bytes = loads.read_bytes + written
    return ChainTiling(layouts, size, cycles + priced(costs, moved_bytes), moved_bytes, loads.tensor_cycles)


class _Loads(NamedTuple):
    """Cycles on the bus for tensors and for constants, what latency adds to each, what the first group waits
    for, and all bytes."""

    tensors: int
    tensors_wait: int
    constants: int
    constants_wait: int
    first: int
    read_bytes: int

    @property
    def tensor_cycles(self) -> int:
        """Cycles of the loads of tensors."""
        return self.tensors + self.tensors_wait

    @property
    def cycles(self) -> int:
        """Cycles of all loads."""
        return self.tensor_cycles + self.constants + self.constants_wait


def _loads(problems: Sequence[TilingProblem], layout: ChainLayout, costs: MachineCosts) -> _Loads:
    tensors = tensors_wait = constants = constants_wait = first = read = 0
    for number, (problem, tile_shape) in enumerate(zip(problems, layout.tile_shapes, strict=True)):
        (size, copies), *_ = layout.buffers[number]
        input_beats, _, beats = problem.load_beats(tile_shape)
        if size:
            times = layout.groups if copies > 1 else 1
            tensors, first, read = tensors + times * input_beats, first + input_beats, read + times * size
            tensors_wait += times * latency_cycles(costs.bus, input_beats)
        size = problem.geometry.constant_bytes(tile_shape.channels, tile_shape.depth)
        if size:
            times = 1 if problem.geometry.sizes.table_bytes else layout.groups
            read += times * size
            times -= costs.assumes_prefetch
            constants += times * beats
            constants_wait += times * latency_cycles(costs.constants, beats)
            first += 0 if number or costs.assumes_prefetch else beats
    return _Loads(tensors, tensors_wait, constants, constants_wait, first, read)
