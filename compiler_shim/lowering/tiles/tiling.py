"""What the estimates of tilings need to know of a machine.

`tile_buffers` and `tile_costs` compute the SRAM and cycles of a tiling, and `search` finds the cheapest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.tiles import tile_costs
from dlasim.compiler_shim.lowering.tiles.node_kinds import CostClass
from dlasim.compiler_shim.lowering.tiles.tile_costs import WHOLE
from dlasim.compiler_shim.lowering.tiles.tile_records import MachineCosts
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import Region
from dlasim.native.record import layout
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing import cost, formulas
from dlasim.sim.timing.memory_timing import memories_of

WORDS_PER_TASK = 14  # command words of a typical task, for estimates
_TYPICAL_BYTES = 1 << 12  # of a load, for what it takes of the SRAM's ports in a cycle
WORDS_PER_CHANNEL = 5  # command words for each channel after the first
_SLOTS = {name: each.slot for name, each in layout(MachineCosts).fields.items()}
_OF_BUS = layout(formulas.BusCosts).fields["outstanding"].slot
_OUTSTANDING = [_SLOTS[name] + _OF_BUS for name in ("bus", "constants")]


class CostAssumption(IntEnum):
    """What estimates assume: only the overlap that a node's buffers guarantee; that its loads, computations
    and stores overlap perfectly; or in addition that its first constants have been prefetched."""

    NO_OVERLAP = 0
    OVERLAP = 1
    PREFETCHED = 2


class _ConfigCosts:
    """What all models of a configuration share: its costs by class of nodes as slots of `MachineCosts`, which
    lack what estimates assume."""

    def __init__(self, config: DlaConfig) -> None:
        self._config, self._timed = config, cost.fully_timed(config)
        # The inputs and outputs of the network count as if they were where the arena is.
        self.bus = cost.bus_costs(self._timed)
        self.constants = cost.bus_costs(self._timed, Region.CONSTANTS)
        self.constants.packed_rate *= cost.packs_weights(config)
        self._stores = cost.bus_costs(self._timed, opposite_region=Region.CONSTANTS)
        self.copier = cost.unit_costs(self._timed, "OP_C_MAX")  # moves bytes within SRAM
        self._shares_ports = cost.dma_shares_ports(config)
        self.port_share = 0
        if self._shares_ports and self.copier.port_rate:
            beats = formulas.transfer_beats(self.constants, _TYPICAL_BYTES, 1)
            self.port_share = WHOLE * _TYPICAL_BYTES // (max(beats, 1) * self.copier.port_rate)
        self._is_one_memory = len(memories_of(config)) == 1
        self._word_cycles, self.queue_depth = cost.word_cycles(self._timed), cost.queue_depth(self._timed)
        self._check_cycles = cost.check_cycles(self._timed)
        self.words_cycles = WORDS_PER_TASK * self._word_cycles + self._check_cycles  # of a task
        self._known: dict[CostClass, MachineCosts] = {}
        memories = self.bus, self.constants
        self.latency = max(memory.latency for memory in memories)
        alone = [formulas.transfer_beats(memory, 1, 1) for memory in memories]  # a byte in a run of its own
        self.most_cycles_per_byte = max(1, *alone) * max(1, *(memory.alone for memory in memories))

    def of_class(self, kind: CostClass) -> MachineCosts:
        """Those for nodes of a class."""
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = self._costs(kind)
        return found

    def _costs(self, kind: CostClass) -> MachineCosts:
        instruction = BY_MNEMONIC[kind.mnemonic]
        is_mac = instruction.unit is Unit.MAC
        unit = cost.unit_costs(self._timed, kind.mnemonic, kind.mode, kind.adds_tensor)
        if is_mac:
            unit.passes = kind.in_element_bytes  # one over each byte
            if kind.has_int16_matrix:  # of whose elements each byte takes a lane
                halves = unit.input_lanes % 2 == 0
                unit.input_lanes, unit.passes = unit.input_lanes >> halves, unit.passes << 1 - halves
        operation = formulas.overhead_cycles(unit)
        task, channel = operation + self.words_cycles, 0
        if kind.is_channel_by_channel:
            channel = operation + WORDS_PER_CHANNEL * self._word_cycles + self._check_cycles
            task = self.words_cycles
            unit.output_lanes = 1
        return MachineCosts(
            bus=self.bus,
            constants=self.constants,
            stores=self._stores,
            is_one_memory=int(self._is_one_memory),
            dma_shares_ports=int(self._shares_ports),
            unit=unit,
            is_mac=int(is_mac),
            rereads_input=int(instruction.reduces_channels),
            is_channel_by_channel=int(kind.is_channel_by_channel),
            task_cycles=task,
            channel_cycles=channel,
        )


_config_costs = lru_cache(maxsize=16)(_ConfigCosts)


class MachineModel:
    """The cost model of a configuration: what the estimates of tilings need to know of it."""

    def __init__(
        self,
        config: DlaConfig,
        assumption: CostAssumption = CostAssumption.NO_OVERLAP,
        byte_price: int = 0,
    ) -> None:
        self.config, self.assumption, self.byte_price = config, assumption, byte_price
        costs = self._costs = _config_costs(config)
        self.constants, self.copier, self.latency = costs.constants, costs.copier, costs.latency
        self.port_share, self.queue_depth = costs.port_share, costs.queue_depth
        self.most_cycles_per_byte = costs.most_cycles_per_byte + -(-byte_price // tile_costs.PRICE_UNIT)

    def costs(self, kind: CostClass) -> MachineCosts:
        """What the routines read of it for nodes of a class."""
        found = MachineCosts()
        found.unflatten(self.rows([kind])[0].tolist())
        return found

    def class_costs(self, classes: Sequence[CostClass]) -> list[MachineCosts]:
        """For several classes, without what estimates assume."""
        return [self._costs.of_class(each) for each in classes]

    def rows(self, classes: Sequence[CostClass]) -> NDArray[np.int64]:
        """The same as slots, for several classes. Nothing comes before the first node, so nothing is
        prefetched for it."""
        found = np.array([each.flatten() for each in self.class_costs(classes)])
        if self.assumption is CostAssumption.NO_OVERLAP:
            found[:, _OUTSTANDING] = 1  # loads may have to wait for their buffers, one after the other
        else:
            found[:, _SLOTS["assumes_overlap"]] = 1
        if self.assumption is CostAssumption.PREFETCHED:
            found[:, _SLOTS["assumes_prefetch"]] = [not each.is_first for each in classes]
        found[:, _SLOTS["byte_price"]] = self.byte_price
        return found

    def load_cost(self, size_bytes: int) -> int:
        """Cycles of a transfer of contiguous bytes of tensors, with their price."""
        cycles = formulas.transfer_beats(self._costs.bus, size_bytes, 1) + self._costs.bus.latency
        return cycles + self.byte_price * size_bytes // tile_costs.PRICE_UNIT

    @property
    def copy_task_cycles(self) -> int:
        """Cycles of moving bytes within SRAM besides the work."""
        return formulas.overhead_cycles(self.copier) + self._costs.words_cycles
