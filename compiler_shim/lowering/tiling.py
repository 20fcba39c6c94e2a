"""A node on one machine, and how it is cut there: the estimate of its cycles decides.

`cuts` says what a cut takes and costs, `search` finds the cheapest; this module says what they are told of a
machine, and what they tell. Estimates assume that loads, computation and stores overlap where buffers are
double.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dlasim.compiler_shim.lowering import cuts, search
from dlasim.compiler_shim.lowering.geometry import Buffers, Cut, Geometry, Homes, Row, geometries_of
from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from dlasim.native.routine import Memory
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
    sram_bytes: int  # all buffers together
    cycles: int
    tasks: int
    read_bytes: int


class Machine:
    """A configuration as nodes meet it."""

    def __init__(self, config: DlaConfig) -> None:
        self.config = config
        self._rows: dict[tuple[str, bool], Row] = {}

    def row(self, node: DlaNode) -> Row:
        """What `cuts` reads of it for nodes like this."""
        kind = (node.mnemonic, node.one_by_one)
        found = self._rows.get(kind)
        if found is None:
            found = self._rows[kind] = Row(self._numbers(node))
        return found

    def _numbers(self, node: DlaNode) -> tuple[int, ...]:
        config, channel_cycles = self.config, 0
        is_mac = BY_MNEMONIC[node.mnemonic].unit is Unit.MAC
        input_lanes, lanes = config.lanes
        fixed = config.mac_fill + config.mac_drain if is_mac else config.vector_fill + config.vector_drain
        if node.one_by_one:
            lanes, fixed, channel_cycles = 1, 0, fixed + ONE_BY_ONE_WORDS * config.issue_cycles
        elif not is_mac:
            lanes = config.vector_lanes
        elif not node.is_dense:
            lanes = config.depthwise_lanes
        fixed += WORDS_PER_TASK * config.issue_cycles
        return lanes, input_lanes, cost.dma_rate(config), config.dma_latency, fixed, channel_cycles


class TilingProblem:
    """One node on one machine, with its tensors at home somewhere."""

    def __init__(self, node: DlaNode, machine: Machine, row: Row, geometry: Geometry) -> None:
        self.node, self.config, self.machine_row, self.geometry = node, machine.config, row, geometry
        self.height, self.width, self.channels = node.out_shape
        self.depth, self.homes = geometry.depth, geometry.homes
        self.kind = (geometry, node.mnemonic, node.one_by_one)
        self.link = (geometry, node.pad[0])  # all that matters of it in a chain

    @cached_property
    def work_cycles(self) -> int:
        """Cycles of pure work."""
        geometry, machine = self.geometry.row.plain, self.machine_row.plain
        return cuts.work_cycles(geometry, machine, self.channels, self.depth)

    @cached_property
    def task_cycles(self) -> int:
        """Cycles that a task on all channels takes besides its work."""
        return cuts.task_cycles(self.machine_row.plain, self.channels)


class TilingProblems(dict[Homes, TilingProblem]):
    """One node on one machine, by where its tensors live."""

    def __init__(self, node: DlaNode, machine: Machine) -> None:
        super().__init__()
        self._node, self._machine = node, machine
        self._row, self._geometries = machine.row(node), geometries_of(node)

    def __missing__(self, homes: Homes) -> TilingProblem:
        made = TilingProblem(self._node, self._machine, self._row, self._geometries[homes])
        self[homes] = made
        return made


class Finder:
    """Finds tilings, by compiled code where that is there and its numbers suffice."""

    def __init__(self, by_channels: bool) -> None:
        self._by_channels = int(by_channels)
        self._is_compiled = search.SEARCH.is_ready()
        self._desks = [_desk(False), _desk(self._is_compiled)]

    def find(self, problem: TilingProblem, budget: int) -> tuple[Tiling | None, int]:
        """The cheapest tiling within `budget` bytes, None where not even the smallest fits; and the budget
        from which on it is always the same."""
        geometry = problem.geometry
        is_compiled = self._is_compiled and geometry.is_moderate
        group, found = self._desks[is_compiled]
        tasks = search.SEARCH(
            geometry.row.memory(is_compiled), problem.machine_row.memory(is_compiled), budget,
            self._by_channels, group, found,
        )  # fmt: skip
        if not tasks:
            return None, found.take(search.AMPLE, search.AMPLE + 1)[0]
        ample, cycles, tasks, sram, read, *rest = found.take(0, search.FOUND_NUMBERS)
        rows, columns, channels, depth, outer, double, *buffers = rest
        cut = Cut(rows, columns, channels, depth, outer == 1, double == 1)
        return Tiling(cut, geometry.as_buffers(buffers), sram, cycles, tasks, read), ample


def _desk(is_compiled: bool) -> tuple[Memory, Memory]:
    return Memory(is_compiled, cuts.GROUP_NUMBERS), Memory(is_compiled, search.FOUND_NUMBERS)
