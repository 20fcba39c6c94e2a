"""The user's choice of tiling, as lowering asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.tiles.geometry import TileShape, total_bytes
from dlasim.compiler_shim.lowering.tiles.search import half
from dlasim.compiler_shim.lowering.tiles.tile_buffers import SINGLE
from dlasim.compiler_shim.lowering.tiles.tiling import (
    CostAssumption,
    MachineModel,
    Tiling,
    TilingProblem,
    TilingProblems,
)
from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig


@dataclass(slots=True)
class Policy:
    """Picks tilings for one configuration; remembers them, since layers repeat."""

    config: DlaConfig
    options: CompileOptions
    assumption: CostAssumption = CostAssumption.NO_OVERLAP
    byte_price: int = 0
    machine: MachineModel = field(init=False)
    first_machine: MachineModel = field(init=False)
    _tables: dict[bool, KnownTables] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.machine = MachineModel(self.config, self.assumption, self.byte_price)
        # Nothing comes before the first node.
        self.first_machine = self.machine
        if self.assumption is CostAssumption.PREFETCHED:
            self.first_machine = MachineModel(self.config, CostAssumption.OVERLAP, self.byte_price)

    def tables(self, kinds: Sequence[TilingProblems]) -> KnownTables:
        """What is known of such nodes: those for which 64 bits do not suffice have tables of their own, with
        the nodes beside them."""
        is_plain = not all(each.is_moderate for each in kinds)
        if is_plain not in self._tables:
            self._tables[is_plain] = KnownTables(self.machine, self.options.tiling != "auto", is_plain)
        return self._tables[is_plain]

    @property
    def keeps_constants(self) -> bool:
        """Whether weights, records and tables stay in SRAM from one inference to the next."""
        return self.options.weights == "keep"

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM from one node to the next."""
        return keeps_tensors(self.options)

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tiling of a node within a budget, None where none fits."""
        return self.tables([problem.kind]).tiling(problem, budget)

    def needed(self, problem: TilingProblem) -> int:
        """Bytes of SRAM that the smallest tiling takes; an accumulator may take more than cut input channels
        save."""
        if self.options.tiling != "auto":
            return _single_bytes(problem, problem.height, problem.width, problem.depth)
        depths = [problem.depth]
        while depths[-1] > 1 and not (problem.node.is_int16 or problem.node.adds_tensor):
            depths.append(half(depths[-1]))
        return min(_single_bytes(problem, 1, 1, depth) for depth in depths)


def keeps_tensors(options: CompileOptions) -> bool:
    """Whether tensors may stay in SRAM from one node to the next."""
    return options.fusion == "full" and options.tiling == "auto"


def _single_bytes(problem: TilingProblem, rows: int, columns: int, depth: int) -> int:
    """Bytes of single buffers for the fewest output channels."""
    tile_shape = TileShape(
        rows, columns, problem.geometry.step, depth, is_channels_outer=True, buffering=SINGLE
    )
    return total_bytes(problem.geometry.buffers(tile_shape))
