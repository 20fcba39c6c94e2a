"""Decides which tensors stay in SRAM between the nodes that use them, and assigns all SRAM addresses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.allocation import LiveRange
from dlasim.compiler_shim.lowering.cuts import ALIGNMENT
from dlasim.compiler_shim.lowering.geometry import InSram
from dlasim.compiler_shim.lowering.memory import resolve_alias
from dlasim.compiler_shim.lowering.packing import BufferPacker
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.stripes import Chain, ChainTiling, best_chain, best_segments
from dlasim.compiler_shim.lowering.tiling import Tiling, TilingProblem, TilingProblems
from dlasim.compiler_shim.nodes import DlaNode, PlacedNetwork
from dlasim.errors import InputError

TRAFFIC_WEIGHT = 1 / 64  # cycles that a byte over the bus counts for besides its time


@dataclass(frozen=True, slots=True)
class SramPlan:
    """For each resident value its address; for each DLA node its problem, tiling and buffer addresses."""

    addresses: Mapping[int, int]
    problems: Mapping[int, TilingProblem]
    tilings: Mapping[int, Tiling]
    buffers: Mapping[int, tuple[tuple[int, ...], ...]]
    peak_bytes: int
    chains: Mapping[int, Chain]  # by first step
    inner: frozenset[int]  # values that only exist in stripes

    @property
    def estimated_cycles(self) -> int:
        """Cycles of the DLA by the estimates that made the plan; a chain has one for all its nodes."""
        nodes = sum(tiling.cycles for tiling in self.tilings.values())
        return nodes + sum(chain.cycles for chain in self.chains.values())

    @property
    def chained(self) -> frozenset[int]:
        """The steps that belong to chains."""
        return frozenset(step for chain in self.chains.values() for step in chain.steps)


def plan_sram(network: PlacedNetwork, policy: Policy, live_ranges: Mapping[int, LiveRange]) -> SramPlan:
    """Plan the SRAM; `live_ranges` are those of the values that may stay in it."""
    return _Planner(network, policy, live_ranges).plan()


class _Residents:
    """The values that stay in SRAM, each at its address while it is alive."""

    def __init__(self, addresses: Mapping[int, int], live_ranges: Mapping[int, LiveRange]) -> None:
        self.addresses = addresses
        self._at: dict[int, dict[int, allocation.Gap]] = defaultdict(dict)  # by step and value
        self.end = 0
        self.members: dict[tuple[int, bool, bool], TilingProblem] = {}  # nodes of chains that have been tried
        for value, address in addresses.items():
            live_range = live_ranges[value]
            gap = (address, address + live_range.size_bytes)
            self.end = max(self.end, gap[1])
            for step in range(live_range.first, live_range.last + 1):
                self._at[step][value] = gap

    def __contains__(self, value: object) -> bool:
        return value in self.addresses

    def during(self, steps: Sequence[int]) -> list[allocation.Gap]:
        """The address ranges that they occupy while any of these steps runs."""
        found: dict[int, allocation.Gap] = {}
        for step in steps:
            found.update(self._at.get(step, {}))
        return list(found.values())


class _Planner:
    def __init__(self, network: PlacedNetwork, policy: Policy, live_ranges: Mapping[int, LiveRange]) -> None:
        self._network, self._policy, self._live_ranges = network, policy, live_ranges
        self._nodes = {i: node for i, node in enumerate(network.nodes) if isinstance(node, DlaNode)}
        self._limit = policy.config.sram_bytes
        self._values = {
            step: (tuple(resolve_alias(network, value) for value in node.inputs), node.output)
            for step, node in self._nodes.items()
        }
        self._problems = {step: TilingProblems(node, policy.machine) for step, node in self._nodes.items()}

    def plan(self) -> SramPlan:
        resident = self._choose()
        while True:
            residents = self._settle(resident)
            stuck = None if residents is None else self._pack_nodes(residents)
            if isinstance(stuck, SramPlan):
                return stuck
            self._policy.limit_slack(-1)
            live = resident if stuck is None else [v for v in resident if self._alive(v, stuck)]
            if not live:
                assert stuck is not None
                self._refuse(stuck)
            resident.remove(max(live, key=lambda value: self._live_ranges[value].size_bytes))

    def _alive(self, value: int, step: int) -> bool:
        return self._live_ranges[value].first <= step <= self._live_ranges[value].last

    def _refuse(self, step: int) -> None:
        node = self._nodes[step]
        problem = self._problem(step, set())
        needed = self._policy.needed(problem)
        layer = self._network.layers[node.layer]
        raise InputError(
            f"layer {layer.name} ({layer.operator}) needs {needed} bytes of SRAM with these options, "
            f"the configuration has {self._limit}"
        )

    def _problem(self, step: int, resident: Container[int]) -> TilingProblem:
        """A node with these values in SRAM."""
        inputs, output = self._values[step]
        return self._problems[step][
            InSram(tuple([value in resident for value in inputs]), output in resident)
        ]

    def _with(self, problem: TilingProblem, step: int, value: int) -> TilingProblem:
        """The same with one more value in SRAM."""
        inputs, output = self._values[step]
        in_sram = [
            is_in_sram or one == value for is_in_sram, one in zip(problem.in_sram.inputs, inputs, strict=True)
        ]
        return self._problems[step][InSram(tuple(in_sram), problem.in_sram.output or output == value)]

    def _choose(self) -> list[int]:
        """Choose values greedily: those that save most cycles first, each only if it still saves some."""
        if not self._policy.keeps_tensors:
            return []
        taken: Counter[int] = Counter()  # by step, what resident values take
        problems = {step: self._problem(step, ()) for step in self._nodes}
        gains = {value: self._gain(value, problems, taken) for value in self._live_ranges}
        resident: list[int] = []
        for value in sorted(gains, key=lambda value: (-gains[value], value)):
            if gains[value] > 0 and self._gain(value, problems, taken) > 0:
                resident.append(value)
                live_range = self._live_ranges[value]
                for step in self._during(live_range):
                    taken[step] += live_range.size_bytes + ALIGNMENT
                    problems[step] = self._with(problems[step], step, value)
        return sorted(resident)

    def _during(self, live_range: LiveRange) -> list[int]:
        """The DLA's steps of a live range."""
        return [step for step in range(live_range.first, live_range.last + 1) if step in self._nodes]

    def _gain(self, value: int, problems: Mapping[int, TilingProblem], taken: Mapping[int, int]) -> int:
        """Cycles saved over all nodes during which the value would take SRAM; below 0 where it cannot."""
        live_range = self._live_ranges[value]
        size = live_range.size_bytes + ALIGNMENT
        gain = 0
        for step in self._during(live_range):
            problem = problems[step]
            before = self._cycles(problem, taken[step])
            after = self._cycles(self._with(problem, step, value), taken[step] + size)
            if after is None or before is None:
                return -1
            gain += before - after
        return gain

    def _cycles(self, problem: TilingProblem, taken: int) -> int | None:
        budget = self._limit - taken
        self._policy.limit_slack(budget - 1)  # with no byte left nothing stays, needed or not
        if budget <= 0:
            return None
        tiling = self._policy.tiling(problem, budget)
        return None if tiling is None else tiling.cycles

    def _settle(self, resident: list[int]) -> _Residents | None:
        live_ranges = {value: self._live_ranges[value] for value in resident}
        addresses = allocation.assign_addresses(live_ranges.values(), ALIGNMENT, self._limit)
        return None if addresses is None else _Residents(addresses, live_ranges)

    def _pack_nodes(self, residents: _Residents) -> SramPlan | int:
        """The plan, or the step at which the buffers do not fit beside the resident values."""
        packer = BufferPacker(self._limit)
        chains: dict[int, Chain] = {}
        inner: set[int] = set()
        for steps in self._segments(residents):
            taken = residents.during(steps)
            if len(steps) > 1:
                chain = self._pack_chain(steps, residents, taken, packer)
                if chain is not None:
                    chains[steps[0]] = chain
                    inner |= {self._nodes[step].output for step in steps[:-1]}
                    continue
            for step in steps:
                problem = self._problem(step, residents)
                if not packer.pack_node(step, problem, self._policy, residents.during((step,))):
                    return step
        self._policy.limit_slack(packer.slack_bytes(residents.end))
        return SramPlan(
            residents.addresses,
            packer.problems,
            packer.tilings,
            packer.buffers,
            packer.peak_bytes,
            chains,
            frozenset(inner),
        )

    def _segments(self, residents: _Residents) -> list[tuple[int, ...]]:
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

    def _is_link(self, step: int, residents: _Residents) -> bool:
        """Whether only the next node reads a node's output, and the whole output does not stay in SRAM."""
        node, follower = self._nodes[step], self._nodes.get(step + 1)
        value = node.output
        if follower is None or value in residents or value not in self._live_ranges:
            return False
        return (
            follower.inputs[0] == value
            and value not in follower.inputs[1:]
            and self._live_ranges[value].last == step + 1
            and node.out_element_bytes == follower.in_element_bytes == 1
            and node.out_shape == follower.in_shape
            and follower.mnemonic != "OP_MAT_MUL"
        )

    def _cost(self, steps: tuple[int, ...], residents: _Residents) -> float:
        """Cycles of these steps, plus a little for each byte over the bus, which costs energy."""
        taken = sorted(residents.during(steps))
        if any(end > start for (_, end), (start, _) in pairwise(taken)):
            return inf  # values that took turns in one place would meet where the steps run side by side
        budget = self._limit - sum(end - start for start, end in taken)
        if len(steps) == 1:
            problem = self._problem(steps[0], residents)
            tiling = self._policy.tiling(problem, budget)
            return (
                inf
                if tiling is None
                else tiling.cycles + TRAFFIC_WEIGHT * (tiling.read_bytes + problem.geometry.written_bytes)
            )
        chain = self._best_chain(self._chain_problems(steps, residents), budget)
        return inf if chain is None else chain.cycles + TRAFFIC_WEIGHT * chain.moved_bytes

    def _best_chain(self, problems: list[TilingProblem], budget: int) -> ChainTiling | None:
        chain = best_chain(problems, budget)
        is_whole = chain is not None and len(chain.schedule) == 1
        self._policy.limit_slack(budget - chain.sram_bytes if chain is not None and is_whole else -1)
        return chain

    def _chain_problems(self, steps: tuple[int, ...], residents: _Residents) -> list[TilingProblem]:
        last = steps[-1]
        return [self._member(step, step > steps[0], step < last, residents) for step in steps]

    def _member(self, step: int, follows: bool, leads: bool, residents: _Residents) -> TilingProblem:
        """A node of a chain: its input comes from the node before, its output goes to the next, or both."""
        found = residents.members.get((step, follows, leads))
        if found is None:
            found = self._problem(step, residents)
            for other in (step - 1,) * follows + (step,) * leads:
                found = self._with(found, step, self._nodes[other].output)
            residents.members[step, follows, leads] = found
        return found

    def _pack_chain(
        self, steps: tuple[int, ...], residents: _Residents, taken: list[allocation.Gap], packer: BufferPacker
    ) -> Chain | None:
        problems = self._chain_problems(steps, residents)
        free = allocation.gaps(taken, self._limit)
        tiling = self._best_chain(problems, sum(end - start for start, end in free))
        while tiling is not None:
            found = packer.pack_chain(steps, problems, tiling, free, taken)
            if found is not None:
                return Chain(steps, tiling.schedule, found, tiling.cycles)
            tiling = self._best_chain(problems, tiling.sram_bytes - 1)
        return None
