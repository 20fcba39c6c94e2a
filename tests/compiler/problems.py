"""A node on a machine with its tensors in SRAM or in memory, as tests ask what it costs."""

from __future__ import annotations

from functools import cached_property

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.addresses.packed_records import SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan, TileShape
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.tiles.known_tilings import TILINGS, WHERES
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKinds, node_kind
from dlasim.compiler_shim.lowering.tiles.tile_buffers import describe_group, list_buffers
from dlasim.compiler_shim.lowering.tiles.tile_records import BufferSizes, ChannelGroup, NodeSizes, Tile
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.dataclass import dataclass
from dlasim.named_tuple import NamedTuple

Buffers = tuple[tuple[int, int], ...]


class InSram(NamedTuple):
    """Which of a node's tensors stay in SRAM; the others are in system memory."""

    inputs: tuple[bool, ...]
    output: bool

    @property
    def number(self) -> int:
        """As in the number of a problem."""
        return sum(is_there << place for place, is_there in enumerate(self.inputs)) + 4 * self.output


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
        kinds = NodeKinds()
        self.sizes = kinds.sizes[kinds.numbers([self.kind])[0] * WHERES + in_sram.number]
        self.machine_costs = machine.costs(self.kind.costs)
        self.height, self.width, self.channels = node.out_shape
        self.depth = self.sizes.depth

    @cached_property
    def is_moderate(self) -> bool:
        """Whether 64 bits hold what its estimates come to."""
        return self.tables().costs_on(self.machine).is_moderate

    def tables(self, by_channels: bool = False) -> KnownTables:
        """New tables, in which it has the number of where its tensors are."""
        kinds = NodeKinds()
        kinds.numbers([self.kind])
        return KnownTables(kinds, self.machine, by_channels)

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
    buffers = as_buffers(tables.kinds.sizes[problem], found.buffers)
    return Tiling(TileShape(*found.tile.flatten()), buffers, *figures) if found.tasks else None


def problem_of(plan: SramPlan, step: int, machine: MachineModel) -> Problem:
    """What a plan had to cut."""
    node = plan.path.nodes[step]
    number = int(plan.nodes[plan.path.places[step], SLOTS["problem"]])
    inputs = tuple([number >> place & 1 == 1 for place in range(len(node.inputs))])
    return Problem(node, machine, InSram(inputs, number & 4 > 0))


def buffers_of(sizes: NodeSizes, tile_shape: TileShape) -> Buffers:
    """Sizes and copies of all buffers: of each input, the constants, the accumulator and the output."""
    group, listed = ChannelGroup(), BufferSizes()
    describe_group(sizes, tile_shape.channels, tile_shape.depth, group)
    list_buffers(sizes, group, Tile(*tile_shape), listed)
    return as_buffers(sizes, listed)


def as_buffers(sizes: NodeSizes, listed: BufferSizes) -> Buffers:
    """Sizes and copies of the buffers that there are."""
    first, second, *others = [(each.size_bytes, each.copies) for each in listed.buffers]
    return (first, second, *others) if sizes.input_count > 1 else (first, *others)
