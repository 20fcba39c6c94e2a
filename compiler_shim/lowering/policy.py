"""The user's choice of tiling, as lowering asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dlasim.compiler_shim.lowering.segments.chain_tilings import ChainTilings
from dlasim.compiler_shim.lowering.segments.stripes import StripeFinder
from dlasim.compiler_shim.lowering.tiles.geometry import TileShape, total_bytes
from dlasim.compiler_shim.lowering.tiles.search import half
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE
from dlasim.compiler_shim.lowering.tiles.tiling import (
    CostAssumption,
    Finder,
    MachineModel,
    Tiling,
    TilingProblem,
)
from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig


@dataclass(slots=True)
class _Known:
    """What has been found for one kind of problem: the budget above which nothing changes, the answer for
    that, and for each other budget."""

    sufficient_bytes: int
    most: Tiling | None
    answers: dict[int, Tiling | None] = field(default_factory=dict)


@dataclass(slots=True)
class Policy:
    """Picks tilings for one configuration; remembers them, since layers repeat."""

    config: DlaConfig
    options: CompileOptions
    assumption: CostAssumption = CostAssumption.NO_OVERLAP
    by_groups: bool = True  # of channels, in chains
    byte_price: int = 0
    machine: MachineModel = field(init=False)
    first_machine: MachineModel = field(init=False)
    _finder: Finder = field(init=False)
    _stripes: StripeFinder = field(init=False)
    _known: dict[TilingProblem, _Known] = field(default_factory=dict)
    _chains: dict[tuple[TilingProblem, ...], ChainTilings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.machine = MachineModel(self.config, self.assumption, self.byte_price)
        # Nothing comes before the first node.
        self.first_machine = self.machine
        if self.assumption is CostAssumption.PREFETCHED:
            self.first_machine = MachineModel(self.config, CostAssumption.OVERLAP, self.byte_price)
        self._finder = Finder(by_channels=self.options.tiling != "auto")
        self._stripes = StripeFinder(self.machine)

    @property
    def keeps_constants(self) -> bool:
        """Whether weights, records and tables stay in SRAM from one inference to the next."""
        return self.options.weights == "keep"

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM from one node to the next."""
        return keeps_tensors(self.options)

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tiling of a node within a budget, None where none fits.

        What is best within the next larger power of two, and fits, is taken. So the answer does not depend on
        what has been asked before.
        """
        return self._within(problem, self._known.get(problem) or self._find_most(problem), budget)

    def chain_tilings(self, problems: Sequence[TilingProblem]) -> ChainTilings:
        """The tilings of a chain of these nodes."""
        nodes = tuple(problems)
        found = self._chains.get(nodes)
        if found is None:
            found = self._chains[nodes] = ChainTilings(problems, self._stripes, self.by_groups)
        return found

    def sufficient_bytes(self, problem: TilingProblem) -> int:
        """The budget above which a node's tiling is always the same."""
        return (self._known.get(problem) or self._find_most(problem)).sufficient_bytes

    def _find_most(self, problem: TilingProblem) -> _Known:
        most, sufficient = self._finder.find(problem, INFINITE - 1)
        known = self._known[problem] = _Known(sufficient, most)
        return known

    def _within(self, problem: TilingProblem, known: _Known, budget: int) -> Tiling | None:
        if budget >= known.sufficient_bytes:
            return known.most
        if budget not in known.answers:
            known.answers[budget] = self._find(problem, known, budget)
        return known.answers[budget]

    def _find(self, problem: TilingProblem, known: _Known, budget: int) -> Tiling | None:
        if not problem.machine.assumes_prefetch:
            larger = self._within(problem, known, 1 << budget.bit_length())
            if larger is None or larger.sram_bytes <= budget:
                return larger
        return self._finder.find(problem, budget)[0]

    def needed(self, problem: TilingProblem) -> int:
        """Bytes of SRAM that the smallest tiling takes; an accumulator may take more than cut input channels
        save."""
        if self.options.tiling != "auto":
            return _single_bytes(problem, problem.height, problem.width, problem.depth)
        depths = [problem.depth]
        while depths[-1] > 1:
            depths.append(half(depths[-1]))
        return min(_single_bytes(problem, 1, 1, depth) for depth in depths)


def keeps_tensors(options: CompileOptions) -> bool:
    """Whether tensors may stay in SRAM from one node to the next."""
    return options.fusion == "full" and options.tiling == "auto"


def _single_bytes(problem: TilingProblem, rows: int, columns: int, depth: int) -> int:
    """Bytes of single buffers for the fewest output channels."""
    tile_shape = TileShape(
        rows, columns, problem.geometry.step, depth, is_channels_outer=True, is_double=False
    )
    return total_bytes(problem.geometry.buffers(tile_shape))
