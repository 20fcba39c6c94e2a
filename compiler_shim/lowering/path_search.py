"""The search over states of one network with what one policy knows, as it is asked from Python."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.states import CHOOSE, CYCLE, FITS, MAX_PATHS, Path, StateSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_records import MAX_CHAIN
from dlasim.compiler_shim.lowering.tiles.tiling import TilingProblems
from dlasim.native.storage import Store, plain


class PathSearch:
    """The nodes of a network, what is known of their kinds, and the cheapest paths through them."""

    def __init__(self, steps: PathSteps, policy: Policy, kinds: Sequence[TilingProblems]) -> None:
        self.steps, self.tables, self._keeps_constants = steps, policy.tables(kinds), policy.keeps_constants
        numbers, chains = self.tables.kinds(kinds), [NONE] * (len(kinds) * MAX_CHAIN)
        linked = [step in steps.links for step in steps.nodes]
        found: dict[int, tuple[int, ...]] = {}
        for place in range(len(kinds)):
            end = place + 1
            while end < min(place + MAX_CHAIN, len(kinds)) and linked[end - 1]:
                end += 1
                found[place * MAX_CHAIN + end - place - 1] = tuple(numbers[place:end])
        for place, number in zip(found, self.tables.chains(found.values()), strict=True):
            chains[place] = number
        self._kinds, self._chains, self._leaves = Store(int), Store(int), self.tables.memory(int, steps.count)
        self._kinds.write(0, numbers)
        self._chains.write(0, chains)

    @cached_property
    def record(self) -> StateSearch:
        """What the routines read."""
        steps, tables = self.steps, self.tables
        search = plain(StateSearch) if tables.is_plain else StateSearch()
        search.steps, search.endings = steps.steps.pointer, steps.endings.pointer
        search.ending_bytes, search.step_count = steps.ending_bytes.pointer, steps.count
        search.kinds, search.chain_numbers = self._kinds.pointer, self._chains.pointer
        search.keeps_constants, search.leaves = int(self._keeps_constants), self._leaves.pointer
        search.paths = tables.memory(Path, (steps.count + 1) * MAX_PATHS).pointer
        search.counts = tables.memory(int, steps.count + 1).pointer
        return search

    def fits_whole(self, limit: int, by_groups: bool) -> bool:
        """Whether all tensors together leave every node as much SRAM as it can use, and no chain can help."""
        self.tables.table.by_groups = int(by_groups)
        return self.tables.run(FITS, self.record, self.tables.table, limit) == 1

    def choose(
        self, limit: int, by_groups: bool, leaving: Container[int]
    ) -> tuple[list[tuple[int, int, int]], int]:
        """The segments of the cheapest path: first node, nodes, and whether the output stays in SRAM; not
        that of some steps. And the cycles of all."""
        tables, search, found = self.tables, self.record, list[tuple[int, int, int]]()
        tables.table.by_groups = int(by_groups)
        self._leaves.write(0, [int(step in leaving) for step in self.steps.nodes])
        number = tables.run(CHOOSE, search, tables.table, limit)
        cycles = 0 if number == NONE else search.paths[number].cost // CYCLE
        while number >= MAX_PATHS:  # the first place has the empty path
            path = search.paths[number]
            found.append((number // MAX_PATHS - path.nodes, path.nodes, path.is_kept))
            number = path.before
        return found[::-1], cycles
