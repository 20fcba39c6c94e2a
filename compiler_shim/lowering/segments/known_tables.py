"""The tables of what is known of nodes and chains on one machine, as they grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.segments.channel_groups import group_layouts
from dlasim.compiler_shim.lowering.segments.known_chains import ChainTable, KnownChain
from dlasim.compiler_shim.lowering.segments.stripes import stripe_layouts
from dlasim.compiler_shim.lowering.tiles.geometry import TileShape
from dlasim.compiler_shim.lowering.tiles.known_tilings import (
    NONE,
    TILINGS,
    WHERES,
    KnownProblem,
    KnownTiling,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, MachineCosts, NodeSizes
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel, Tiling, TilingProblem, TilingProblems
from dlasim.named_tuple import NamedTuple
from dlasim.native.record import slots_of
from dlasim.native.routine import Routine
from dlasim.native.storage import PlainStore, Store, plain

_Kind = TypeVar("_Kind")
_FIRST_CAPACITY = 256  # tilings and chains; doubled when full
_MOST_BITS = INFINITE.bit_length() - 1


class KindCosts(NamedTuple):
    """Kinds of nodes on a machine, what routines read of them, and whether 64 bits suffice for that."""

    kinds: Sequence[TilingProblems]
    memory: Store[MachineCosts] | PlainStore[MachineCosts]
    is_moderate: bool


class KnownTables:
    """Kinds of nodes, chains of them, and what has been found; with `is_plain` by Python alone, for kinds for
    which 64 bits do not suffice."""

    def __init__(self, machine: MachineModel, by_channels: bool, is_plain: bool = False) -> None:
        self._kinds: dict[TilingProblems, int] = {}
        self._numbered: list[TilingProblems] = []  # the same in their order
        self._chains: dict[tuple[int, ...], int] = {}
        self.is_plain = is_plain
        make = self.memory
        self._sizes, self._costs, self._problems = make(NodeSizes), make(MachineCosts), make(KnownProblem)
        self._found, self._found_chains = make(KnownTiling), make(KnownChain)
        self._newest, self._bits = make(int), make(int)
        self._tilings: dict[int, Tiling] = {}
        self._chain_tilings: dict[int, ChainTiling] = {}
        self._costs_on: dict[MachineModel, KindCosts] = {}
        table = self.table = plain(ChainTable) if self.is_plain else ChainTable()
        table.tilings.by_channels, table.most_bits = int(by_channels), _MOST_BITS
        table.search.copy_cycles = machine.copy_task_cycles
        table.search.copier.assign(machine.copier)
        table.capacity = table.tilings.capacity = 0
        self._grow()

    def memory(self, kind: type[_Kind], count: int = 0) -> Store[_Kind] | PlainStore[_Kind]:
        """Memory for what the routines work on."""
        return PlainStore(kind, count) if self.is_plain else Store(kind, count)

    def kind(self, problems: TilingProblems) -> int:
        """The number of a kind of nodes."""
        found = self._kinds.get(problems)
        return self.kinds([problems])[0] if found is None else found

    def kinds(self, nodes: Sequence[TilingProblems]) -> list[int]:
        """The numbers of the kinds of some nodes."""
        known = len(self._kinds)
        found = [self._kinds.setdefault(problems, len(self._kinds)) for problems in nodes]
        added = list(self._kinds)[known:]
        self._numbered += added
        if added:
            self._add(known, added)
            self._bind()
        return found

    def chains(self, chains: Iterable[tuple[int, ...]]) -> list[int]:
        """The numbers of chains of nodes of these kinds."""
        known = len(self._chains)
        found = [self._chains.setdefault(kinds, len(self._chains)) for kinds in chains]
        if len(self._chains) > known:
            self._newest.write(known, [NONE] * (len(self._chains) - known))
            self._bind()
        return found

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tiling of a node within a budget, None where none fits."""
        place = self.run(TILINGS, self.table.tilings, self._number(problem), budget)
        return self.tiling_at(place, problem) if self.table.tilings.tilings[place].tasks else None

    def problem(self, number: int) -> TilingProblem:
        """A problem by its number."""
        kind, where = divmod(number, WHERES)
        return self._numbered[kind].at(where)

    def tiling_at(self, place: int, problem: TilingProblem) -> Tiling:
        """A tiling by its number."""
        found = self._tilings.get(place)
        if found is None:
            known = self.table.tilings.tilings[place]
            rows, columns, channels, depth, outer, buffering = known.tile.flatten()
            tile_shape = TileShape(rows, columns, channels, depth, outer == 1, buffering)
            buffers = problem.geometry.as_buffers(known.buffers)
            found = self._tilings[place] = Tiling(
                tile_shape, buffers, known.sram_bytes, known.cycles, known.tasks, known.read_bytes
            )
        return found

    def chain_at(self, place: int, problems: Sequence[int]) -> ChainTiling:
        """The pieces of a chain of these problems, all by their numbers."""
        found = self._chain_tilings.get(place)
        if found is None:
            known = self.table.chains[place]
            links = tuple([self.problem(number).geometry for number in problems])
            layouts = stripe_layouts(links) if known.rows else group_layouts(links)
            size, cycles = known.rows or known.group_channels, (known.cycles, known.moved_bytes)
            found = self._chain_tilings[place] = ChainTiling(layouts, size, *cycles, known.tensor_cycles)
        return found

    def costs_on(self, machine: MachineModel) -> KindCosts:
        """What nodes of each kind cost on a machine, by the number of the kind."""
        found = self._costs_on.get(machine)
        if found is None or len(found.kinds) < len(self._kinds):
            kinds = [each.on(machine) for each in self._numbered]
            store = self.memory(MachineCosts)
            store.write(0, [number for each in kinds for number in each.costs.flatten()])
            is_moderate = not self.is_plain and all(each.is_moderate for each in kinds)
            found = self._costs_on[machine] = KindCosts(kinds, store, is_moderate)
        return found

    @property
    def sizes(self) -> Store[NodeSizes] | PlainStore[NodeSizes]:
        """The sizes of all problems."""
        return self._sizes

    def sufficient_bytes(self, problem: TilingProblem) -> int:
        """The budget above which a node's tiling is always the same."""
        number = self._number(problem)
        self.run(TILINGS, self.table.tilings, number, INFINITE - 1)
        return self.table.tilings.problems[number].sufficient_bytes

    def run(self, routine: Routine, *arguments: Any) -> int:
        """What a routine finds, with as much room as it needs."""
        call = routine.function if self.is_plain else routine
        tilings = self.table.tilings
        tilings.is_full = 0
        found = call(*arguments)
        while tilings.is_full:
            self._grow()
            tilings.is_full = 0
            found = call(*arguments)
        return found

    def _number(self, problem: TilingProblem) -> int:
        return self.kind(problem.kind) * WHERES + problem.in_sram.number

    def _add(self, number: int, kinds: Sequence[TilingProblems]) -> None:
        """Write kinds from a number on."""
        first = number * WHERES
        self._sizes.write_array(first, np.concatenate([kind.geometries.slots for kind in kinds]))
        self._problems.write_array(first, np.zeros(len(kinds) * WHERES * slots_of(KnownProblem), np.int64))
        self._costs.write(number, [cost for kind in kinds for cost in kind.costs.flatten()])
        self._bits.write(number, [kind.chain_bits for kind in kinds])

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
        tilings.sizes, tilings.costs = search.sizes, search.costs = self._sizes.pointer, self._costs.pointer
        tilings.problems, tilings.tilings = self._problems.pointer, self._found.pointer
        table.chains, table.newest, table.bits = (
            self._found_chains.pointer,
            self._newest.pointer,
            self._bits.pointer,
        )
