"""Chains of nodes computed in stripes of rows, so that what lies between them never leaves SRAM.

The last node's output is cut into stripes. For each stripe every node computes the rows that the next one
lacks, in full width and depth; each row is computed once. A buffer between two nodes holds some rows: those
that the next stripe still needs are moved to its start, and new rows follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from dlasim.compiler_shim.lowering.geometry import ENDLESS, Buffers, Cut, Geometry, total_bytes
from dlasim.compiler_shim.lowering.search import even
from dlasim.compiler_shim.lowering.tile_buffers import align
from dlasim.compiler_shim.lowering.tile_costs import contention_both
from dlasim.compiler_shim.lowering.tile_records import MAX_CHAIN
from dlasim.compiler_shim.lowering.tiling import Tiling, TilingProblem
from dlasim.compiler_shim.lowering.transfers import latency_cycles
from dlasim.sim.formulas import BusCosts, port_cycles, transfer_beats


class Rows(NamedTuple):
    """What one node does in a stripe: computes rows [first, end); before that its output's buffer, which
    starts at row `old_base`, is made to start at `base`."""

    first: int
    end: int
    old_base: int
    base: int

    @property
    def kept(self) -> int:
        """Rows that are moved to the start of the buffer."""
        return self.first - self.base if self.base > self.old_base else 0


Schedule = tuple[tuple[Rows, ...], ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain as planned: its steps in the network, its stripes, where the buffers between nodes lie, and the
    estimate of its cycles."""

    steps: tuple[int, ...]
    schedule: Schedule
    inner_addresses: tuple[int, ...]
    cycles: int
    load_cycles: int  # of these, at most those in which something is loaded
    inner_bytes: tuple[int, ...]

    @property
    def inner_gaps(self) -> list[tuple[int, int]]:
        """What the buffers between nodes occupy."""
        sized = zip(self.inner_addresses, self.inner_bytes, strict=True)
        return [(address, address + align(size)) for address, size in sized]


@dataclass(frozen=True, slots=True)
class ChainTiling:
    """A chain cut into stripes, with what it takes and costs."""

    schedule: Schedule
    cuts: tuple[Cut, ...]
    buffers: tuple[Buffers, ...]
    inner_bytes: tuple[int, ...]
    cycles: int
    moved_bytes: int
    load_cycles: int

    @property
    def sram_bytes(self) -> int:
        """All buffers together."""
        return sum(map(total_bytes, self.buffers)) + sum(map(align, self.inner_bytes))

    def chain(self, steps: tuple[int, ...], inner_addresses: tuple[int, ...]) -> Chain:
        """The chain of these steps with its buffers at these addresses."""
        return Chain(steps, self.schedule, inner_addresses, self.cycles, self.load_cycles, self.inner_bytes)

    def tiling(self, number: int) -> Tiling:
        """What `explain` tells of one node of the chain."""
        buffers = self.buffers[number]
        return Tiling(self.cuts[number], buffers, total_bytes(buffers), 0, len(self.schedule), 0)


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
    """The reach of nodes with so many rows of padding at the top."""
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


class ChainTilings:
    """The tilings of one chain. Each is the best for a range of budgets, and is found once."""

    def __init__(self, problems: Sequence[TilingProblem]) -> None:
        self._problems = problems
        self._layouts = _layouts(tuple([problem.link for problem in problems]))
        self._tilings: dict[int, ChainTiling] = {}  # by rows of a stripe
        self._known: list[tuple[int, int, ChainTiling | None]] = []  # first budget, the one after the last

    def best(self, budget: int) -> ChainTiling | None:
        """The cheapest that fits: in the fewest stripes, or in more as long as that helps."""
        for first, end, known in self._known:
            if first <= budget < end:
                return known
        fits = _Fits(budget)
        found = self._find(fits)
        self._known.append((fits.first, fits.end, found))
        return found

    def _find(self, fits: _Fits) -> ChainTiling | None:
        if not fits.fits(self._layouts.constant_bytes):
            return None
        height = self._problems[-1].height
        low, high = 0, height + 1  # rows that fit, rows that do not
        rows = height
        while high - low > 1:
            if fits.fits(self._layouts[rows].sram_bytes):
                low = rows
            else:
                high = rows
            rows = (low + high) // 2
        if not low:
            return None
        rows = even(height, low)
        best, other = None, self._tiling(rows)
        while best is None or other.cycles < best.cycles:
            best = other
            rows = -(-rows // 2)  # less wait for the first loads and the last store
            if rows == 1 or not fits.fits(self._layouts[rows].sram_bytes):  # since buffers are double now
                break
            other = self._tiling(rows)
        return best

    def _tiling(self, rows: int) -> ChainTiling:
        found = self._tilings.get(rows)
        if found is None:
            layout = self._layouts[rows]
            found = self._tilings[rows] = ChainTiling(
                layout.schedule,
                layout.cuts,
                layout.buffers,
                layout.inner,
                *_estimate(self._problems, layout),
            )
        return found


class _Fits:
    """Compares sizes with a budget; every budget from `first` to before `end` gives the same answers."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self.first, self.end = 0, ENDLESS

    def fits(self, size_bytes: int) -> bool:
        """Whether so many bytes are within the budget."""
        if size_bytes <= self._budget:
            self.first = max(self.first, size_bytes)
            return True
        self.end = min(self.end, size_bytes)
        return False


class _Layout:
    """The stripes of a chain, and the buffers that they take; the inner tensors stay in SRAM."""

    def __init__(self, shapes: Sequence[tuple[Geometry, Reach]], rows: int) -> None:
        self.schedule = make_schedule([reach for _, reach in shapes], rows)
        cuts: list[Cut] = []
        buffers: list[Buffers] = []
        inner: list[int] = []
        moved: Counter[int] = Counter()
        double = len(self.schedule) > 1
        for number, (shape, _) in enumerate(shapes):
            column = [stripe[number] for stripe in self.schedule]
            most = max([rows.end - rows.first for rows in column])
            cut = Cut(most, shape.width, shape.channels, shape.depth, weights_outer=True, double=double)
            cuts.append(cut)
            buffers.append(shape.buffers(cut))
            row_bytes = shape.width * shape.channels
            kept = [rows.kept for rows in column]
            moved.update([count * row_bytes for count in kept if count])
            if number + 1 < len(shapes):
                inner.append(max([rows.end - rows.base for rows in column]) * row_bytes)
        self.cuts, self.buffers, self.inner = tuple(cuts), tuple(buffers), tuple(inner)
        self.moves = tuple(moved.items())  # bytes that are moved within SRAM, and how often
        self.sram_bytes = sum(map(total_bytes, buffers)) + sum(map(align, inner))
        self._count_loads(shapes)

    def _count_loads(self, shapes: Sequence[tuple[Geometry, Reach]]) -> None:
        """The size of each load, and how often it happens."""
        stripes = len(self.schedule)
        loads: list[tuple[int, int]] = []
        constants: list[tuple[int, int]] = []
        for (shape, _), parts in zip(shapes, self.buffers, strict=True):
            count = len(shape.in_sram.inputs)
            loads += [(size, stripes) for size, _ in parts[:count] if size]
            constants += [(parts[count][0], 1)] if parts[count][0] else []
        self.loads, self.constant_loads = tuple(loads), tuple(constants)
        self.read_bytes = sum([size * times for size, times in loads + constants])


class _Layouts(dict[int, _Layout]):
    """The layouts of a chain by rows of a stripe, which are the same for all machines."""

    def __init__(self, links: Sequence[tuple[Geometry, int]]) -> None:
        super().__init__()
        self._shapes = [(shape, reach_of(shape, pad)) for shape, pad in links]
        self.constant_bytes = sum(shape.constant_bytes(shape.channels, shape.depth) for shape, _ in links)

    def __missing__(self, rows: int) -> _Layout:
        made = self[rows] = _Layout(self._shapes, rows)
        return made


_layouts = lru_cache(maxsize=512)(_Layouts)


def best_segments(run: Sequence[int], cost: Callable[[tuple[int, ...]], float]) -> list[tuple[int, ...]]:
    """The cheapest way to cut a run of linked steps into chains and single steps."""
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]  # from each position to the end, last first
    for start in range(len(run) - 1, -1, -1):
        options = []
        for count in range(1, min(MAX_CHAIN, len(run) - start) + 1):
            rest, _ = best[len(run) - start - count]
            steps = tuple(run[start : start + count])
            options.append((cost(steps) + rest, steps))
        best.append(min(options, key=lambda option: (option[0], len(option[1]))))
    segments, position = [], 0
    while position < len(run):
        steps = best[len(run) - position][1]
        segments.append(steps)
        position += len(steps)
    return segments


def _estimate(problems: Sequence[TilingProblem], layout: _Layout) -> tuple[int, int, int]:
    """Cycles, bytes over the bus, and cycles of all loads; loads and stores run beside the computation."""
    machine = problems[0].machine
    bus, stripes = machine.bus, len(layout.schedule)
    compute = sum([times * machine.copy_cycles(size) for size, times in layout.moves])
    costs = problems[0].machine_costs.plain
    crossing = costs.dma_shares_ports * layout.read_bytes + sum(
        [3 * times * size for size, times in layout.moves]
    )
    for problem, cut in zip(problems, layout.cuts, strict=True):
        stall, moved = problem.traffic(cut)
        rows = stripes * cut.rows  # of which the last stripe may lack some
        compute += problem.work_cycles + stripes * (problem.task_cycles + stall * problem.height // rows)
        crossing += stripes * moved * problem.height // rows
    written = problems[-1].geometry.written_bytes
    # A stripe is as wide and as deep as the tensor: contiguous in memory.
    tensors, waits, first = _load_times(bus, layout.loads)
    constants, more, other = _load_times(
        machine.constants, () if machine.loads_ahead else layout.constant_loads
    )
    latency = max(bus.latency, machine.constants.latency) if constants else bus.latency
    store = transfer_beats(bus, -(-written // stripes), 1) + bus.latency * bool(written)
    move_in = tensors + waits + constants + more
    beats_out = stripes * (store - bus.latency * bool(written))
    contention, store_contention = contention_both(costs, tensors, constants, beats_out)
    ports = port_cycles(costs.unit.port_rate, crossing + costs.dma_shares_ports * written)
    lead, task = first + other + latency, compute // stripes
    if machine.is_hopeful:
        sent = lead + task + (stripes - 1) * store + store_contention
        busiest = max(lead + compute, move_in + contention + task, sent, lead + ports)
    else:
        busiest = max(compute, move_in + contention, stripes * store + store_contention, ports) + lead
    return busiest + store, layout.read_bytes + written, move_in


def _load_times(memory: BusCosts, loads: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    """Cycles on the bus of loads, each of so many bytes so many times; those that latency adds; and those on
    the bus of one of each."""
    beats = waits = first = 0
    for size, times in loads:
        one = transfer_beats(memory, size, 1)
        beats, first = beats + times * one, first + one
        waits += times * latency_cycles(memory, one)
    return beats, waits, first
