"""A node on one machine, and how it is cut there: the estimate of its cycles decides.

`tile_buffers` and `tile_costs` compute the SRAM and cycles of a tiling, `search` finds the cheapest one; this
module describes a machine to them and passes their answers on. Estimates assume that loads, computation and
stores overlap where buffers are double.
"""

from __future__ import annotations

from ctypes import addressof
from enum import IntEnum
from functools import cached_property

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.segments.stripe_search import ChainNode
from dlasim.compiler_shim.lowering.tiles import search, tile_costs
from dlasim.compiler_shim.lowering.tiles.geometry import (
    MAX_TASK_CYCLES,
    Buffers,
    Geometry,
    InSram,
    TileShape,
    geometries_of,
)
from dlasim.compiler_shim.lowering.tiles.search import Search
from dlasim.compiler_shim.lowering.tiles.tile_buffers import describe_group, load_counts, spatial_tiles
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    INFINITE,
    ChannelGroup,
    MachineCosts,
    NodeSizes,
    Tile,
)
from dlasim.dataclass import dataclass
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from dlasim.isa.registers import Region
from dlasim.native.record import layout
from dlasim.native.storage import plain
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing import cost, formulas
from dlasim.sim.timing.memory_timing import memories_of

WORDS_PER_TASK = 14  # command words of a typical task, for estimates
WORDS_PER_CHANNEL = 5  # command words for each channel after the first


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


class CostAssumption(IntEnum):
    """What estimates assume: only the overlap that a node's buffers guarantee; that its loads, computations
    and stores overlap perfectly; or in addition that its first constants have been prefetched."""

    NO_OVERLAP = 0
    OVERLAP = 1
    PREFETCHED = 2


class MachineModel:
    """The cost model of a configuration: what the estimates of tilings need to know of it."""

    def __init__(
        self,
        config: DlaConfig,
        assumption: CostAssumption = CostAssumption.NO_OVERLAP,
        byte_price: int = 0,
    ) -> None:
        self.config, self.assumption, self.byte_price = config, assumption, byte_price
        self.assumes_overlap, self.assumes_prefetch = (
            assumption is not CostAssumption.NO_OVERLAP,
            assumption is CostAssumption.PREFETCHED,
        )
        self._timed = cost.fully_timed(config)
        # The inputs and outputs of the network count as if they were where the arena is.
        self.bus = cost.bus_costs(self._timed)
        self.constants = cost.bus_costs(self._timed, Region.CONSTANTS)
        if not self.assumes_overlap:  # loads may have to wait for their buffers, one after the other
            self.bus.outstanding = self.constants.outstanding = 1
        self._stores = cost.bus_costs(self._timed, opposite_region=Region.CONSTANTS)
        self.is_one_memory = len(memories_of(config)) == 1
        self.word_cycles, self.queue_depth = cost.word_cycles(self._timed), cost.queue_depth(self._timed)
        self.check_cycles = cost.check_cycles(self._timed)
        self.copier = cost.unit_costs(self._timed, "OP_C_MAX")  # moves bytes within SRAM
        self._costs: dict[tuple[str, bool, int], MachineCosts] = {}
        self._problems: dict[object, TilingProblems] = {}
        ports = 4 if self.copier.port_rate else 1  # operands that may cross the SRAM's ports
        memories = self.bus, self.constants
        dearest_byte = max(
            1, *(formulas.transfer_beats(memory, 1, 1) for memory in memories)
        )  # in a run of its own
        self.most_cycles_per_byte = ports * dearest_byte * max(1, *(memory.alone for memory in memories))
        self.most_cycles_per_byte += byte_price

    def costs(self, node: DlaNode) -> MachineCosts:
        """What the routines read of it for nodes like this."""
        kind = _costs_kind(node)
        found = self._costs.get(kind)
        if found is None:
            found = self._costs[kind] = self._costs_of(node)
        return found

    def problems(self, node: DlaNode) -> TilingProblems:
        """A node on this machine. Nodes that are alike share one, and so all that is found for it."""
        geometries = geometries_of(node)
        kind = (geometries.shape, *_costs_kind(node), node.pad[0])
        found = self._problems.get(kind)
        if found is None:
            found = self._problems[kind] = TilingProblems(node, self)
        return found

    def load_cycles(self, size_bytes: int) -> int:
        """Cycles of a transfer of contiguous bytes of tensors."""
        return formulas.transfer_beats(self.bus, size_bytes, 1) + self.bus.latency

    def load_cost(self, size_bytes: int) -> int:
        """The same with the price of the bytes."""
        return self.load_cycles(size_bytes) + self.byte_price * size_bytes // tile_costs.PRICE_UNIT

    def constants_cycles(self, size_bytes: int) -> int:
        """Cycles of a transfer of constants."""
        return formulas.transfer_beats(self.constants, size_bytes, 1) + self.constants.latency

    @property
    def copy_task_cycles(self) -> int:
        """Cycles of moving bytes within SRAM besides the work."""
        words = WORDS_PER_TASK * self.word_cycles + self.check_cycles
        return self.copier.fill + self.copier.drain + words

    def _costs_of(self, node: DlaNode) -> MachineCosts:
        instruction = BY_MNEMONIC[node.mnemonic]
        is_mac = instruction.unit is Unit.MAC
        unit = cost.unit_costs(self._timed, node.mnemonic, node.fields.get("mode", 0))
        operation, words = unit.fill + unit.drain, WORDS_PER_TASK * self.word_cycles + self.check_cycles
        task, channel = operation + words, 0
        if node.is_channel_by_channel:
            task, channel = words, operation + WORDS_PER_CHANNEL * self.word_cycles + self.check_cycles
            unit.output_lanes = 1
        return MachineCosts(
            bus=self.bus,
            constants=self.constants,
            stores=self._stores,
            is_one_memory=int(self.is_one_memory),
            dma_shares_ports=int(cost.dma_shares_ports(self.config)),
            unit=unit,
            is_mac=int(is_mac),
            rereads_input=int(instruction.reduces_channels),
            is_channel_by_channel=int(node.is_channel_by_channel),
            task_cycles=task,
            channel_cycles=channel,
            assumes_overlap=int(self.assumes_overlap),
            assumes_prefetch=int(self.assumes_prefetch),
            byte_price=self.byte_price,
        )


def _costs_kind(node: DlaNode) -> tuple[str, bool, int]:
    """What the costs of a node depend on, besides its geometry."""
    return node.mnemonic, node.is_channel_by_channel, node.fields.get("mode", 0)


class TilingProblem:
    """Nodes that are alike on one machine, with their tensors in SRAM or in memory; `node` is one of them."""

    def __init__(self, node: DlaNode, machine: MachineModel, costs: MachineCosts, geometry: Geometry) -> None:
        self.node, self.machine, self.machine_costs, self.geometry = node, machine, costs, geometry
        self.height, self.width, self.channels = node.out_shape
        self.depth, self.in_sram = geometry.depth, geometry.in_sram
        self.link = (geometry, node.pad[0])  # all that matters of it in a chain
        self._tensor_cycles = dict[tuple[TileShape, MachineModel], int]()

    @cached_property
    def work_cycles(self) -> int:
        """Cycles of pure work, wherever the tensors are."""
        sizes, machine = self.geometry.sizes, self.machine_costs
        return tile_costs.work_cycles(sizes, machine, self.channels, self.depth)

    @property
    def constant_bytes(self) -> int:
        """Bytes of all constants."""
        return self.geometry.constant_bytes(self.channels, self.depth)

    @cached_property
    def constants_cycles(self) -> int:
        """Cycles of loading all constants at once; 0 where estimates assume that they are prefetched."""
        return self.constants_load_cycles if self.constant_bytes and not self.machine.assumes_prefetch else 0

    @cached_property
    def constants_price(self) -> int:
        """What the bytes of all constants count beside their time."""
        return tile_costs.priced(self.machine_costs, self.constant_bytes)

    @cached_property
    def constants_load_cycles(self) -> int:
        """Cycles of loading all constants at once."""
        return self.machine.constants_cycles(self.constant_bytes)

    @cached_property
    def task_cycles(self) -> int:
        """Cycles that a task on all channels takes besides its work."""
        return tile_costs.task_cycles(self.machine_costs, self.channels)

    @cached_property
    def most_cycles_of_stripe(self) -> int:
        """An upper bound of every number that the search for stripes computes for one stripe of a row, except
        work."""
        sizes, unit = self.geometry.sizes, self.machine_costs.unit
        results = self.height * self.width * self.channels
        rows = self.height * sizes.kernel_height  # of the input, as often as they are read
        taken = rows * sizes.input_width * (self.depth + self.channels) * self.channels
        taken += results * (self.depth * sizes.taps + 8) + sizes.input_height * sizes.input_width * 8
        each = taken * 64 * self.machine.most_cycles_per_byte + results * (unit.result_cycles + 1)
        return each + self.task_cycles + MAX_TASK_CYCLES

    @cached_property
    def chain_numbers(self) -> tuple[int, ...]:
        """The slots of its `ChainNode`."""
        sizes, costs = addressof(self.geometry.sizes), addressof(self.machine_costs)
        known = sizes, costs, self.node.pad[0], self.work_cycles, self.task_cycles
        return known + (0,) * (layout(ChainNode).slots - len(known))

    def tiles(self, tiling: Tiling) -> int:
        """Tiles of the output."""
        return tiling.tasks // self._passes(tiling)

    def first_pieces(self, tiling: Tiling) -> int:
        """How many pieces of its constants are used one after the other before one is used again."""
        if self.node.table is not None:
            return 1
        groups, passes = self._groups(tiling), self._passes(tiling)
        return passes if tiling.tile_shape.is_channels_outer and self.loads_again(tiling) else groups * passes

    def loads_again(self, tiling: Tiling) -> bool:
        """Whether pieces of its constants are loaded for several tiles, not once for all."""
        groups, passes = self._groups(tiling), self._passes(tiling)
        between = passes if tiling.tile_shape.is_channels_outer else groups * passes
        return self.node.table is None and between > 1 and self.tiles(tiling) > groups

    def tensor_cycles(self, tile_shape: TileShape, machine: MachineModel) -> int:
        """Cycles of all loads of tensors on a machine."""
        key = tile_shape, machine
        if key not in self._tensor_cycles:
            sizes, _, group, tile = self._tiles(tile_shape)
            costs = machine.costs(self.node)
            self._tensor_cycles[key] = tile_costs.tensor_load_cycles(sizes, costs, group, tile)
        return self._tensor_cycles[key]

    def constant_loads(self, tile_shape: TileShape) -> int:
        """How often pieces of the constants are loaded, if none is prefetched."""
        sizes, _, group, tile = self._tiles(tile_shape)
        spatial = spatial_tiles(sizes, tile.rows, tile.columns)
        return load_counts(sizes, group, spatial, tile.is_channels_outer)[1]

    def load_beats(self, tile_shape: TileShape) -> tuple[int, int, int]:
        """Cycles on the bus for a tile of the first and the second input, and for the constants."""
        return tile_costs.load_beats(*self._tiles(tile_shape))

    def store_beats(self, tile_shape: TileShape) -> int:
        """Cycles on the bus for a tile of the output."""
        return tile_costs.store_beats(*self._tiles(tile_shape))

    def _tiles(self, tile_shape: TileShape) -> tuple[NodeSizes, MachineCosts, ChannelGroup, Tile]:
        """Tiles of a shape, as the routines read them."""
        sizes, group = self.geometry.sizes, ChannelGroup()
        describe_group(sizes, tile_shape.channels, tile_shape.depth, group)
        return sizes, self.machine_costs, group, Tile(*tile_shape)

    def compute_cycles(self, tasks: int) -> int:
        """About the cycles of all computations in this many tasks."""
        return self._least_cycles + tasks * self.task_cycles

    @cached_property
    def _least_cycles(self) -> int:
        return tile_costs.least_cycles(self.geometry.sizes, self.machine_costs)

    def on(self, machine: MachineModel) -> TilingProblem:
        """The same on another machine."""
        if machine.config is self.machine.config or machine.config == self.machine.config:
            return self
        return machine.problems(self.node)[self.in_sram]

    def _groups(self, tiling: Tiling) -> int:
        return -(-self.channels // tiling.tile_shape.channels)

    def _passes(self, tiling: Tiling) -> int:
        return -(-self.depth // tiling.tile_shape.depth)

    @property
    def is_moderate(self) -> bool:
        """Whether 64 bits hold every number that the search for its tiling meets."""
        return self.geometry.most * self.machine.most_cycles_per_byte < INFINITE


class TilingProblems(dict[InSram, TilingProblem]):
    """One node on one machine, by where its tensors live."""

    def __init__(self, node: DlaNode, machine: MachineModel) -> None:
        super().__init__()
        self._node, self._machine = node, machine
        self._costs, self._geometries = machine.costs(node), geometries_of(node)

    def anywhere(self, in_sram: bool) -> TilingProblem:
        """With all of its tensors in SRAM, or none."""
        return self[InSram((in_sram,) * len(self._node.inputs), in_sram)]

    def __missing__(self, in_sram: InSram) -> TilingProblem:
        made = TilingProblem(self._node, self._machine, self._costs, self._geometries[in_sram])
        self[in_sram] = made
        return made


class Finder:
    """Finds tilings; by Python alone where 64 bits do not suffice."""

    def __init__(self, by_channels: bool) -> None:
        self._by_channels = int(by_channels)
        self._found, self._plain = Search(), plain(Search)

    def find(self, problem: TilingProblem, budget: int) -> tuple[Tiling | None, int]:
        """The cheapest tiling within `budget` bytes, None where not even the smallest fits; and the budget
        above which nothing changes."""
        geometry, is_moderate = problem.geometry, problem.is_moderate
        found = self._found if is_moderate else self._plain
        run = search.SEARCH if is_moderate else search.SEARCH.function
        tasks = run(geometry.sizes, problem.machine_costs, found, budget, self._by_channels)
        if not tasks:
            return None, found.sufficient_bytes
        rows, columns, channels, depth, outer, is_double = found.best.flatten()
        tile_shape = TileShape(rows, columns, channels, depth, outer == 1, is_double)
        buffers = geometry.as_buffers(found.buffers)
        tiling = Tiling(tile_shape, buffers, found.sram_bytes, found.cycles, found.tasks, found.read_bytes)
        return tiling, found.sufficient_bytes
