"""Decides which tensors stay in SRAM between the nodes that use them, and assigns all SRAM addresses."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses import allocation
from dlasim.compiler_shim.lowering.addresses.allocation import LiveRange
from dlasim.compiler_shim.lowering.addresses.buffer_packing import BufferPacker, KnownSegments, Problems
from dlasim.compiler_shim.lowering.addresses.memory import extend_live_ranges
from dlasim.compiler_shim.lowering.addresses.sram_plan import Residents, Segment, SramPlan
from dlasim.compiler_shim.lowering.path_steps import PathSteps, path_steps
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.segments.chains import Chain
from dlasim.compiler_shim.lowering.states import CHOOSE, CYCLE, FITS, MAX_PATHS, Path, StateSearch
from dlasim.compiler_shim.lowering.tiles.geometry import InSram
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiles.tile_records import MAX_CHAIN
from dlasim.compiler_shim.lowering.tiles.tiling import TilingProblem, TilingProblems
from dlasim.errors import InputError
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import plain


class _Choice(NamedTuple):
    """The values that stay in SRAM, the segments, and their cycles by estimates."""

    resident: list[int]
    segments: list[Segment]
    cycles: int


class SramPlanner:
    """Plans the SRAM of a network, for one size after the other: chooses, packs, and where that does not fit
    chooses less. It is what a `StateSearch` asks for costs."""

    def __init__(self, network: PlacedNetwork, policy: Policy, by_groups: bool = True) -> None:
        """`by_groups`: whether chains may be computed in groups of channels."""
        self._network, self._policy, self._by_groups = network, policy, by_groups
        self._steps = path_steps(network)
        self._nodes, self._live_ranges = self._steps.nodes, self._steps.live_ranges
        self._limit, self._apart = 0, False
        self._problems = {
            step: (policy.first_machine if number == 0 else policy.machine).problems(
                node, self._steps.geometries[step]
            )
            for number, (step, node) in enumerate(self._nodes.items())
        }
        self._search = _PathSearch(self._steps, policy, list(self._problems.values()))
        self._choices: dict[int, _Choice] = {}  # by size of the SRAM
        self._packed = KnownSegments()
        self._found_problems: dict[tuple[int, tuple[bool, ...]], TilingProblem] = {}

    def plan(self, sram_bytes: int, apart: bool = False) -> SramPlan:
        """Plan the SRAM for a size. With `apart`, tensors are written, as far as there is room, to bytes that
        the previous step does not use, so that both steps can run in parallel."""
        resident, segments, _ = self._choice(sram_bytes)
        self._apart = apart
        leaving = set[int]()
        while True:
            residents = self._assign_addresses(resident, segments)
            stuck = None if residents is None else self._pack_nodes(residents, segments)
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

    def _choice(self, sram_bytes: int) -> _Choice:
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
        operands = self._steps.operands[step]
        are_there = tuple([value in in_sram or value in inner for value in operands])
        found = self._found_problems.get((step, are_there))
        if found is None:
            first, second, output = are_there
            has_matrix, inputs = step in self._steps.matrices, len(self._steps.inputs[step])
            keeps = self._policy.keeps_constants and not has_matrix
            where = InSram((first, second)[:inputs], output, has_matrix and second, keeps)
            found = self._found_problems[step, are_there] = self._problems[step][where]
        return found

    def _choose(self, leaving: Collection[int] = ()) -> _Choice:
        """What stays in SRAM, none of those that leave it, and the segments, by the cheapest path over
        states."""
        steps, limit = list(self._nodes), self._limit
        alone: list[Segment] = [(step,) for step in steps]
        if not self._policy.keeps_tensors:
            return _Choice([], alone, 0)
        if not leaving and self._search.fits_whole(limit, self._by_groups):
            return _Choice(sorted(self._live_ranges), alone, 0)
        residents, segments = set[int](), list[Segment]()
        first_steps = {self._live_ranges[value].first for value in leaving}
        found, cycles = self._search.choose(limit, self._by_groups, first_steps)
        for place, count, is_kept in found:
            segments.append(tuple(steps[place : place + count]))
            if is_kept:
                residents.add(self._steps.outputs[segments[-1][-1]])
        return _Choice(sorted(residents), segments or alone, cycles)

    def sufficient_bytes(self) -> int:
        """The SRAM size above which the plan no longer changes.

        At the step that needs most, it has room for all live values, the node's buffers and the constants of
        all later nodes. If nothing stays in SRAM, it is twice the largest buffers of a node.
        """
        budgets, constants = [], []
        for step in self._nodes:
            problem = self._problem(step, self._live_ranges if self._policy.keeps_tensors else ())
            budgets.append(self._policy.tables.sufficient_bytes(problem))
            constants.append(problem.constant_bytes)
        if not self._policy.keeps_tensors:
            return 2 * max(budgets, default=0)
        taken = self._steps.alive_bytes.values()
        ahead = [sum(constants[place + 1 :]) for place in range(len(constants))]
        return max(map(sum, zip(budgets, taken, ahead, strict=True)), default=0)

    def _assign_addresses(self, resident: list[int], segments: Sequence[Segment]) -> Residents | None:
        chosen = {value: self._live_ranges[value] for value in resident}
        live_ranges = extend_live_ranges(
            self._network, chosen, [steps for steps in segments if len(steps) > 1]
        )
        if self._apart:
            earlier = {
                value: LiveRange(value, each.size_bytes, each.first - 1, each.last)
                for value, each in live_ranges.items()
            }
            addresses = allocation.assign_addresses(earlier.values(), ALIGNMENT, self._limit)
            if addresses is not None:
                return Residents(addresses, earlier)
        addresses = allocation.assign_addresses(live_ranges.values(), ALIGNMENT, self._limit)
        return None if addresses is None else Residents(addresses, live_ranges)

    def _pack_nodes(self, residents: Residents, segments: Sequence[Segment]) -> SramPlan | int:
        """The plan, or the step whose buffers do not fit next to the resident values."""
        packer = BufferPacker(self._limit, self._policy, self._by_groups, self._packed, self._apart)
        chains: dict[int, Chain] = {}
        inner: set[int] = set()
        for steps in segments:
            if len(steps) > 1:
                found = packer.pack(steps, self._chain(steps, residents), residents.during(steps))
                if found is not None and found.cut.chain is not None:
                    chains[steps[0]] = found.cut.chain.chain(steps, found.inner)
                    inner |= {self._nodes[step].output for step in steps[:-1]}
                    continue
            for step in steps:
                problem = self._problem(step, residents.addresses)
                if packer.pack((step,), (problem,), residents.during((step,))) is None:
                    return step
        return SramPlan(
            self._limit,
            residents,
            packer.parts,
            packer.problems,
            packer.tilings,
            packer.peak_bytes,
            chains,
            frozenset(inner),
        )

    def _chain(self, steps: Segment, residents: Residents) -> Problems:
        """The nodes of a chain: the input of each comes from the node before, its output goes to the next."""
        inner = [self._steps.outputs[step] for step in steps[:-1]]
        return tuple([self._problem(step, residents.addresses, inner) for step in steps])


class _PathSearch:
    """The search over states of one network with what one policy knows."""

    def __init__(self, steps: PathSteps, policy: Policy, kinds: Sequence[TilingProblems]) -> None:
        self._steps, self._tables = steps, policy.tables
        self._keeps_constants, tables = policy.keeps_constants, policy.tables
        self._numbers = tables.kinds(kinds)
        self._chains = [NONE] * (len(kinds) * MAX_CHAIN)
        linked = [step in steps.links for step in steps.nodes]
        found: dict[int, tuple[int, ...]] = {}
        for place in range(len(kinds)):
            end = place + 1
            while end < min(place + MAX_CHAIN, len(kinds)) and linked[end - 1]:
                end += 1
                found[place * MAX_CHAIN + end - place - 1] = tuple(self._numbers[place:end])
        for place, number in zip(found, tables.chains(found.values()), strict=True):
            self._chains[place] = number
        self._is_plain: bool | None = None

    def _bind(self) -> StateSearch:
        """The record that the routines read."""
        tables, steps = self._tables, self._steps
        if self._is_plain != tables.is_plain:
            self._is_plain, make = tables.is_plain, tables.memory
            search = self._search = plain(StateSearch) if tables.is_plain else StateSearch()
            numbers, chains = make(int), make(int)
            numbers.write(0, self._numbers)
            chains.write(0, self._chains)
            search.steps, search.endings = steps.steps.pointer, steps.endings.pointer
            search.ending_bytes, search.step_count = steps.ending_bytes.pointer, steps.count
            search.kinds, search.chain_numbers = numbers.pointer, chains.pointer
            search.keeps_constants = int(self._keeps_constants)
            search.paths = make(Path, (steps.count + 1) * MAX_PATHS).pointer
            search.counts = make(int, steps.count + 1).pointer
            self._leaves = make(int, steps.count)
            search.leaves = self._leaves.pointer
        return self._search

    def fits_whole(self, limit: int, by_groups: bool) -> bool:
        """Whether all tensors together leave every node as much SRAM as it can use, and no chain can help."""
        self._tables.table.by_groups = int(by_groups)
        return self._tables.run(FITS, self._bind(), self._tables.table, limit) == 1

    def choose(
        self, limit: int, by_groups: bool, leaving: Container[int]
    ) -> tuple[list[tuple[int, int, int]], int]:
        """The segments of the cheapest path: first node, nodes, and whether the output stays in SRAM; not
        that of some steps. And the cycles of all."""
        self._tables.table.by_groups = int(by_groups)
        search, found = self._bind(), list[tuple[int, int, int]]()
        self._leaves.write(0, [int(step in leaving) for step in self._steps.nodes])
        number = self._tables.run(CHOOSE, search, self._tables.table, limit)
        cycles = 0 if number == NONE else search.paths[number].cost // CYCLE
        while number >= MAX_PATHS:  # the first place has the empty path
            path = search.paths[number]
            found.append((number // MAX_PATHS - path.nodes, path.nodes, path.is_kept))
            number = path.before
        return found[::-1], cycles
