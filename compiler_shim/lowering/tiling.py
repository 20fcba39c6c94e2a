"""A node on one machine, and how it is cut there: the estimate of its cycles decides.

`cuts` says what a cut takes and costs, `search` finds the cheapest; this module says what they are told of a
machine, and what they tell. Estimates assume that loads, computation and stores overlap where buffers are
double.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dlasim.compiler_shim.lowering import cuts, search
from dlasim.compiler_shim.lowering.geometry import (
    ENDLESS,
    Buffers,
    Cut,
    Geometry,
    InSram,
    Prepared,
    geometries_of,
)
from dlasim.compiler_shim.lowering.search import Search
from dlasim.compiler_shim.nodes import DlaNode
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from dlasim.native.backend import PLAIN, Backend
from dlasim.native.storage import create
from dlasim.sim import cost, formulas
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
        # A simulation may leave terms out; what is left out must not change the program.
        self._timed = config if config.timing == "full" else config.replace(timing="full")
        self.bus = cost.bus_costs(self._timed)
        self.word_cycles = cost.word_cycles(self._timed)
        self._copier = cost.unit_costs(self._timed, "OP_C_MAX")
        self._costs: dict[tuple[str, bool], MachineCosts] = {}
        ports = 4 if self._copier.port_rate else 1  # operands that may cross the SRAM's ports
        self.most_cycles_per_byte = ports * (1 + self.bus.burst_overhead) * max(self.bus.alone, 1)

    def costs(self, node: DlaNode) -> MachineCosts:
        """What `cuts` reads of it for nodes like this."""
        kind = (node.mnemonic, node.one_by_one)
        found = self._costs.get(kind)
        if found is None:
            found = self._costs[kind] = Prepared(self._costs_of(node))
        return found

    def copy_cycles(self, size_bytes: int) -> int:
        """Cycles of moving bytes within SRAM; they cross its ports as both operands and as the result."""
        unit = self._copier
        work = formulas.lane_cycles(unit, 1, 1, 1, size_bytes)
        stall = formulas.stall_cycles(unit, 3 * size_bytes, work)
        return unit.fill + work + stall + unit.drain + WORDS_PER_TASK * self.word_cycles

    def _costs_of(self, node: DlaNode) -> cuts.MachineCosts:
        is_mac = BY_MNEMONIC[node.mnemonic].unit is Unit.MAC
        unit = cost.unit_costs(self._timed, node.mnemonic)
        operation, words = unit.fill + unit.drain, WORDS_PER_TASK * self.word_cycles
        task, channel = operation + words, 0
        if node.one_by_one:
            task, channel = words, operation + ONE_BY_ONE_WORDS * self.word_cycles
            unit.output_lanes = 1
        return cuts.MachineCosts(
            bus=self.bus,
            unit=unit,
            is_mac=int(is_mac),
            rereads_input=int(is_mac and node.mnemonic != "OP_DEPTH_CONV"),
            task_cycles=task,
            channel_cycles=channel,
        )


class TilingProblem:
    """One node on one machine, with its tensors in SRAM or in memory."""

    def __init__(self, node: DlaNode, machine: Machine, costs: MachineCosts, geometry: Geometry) -> None:
        self.node, self.machine, self.machine_costs, self.geometry = node, machine, costs, geometry
        self.height, self.width, self.channels = node.out_shape
        self.depth, self.in_sram = geometry.depth, geometry.in_sram
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

    def stall_cycles(self, cut: Cut) -> int:
        """Cycles that a task waits for the SRAM's ports."""
        machine = self.machine_costs.plain
        if not machine.unit.port_rate:
            return 0
        return cuts.task_stall_cycles(self.geometry.sizes.plain, machine, cuts.Tile(*cut))

    @property
    def is_moderate(self) -> bool:
        """Whether 64 bits hold every number that the search for its tiling meets."""
        return self.geometry.most * self.machine.most_cycles_per_byte < ENDLESS


class TilingProblems(dict[InSram, TilingProblem]):
    """One node on one machine, by where its tensors live."""

    def __init__(self, node: DlaNode, machine: Machine) -> None:
        super().__init__()
        self._node, self._machine = node, machine
        self._costs, self._geometries = machine.costs(node), geometries_of(node)

    def __missing__(self, in_sram: InSram) -> TilingProblem:
        made = TilingProblem(self._node, self._machine, self._costs, self._geometries[in_sram])
        self[in_sram] = made
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
        above which nothing changes."""
        geometry = problem.geometry
        run, found = self._fastest if problem.is_moderate else self._plain
        tasks = run(
            geometry.sizes.record(run.is_compiled),
            problem.machine_costs.record(run.is_compiled),
            found,
            budget,
            self._by_channels,
        )
        if not tasks:
            return None, found.sufficient_bytes
        best = found.best
        outer, double = best.is_channels_outer == 1, best.is_double == 1
        cut = Cut(best.rows, best.columns, best.channels, best.depth, outer, double)
        buffers = geometry.as_buffers(found.buffers)
        tiling = Tiling(cut, buffers, found.sram_bytes, found.cycles, found.tasks, found.read_bytes)
        return tiling, found.sufficient_bytes
