"""The cheapest pieces of a chain within a budget of SRAM: stripes of rows, or groups of channels."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.segments.stripes import StripeFinder, StripeTilings
from dlasim.compiler_shim.lowering.tiles.channel_groups import ChannelTilings
from dlasim.compiler_shim.lowering.tiles.tiling import TilingProblem


class ChainTilings:
    """The tilings of one chain by stripes, and by groups of channels where these are wanted."""

    def __init__(
        self, problems: Sequence[TilingProblem], finder: StripeFinder, by_groups: bool = True
    ) -> None:
        self._stripes = StripeTilings(problems, finder)
        self._groups = ChannelTilings(problems) if by_groups else None

    def best(self, budget: int) -> ChainTiling | None:
        """The cheapest that fits."""
        stripes = self._stripes.best(budget)
        groups = self._groups.best(budget) if self._groups is not None else None
        if groups is None or (stripes is not None and stripes.cycles <= groups.cycles):
            return stripes
        return groups
