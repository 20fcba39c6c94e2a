"""The tables of what is known of nodes and chains on one machine, as they grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.segments.channel_groups import group_layouts
from dlasim.compiler_shim.lowering.segments.known_chains import CHAINS, ChainTable, KnownChain, add_node
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
from dlasim.native.record import slots_of
from dlasim.native.routine import Routine
from dlasim.native.storage import PlainStore, Store, plain

_Kind = TypeVar("_Kind")
_FIRST_CAPACITY = 256  # tilings and chains; doubled when full
_MOST_BITS = INFINITE.bit_length() - 1


class KnownTables:
    """Kinds of nodes, chains of them, and what has been found; by Python alone where 64 bits do not suffice
    for a kind."""

    def __init__(self, machine: MachineModel, by_channels: bool) -> None:
        self._machine, self._by_channels = machine, by_channels
        self._kinds: dict[TilingProblems, int] = {}
        self._chains: dict[tuple[int, ...], int] = {}
        self.is_plain = False
        self._begin()

    def _begin(self) -> None:
        """With tables in which nothing is known."""
        make = self.memory
        self._sizes, self._costs, self._problems = make(NodeSizes), make(MachineCosts), make(KnownProblem)
        self._found, self._found_chains = make(KnownTiling), make(KnownChain)
        self._newest, self._bits = make(int), make(int)
        self._tilings: dict[int, Tiling] = {}
        self._chain_tilings: dict[int, ChainTiling] = {}
        table = self.table = plain(ChainTable) if self.is_plain else ChainTable()
        table.tilings.by_channels, table.most_bits = int(self._by_channels), _MOST_BITS
        table.search.copy_cycles = self._machine.copy_task_cycles
        table.search.copier.assign(self._machine.copier)
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
        if not (self.is_plain or all(problems.is_moderate for problems in added)):
            self.is_plain = True
            self._begin()
            self._newest.write(0, [NONE] * len(self._chains))
            known, added = 0, list(self._kinds)
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
        number = self._number(problem)
        place = self.run(TILINGS, self.table.tilings, number, budget)
        found = self._tilings.get(place)
        if found is None:
            known = self.table.tilings.tilings[place]
            if not known.tasks:
                return None
            rows, columns, channels, depth, outer, buffering = known.tile.flatten()
            tile_shape = TileShape(rows, columns, channels, depth, outer == 1, buffering)
            buffers = problem.geometry.as_buffers(known.buffers)
            found = self._tilings[place] = Tiling(
                tile_shape, buffers, known.sram_bytes, known.cycles, known.tasks, known.read_bytes
            )
        return found

    def chain_tiling(
        self, problems: Sequence[TilingProblem], budget: int, by_groups: bool
    ) -> ChainTiling | None:
        """The cheapest pieces of a chain within a budget, None where none fit."""
        (chain,) = self.chains([tuple([self.kind(each.kind) for each in problems])])
        table, where = self.table, 0
        table.search.count, table.by_groups = 0, int(by_groups)
        for number, each in enumerate(problems):
            here, is_last = each.in_sram.number, number + 1 == len(problems)
            where = where * WHERES + add_node(table.search, self.kind(each.kind), here, int(is_last))
        place = self.run(CHAINS, table, chain, where, budget)
        if place == NONE:
            return None
        found = self._chain_tilings.get(place)
        if found is None:
            known = table.chains[place]
            if not (known.rows or known.group_channels):
                return None
            links = tuple([problem.geometry for problem in problems])
            layouts = stripe_layouts(links) if known.rows else group_layouts(links)
            size, cycles = known.rows or known.group_channels, (known.cycles, known.moved_bytes)
            found = self._chain_tilings[place] = ChainTiling(layouts, size, *cycles, known.tensor_cycles)
        return found

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
        self._sizes.write(first, [size for kind in kinds for size in kind.geometries.numbers])
        self._problems.write(first, [0] * (len(kinds) * WHERES * slots_of(KnownProblem)))
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
