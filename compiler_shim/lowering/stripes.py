"""Chains of nodes computed in stripes of rows, so that what lies between them never leaves SRAM.

The last node's output is cut into stripes. For each stripe every node computes the rows that the next one
lacks, in full width and depth; each row is computed once. Between two nodes stands a buffer of some rows:
what the next stripe still needs of it is moved to its start, and new rows follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dlasim.compiler_shim.lowering.emitter import SRAM, Op, Touch
from dlasim.compiler_shim.lowering.geometry import Buffers, Cut, align, total_bytes
from dlasim.compiler_shim.lowering.tasks import NodeTasks, Task
from dlasim.compiler_shim.lowering.tiling import WORDS_PER_TASK, Tiling, TilingProblem
from dlasim.compiler_shim.lowering.views import Home, pack_pair
from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa import codec
from dlasim.sim import cost
from dlasim.sim.config import DlaConfig

MAX_CHAIN = 6
_COPY_WORD = codec.encode("OP_C_MAX")  # the larger of a value and itself: a copy within SRAM


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
    """A chain as planned: its steps in the network, its stripes, and where the buffers between nodes lie."""

    steps: tuple[int, ...]
    schedule: Schedule
    inner_addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChainTiling:
    """A chain cut into stripes, with what it takes and costs."""

    schedule: Schedule
    cuts: tuple[Cut, ...]
    buffers: tuple[Buffers, ...]
    inner_bytes: tuple[int, ...]
    cycles: int
    moved_bytes: int

    @property
    def sram_bytes(self) -> int:
        """All buffers together."""
        return sum(map(total_bytes, self.buffers)) + sum(map(align, self.inner_bytes))

    def tiling(self, number: int) -> Tiling:
        """What `explain` tells of one node of the chain."""
        return Tiling(self.cuts[number], self.buffers[number], 0, len(self.schedule), 0)


def make_schedule(nodes: Sequence[DlaNode], rows: int) -> Schedule:
    """The stripes of a chain whose last node computes `rows` rows in each."""
    count = len(nodes)
    done, base = [0] * count, [0] * count
    height = nodes[-1].out_shape[0]
    stripes = []
    for top in range(0, height, rows):
        need = [node.out_shape[0] for node in nodes]  # at the end also rows that nothing reads
        need[-1] = min(top + rows, height)
        if need[-1] < height:
            for number in range(count - 2, -1, -1):
                _, end = _read_rows(nodes[number + 1], 0, need[number + 1])
                need[number] = max(done[number], min(end, nodes[number].out_shape[0]))
        stripe = []
        for number in range(count):
            start = done[number]
            if number + 1 < count:
                start = min(_read_rows(nodes[number + 1], done[number + 1], 1)[0], done[number])
            stripe.append(Rows(done[number], need[number], base[number], start))
            base[number], done[number] = start, need[number]
        stripes.append(tuple(stripe))
    return tuple(stripes)


def _read_rows(node: DlaNode, first: int, end: int) -> tuple[int, int]:
    """The input rows [low, high) that output rows [first, end) read, were the input endless at the bottom."""
    low = first * node.stride[0] - node.pad[0]
    high = (end - 1) * node.stride[0] - node.pad[0] + (node.kernel[0] - 1) * node.dilation[0] + 1
    return max(low, 0), max(high, 0)


def best_chain(problems: Sequence[TilingProblem], budget: int) -> ChainTiling | None:
    """The chain in the fewest stripes that fit."""
    if sum(problem.constant_bytes(problem.channels, problem.depth) for problem in problems) > budget:
        return None
    height = problems[-1].height
    low, high = 0, height + 1  # rows that fit, rows that do not
    rows = height
    while high - low > 1:
        if _Layout(problems, rows).sram_bytes <= budget:
            low = rows
        else:
            high = rows
        rows = (low + high) // 2
    return tile_chain(problems, -(-height // -(-height // low))) if low else None


def tile_chain(problems: Sequence[TilingProblem], rows: int) -> ChainTiling:
    """A chain in stripes of `rows`; the problems have their inner tensors at home in SRAM."""
    layout = _Layout(problems, rows)
    cycles, moved = _estimate(problems, layout.schedule, layout.buffers)
    return ChainTiling(
        layout.schedule, tuple(layout.cuts), tuple(layout.buffers), tuple(layout.inner), cycles, moved
    )


class _Layout:
    """The stripes of a chain, and the buffers that they take."""

    def __init__(self, problems: Sequence[TilingProblem], rows: int) -> None:
        self.schedule = make_schedule([problem.node for problem in problems], rows)
        self.cuts: list[Cut] = []
        self.buffers: list[Buffers] = []
        self.inner: list[int] = []
        double = len(self.schedule) > 1
        for number, problem in enumerate(problems):
            column = [stripe[number] for stripe in self.schedule]
            most = max(rows.end - rows.first for rows in column)
            cut = Cut(most, problem.width, problem.channels, problem.depth, weights_outer=True, double=double)
            self.cuts.append(cut)
            self.buffers.append(problem.buffers(cut, problem.counts(cut)))
            if number + 1 < len(problems):
                self.inner.append(max(rows.end - rows.base for rows in column) * _row_bytes(problem.node))

    @property
    def sram_bytes(self) -> int:
        """All buffers together."""
        return sum(map(total_bytes, self.buffers)) + sum(map(align, self.inner))


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


def _row_bytes(node: DlaNode) -> int:
    return node.out_shape[1] * node.out_shape[2]


def _estimate(
    problems: Sequence[TilingProblem], schedule: Schedule, buffers: Sequence[Buffers]
) -> tuple[int, int]:
    """Cycles, and bytes over the bus; loads and stores run beside the computation, stripe by stripe."""
    config = problems[0].config
    stripes = len(schedule)
    compute = sum(problem.waves() + stripes * problem.task_cycles() for problem in problems)
    compute += sum(
        _copy_cycles(config, problems[n].node, stripe[n]) for stripe in schedule for n in range(len(stripe))
    )
    read = loads = first = 0
    for problem, parts in zip(problems, buffers, strict=True):
        count = len(problem.homes.inputs)
        for size, _ in parts[:count]:
            read, loads, first = read + size * stripes, loads + stripes * bool(size), first + size
        constants = parts[count][0]
        read, loads, first = read + constants, loads + bool(constants), first + constants
    last = problems[-1]
    written = 0 if last.homes.output else last.output_bytes(last.height, last.width, last.channels)
    rate, latency = cost.dma_rate(config), config.dma_latency
    move_in = (read // rate if rate else 0) + loads * latency
    move_out = (written // rate if rate else 0) + stripes * latency * bool(written)
    ends = (first // rate if rate else 0) + latency + move_out // stripes
    return max(compute, move_in, move_out) + ends, read + written


def _copy_cycles(config: DlaConfig, node: DlaNode, rows: Rows) -> int:
    if not rows.kept:
        return 0
    fixed = config.vector_fill + config.vector_drain + WORDS_PER_TASK * config.issue_cycles
    return int(cost.vector_cycles(config, 1, 1, rows.kept * _row_bytes(node))) + fixed


def chain_tasks(chain: Chain, members: Sequence[NodeTasks]) -> Iterator[Task]:
    """One task for each stripe."""
    for stripe in chain.schedule:
        task = Task()
        input_home: Home | None = None
        for number, (rows, member) in enumerate(zip(stripe, members, strict=True)):
            output_home = None
            if number + 1 < len(members):
                address = chain.inner_addresses[number]
                size = _row_bytes(member.node)
                output_home = Home(SRAM, address - rows.base * size, member.node.out_shape, 1)
                if rows.kept:
                    task.computes.append(_copy(member.node, address, rows, size))
            if rows.end > rows.first:
                part = member.stripe(rows.first, rows.end - rows.first, input_home, output_home)
                task.loads += part.loads
                task.computes += part.computes
                task.stores += part.stores
            input_home = output_home
        yield task


def _copy(node: DlaNode, address: int, rows: Rows, row_bytes: int) -> Op:
    """Moves the rows that are still needed to the start of their buffer."""
    source, size = address + (rows.base - rows.old_base) * row_bytes, rows.kept * row_bytes
    registers = {
        "IN_ADDR": source,
        "IN2_ADDR": source,
        "OUT_ADDR": address,
        "OUT_SIZE": pack_pair(1, 1),
        "OUT_CHANNELS": size,
    }
    for prefix in ("IN", "IN2", "OUT"):
        registers[f"{prefix}_PIXEL_STRIDE"] = registers[f"{prefix}_ROW_STRIDE"] = size
    touches = (Touch(SRAM, source, source + size, False), Touch(SRAM, address, address + size, True))
    return Op("OP_C_MAX", _COPY_WORD, registers, touches, node.layer)
