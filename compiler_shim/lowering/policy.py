"""The user's choice of tiling, as lowering asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dlasim.compiler_shim.lowering import tiling as t
from dlasim.compiler_shim.lowering.tiling import Tiling, TilingProblem
from dlasim.compiler_shim.options import CompileOptions
from dlasim.sim.config import DlaConfig


@dataclass(slots=True)
class Policy:
    """Picks tilings for one configuration; remembers them, since layers repeat."""

    config: DlaConfig
    options: CompileOptions
    _known: dict[tuple[object, ...], Tiling | None] = field(default_factory=dict)

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM from one node to the next."""
        return self.options.fusion == "full" and self.options.tiling == "auto"

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tiling of a node within a budget, None where none fits."""
        key = (*_shape_key(problem), problem.homes, budget)
        if key not in self._known:
            self._known[key] = self._search(problem, budget)
        return self._known[key]

    def needed(self, problem: TilingProblem) -> int:
        """Bytes of SRAM that the smallest tiling takes."""
        if self.options.tiling == "auto":
            return t.smallest(problem).sram_bytes
        return self._by_channels(problem, 1).sram_bytes

    def _search(self, problem: TilingProblem, budget: int) -> Tiling | None:
        if self.options.tiling == "auto":
            return t.best(problem, budget)
        return self._output_channels(problem, budget)

    def _output_channels(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The paper's: the whole input, and as many output channels as fit beside it."""
        low, high = 0, problem.channels
        while high > low:
            middle = (low + high + 1) // 2
            if self._by_channels(problem, middle).sram_bytes <= budget:
                low = middle
            else:
                high = middle - 1
        step = problem.node.multiplier if not problem.node.is_dense else 1
        low -= low % step
        return self._by_channels(problem, low) if low else None

    @staticmethod
    def _by_channels(problem: TilingProblem, channels: int) -> Tiling:
        return problem.tiling(problem.height, problem.width, channels, problem.depth, True, False)


def _shape_key(problem: TilingProblem) -> tuple[object, ...]:
    node = problem.node
    return (
        node.mnemonic,
        node.one_by_one,
        node.in_shape,
        node.out_shape,
        node.kernel,
        node.stride,
        node.dilation,
        node.in_element_bytes,
        node.out_element_bytes,
        node.broadcast,
        node.weights is None,
        node.records is None,
        node.table is None,
    )
