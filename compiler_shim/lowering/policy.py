"""The user's choice of tiling, as lowering asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dlasim.compiler_shim.lowering.geometry import ENDLESS, Cut, total_bytes
from dlasim.compiler_shim.lowering.search import half
from dlasim.compiler_shim.lowering.tiling import Finder, Machine, Tiling, TilingProblem
from dlasim.compiler_shim.options import CompileOptions
from dlasim.native.backend import PLAIN, Backend
from dlasim.sim.config import DlaConfig


@dataclass(slots=True)
class _Known:
    """What has been found for one kind of problem: the budget above which nothing changes; each search, in
    order; and the answer for each budget."""

    sufficient_bytes: int = 0
    searches: list[tuple[int, Tiling | None]] = field(default_factory=list)
    answers: dict[int, Tiling | None] = field(default_factory=dict)


@dataclass(slots=True)
class Policy:
    """Picks tilings for one configuration; remembers them, since layers repeat."""

    config: DlaConfig
    options: CompileOptions
    backend: Backend = PLAIN
    loads_ahead: bool = False  # whether estimates assume that the first constants of a node are there in time
    slack_bytes: int = ENDLESS  # SRAM that no decision so far needs; below 0 where one would need more
    machine: Machine = field(init=False)
    _finder: Finder = field(init=False)
    _known: dict[tuple[object, ...], _Known] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.machine = Machine(self.config, self.loads_ahead)
        self._finder = Finder(self.backend, by_channels=self.options.tiling != "auto")

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM from one node to the next."""
        return keeps_tensors(self.options)

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tiling of a node within a budget, None where none fits.

        What is best within more, and fits into less, is best there too.
        """
        known = self._known.get(problem.kind)
        if known is None:
            known = self._known[problem.kind] = _Known()
        if budget not in known.answers:
            known.answers[budget] = self._find(problem, budget, known)
        self.limit_slack(budget - known.sufficient_bytes)
        return known.answers[budget]

    def _find(self, problem: TilingProblem, budget: int, known: _Known) -> Tiling | None:
        for larger, tiling in known.searches:
            if larger >= budget and (tiling is None or tiling.sram_bytes <= budget):
                return tiling
        tiling, known.sufficient_bytes = self._finder.find(problem, budget)
        known.searches.append((budget, tiling))
        return tiling

    def limit_slack(self, slack_bytes: int) -> None:
        """Take a decision into account: with so much less SRAM, or any amount more, it would be the same."""
        if slack_bytes < self.slack_bytes:
            self.slack_bytes = slack_bytes

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
    cut = Cut(rows, columns, problem.geometry.step, depth, weights_outer=True, double=False)
    return total_bytes(problem.geometry.buffers(cut))
