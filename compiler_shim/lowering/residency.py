"""Decides which tensors stay in SRAM between the nodes that use them, and plans the SRAM."""

from __future__ import annotations

from collections.abc import Collection, Container

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.plan_packer import PlanPacker
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.addresses.tensor_packing import TENSORS
from dlasim.compiler_shim.lowering.path_steps import path_steps
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.states import CHOOSE, StateSearch
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE, WHERES, where_bits
from dlasim.compiler_shim.lowering.tiles.tile_buffers import constant_bytes
from dlasim.errors import InputError
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import Store


class PathChoice(NamedTuple):
    """The cheapest path: segments, each a row of its first node, its nodes, and whether its output stays in
    SRAM; whether all tensors stay; and the cycles by estimates, 0 where there is nothing to search."""

    segments: NDArray[np.int64]
    is_whole: bool
    cycles: int


class SramPlanner:
    """Plans the SRAM of a network, for one size after the other: chooses, packs, and where that does not fit
    chooses less. `search` is the record of the routine that chooses, `tables` are what it knows of nodes."""

    def __init__(self, network: PlacedNetwork, policy: Policy, packer: PlanPacker | None = None) -> None:
        self._network, self._policy, self._packer = network, policy, packer or PlanPacker()
        self._choices: dict[int, PathChoice] = {}  # by size of the SRAM
        steps, self.tables, options = path_steps(network), policy.tables, policy.options
        numbers = policy.kinds.numbers(steps.kinds)
        found = policy.kinds.chains([tuple([numbers[kind] for kind in chain]) for chain in steps.chains])
        self._kind_of = np.array(numbers, np.int64)[steps.kind_of]
        self._kinds, self._chains = Store(int), Store(int)
        self._kinds.write_array(0, self._kind_of)
        self._chains.write_array(0, np.array([*found, NONE])[steps.chain_of])
        self.steps, search = steps, StateSearch()
        search.steps, search.endings = steps.steps.pointer, steps.endings.pointer
        search.ending_bytes, search.step_count = steps.ending_bytes.pointer, steps.count
        search.kinds, search.chain_numbers = self._kinds.pointer, self._chains.pointer
        search.keeps_tensors, search.keeps_constants = (
            int(options.keeps_tensors),
            int(options.keeps_constants),
        )
        search.leaves, search.chosen = steps.leaves.pointer, steps.chosen.pointer
        search.paths, search.counts = steps.paths.pointer, steps.counts.pointer
        self.search = search

    def plan(self, sram_bytes: int, apart: bool = False) -> SramPlan:
        """Plan the SRAM for a size. With `apart`, tensors are written, as far as there is room, to bytes that
        the previous step does not use, so that both steps can run in parallel."""
        choice, leaving = self._choice(sram_bytes), set[int]()
        while True:
            self.steps.chosen.write_array(0, choice.segments.ravel())
            self.search.chosen_count, self.search.is_whole = len(choice.segments), int(choice.is_whole)
            found = self._packer.pack(self.steps, self.search, self.tables, sram_bytes, apart)
            if isinstance(found, SramPlan):
                return found
            live = self._packer.staying(self.steps)
            if found != TENSORS:
                stuck = self.steps.order[found]
                live = [value for value in live if self.steps.is_alive(value, stuck)]
                if not live:
                    self._refuse(stuck, sram_bytes)
            leaving.add(self.steps.live_ranges[live[0]].first)
            choice = self.choose(sram_bytes, leaving)

    def estimate(self, sram_bytes: int) -> int:
        """The cycles that the search estimates for a size of SRAM; 0 where it has nothing to search."""
        return self._choice(sram_bytes).cycles

    def _choice(self, sram_bytes: int) -> PathChoice:
        """What is chosen for a size."""
        if sram_bytes not in self._choices:
            self._choices[sram_bytes] = self.choose(sram_bytes)
        return self._choices[sram_bytes]

    def choose(self, sram_bytes: int, leaving: Collection[int] = ()) -> PathChoice:
        """The cheapest path in an SRAM of this size; what some steps write leaves it."""
        search, steps = self.search, self.steps
        search.any_leaves = int(bool(leaving))
        steps.leaves.clear(steps.count)
        if leaving:
            steps.leaves.write(0, [int(step in leaving) for step in steps.order])
        cycles = self.tables.run(CHOOSE, search, self.tables.table, sram_bytes)
        found = steps.chosen.array(3 * search.chosen_count).reshape(-1, 3)
        return PathChoice(found, search.is_whole == 1, cycles)

    def _refuse(self, step: int, sram_bytes: int) -> None:
        needed = self._policy.needed(self.problem(step, ()))
        layer = self._network.layers[self.steps.nodes[step].layer]
        raise InputError(
            f"layer {layer.name} ({layer.operator}) needs {needed} bytes of SRAM with these options, "
            f"but the machine has {sram_bytes}"
        )

    def problem(self, step: int, in_sram: Container[int]) -> int:
        """The problem of a node with these values in SRAM."""
        first, second, output = [value in in_sram for value in self.steps.operands[step]]
        keeps = self._policy.options.keeps_constants and self.steps.nodes[step].matrix is None
        where = where_bits(first, second, output, keeps)
        return int(self._kind_of[self.steps.places[step]]) * WHERES + where

    def sufficient_bytes(self) -> int:
        """The SRAM size above which the plan no longer changes.

        At the step that needs most, it has room for all live values, the node's buffers and the constants of
        all later nodes. If nothing stays in SRAM, it is twice the largest buffers of a node.
        """
        keeps, steps = self._policy.options.keeps_tensors, self.steps
        problems = {step: self.problem(step, steps.live_ranges if keeps else ()) for step in steps.nodes}
        known = {each: self.tables.sufficient_bytes(each) for each in {*problems.values()}}
        if not keeps:
            return 2 * max(known.values(), default=0)
        most = ahead = 0
        for step, problem in reversed(problems.items()):
            most = max(most, known[problem] + steps.alive_bytes[step] + ahead)
            sizes = self._policy.kinds.sizes[problem]
            ahead += constant_bytes(sizes, sizes.channels, sizes.depth)
        return most
