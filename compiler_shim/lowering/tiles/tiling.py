"""A node on one machine, and how it is cut there: the estimate of its cycles decides.

`tile_buffers` and `tile_costs` compute the SRAM and cycles of a tiling, `search` finds the cheapest one; this
module describes a machine to them and passes their answers on. Estimates assume that loads, computation and
stores overlap where buffers are double.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.tiles import tile_costs
from dlasim.compiler_shim.lowering.tiles.geometry import (
    MAX_TASK_CYCLES,
    Buffers,
    Geometries,
    Geometry,
    InSram,
    TileShape,
    geometries_of,
)
from dlasim.compiler_shim.lowering.tiles.tile_costs import WHOLE
from dlasim.compiler_shim.lowering.tiles.tile_records import (
    INFINITE,
    MAX_CHAIN,
    MachineCosts,
)
from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing import cost, formulas
from dlasim.sim.timing.memory_timing import memories_of

WORDS_PER_TASK = 14  # command words of a typical task, for estimates
_TYPICAL_BYTES = 1 << 12  # of a load, for what it takes of the SRAM's ports in a cycle
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


NodeKind = tuple[Geometries, str, bool, int, int, bool]  # the geometries, and what the costs depend on


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
        self.constants.packed_rate *= cost.packs_weights(config)
        if not self.assumes_overlap:  # loads may have to wait for their buffers, one after the other
            self.bus.outstanding = self.constants.outstanding = 1
        self._stores = cost.bus_costs(self._timed, opposite_region=Region.CONSTANTS)
        self.copier = cost.unit_costs(self._timed, "OP_C_MAX")  # moves bytes within SRAM
        self.port_share = 0
        if cost.dma_shares_ports(config) and self.copier.port_rate:
            beats = formulas.transfer_beats(self.constants, _TYPICAL_BYTES, 1)
            self.port_share = WHOLE * _TYPICAL_BYTES // (max(beats, 1) * self.copier.port_rate)
        self.is_one_memory = len(memories_of(config)) == 1
        self.word_cycles, self.queue_depth = cost.word_cycles(self._timed), cost.queue_depth(self._timed)
        self.check_cycles = cost.check_cycles(self._timed)
        self._costs: dict[tuple[object, ...], MachineCosts] = {}
        self._problems: dict[NodeKind, TilingProblems] = {}
        ports = 4 if self.copier.port_rate else 1  # operands that may cross the SRAM's ports
        memories = self.bus, self.constants
        dearest_byte = max(
            1, *(formulas.transfer_beats(memory, 1, 1) for memory in memories)
        )  # in a run of its own
        self.most_cycles_per_byte = ports * dearest_byte * max(1, *(memory.alone for memory in memories))
        self.most_cycles_per_byte += -(-byte_price // tile_costs.PRICE_UNIT)

    def costs(self, node: DlaNode, kind: NodeKind) -> MachineCosts:
        """What the routines read of it for nodes of a kind."""
        found = self._costs.get(kind[1:])
        if found is None:
            found = self._costs[kind[1:]] = self._costs_of(node)
        return found

    def problems(self, node: DlaNode, kind: NodeKind | None = None) -> TilingProblems:
        """A node on this machine. Nodes that are alike share one, and so all that is found for it."""
        kind = kind or node_kind(node)
        found = self._problems.get(kind)
        if found is None:
            found = self._problems[kind] = TilingProblems(node, self, kind)
        return found

    def load_cycles(self, size_bytes: int) -> int:
        """Cycles of a transfer of contiguous bytes of tensors."""
        return formulas.transfer_beats(self.bus, size_bytes, 1) + self.bus.latency

    def load_cost(self, size_bytes: int) -> int:
        """The same with the price of the bytes."""
        return self.load_cycles(size_bytes) + self.byte_price * size_bytes // tile_costs.PRICE_UNIT

    @property
    def copy_task_cycles(self) -> int:
        """Cycles of moving bytes within SRAM besides the work."""
        words = WORDS_PER_TASK * self.word_cycles + self.check_cycles
        return formulas.overhead_cycles(self.copier) + words

    def _costs_of(self, node: DlaNode) -> MachineCosts:
        instruction = BY_MNEMONIC[node.mnemonic]
        is_mac = instruction.unit is Unit.MAC
        unit = cost.unit_costs(self._timed, node.mnemonic, node.fields.get("mode", 0), node.adds_tensor)
        if is_mac:
            unit.passes = node.in_element_bytes  # one over each byte
            if node.matrix is not None and node.is_int16:  # of whose elements each byte takes a lane
                halves = unit.input_lanes % 2 == 0
                unit.input_lanes, unit.passes = unit.input_lanes >> halves, unit.passes << 1 - halves
        operation = formulas.overhead_cycles(unit)
        words = WORDS_PER_TASK * self.word_cycles + self.check_cycles
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


def node_kind(node: DlaNode) -> NodeKind:
    """What a node's tilings and costs depend on."""
    mode, bytes_in = node.fields.get("mode", 0), node.in_element_bytes
    return geometries_of(node), node.mnemonic, node.is_channel_by_channel, mode, bytes_in, node.adds_tensor


class TilingProblem:
    """Nodes that are alike on one machine, with their tensors in SRAM or in memory; `node` is one of them."""

    def __init__(self, kind: TilingProblems, geometry: Geometry) -> None:
        self.kind, self.geometry = kind, geometry
        self.node, self.machine, self.machine_costs = kind.node, kind.machine, kind.costs
        self.height, self.width, self.channels = kind.node.out_shape
        self.depth, self.in_sram = geometry.depth, geometry.in_sram

    @property
    def constant_bytes(self) -> int:
        """Bytes of all constants."""
        return self.geometry.constant_bytes(self.channels, self.depth)


class TilingProblems:
    """One kind of node on one machine, by where its tensors live."""

    def __init__(self, node: DlaNode, machine: MachineModel, kind: NodeKind) -> None:
        self.node, self.machine, self._kind, self.geometries = node, machine, kind, kind[0]
        self.costs = machine.costs(node, kind)
        self._known: dict[InSram, TilingProblem] = {}

    def anywhere(self, in_sram: bool) -> TilingProblem:
        """With all of its tensors in SRAM, or none."""
        return self[InSram((in_sram,) * len(self.node.inputs), in_sram)]

    def __getitem__(self, in_sram: InSram) -> TilingProblem:
        found = self._known.get(in_sram)
        if found is None:
            found = self._known[in_sram] = TilingProblem(self, self.geometries[in_sram])
        return found

    def at(self, number: int) -> TilingProblem:
        """With its tensors where the number of an `InSram` says."""
        return self[self.geometries.where(number)]

    def on(self, machine: MachineModel) -> TilingProblems:
        """The same on another machine."""
        if machine.config is self.machine.config or machine.config == self.machine.config:
            return self
        return machine.problems(self.node, self._kind)

    @cached_property
    def is_moderate(self) -> bool:
        """Whether 64 bits hold every number that the search for its tiling meets."""
        geometry, loads = self.geometries.anywhere, self.costs.unit.load_cycles
        is_quick = geometry.sizes.taps * loads <= MAX_TASK_CYCLES
        return is_quick and geometry.most * self.machine.most_cycles_per_byte < INFINITE

    @property
    def chain_bits(self) -> int:
        """So many have, with a margin, the numbers that the search for stripes meets: a bound of what it
        computes for one stripe of all rows, times rows, for all nodes together."""
        sizes, unit = self.geometries.anywhere.sizes, self.costs.unit
        results = sizes.height * sizes.width * sizes.channels
        rows = sizes.height * sizes.kernel_height  # of the input, as often as they are read
        taken = rows * sizes.input_width * (sizes.depth + sizes.channels) * sizes.channels
        taken += results * (sizes.depth * sizes.taps * unit.load_cycles + 8)
        taken += sizes.input_height * sizes.input_width * 8
        each = taken * 64 * self.machine.most_cycles_per_byte + results * (unit.result_cycles + 1)
        each += tile_costs.task_cycles(self.costs, sizes.channels) + MAX_TASK_CYCLES
        return (sizes.height * each * MAX_CHAIN).bit_length() + 1
