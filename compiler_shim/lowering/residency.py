"""Decides which tensors stay in SRAM between the nodes that use them, and assigns all SRAM addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import inf

from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork
from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.buffer_packing import BufferPacker
from dlasim.compiler_shim.lowering.addresses.memory import (
    extend_live_ranges,
    resolve_alias,
    sram_candidates,
)
from dlasim.compiler_shim.lowering.addresses.sram_plan import Residents, SramPlan
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.segments.chain_tilings import ChainTilings
from dlasim.compiler_shim.lowering.segments.chains import Chain, best_segments
from dlasim.compiler_shim.lowering.states import Segment, State, StateSearch, state_of, values_of
from dlasim.compiler_shim.lowering.tiles.geometry import InSram
from dlasim.compiler_shim.lowering.tiles.search import MAX_OVERHEAD_PART
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiles.tiling import TilingProblem
from dlasim.errors import InputError

TRAFFIC_WEIGHT = 1 / 1024  # cycles that a byte over the bus counts for besides its time


class _KnownSegment:
    """The values that a node or a chain reads or writes, by which of them are in SRAM its cost within a
    budget, and a chain's tilings."""

    __slots__ = ("costs", "tilings", "used")

    def __init__(self, used: State) -> None:
        self.used, self.costs, self.tilings = (
            used,
            dict[tuple[State, int], float](),
            dict[State, ChainTilings](),
        )


class SramPlanner:
    """Plans the SRAM of a network, for one size after the other: chooses, packs, and where that does not fit
    chooses less. It is what a `StateSearch` asks for costs."""

    def __init__(self, network: PlacedNetwork, policy: Policy) -> None:
        self._network, self._policy, self._live_ranges = network, policy, sram_candidates(network)
        self._nodes = {i: node for i, node in enumerate(network.nodes) if isinstance(node, DlaNode)}
        self._limit, self._apart = 0, False
        self._values = {
            step: (
                tuple(resolve_alias(network, value) for value in node.inputs),
                resolve_alias(network, node.output),
            )
            for step, node in self._nodes.items()
        }
        self._matrices = {
            step: resolve_alias(network, node.matrix)
            for step, node in self._nodes.items()
            if node.matrix is not None
        }
        self._may_stay = state_of(self._live_ranges)
        self._used = {step: self._values_used((step,)) for step in self._nodes}
        self._known_problems: dict[int, dict[State, TilingProblem]] = {step: {} for step in self._nodes}
        self._budgets: dict[State, int] = {}
        self._problems = {
            step: (policy.first_machine if number == 0 else policy.machine).problems(node)
            for number, (step, node) in enumerate(self._nodes.items())
        }
        self._links = frozenset(step for step in self._nodes if self._find_link(step))
        self._known_segments: dict[Segment, _KnownSegment] = {}
        self._choices: dict[int, tuple[list[int], list[Segment]]] = {}  # by size of the SRAM

    def plan(self, sram_bytes: int, apart: bool = False) -> SramPlan:
        """Plan the SRAM for a size. With `apart`, tensors are written, as far as there is room, to bytes that
        the previous step does not use, so that both steps can run in parallel."""
        self._limit, self._apart = sram_bytes, apart
        self._budgets.clear()
        if sram_bytes not in self._choices:
            self._choices[sram_bytes] = self._choose()
        chosen, segments = self._choices[sram_bytes]
        resident = list(chosen)
        while True:
            residents = self._assign_addresses(resident, segments)
            stuck = None
            if residents is not None:
                stuck = self._pack_nodes(residents, segments or self._segments(residents))
            if isinstance(stuck, SramPlan):
                return stuck
            live = resident if stuck is None else [v for v in resident if self._alive(v, stuck)]
            if not live:
                assert stuck is not None
                self._refuse(stuck)
            resident.remove(max(live, key=lambda value: self._live_ranges[value].size_bytes))
            segments = []

    def _alive(self, value: int, step: int) -> bool:
        return self._live_ranges[value].first <= step <= self._live_ranges[value].last

    def _refuse(self, step: int) -> None:
        node = self._nodes[step]
        problem = self._problem(step, 0)
        needed = self._policy.needed(problem)
        layer = self._network.layers[node.layer]
        raise InputError(
            f"layer {layer.name} ({layer.operator}) needs {needed} bytes of SRAM with these options, "
            f"but the machine has {self._limit}"
        )

    def _problem(self, step: int, in_sram: State) -> TilingProblem:
        """A node with these values in SRAM."""
        known, touched = self._known_problems[step], in_sram & self._used[step]
        found = known.get(touched)
        if found is None:
            inputs, output = self._values[step]
            matrix = self._matrices.get(step)
            is_matrix_in_sram = matrix is not None and touched >> matrix & 1 == 1
            inputs_in_sram = tuple([touched >> value & 1 == 1 for value in inputs])
            keeps = self._policy.keeps_constants and matrix is None
            where = InSram(inputs_in_sram, touched >> output & 1 == 1, is_matrix_in_sram, keeps)
            found = known[touched] = self._problems[step][where]
        return found

    def _choose(self) -> tuple[list[int], list[Segment]]:
        """The values that stay in SRAM, and the segments, by the cheapest path over states."""
        if not self._policy.keeps_tensors:
            return [], []
        if self._fits_whole():
            return sorted(self._live_ranges), [(step,) for step in self._nodes]
        outputs = {step: output for step, (_, output) in self._values.items()}
        path = StateSearch(list(self._nodes), outputs, self._live_ranges, self).run()
        return ([], []) if path is None else (sorted(path.residents()), path.segments())

    def _fits_whole(self) -> bool:
        """Whether all values together leave every node as much SRAM as it can use, and no chain can help."""
        for step, used in self._alive_bytes.items():
            problem, budget = self._problem(step, self._may_stay), self._limit - used
            shared = self._policy.tiling(problem, budget) if budget > 0 else None
            alone = self._policy.tiling(problem, self._limit)
            if shared is None or alone is None or shared.cycles > alone.cycles:
                return False
            if self._policy.by_groups and step - 1 in self._links and _loads_for_longer(problem):
                return False
        return True

    @cached_property
    def _alive_bytes(self) -> Mapping[int, int]:
        """What all values that may stay in SRAM take there at each step."""
        taken = dict.fromkeys(self._nodes, 0)
        for live_range in self._live_ranges.values():
            for step in range(live_range.first, live_range.last + 1):
                if step in taken:
                    taken[step] += live_range.size_bytes + ALIGNMENT
        return taken

    def sufficient_bytes(self) -> int:
        """The SRAM size above which the plan no longer changes.

        At the step that needs most, it has room for all live values, the node's buffers and the constants of
        all later nodes. If nothing stays in SRAM, it is twice the largest buffers of a node.
        """
        budgets, constants = [], []
        for step in self._nodes:
            problem = self._problem(step, self._may_stay if self._policy.keeps_tensors else 0)
            budgets.append(self._policy.sufficient_bytes(problem))
            constants.append(problem.constant_bytes)
        if not self._policy.keeps_tensors:
            return 2 * max(budgets, default=0)
        taken = self._alive_bytes.values()
        ahead = [sum(constants[place + 1 :]) for place in range(len(constants))]
        return max(map(sum, zip(budgets, taken, ahead, strict=True)), default=0)

    def segment_cycles(self, steps: Segment, resident: State) -> float:
        """Estimated cycles of a node or a chain while these values are in SRAM."""
        return self._segment_cost(steps, resident, self._budget(resident))

    def is_link(self, step: int) -> bool:
        """Whether only the next node reads a node's output."""
        return step in self._links

    def is_done(self, step: int, resident: State) -> bool:
        """Whether the node alone, with all its tensors in SRAM, takes hardly more than its work."""
        here = resident | (self._used[step] & self._may_stay)
        problem, budget = self._problem(step, here), self._budget(here)
        tiling = self._policy.tiling(problem, budget) if budget > 0 else None
        if tiling is None or (self._policy.by_groups and _loads_for_longer(problem)):
            return False
        least = problem.work_cycles + problem.work_cycles // MAX_OVERHEAD_PART
        return tiling.cycles <= least + problem.constants_cycles + problem.constants_price

    def _budget(self, resident: State) -> int:
        """The SRAM that values leave for buffers."""
        budget = self._budgets.get(resident)
        if budget is None:
            sizes = [self._live_ranges[value].size_bytes + ALIGNMENT for value in values_of(resident)]
            budget = self._budgets[resident] = self._limit - sum(sizes)
        return budget

    def _values_used(self, steps: Segment) -> State:
        values = [(*inputs, output) for inputs, output in map(self._values.__getitem__, steps)]
        matrices = [self._matrices[step] for step in steps if step in self._matrices]
        return state_of([*(v for each in values for v in each), *matrices])

    def _assign_addresses(self, resident: list[int], segments: Sequence[Segment]) -> Residents | None:
        chosen = {value: self._live_ranges[value] for value in resident}
        live_ranges = extend_live_ranges(
            self._network, chosen, [steps for steps in segments if len(steps) > 1]
        )
        if self._apart:
            earlier = {value: replace(each, first=each.first - 1) for value, each in live_ranges.items()}
            addresses = allocation.assign_addresses(earlier.values(), ALIGNMENT, self._limit)
            if addresses is not None:
                return Residents(addresses, earlier)
        addresses = allocation.assign_addresses(live_ranges.values(), ALIGNMENT, self._limit)
        return None if addresses is None else Residents(addresses, live_ranges)

    def _pack_nodes(self, residents: Residents, segments: Sequence[Segment]) -> SramPlan | int:
        """The plan, or the step whose buffers do not fit next to the resident values."""
        packer = BufferPacker(self._limit)
        chains: dict[int, Chain] = {}
        inner: set[int] = set()
        for steps in segments:
            taken = residents.during(steps)
            if len(steps) > 1:
                chain = self._pack_chain(steps, residents, taken, packer)
                if chain is not None:
                    chains[steps[0]] = chain
                    inner |= {self._nodes[step].output for step in steps[:-1]}
                    continue
            for step in steps:
                problem = self._problem(step, residents.state)
                if not packer.pack_node(step, problem, self._policy, residents.during((step,))):
                    return step
        return SramPlan(
            self._limit,
            residents,
            packer.problems,
            packer.tilings,
            packer.buffers,
            packer.peak_bytes,
            chains,
            frozenset(inner),
        )

    def _segments(self, residents: Residents) -> list[tuple[int, ...]]:
        """The steps in order; those that are cheaper as a chain form one segment."""
        if not self._policy.keeps_tensors:
            return [(step,) for step in self._nodes]
        segments: list[tuple[int, ...]] = []
        run: list[int] = []
        for step in self._nodes:
            run.append(step)
            if not self._is_link(step, residents):
                segments += best_segments(run, lambda steps: self._cost(steps, residents))
                run = []
        return segments

    def _is_link(self, step: int, residents: Residents) -> bool:
        """Whether only the next node reads a node's output, and the whole output does not stay in SRAM."""
        return step in self._links and self._nodes[step].output not in residents

    def _find_link(self, step: int) -> bool:
        node, follower = self._nodes[step], self._nodes.get(step + 1)
        value = node.output
        return (
            follower is not None
            and value in self._live_ranges
            and follower.inputs[0] == value
            and value not in follower.inputs[1:]
            and follower.matrix is None
            and self._live_ranges[value].first == step
            and self._live_ranges[value].last == step + 1
            and node.out_element_bytes == follower.in_element_bytes == 1
            and node.out_shape == follower.in_shape
        )

    def _cost(self, steps: Segment, residents: Residents) -> float:
        taken = residents.during(steps)
        if _take_turns(taken):
            return inf
        budget = self._limit - sum(end - start for start, end in taken)
        return self._segment_cost(steps, residents.state, budget)

    def _segment_cost(self, steps: Segment, resident: State, budget: int) -> float:
        """Cycles of these steps, plus a little for each byte over the bus, which costs energy."""
        if budget <= 0:
            return inf
        known = self._segment(steps)
        key = known.used & resident, budget
        cost = known.costs.get(key)
        if cost is None:
            cost = known.costs[key] = self._find_cost(steps, resident, budget)
        return cost

    def _find_cost(self, steps: Segment, resident: State, budget: int) -> float:
        if len(steps) == 1:
            problem = self._problem(steps[0], resident)
            tiling = self._policy.tiling(problem, budget)
            return (
                inf
                if tiling is None
                else tiling.cycles + TRAFFIC_WEIGHT * (tiling.read_bytes + problem.geometry.written_bytes)
            )
        chain = self._chain_tilings(steps, resident).best(budget)
        return inf if chain is None else chain.cycles + TRAFFIC_WEIGHT * chain.moved_bytes

    def _chain_tilings(self, steps: Segment, resident: State) -> ChainTilings:
        """The tilings of a chain if these of the values that it reads or writes are in SRAM."""
        chain = self._segment(steps)
        touched = chain.used & resident
        found = chain.tilings.get(touched)
        if found is None:
            problems = self._chain_problems(steps, touched)
            found = chain.tilings[touched] = self._policy.chain_tilings(problems)
        return found

    def _segment(self, steps: Segment) -> _KnownSegment:
        known = self._known_segments.get(steps)
        if known is None:
            known = self._known_segments[steps] = _KnownSegment(self._values_used(steps))
        return known

    def _chain_problems(self, steps: Segment, resident: State) -> list[TilingProblem]:
        """The nodes of a chain: the input of each comes from the node before, its output goes to the next."""
        in_sram = resident | state_of([self._values[step][1] for step in steps[:-1]])
        return [self._problem(step, in_sram) for step in steps]

    def _pack_chain(
        self, steps: tuple[int, ...], residents: Residents, taken: list[allocation.Gap], packer: BufferPacker
    ) -> Chain | None:
        if _take_turns(taken):
            return None
        problems = self._chain_problems(steps, residents.state)
        tilings = self._chain_tilings(steps, residents.state)
        free = allocation.gaps(taken, self._limit)
        tiling = tilings.best(sum(end - start for start, end in free))
        while tiling is not None:
            found = packer.pack_chain(steps, problems, tiling, free, taken)
            if found is not None:
                return tiling.chain(steps, found)
            tiling = tilings.best(tiling.sram_bytes - 1)
        return None


def _loads_for_longer(problem: TilingProblem) -> bool:
    """Whether a node's constants take longer than its work, so that a chain may hide some of it."""
    return problem.constants_cycles > problem.work_cycles


def _take_turns(taken: Sequence[allocation.Gap]) -> bool:
    """Whether values share a place one after the other: they would meet where steps run side by side."""
    return any(end > start for (_, end), (start, _) in pairwise(sorted(taken)))
