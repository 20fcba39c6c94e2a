"""Chains of nodes computed in stripes of rows.

The last node's output is cut into stripes. For each stripe every node computes the rows that the next one
lacks, in full width and depth; each row is computed once. A buffer between two nodes holds some rows: those
that the next stripe still needs are moved to its start, and new rows follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dlasim.compiler_shim.lowering.chains import ChainLayout, ChainTiling, Rows, Schedule
from dlasim.compiler_shim.lowering.geometry import ENDLESS, Buffers, Cut, Geometry
from dlasim.compiler_shim.lowering.stripe_search import STRIPES, StripeSearch
from dlasim.compiler_shim.lowering.tiling import Machine, TilingProblem
from dlasim.native.backend import PLAIN, Backend, Runner
from dlasim.native.shipped import SHIPPED
from dlasim.native.storage import create, point, write_first


class Reach(NamedTuple):
    """How the rows of a node's output follow from those of its input."""

    height: int
    stride: int
    pad: int
    span: int  # input rows from the first tap to the last

    def first_read(self, first: int) -> int:
        """The first row of the input that rows from `first` on read."""
        return max(first * self.stride - self.pad, 0)

    def read_end(self, end: int) -> int:
        """The row after the last that rows before `end` read, were the input endless."""
        return (end - 1) * self.stride - self.pad + self.span


def reach_of(geometry: Geometry, pad: int) -> Reach:
    """The reach of nodes with this many rows of padding at the top."""
    return Reach(geometry.height, geometry.sizes.plain.stride_height, pad, geometry.reach[0])


def make_schedule(nodes: Sequence[Reach], rows: int) -> Schedule:
    """The stripes of a chain whose last node computes `rows` rows in each."""
    heights = [node.height for node in nodes]
    done, base = [0] * len(nodes), [0] * len(nodes)
    stripes = []
    for top in range(0, heights[-1], rows):
        need = list(heights)  # at the end also rows that nothing reads
        if top + rows < heights[-1]:
            end = need[-1] = top + rows
            for number in range(len(nodes) - 2, -1, -1):
                end = nodes[number + 1].read_end(end)
                end = need[number] = max(done[number], min(end, heights[number]))
        starts = [
            min(node.first_read(row), own) for node, row, own in zip(nodes[1:], done[1:], done, strict=False)
        ]
        starts.append(done[-1])
        stripes.append(tuple(map(Rows, done, need, base, starts)))
        done, base = need, starts
    return tuple(stripes)


class StripeFinder:
    """Finds stripes of chains on a machine, by compiled code where the backend has it and its numbers
    suffice."""

    def __init__(self, machine: Machine, backend: Backend = SHIPPED) -> None:
        self._machine = machine
        self._plain, self._fastest = self._prepared(PLAIN), self._prepared(backend)

    def _prepared(self, backend: Backend) -> tuple[Runner, StripeSearch]:
        run = backend.runner(STRIPES)
        search = create(StripeSearch, run.is_compiled)
        search.copy_cycles = self._machine.copy_task_cycles
        search.copier.assign(self._machine.copier)
        return run, search

    def find(self, problems: Sequence[TilingProblem], is_moderate: bool, budget: int) -> StripeSearch:
        """The cheapest that fit: in the fewest stripes, or in more as long as that helps."""
        run, search = self._fastest if is_moderate else self._plain
        search.count = len(problems)
        if run.is_compiled:  # its nodes come first
            write_first(search, [number for problem in problems for number in problem.chain_numbers])
        else:
            _describe(search, problems)
        run(search, budget)
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
            tiling = ChainTiling(self.layouts, found.rows, found.cycles, found.moved_bytes, found.load_cycles)
        self._known.append((found.first, found.end, tiling))
        return tiling


def _describe(search: StripeSearch, problems: Sequence[TilingProblem]) -> None:
    """What a search in plain Python reads of a chain."""
    for number, problem in enumerate(problems):
        node = search.nodes[number]
        point(node, "sizes", problem.geometry.sizes.plain)
        point(node, "costs", problem.machine_costs.plain)
        node.pad = problem.node.pad[0]
        node.work_cycles, node.task_cycles = problem.work_cycles, problem.task_cycles


def _is_moderate(problems: Sequence[TilingProblem]) -> bool:
    """Whether 64 bits hold every number that the search meets."""
    height = max([problem.height for problem in problems])
    stripes = height * height * sum([problem.most_cycles_of_stripe for problem in problems])
    return stripes + sum([problem.work_cycles for problem in problems]) < ENDLESS


def _layout(shapes: Sequence[tuple[Geometry, Reach]], rows: int) -> ChainLayout:
    """The stripes of a chain, and the buffers that they take; the inner tensors stay in SRAM."""
    schedule = make_schedule([reach for _, reach in shapes], rows)
    cuts: list[Cut] = []
    buffers: list[Buffers] = []
    inner: list[int] = []
    double = len(schedule) > 1
    for number, (shape, _) in enumerate(shapes):
        column = [stripe[number] for stripe in schedule]
        most = max([rows.end - rows.first for rows in column])
        cut = Cut(most, shape.width, shape.channels, shape.depth, weights_outer=True, double=double)
        cuts.append(cut)
        buffers.append(shape.buffers(cut))
        if number + 1 < len(shapes):
            row_bytes = shape.width * shape.channels
            inner.append(max([rows.end - rows.base for rows in column]) * row_bytes)
    tasks = (len(schedule),) * len(shapes)
    return ChainLayout(tuple(cuts), tuple(buffers), tuple(inner), tasks, schedule)


class _Layouts(dict[int, ChainLayout]):
    """The layouts of a chain by rows of a stripe, which are the same for all machines."""

    def __init__(self, links: Sequence[tuple[Geometry, int]]) -> None:
        super().__init__()
        self._shapes = [(shape, reach_of(shape, pad)) for shape, pad in links]

    def __missing__(self, rows: int) -> ChainLayout:
        made = self[rows] = _layout(self._shapes, rows)
        return made


_layouts = lru_cache(maxsize=512)(_Layouts)
