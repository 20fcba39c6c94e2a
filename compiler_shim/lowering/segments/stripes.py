"""Chains of nodes computed in stripes of rows.

The last node's output is cut into stripes. For each stripe every node computes the rows that the next one
lacks, in full width and depth; each row is computed once. A buffer between two nodes holds some rows: those
that the next stripe still needs are moved to its start, and new rows follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dlasim.compiler_shim.lowering.segments.chains import ChainLayout, ChainTiling, Rows, Schedule
from dlasim.compiler_shim.lowering.segments.stripe_search import (
    STRIPES,
    StripeSearch,
    begin_stripe,
    end_stripe,
)
from dlasim.compiler_shim.lowering.tiles.geometry import Buffers, Geometry, TileShape
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel, TilingProblem
from dlasim.native.storage import plain, point, write_first


def make_schedule(links: Sequence[tuple[Geometry, int]], rows: int) -> Schedule:
    """The stripes of a chain whose last node computes `rows` rows in each; of each node its geometry, and its
    rows of padding at the top."""
    chain = StripeSearch()
    chain.count = len(links)
    nodes = [chain.nodes[number] for number in range(chain.count)]
    for node, (geometry, pad) in zip(nodes, links, strict=True):
        point(node, "sizes", geometry.sizes)
        node.pad = pad
    stripes = []
    for end in range(rows, links[-1][0].height + rows, rows):
        begin_stripe(chain, end)
        stripes.append(tuple([Rows(node.done, node.need, node.base, node.start) for node in nodes]))
        end_stripe(chain)
    return tuple(stripes)


class StripeFinder:
    """Finds stripes of chains on a machine; by Python alone where 64 bits do not suffice."""

    def __init__(self, machine: MachineModel) -> None:
        self._plain, self._search = plain(StripeSearch), StripeSearch()
        for search in (self._plain, self._search):
            search.copy_cycles = machine.copy_task_cycles
            search.copier.assign(machine.copier)

    def find(self, problems: Sequence[TilingProblem], is_moderate: bool, budget: int) -> StripeSearch:
        """The cheapest that fit: in the fewest stripes, or in more as long as that helps."""
        search = self._search if is_moderate else self._plain
        search.count = len(problems)
        if is_moderate:  # its nodes come first
            write_first(search, [number for problem in problems for number in problem.chain_numbers])
            STRIPES(search, budget)
        else:
            _describe(search, problems)
            STRIPES.function(search, budget)
        return search


class StripeTilings:
    """The tilings of one chain by stripes. Each is the best for a range of budgets, and is found once."""

    def __init__(self, problems: Sequence[TilingProblem], finder: StripeFinder) -> None:
        self.layouts = _layouts(tuple([problem.link for problem in problems]))
        self._problems, self._finder, self._is_moderate = problems, finder, _is_moderate(problems)
        self._known: list[tuple[int, int, ChainTiling | None]] = []  # first budget, the one after the last

    def best(self, budget: int) -> ChainTiling | None:
        """The cheapest that fits."""
        for first, end, known in self._known:
            if first <= budget < end:
                return known
        found, tiling = self._finder.find(self._problems, self._is_moderate, budget), None
        if found.rows:
            tiling = ChainTiling(
                self.layouts, found.rows, found.cycles, found.moved_bytes, found.tensor_cycles
            )
        self._known.append((found.first, found.end, tiling))
        return tiling


def _describe(search: StripeSearch, problems: Sequence[TilingProblem]) -> None:
    """What a search by Python alone reads of a chain."""
    for number, problem in enumerate(problems):
        node = search.nodes[number]
        point(node, "sizes", problem.geometry.sizes)
        point(node, "costs", problem.machine_costs)
        node.pad = problem.node.pad[0]
        node.work_cycles, node.task_cycles = problem.work_cycles, problem.task_cycles


def _is_moderate(problems: Sequence[TilingProblem]) -> bool:
    """Whether 64 bits hold every number that the search meets."""
    height = max([problem.height for problem in problems])
    stripes = height * height * sum([problem.most_cycles_of_stripe for problem in problems])
    return stripes + sum([problem.work_cycles for problem in problems]) < INFINITE


def _layout(links: Sequence[tuple[Geometry, int]], rows: int) -> ChainLayout:
    """The stripes of a chain, and the buffers that they take; the inner tensors stay in SRAM."""
    schedule = make_schedule(links, rows)
    tile_shapes: list[TileShape] = []
    buffers: list[Buffers] = []
    inner: list[int] = []
    is_double = len(schedule) > 1
    for number, (shape, _) in enumerate(links):
        column = [stripe[number] for stripe in schedule]
        most = max([rows.end - rows.first for rows in column])
        tile_shape = TileShape(
            most, shape.width, shape.channels, shape.depth, is_channels_outer=True, is_double=is_double
        )
        tile_shapes.append(tile_shape)
        buffers.append(shape.buffers(tile_shape))
        if number + 1 < len(links):
            row_bytes = shape.width * shape.channels
            inner.append(max([rows.end - rows.base for rows in column]) * row_bytes)
    tasks = (len(schedule),) * len(links)
    return ChainLayout(tuple(tile_shapes), tuple(buffers), tuple(inner), tasks, schedule)


class _Layouts(dict[int, ChainLayout]):
    """The layouts of a chain by rows of a stripe, which are the same for all machines."""

    def __init__(self, links: Sequence[tuple[Geometry, int]]) -> None:
        super().__init__()
        self._links = links

    def __missing__(self, rows: int) -> ChainLayout:
        made = self[rows] = _layout(self._links, rows)
        return made


_layouts = lru_cache(maxsize=512)(_Layouts)
