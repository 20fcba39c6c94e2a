"""Decides which tensors stay in SRAM between the nodes that use them, and assigns all SRAM addresses."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from itertools import chain, repeat

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.allocation import LiveRange
from dlasim.compiler_shim.lowering.addresses.memory import extend_live_ranges
from dlasim.compiler_shim.lowering.addresses.plan_packer import PlanPacker, Residents
from dlasim.compiler_shim.lowering.addresses.sram_plan import Segment, SramPlan
from dlasim.compiler_shim.lowering.path_search import PathSearch
from dlasim.compiler_shim.lowering.path_steps import path_steps
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.tiles.geometry import InSram
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiles.tiling import TilingProblem
from dlasim.errors import InputError
from dlasim.named_tuple import NamedTuple


class PathChoice(NamedTuple):
    """The values that stay in SRAM, the segments, and their cycles by estimates."""

    resident: list[int]
    segments: list[Segment]
    cycles: int


class SramPlanner:
    """Plans the SRAM of a network, for one size after the other: chooses, packs, and where that does not fit
    chooses less. It is what a `StateSearch` asks for costs."""

    def __init__(
        self,
        network: PlacedNetwork,
        policy: Policy,
        by_groups: bool = True,
        packer: PlanPacker | None = None,
    ) -> None:
        """`by_groups`: whether chains may be computed in groups of channels."""
        self._network, self._policy, self._by_groups = network, policy, by_groups
        self._steps = path_steps(network)
        self._nodes, self._live_ranges = self._steps.nodes, self._steps.live_ranges
        self._limit = 0
        machines = chain([policy.first_machine], repeat(policy.machine))
        self._problems = {
            step: machine.problems(node, self._steps.kinds[step])
            for machine, (step, node) in zip(machines, self._nodes.items(), strict=False)
        }
        self._search = PathSearch(self._steps, policy, list(self._problems.values()))
        self._choices: dict[int, PathChoice] = {}  # by size of the SRAM
        self._packer = packer or PlanPacker()

    def plan(self, sram_bytes: int, apart: bool = False) -> SramPlan:
        """Plan the SRAM for a size. With `apart`, tensors are written, as far as there is room, to bytes that
        the previous step does not use, so that both steps can run in parallel."""
        resident, segments, _ = self._choice(sram_bytes)
        leaving = set[int]()
        while True:
            residents = self._assign_addresses(resident, segments, apart)
            stuck = None
            if residents is not None:
                stuck = self._packer.pack(
                    self._search, segments, residents, sram_bytes, self._by_groups, apart
                )
            if isinstance(stuck, SramPlan):
                return stuck
            live = resident if stuck is None else [v for v in resident if self._alive(v, stuck)]
            if not live:
                assert stuck is not None
                self._refuse(stuck)
            leaving.add(max(live, key=lambda value: self._live_ranges[value].size_bytes))
            resident, segments, _ = self._choose(leaving)

    def estimate(self, sram_bytes: int) -> int:
        """The cycles that the search estimates for a size of SRAM; 0 where it has nothing to search."""
        return self._choice(sram_bytes).cycles

    def _choice(self, sram_bytes: int) -> PathChoice:
        """What is chosen for a size."""
        self._limit = sram_bytes
        if sram_bytes not in self._choices:
            self._choices[sram_bytes] = self._choose()
        return self._choices[sram_bytes]

    def _alive(self, value: int, step: int) -> bool:
        return self._live_ranges[value].first <= step <= self._live_ranges[value].last

    def _refuse(self, step: int) -> None:
        node = self._nodes[step]
        problem = self._problem(step, ())
        needed = self._policy.needed(problem)
        layer = self._network.layers[node.layer]
        raise InputError(
            f"layer {layer.name} ({layer.operator}) needs {needed} bytes of SRAM with these options, "
            f"but the machine has {self._limit}"
        )

    def _problem(self, step: int, in_sram: Container[int], inner: Container[int] = ()) -> TilingProblem:
        """A node with these values in SRAM, and those within its chain."""
        first, second, output = [value in in_sram or value in inner for value in self._steps.operands[step]]
        has_matrix, inputs = step in self._steps.matrices, len(self._steps.inputs[step])
        keeps = self._policy.keeps_constants and not has_matrix
        where = InSram((first, second)[:inputs], output, has_matrix and second, keeps)
        return self._problems[step][where]

    def _choose(self, leaving: Collection[int] = ()) -> PathChoice:
        """What stays in SRAM, none of those that leave it, and the segments, by the cheapest path over
        states."""
        steps, limit = list(self._nodes), self._limit
        alone: list[Segment] = [(step,) for step in steps]
        if not self._policy.keeps_tensors:
            return PathChoice([], alone, 0)
        if not leaving and self._search.fits_whole(limit, self._by_groups):
            return PathChoice(sorted(self._live_ranges), alone, 0)
        residents, segments = set[int](), list[Segment]()
        first_steps = {self._live_ranges[value].first for value in leaving}
        found, cycles = self._search.choose(limit, self._by_groups, first_steps)
        for place, count, is_kept in found:
            segments.append(tuple(steps[place : place + count]))
            if is_kept:
                residents.add(self._steps.outputs[segments[-1][-1]])
        return PathChoice(sorted(residents), segments or alone, cycles)

    def sufficient_bytes(self) -> int:
        """The SRAM size above which the plan no longer changes.

        At the step that needs most, it has room for all live values, the node's buffers and the constants of
        all later nodes. If nothing stays in SRAM, it is twice the largest buffers of a node.
        """
        budgets, constants = [], []
        for step in self._nodes:
            problem = self._problem(step, self._live_ranges if self._policy.keeps_tensors else ())
            budgets.append(self._search.tables.sufficient_bytes(problem))
            constants.append(problem.constant_bytes)
        if not self._policy.keeps_tensors:
            return 2 * max(budgets, default=0)
        taken = self._steps.alive_bytes.values()
        ahead = [sum(constants[place + 1 :]) for place in range(len(constants))]
        return max(map(sum, zip(budgets, taken, ahead, strict=True)), default=0)

    def _assign_addresses(
        self, resident: list[int], segments: Sequence[Segment], apart: bool
    ) -> Residents | None:
        """Addresses of values that stay; with `apart`, as far as there is room, in bytes that the step before
        does not use."""
        chosen = {value: self._live_ranges[value] for value in resident}
        live_ranges = extend_live_ranges(
            self._network, chosen, [steps for steps in segments if len(steps) > 1]
        )
        if apart:
            earlier = {
                value: LiveRange(value, each.size_bytes, each.first - 1, each.last)
                for value, each in live_ranges.items()
            }
            addresses = allocation.assign_addresses(earlier.values(), ALIGNMENT, self._limit)
            if addresses is not None:
                return Residents(addresses, earlier)
        addresses = allocation.assign_addresses(live_ranges.values(), ALIGNMENT, self._limit)
        return None if addresses is None else Residents(addresses, live_ranges)
