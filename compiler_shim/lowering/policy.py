"""The user's choice of tiling, as lowering asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dlasim.compiler_shim.lowering import search
from dlasim.compiler_shim.lowering.geometry import ENDLESS
from dlasim.compiler_shim.lowering.tiling import Tiling, TilingProblem
from dlasim.compiler_shim.options import CompileOptions
from dlasim.sim.config import DlaConfig


@dataclass(slots=True)
class Policy:
    """Picks tilings for one configuration; remembers them, since layers repeat."""

    config: DlaConfig
    options: CompileOptions
    spare_bytes: int = ENDLESS  # SRAM that no decision so far would miss; below 0 where one is short of it
    _known: dict[tuple[object, ...], list[tuple[int, Tiling | None]]] = field(default_factory=dict)
    _ample: dict[tuple[object, ...], int] = field(default_factory=dict)

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM from one node to the next."""
        return self.options.fusion == "full" and self.options.tiling == "auto"

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tiling of a node within a budget, None where none fits.

        What is best within more, and fits into less, is best there too.
        """
        kind = (problem.geometry, problem.node.mnemonic, problem.node.one_by_one)
        self.note_spare(budget - self._ample_bytes(kind, problem))
        known = self._known.setdefault(kind, [])
        for larger, tiling in known:
            if larger >= budget and (tiling is None or tiling.sram_bytes <= budget):
                return tiling
        search_ = search.best if self.options.tiling == "auto" else search.by_channels
        tiling = search_(problem, budget)
        known.append((budget, tiling))
        return tiling

    def note_spare(self, spare_bytes: int) -> None:
        """A decision that would be the same with so much less SRAM, and with any amount more."""
        self.spare_bytes = min(self.spare_bytes, spare_bytes)

    def _ample_bytes(self, kind: tuple[object, ...], problem: TilingProblem) -> int:
        """The budget from which on the tiling is always the same."""
        found = self._ample.get(kind)
        if found is None:
            ample = search.ample if self.options.tiling == "auto" else search.ample_by_channels
            found = self._ample[kind] = ample(problem)
        return found

    def needed(self, problem: TilingProblem) -> int:
        """Bytes of SRAM that the smallest tiling takes."""
        if self.options.tiling == "auto":
            return search.smallest(problem).sram_bytes
        return search.smallest_by_channels(problem).sram_bytes
