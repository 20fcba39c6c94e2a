"""The search over states of one network with what one policy knows, as it is asked from Python."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.path_steps import PathSteps
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.states import CHOOSE, StateSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import Store


class PathChoice(NamedTuple):
    """The cheapest path: segments, each a row of its first node, its nodes, and whether its output stays in
    SRAM; whether all tensors stay; and the cycles by estimates, 0 where there is nothing to search."""

    segments: NDArray[np.int64]
    is_whole: bool
    cycles: int


class PathSearch:
    """The nodes of a network, what is known of their kinds, and the cheapest paths through it."""

    def __init__(self, steps: PathSteps, policy: Policy) -> None:
        self.steps, self.tables = steps, policy.tables
        numbers = policy.kinds.numbers(steps.kinds)
        found = policy.kinds.chains([tuple([numbers[kind] for kind in chain]) for chain in steps.chains])
        self.kind_of = np.array(numbers, np.int64)[steps.kind_of]
        self._kinds, self._chains = Store(int), Store(int)
        self._kinds.write_array(0, self.kind_of)
        self._chains.write_array(0, np.array([*found, NONE])[steps.chain_of])
        search = self.record = StateSearch()
        search.steps, search.endings = steps.steps.pointer, steps.endings.pointer
        search.ending_bytes, search.step_count = steps.ending_bytes.pointer, steps.count
        search.kinds, search.chain_numbers = self._kinds.pointer, self._chains.pointer
        search.keeps_tensors, search.keeps_constants = int(policy.keeps_tensors), int(policy.keeps_constants)
        search.leaves, search.chosen = steps.leaves.pointer, steps.chosen.pointer
        search.paths, search.counts = steps.paths.pointer, steps.counts.pointer

    def choose(self, limit: int, leaving: Collection[int] = ()) -> PathChoice:
        """The cheapest path in an SRAM of `limit` bytes; what these steps write leaves it."""
        tables, search = self.tables, self.record
        search.any_leaves = int(bool(leaving))
        self.steps.leaves.clear(self.steps.count)
        if leaving:
            self.steps.leaves.write(0, [int(step in leaving) for step in self.steps.order])
        cycles = tables.run(CHOOSE, search, tables.table, limit)
        found = self.steps.chosen.array(3 * search.chosen_count).reshape(-1, 3)
        return PathChoice(found, search.is_whole == 1, cycles)

    def choose_again(self, choice: PathChoice) -> StateSearch:
        """The record with what has been chosen before."""
        self.steps.chosen.write_array(0, choice.segments.ravel())
        self.record.chosen_count, self.record.is_whole = len(choice.segments), int(choice.is_whole)
        return self.record
