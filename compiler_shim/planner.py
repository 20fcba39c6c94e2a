"""Chooses the program: makes several plans, emits them, and keeps the one that the simulator times fastest.

`docs/planner.md` explains the search and what it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dlasim.compiler_shim.lowering.geometry import ENDLESS
from dlasim.compiler_shim.lowering.lower import Lowered, emit
from dlasim.compiler_shim.lowering.policy import Policy, keeps_tensors
from dlasim.compiler_shim.lowering.residency import SramPlan, plan_sram
from dlasim.compiler_shim.nodes import DlaNode, PlacedNetwork
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import UnplacedNetwork
from dlasim.compiler_shim.placement import placements
from dlasim.errors import InputError
from dlasim.native.backend import Backend
from dlasim.sim.config import DlaConfig
from dlasim.sim.duration import program_cycles

MAY_BE_FASTER = 1.2  # the paper's tiling is tried where its estimate is within so much of the other
NEAR = 1.005  # a plan for less SRAM is tried while its estimate is within so much of the best


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plan, and whether it is for all SRAM that there is."""

    network: PlacedNetwork
    policy: Policy
    plan: SramPlan
    is_for_all: bool

    @property
    def key(self) -> object:
        """Equal for plans that give the same program."""
        plan = self.plan
        return self.network.layers, plan.addresses, plan.tilings, plan.buffers, plan.chains, plan.ahead


@dataclass(slots=True)
class PlanMemory:
    """Plans of one network for machines that differ only in their SRAM, and the cycles of those timed.

    A plan depends on the SRAM that it is for; its cycles do not depend on the SRAM that there is beside.
    """

    plans: dict[tuple[object, ...], SramPlan | InputError] = field(default_factory=dict)
    slack: dict[tuple[object, ...], int] = field(default_factory=dict)
    cycles: dict[int, int] = field(default_factory=dict)  # by the identity of a plan that is kept here
    bare: dict[int, SramPlan] = field(default_factory=dict)  # likewise, the plan without loads ahead

    def without_loads_ahead(self, plan: SramPlan) -> SramPlan:
        """The same plan, every load made when its node begins."""
        return self.bare.setdefault(id(plan), replace(plan, ahead={}))


def lower_fastest(
    network: UnplacedNetwork,
    config: DlaConfig,
    options: CompileOptions,
    with_constants: bool,
    backend: Backend,
    memory: PlanMemory | None = None,
) -> Lowered:
    """The fastest of the plans for a network on a machine."""
    return _PlanSearch(network, config, options, backend, memory or PlanMemory()).run(with_constants)


class _PlanSearch:
    def __init__(
        self,
        network: UnplacedNetwork,
        config: DlaConfig,
        options: CompileOptions,
        backend: Backend,
        memory: PlanMemory,
    ) -> None:
        self._network, self._config, self._options = network, config, options
        self._backend, self._memory = backend, memory
        self._slack_bytes = ENDLESS  # SRAM that no plan for all of it needs
        # What a simulation leaves out must not change the program.
        self._timed = config.replace(timing="full")

    def run(self, with_constants: bool) -> Lowered:
        """Time the plans where there are several."""
        found = self._distinct()
        best, lowered = found[0], None
        if len(found) > 1:
            timed = [self._time(candidate) for candidate in found]
            number = min(range(len(found)), key=lambda number: timed[number][0])
            best, lowered = found[number], timed[number][1]
        return self._emit(best, with_constants) if with_constants or lowered is None else lowered

    def _time(self, candidate: _Candidate) -> tuple[int, Lowered | None]:
        known = self._memory.cycles.get(id(candidate.plan))
        if known is not None:
            return known, None
        lowered = self._emit(candidate, False)
        cycles = program_cycles(lowered.program, self._timed, self._backend)
        self._memory.cycles[id(candidate.plan)] = cycles
        return cycles, lowered

    def _emit(self, candidate: _Candidate, with_constants: bool) -> Lowered:
        slack = self._slack_bytes if candidate.is_for_all else -1
        sufficient = self._config.sram_bytes - slack if 0 <= slack < ENDLESS else None
        return emit(candidate.network, candidate.policy, candidate.plan, sufficient, with_constants)

    def _distinct(self) -> list[_Candidate]:
        found: list[_Candidate] = []
        for candidate in self._candidates():
            if all(candidate.key != other.key for other in found):
                found.append(candidate)
        return found

    def _candidates(self) -> Iterator[_Candidate]:
        """The plans of every placement; an InputError only where none of them has a plan."""
        refusal, some = None, False
        for placed in placements(self._network, Policy(self._config, self._options, self._backend)):
            try:
                least = 0
                for loads_ahead in self._modes(placed):
                    for candidate in self._sizes(placed, loads_ahead):
                        least = max(least, candidate.plan.estimated_cycles)
                        some = True
                        yield candidate
                yield from self._simpler(placed, least)
            except InputError as error:
                refusal = refusal or error
        if not some:
            assert refusal is not None, "every network has a placement"
            raise refusal

    def _modes(self, placed: PlacedNetwork) -> tuple[bool, ...]:
        """Whether estimates assume that constants are loaded ahead: also so where the SRAM can hold those of
        every node."""
        nodes = [node for node in placed.nodes if isinstance(node, DlaNode)]
        most = max((_constant_bytes(node, placed) for node in nodes), default=0)
        may_help = 0 < most <= self._config.sram_bytes and keeps_tensors(self._options)
        return (False, True) if may_help else (False,)

    def _sizes(self, placed: PlacedNetwork, loads_ahead: bool) -> Iterator[_Candidate]:
        """The plan for the machine's SRAM, and that for less if it is estimated to be nearly as fast."""
        policy = Policy(self._config, self._options, self._backend, loads_ahead)
        size = self._config.sram_bytes
        plan, slack = self._plan(placed, policy, size)
        sufficient = size - slack if 0 <= slack < ENDLESS else size
        yield _Candidate(placed, policy, plan, is_for_all=True)
        if not policy.keeps_tensors:
            return
        if plan.ahead and not loads_ahead:
            yield _Candidate(placed, policy, self._memory.without_loads_ahead(plan), True)
        try:
            smaller, _ = self._plan(placed, policy, 1 << (sufficient - 1).bit_length() - 1)
        except InputError:
            return
        if smaller.estimated_cycles <= NEAR * plan.estimated_cycles:
            yield _Candidate(placed, policy, smaller, is_for_all=False)

    def _simpler(self, placed: PlacedNetwork, best_estimate: int) -> Iterator[_Candidate]:
        """The plan with the paper's tiling, which may be estimated too high where the SRAM is tiny."""
        if self._options.tiling != "auto":
            return
        policy = Policy(self._config, replace(self._options, tiling="output-channel"), self._backend)
        try:
            plan, _ = self._plan(placed, policy, self._config.sram_bytes)
        except InputError:
            return
        if plan.estimated_cycles <= MAY_BE_FASTER * best_estimate:
            yield _Candidate(placed, policy, plan, is_for_all=True)

    def _plan(self, placed: PlacedNetwork, policy: Policy, size: int) -> tuple[SramPlan, int]:
        """The plan for so much SRAM, and how much less would do."""
        machine = policy.config.replace(sram_bytes=size)
        key = (placed.layers, policy.loads_ahead, policy.options.tiling, machine)
        if key not in self._memory.plans:
            policy.slack_bytes = ENDLESS
            try:
                self._memory.plans[key] = plan_sram(placed, policy, size)
            except InputError as error:
                self._memory.plans[key] = error
            self._memory.slack[key] = policy.slack_bytes
        found, slack = self._memory.plans[key], self._memory.slack[key]
        if size == self._config.sram_bytes:
            self._slack_bytes = min(self._slack_bytes, slack)
        if isinstance(found, InputError):
            raise found
        return found, slack


def _constant_bytes(node: DlaNode, placed: PlacedNetwork) -> int:
    constants = (node.weights, node.records)
    return sum(placed.values[number].size_bytes for number in constants if number is not None)
