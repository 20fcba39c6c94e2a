"""Decides which tensors stay in SRAM between the nodes that use them, and plans the SRAM."""

from __future__ import annotations

from collections.abc import Collection, Container

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.plan_packer import PlanPacker
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.addresses.tensor_packing import TENSORS
from dlasim.compiler_shim.lowering.path_search import PathChoice, PathSearch
from dlasim.compiler_shim.lowering.path_steps import path_steps
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.tiles.known_tilings import WHERES, where_bits
from dlasim.compiler_shim.lowering.tiles.tile_buffers import constant_bytes
from dlasim.errors import InputError


class SramPlanner:
    """Plans the SRAM of a network, for one size after the other: chooses, packs, and where that does not fit
    chooses less."""

    def __init__(self, network: PlacedNetwork, policy: Policy, packer: PlanPacker | None = None) -> None:
        self._network, self._policy = network, policy
        self._steps = path_steps(network)
        self._nodes, self._live_ranges = self._steps.nodes, self._steps.live_ranges
        self._search = PathSearch(self._steps, policy)
        self._choices: dict[int, PathChoice] = {}  # by size of the SRAM
        self._packer = packer or PlanPacker()

    def plan(self, sram_bytes: int, apart: bool = False) -> SramPlan:
        """Plan the SRAM for a size. With `apart`, tensors are written, as far as there is room, to bytes that
        the previous step does not use, so that both steps can run in parallel."""
        choice, leaving = self._choice(sram_bytes), set[int]()
        while True:
            found = self._packer.pack(self._search, choice, sram_bytes, apart)
            if isinstance(found, SramPlan):
                return found
            live = self._packer.staying(self._steps)
            if found != TENSORS:
                stuck = self._steps.order[found]
                live = [value for value in live if self._alive(value, stuck)]
                if not live:
                    self._refuse(stuck, sram_bytes)
            leaving.add(self._live_ranges[live[0]].first)
            choice = self._choose(sram_bytes, leaving)

    def estimate(self, sram_bytes: int) -> int:
        """The cycles that the search estimates for a size of SRAM; 0 where it has nothing to search."""
        return self._choice(sram_bytes).cycles

    def _choice(self, sram_bytes: int) -> PathChoice:
        """What is chosen for a size."""
        if sram_bytes not in self._choices:
            self._choices[sram_bytes] = self._choose(sram_bytes)
        return self._choices[sram_bytes]

    def _choose(self, sram_bytes: int, leaving: Collection[int] = ()) -> PathChoice:
        """What stays in SRAM, nothing of what steps write that it leaves, and the segments."""
        return self._search.choose(sram_bytes, leaving)

    def _alive(self, value: int, step: int) -> bool:
        return self._live_ranges[value].first <= step <= self._live_ranges[value].last

    def _refuse(self, step: int, sram_bytes: int) -> None:
        node = self._nodes[step]
        problem = self._problem(step, ())
        needed = self._policy.needed(problem)
        layer = self._network.layers[node.layer]
        raise InputError(
            f"layer {layer.name} ({layer.operator}) needs {needed} bytes of SRAM with these options, "
            f"but the machine has {sram_bytes}"
        )

    def _problem(self, step: int, in_sram: Container[int], inner: Container[int] = ()) -> int:
        """The problem of a node with these values in SRAM, and those within its chain."""
        first, second, output = [value in in_sram or value in inner for value in self._steps.operands[step]]
        keeps = self._policy.keeps_constants and step not in self._steps.matrices
        where = where_bits(first, second, output, keeps)
        return int(self._search.kind_of[self._steps.places[step]]) * WHERES + where

    def sufficient_bytes(self) -> int:
        """The SRAM size above which the plan no longer changes.

        At the step that needs most, it has room for all live values, the node's buffers and the constants of
        all later nodes. If nothing stays in SRAM, it is twice the largest buffers of a node.
        """
        keeps = self._policy.keeps_tensors
        problems = {step: self._problem(step, self._live_ranges if keeps else ()) for step in self._nodes}
        known = {each: self._search.tables.sufficient_bytes(each) for each in {*problems.values()}}
        if not keeps:
            return 2 * max(known.values(), default=0)
        most = ahead = 0
        for step, problem in reversed(problems.items()):
            most = max(most, known[problem] + self._steps.alive_bytes[step] + ahead)
            sizes = self._policy.kinds.sizes[problem]
            ahead += constant_bytes(sizes, sizes.channels, sizes.depth)
        return most
