"""The tables of what is known of nodes and chains on one machine, as they grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlasim.compiler_shim.lowering.segments.known_chains import ChainTable
from dlasim.compiler_shim.lowering.segments.stripe_search import KnownChain
from dlasim.compiler_shim.lowering.tiles.bounds import are_chains_moderate, is_moderate
from dlasim.compiler_shim.lowering.tiles.known_tilings import (
    NONE,
    TILINGS,
    WHERES,
    KnownProblem,
)
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKinds
from dlasim.compiler_shim.lowering.tiles.search import KnownTiling
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, MachineCosts
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.errors import InputError
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import slots_of
from dlasim.native.routine import Routine
from dlasim.native.storage import Store

_FIRST_CAPACITY = 256  # tilings and chains; doubled when full


class KindCosts(NamedTuple):
    """What kinds of nodes cost on a machine, by number; and whether 64 bits hold what estimates come to, and
    those of chains."""

    memory: Store[MachineCosts]
    kinds: int
    is_moderate: bool
    are_chains_moderate: bool


class KnownTables:
    """What has been found for kinds of nodes and chains of them on a machine."""

    def __init__(self, kinds: NodeKinds, machine: MachineModel, by_channels: bool = False) -> None:
        self.kinds, self._machine = kinds, machine
        self._problems = Store(KnownProblem)
        self._found, self._found_chains = Store(KnownTiling), Store(KnownChain)
        self._newest = Store(int)
        self._costs, self._chain_count = KindCosts(Store(MachineCosts), 0, True, True), 0
        self._costs_on: dict[MachineModel, KindCosts] = {}
        table = self.table = ChainTable()
        table.tilings.by_channels = int(by_channels)
        table.search.copy_cycles = machine.copy_task_cycles
        table.search.copier.assign(machine.copier)
        self._grow()

    def cycles(self, problem: int, budget: int) -> int:
        """The cycles of a problem's tiling within a budget, INFINITE where none fits."""
        tiling = self.table.tilings.tilings[self.run(TILINGS, self.table.tilings, problem, budget)]
        return tiling.cycles if tiling.tasks else INFINITE

    def costs_on(self, machine: MachineModel) -> KindCosts:
        """What kinds cost on another machine."""
        self._follow_kinds()
        if machine.config is self._machine.config or machine.config == self._machine.config:
            return self._costs
        found = self._costs_on.get(machine)
        if found is None or found.kinds < len(self.kinds):
            found = self._costs_on[machine] = _kind_costs(self.kinds, machine)
        return found

    def sufficient_bytes(self, problem: int) -> int:
        """The budget above which the tiling of a problem is always the same."""
        self.run(TILINGS, self.table.tilings, problem, INFINITE - 1)
        return self.table.tilings.problems[problem].sufficient_bytes

    def run(self, routine: Routine, *arguments: Any) -> int:
        """What a routine finds, with as much room as it needs."""
        self._follow_kinds()
        if not self._costs.is_moderate:
            raise InputError(
                "the network's layers are too large for plans on this machine: cycles may take over 64 bits"
            )
        while True:
            self.table.tilings.is_full = 0
            found = routine(*arguments)
            if not self.table.tilings.is_full:
                return found
            self._grow()

    def _follow_kinds(self) -> None:
        """Make room for kinds and chains that have become known."""
        kinds, first, chain = self.kinds, self._costs.kinds, self._chain_count
        if first == len(kinds) and chain == kinds.chain_count:
            return
        if first < len(kinds):
            self._costs = _kind_costs(kinds, self._machine)
            self.table.has_chains = int(self._costs.are_chains_moderate)
        added = (len(kinds) - first) * WHERES * slots_of(KnownProblem)
        self._problems.write_array(first * WHERES, np.zeros(added, np.int64))
        self._newest.write_array(chain, np.full(kinds.chain_count - chain, NONE))
        self._chain_count = kinds.chain_count
        self._bind()

    def _grow(self) -> None:
        """Make room for more of what is found."""
        table = self.table
        for part, memory in ((table, self._found_chains), (table.tilings, self._found)):
            part.capacity = max(2 * part.capacity, _FIRST_CAPACITY)
            memory.reserve(part.capacity, part.count)
        self._bind()

    def _bind(self) -> None:
        """Let the tables point at the memory."""
        table, tilings, search = self.table, self.table.tilings, self.table.search
        tilings.sizes = search.sizes = self.kinds.sizes.pointer
        tilings.costs = search.costs = self._costs.memory.pointer
        tilings.problems, tilings.tilings = self._problems.pointer, self._found.pointer
        table.chains, table.newest = self._found_chains.pointer, self._newest.pointer


def _kind_costs(kinds: NodeKinds, machine: MachineModel) -> KindCosts:
    memory, classes = Store(MachineCosts), list(kinds.classes)
    if classes:
        memory.write_array(0, machine.rows(classes)[kinds.class_of].ravel())
    costs = machine.class_costs(classes)
    moderate = [find(kinds.most, machine, costs) for find in (is_moderate, are_chains_moderate)]
    return KindCosts(memory, len(kinds), *moderate)
