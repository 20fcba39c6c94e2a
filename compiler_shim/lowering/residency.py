"""Which tensors stay in SRAM between the nodes that write and read them, and where everything lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dlasim.compiler_shim.lowering import allocation
from dlasim.compiler_shim.lowering.allocation import Lease
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.tiling import ALIGNMENT, Homes, Tiling, TilingProblem
from dlasim.compiler_shim.nodes import DlaNode, Network
from dlasim.errors import InputError


@dataclass(frozen=True, slots=True)
class SramPlan:
    """For each resident value its address; for each DLA node its problem, tiling and buffer addresses."""

    addresses: Mapping[int, int]
    problems: Mapping[int, TilingProblem]
    tilings: Mapping[int, Tiling]
    buffers: Mapping[int, tuple[tuple[int, ...], ...]]
    peak_bytes: int


def plan_sram(network: Network, policy: Policy, leases: Mapping[int, Lease]) -> SramPlan:
    """Keep what is worth keeping; `leases` are the values that may stay in SRAM at all."""
    return _Planner(network, policy, leases).plan()


class _Planner:
    def __init__(self, network: Network, policy: Policy, leases: Mapping[int, Lease]) -> None:
        self._network, self._policy, self._leases = network, policy, leases
        self._nodes = {i: node for i, node in enumerate(network.nodes) if isinstance(node, DlaNode)}
        self._limit = policy.config.sram_bytes

    def plan(self) -> SramPlan:
        resident = self._choose()
        while True:
            addresses = self._addresses(resident)
            stuck = None if addresses is None else self._place_nodes(addresses)
            if isinstance(stuck, SramPlan):
                return stuck
            live = resident if stuck is None else [v for v in resident if self._alive(v, stuck)]
            if not live:
                assert stuck is not None
                self._refuse(stuck)
            resident.remove(max(live, key=lambda value: self._leases[value].size_bytes))

    def _alive(self, value: int, step: int) -> bool:
        return self._leases[value].first <= step <= self._leases[value].last

    def _refuse(self, step: int) -> None:
        node = self._nodes[step]
        problem = TilingProblem(node, self._policy.config, self._homes(node, set()))
        needed = self._policy.needed(problem)
        layer = self._network.layers[node.layer]
        raise InputError(
            f"layer {layer.name} ({layer.operator}) needs {needed} bytes of SRAM with these options, "
            f"the configuration has {self._limit}"
        )

    def _homes(self, node: DlaNode, resident: set[int]) -> Homes:
        return Homes(tuple(value in resident for value in node.inputs), node.output in resident)

    def _choose(self) -> list[int]:
        """Greedy: the value whose stay saves most comes first, and stays if it still saves."""
        if not self._policy.keeps_tensors:
            return []
        gains = {value: self._gain(value, set()) for value in self._leases}
        resident: set[int] = set()
        for value in sorted(gains, key=lambda value: (-gains[value], value)):
            if gains[value] > 0 and self._gain(value, resident) > 0:
                resident.add(value)
        return sorted(resident)

    def _gain(self, value: int, resident: set[int]) -> int:
        """Cycles saved over all nodes during which the value would take SRAM; below 0 where it cannot."""
        lease = self._leases[value]
        gain = 0
        for step in range(lease.first, lease.last + 1):
            if step in self._nodes:
                before = self._cycles(step, resident)
                after = self._cycles(step, resident | {value})
                if after is None or before is None:
                    return -1
                gain += before - after
        return gain

    def _cycles(self, step: int, resident: set[int]) -> int | None:
        node = self._nodes[step]
        taken = sum(self._leases[v].size_bytes + ALIGNMENT for v in resident if self._alive(v, step))
        if taken >= self._limit:
            return None
        problem = TilingProblem(node, self._policy.config, self._homes(node, resident))
        tiling = self._policy.tiling(problem, self._limit - taken)
        return None if tiling is None else tiling.cycles

    def _addresses(self, resident: list[int]) -> dict[int, int] | None:
        return allocation.place([self._leases[value] for value in resident], ALIGNMENT, self._limit)

    def _place_nodes(self, addresses: dict[int, int]) -> SramPlan | int:
        """The plan, or the step at which the buffers do not fit beside the resident values."""
        problems, tilings, buffers = {}, {}, {}
        peak = 0
        for number, (step, node) in enumerate(self._nodes.items()):
            taken = [
                (addresses[v], addresses[v] + self._leases[v].size_bytes)
                for v in addresses
                if self._alive(v, step)
            ]
            problem = TilingProblem(node, self._policy.config, self._homes(node, set(addresses)))
            found = self._place_node(problem, allocation.gaps(taken, self._limit), bool(number % 2))
            if found is None:
                return step
            problems[step] = problem
            tilings[step], buffers[step] = found
            peak = max(peak, sum(end - start for start, end in taken) + tilings[step].sram_bytes)
        return SramPlan(addresses, problems, tilings, buffers, peak)

    def _place_node(
        self, problem: TilingProblem, free: list[allocation.Gap], from_top: bool
    ) -> tuple[Tiling, tuple[tuple[int, ...], ...]] | None:
        budget = sum(end - start for start, end in free)
        while budget > 0:
            tiling = self._policy.tiling(problem, budget)
            if tiling is None:
                return None
            sizes = [size for size, copies in tiling.buffers for _ in range(copies)]
            found = allocation.fit(sizes, free, ALIGNMENT, from_top)
            if found is not None:
                spots = iter(found)
                return tiling, tuple(
                    tuple(next(spots) for _ in range(copies)) for _, copies in tiling.buffers
                )
            budget = min(budget - 1, tiling.sram_bytes - 1)
        return None
