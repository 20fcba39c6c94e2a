"""A node on one machine, and how it is cut there: the estimate of its cycles decides.

`cuts` says what a cut takes and costs, `search` finds the cheapest; this module says what they are told of a
machine, and what they tell. Estimates assume that loads, computation and stores overlap where buffers are
double.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dlasim.compiler_shim.lowering import cuts, search
from dlasim.compiler_shim.lowering.geometry import Buffers, Cut, Geometry, Homes, Prepared, geometries_of
from dlasim.compiler_shim.lowering.search import Search
from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from dlasim.native.backend import PLAIN, Backend
from dlasim.native.storage import create
from dlasim.sim import cost
from dlasim.sim.config import DlaConfig

MachineCosts = Prepared[cuts.MachineCosts]
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
        self._costs: dict[tuple[str, bool], MachineCosts] = {}

    def costs(self, node: DlaNode) -> MachineCosts:
        """What `cuts` reads of it for nodes like this."""
        kind = (node.mnemonic, node.one_by_one)
        found = self._costs.get(kind)
        if found is None:
            found = self._costs[kind] = Prepared(self._costs_of(node))
        return found

    def _costs_of(self, node: DlaNode) -> cuts.MachineCosts:
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
        return cuts.MachineCosts(
            output_lanes=lanes,
            input_lanes=input_lanes,
            dma_rate=cost.dma_rate(config),
            dma_latency=config.dma_latency,
            task_cycles=fixed,
            channel_cycles=channel_cycles,
        )


class TilingProblem:
    """One node on one machine, with its tensors at home somewhere."""

    def __init__(self, node: DlaNode, machine: Machine, costs: MachineCosts, geometry: Geometry) -> None:
        self.node, self.config, self.machine_costs, self.geometry = node, machine.config, costs, geometry
        self.height, self.width, self.channels = node.out_shape
        self.depth, self.homes = geometry.depth, geometry.homes
        self.kind = (geometry, node.mnemonic, node.one_by_one)
        self.link = (geometry, node.pad[0])  # all that matters of it in a chain

    @cached_property
    def work_cycles(self) -> int:
        """Cycles of pure work."""
        sizes, machine = self.geometry.sizes.plain, self.machine_costs.plain
        return cuts.work_cycles(sizes, machine, self.channels, self.depth)

    @cached_property
    def task_cycles(self) -> int:
        """Cycles that a task on all channels takes besides its work."""
        return cuts.task_cycles(self.machine_costs.plain, self.channels)


class TilingProblems(dict[Homes, TilingProblem]):
    """One node on one machine, by where its tensors live."""

    def __init__(self, node: DlaNode, machine: Machine) -> None:
        super().__init__()
        self._node, self._machine = node, machine
        self._costs, self._geometries = machine.costs(node), geometries_of(node)

    def __missing__(self, homes: Homes) -> TilingProblem:
        made = TilingProblem(self._node, self._machine, self._costs, self._geometries[homes])
        self[homes] = made
        return made


class Finder:
    """Finds tilings, by compiled code where the backend has it and its numbers suffice."""

    def __init__(self, backend: Backend, by_channels: bool) -> None:
        self._by_channels = int(by_channels)
        plain, fastest = PLAIN.runner(search.SEARCH), backend.runner(search.SEARCH)
        self._plain = plain, create(Search, plain.is_compiled)
        self._fastest = fastest, create(Search, fastest.is_compiled)

    def find(self, problem: TilingProblem, budget: int) -> tuple[Tiling | None, int]:
        """The cheapest tiling within `budget` bytes, None where not even the smallest fits; and the budget
        from which on it is always the same."""
        geometry = problem.geometry
        run, found = self._fastest if geometry.is_moderate else self._plain
        tasks = run(
            geometry.sizes.record(run.is_compiled),
            problem.machine_costs.record(run.is_compiled),
            found,
            budget,
            self._by_channels,
        )
        if not tasks:
            return None, found.ample_bytes
        best = found.best
        outer, double = best.is_channels_outer == 1, best.is_double == 1
        cut = Cut(best.rows, best.columns, best.channels, best.depth, outer, double)
        buffers = geometry.as_buffers(found.buffers)
        tiling = Tiling(cut, buffers, found.sram_bytes, found.cycles, found.tasks, found.read_bytes)
        return tiling, found.ample_bytes
