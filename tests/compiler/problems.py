"""A node on a machine with its tensors in SRAM or in memory, as tests ask what it costs."""

from __future__ import annotations

from functools import cached_property

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.addresses.packed_records import SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.tiles.geometry import Buffers, InSram, TileShape
from dlasim.compiler_shim.lowering.tiles.known_tilings import TILINGS, WHERES
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKinds, node_kind
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tile shape with what it takes: `buffers` are (bytes, copies) of each input, the constants, the
    accumulator and the output, 0 bytes where there is none."""

    tile_shape: TileShape
    buffers: Buffers
    sram_bytes: int  # all buffers together
    cycles: int
    tasks: int
    read_bytes: int


class Problem:
    """What the searches are asked: sizes, costs, and where tensors are."""

    def __init__(self, node: DlaNode, machine: MachineModel, in_sram: InSram) -> None:
        self.node, self.machine, self.in_sram, self.kind = node, machine, in_sram, node_kind(node)
        self.geometry, self.machine_costs = self.kind.geometries[in_sram], machine.costs(self.kind.costs)
        self.height, self.width, self.channels = node.out_shape
        self.depth = self.geometry.depth

    @cached_property
    def is_moderate(self) -> bool:
        """Whether 64 bits hold what its estimates come to."""
        return self.tables().costs_on(self.machine).is_moderate

    def tables(self, by_channels: bool = False) -> KnownTables:
        """New tables, in which it has the number of where its tensors are."""
        kinds = NodeKinds()
        kinds.numbers([self.kind])
        return KnownTables(kinds, self.machine, self.machine, by_channels)

    def number(self, tables: KnownTables) -> int:
        """Its number in some tables."""
        return tables.kinds.numbers([self.kind])[0] * WHERES + self.in_sram.number


def anywhere(node: DlaNode, machine: MachineModel, in_sram: bool) -> Problem:
    """A node with all of its tensors in SRAM, or none."""
    return Problem(node, machine, InSram((in_sram,) * len(node.inputs), in_sram))


def tiling_of(tables: KnownTables, problem: int, budget: int) -> Tiling | None:
    """The tiling of a problem within a budget, None where none fits."""
    found = tables.table.tilings.tilings[tables.run(TILINGS, tables.table.tilings, problem, budget)]
    figures = found.sram_bytes, found.cycles, found.tasks, found.read_bytes
    buffers = tables.kinds.geometry(problem).as_buffers(found.buffers)
    return Tiling(TileShape(*found.tile.flatten()), buffers, *figures) if found.tasks else None


def problem_of(plan: SramPlan, step: int, machine: MachineModel) -> Problem:
    """What a plan had to cut."""
    node = plan.path.nodes[step]
    number = int(plan.nodes[plan.path.places[step], SLOTS["problem"]])
    return Problem(node, machine, plan.tables.kinds.geometry(number).in_sram)
