"""The user's choice of tiling, as lowering asks for it."""

from __future__ import annotations

from dataclasses import field

from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKinds
from dlasim.compiler_shim.lowering.tiles.search import half
from dlasim.compiler_shim.lowering.tiles.tile_buffers import SINGLE, describe_group, sram_bytes
from dlasim.compiler_shim.lowering.tiles.tile_records import ChannelGroup, NodeSizes, Tile
from dlasim.compiler_shim.lowering.tiles.tiling import CostAssumption, MachineModel
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
    kinds: NodeKinds = field(default_factory=NodeKinds)
    machine: MachineModel = field(init=False)
    _tables: KnownTables | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.machine = MachineModel(self.config, self.assumption, self.byte_price)

    @property
    def tables(self) -> KnownTables:
        """What is known of nodes."""
        if self._tables is None:
            self._tables = KnownTables(self.kinds, self.machine, self.options.tiling != "auto")
        return self._tables

    def needed(self, problem: int) -> int:
        """Bytes of SRAM that the smallest tiling takes; an accumulator may take more than cut input channels
        save."""
        sizes = self.kinds.sizes[problem]
        if self.options.tiling != "auto":
            return _single_bytes(sizes, sizes.height, sizes.width, sizes.depth)
        depths = [sizes.depth]
        while depths[-1] > 1 and sizes.input_element_bytes == sizes.input_count == 1:
            depths.append(half(depths[-1]))
        return min(_single_bytes(sizes, 1, 1, depth) for depth in depths)


def _single_bytes(sizes: NodeSizes, rows: int, columns: int, depth: int) -> int:
    """Bytes of single buffers for the fewest output channels."""
    group = ChannelGroup()
    describe_group(sizes, sizes.step, depth, group)
    return sram_bytes(sizes, group, Tile(rows, columns, sizes.step, depth, 1, SINGLE))
