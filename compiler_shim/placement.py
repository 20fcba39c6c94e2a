"""Chooses for one machine who runs what; `placed_network` makes the network of each choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import repeat
from math import prod
from typing import Any

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.forms.partition import Item, UnplacedNetwork
from dlasim.compiler_shim.forms.requantization import requantized_on_cpu, requantizes
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKind, node_kind
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE
from dlasim.compiler_shim.placed_network import Verdict, place_once
from dlasim.dataclass import dataclass
from dlasim.isa.file_records import LayerKind
from dlasim.isa.program import HostCall
from dlasim.named_tuple import NamedTuple
from dlasim.sim.host_time.host_estimate import DOORBELL_CYCLES, operator_cycles

MAX_PLACEMENT_COST_RATIO = 4  # placements whose estimates differ by more are not compared by their programs
LAUNCH_CYCLES = DOORBELL_CYCLES + 200  # a stream of its own, and the wait for it


@dataclass(frozen=True, slots=True)
class CostWeights:
    """What placements are compared by: cycles of the DLA's estimates, each of which may stand for energy; and
    how many of these a cycle of the CPU counts."""

    cpu_cycle: float = 1
    nanojoules: float | None = None  # of a cycle

    def cpu(self, cycles: int) -> int:
        """What cycles of the CPU count."""
        return round(cycles * self.cpu_cycle)

    def text(self, cost: int) -> str:
        """A cost as people read it."""
        return f"{cost:,} cycles" if self.nanojoules is None else f"{cost * self.nanojoules:,.0f} nJ"


class _Alike(NamedTuple):
    """Items that no machine tells apart: one of them, the kinds of its nodes, and what each takes on the CPU
    if it may be on the DLA."""

    item: Item
    kinds: list[NodeKind]
    cpu_cycles: int


@once
def _alike(network: UnplacedNetwork) -> tuple[list[_Alike], list[int]]:
    """Items that are alike, and by item the number of those that it is among."""
    known, found, numbers = dict[object, int](), list[_Alike](), list[int]()
    for item in network.items:
        kinds = [node_kind(node) for node in item.dla]
        cpu = sum(_host_cycles(network, call, item.macs) for call in item.host if item.dla)
        facts = [(node.is_int16, requantizes(node)) for node in item.dla]
        key = item.operator, item.kind, item.dla_refusal, len(item.host), cpu, *kinds, *facts
        numbers.append(known.setdefault(key, len(known)))
        if len(known) > len(found):
            found.append(_Alike(item, kinds, cpu))
    return found, numbers


class Placements:
    """A network with every operator on the DLA or the CPU, for machines that differ only in their SRAM."""

    def __init__(self, network: UnplacedNetwork, policy: Policy, weights: CostWeights | None = None) -> None:
        self._network, self._policy, self._weights = network, policy, weights or CostWeights()
        self._known: dict[tuple[bool, ...], PlacedNetwork] = {}  # by choice, and whether sums are in MAC
        self._verdicts: dict[PlacedNetwork, tuple[Sequence[Verdict], Sequence[int]]] = {}

    def weighed(self, policy: Policy, weights: CostWeights) -> Placements:
        """The same by a policy's estimates and other weights."""
        found = copy(self)
        found._policy, found._weights = policy, weights
        return found

    def promising(self, sram_bytes: int) -> Iterator[PlacedNetwork]:
        """Each choice that may be the best, the most promising first."""
        seen = set()
        for verdicts in self._judge(sram_bytes).alternatives():
            choice = tuple(verdict.on_dla for verdict in verdicts)
            if choice not in seen:
                seen.add(choice)
                ways = (False, True) if self._policy.machine.config.mac_sums else (False,)
                yield from dict.fromkeys([self._placed(choice, verdicts, in_mac) for in_mac in ways])

    def most_on_dla(self) -> PlacedNetwork:
        """What can run on the DLA with any amount of SRAM is there."""
        verdicts = self._judge(INFINITE - 1).all_on_dla()
        return self._placed(tuple(verdict.on_dla for verdict in verdicts), verdicts)

    def _judge(self, sram_bytes: int) -> _Judge:
        return _Judge(self._network, self._policy, sram_bytes, self._weights)

    def _placed(
        self, choice: tuple[bool, ...], verdicts: Sequence[Verdict], in_mac: bool = False
    ) -> PlacedNetwork:
        """The network with this choice, and sums in MAC operations or not."""
        key = *choice, in_mac
        if key not in self._known:
            placed, layers = place_once(self._network, self._policy.options, verdicts, in_mac)
            self._known[key] = placed
            self._verdicts.setdefault(placed, (verdicts, layers))
        return self._known[key]

    def explained(self, placed: PlacedNetwork) -> PlacedNetwork:
        """A placement with the reasons why layers run where they do, which differ from machine to machine."""
        verdicts, numbers = self._verdicts[placed]
        layers = list(placed.layers)
        for item, verdict, number in zip(self._network.items, verdicts, numbers, strict=True):
            merged = f", with the {item.merged} before it" if item.merged else ""
            if not layers[number].reason:
                layers[number] = replace(layers[number], reason=verdict.reason + merged)
        return replace(placed, layers=tuple(layers))


@dataclass(frozen=True, slots=True, eq=False)
class _Costs:
    """Estimated cycles of an item: on the CPU; on the DLA alone, with all tensors in system memory and a
    launch; on the DLA in a sequence with others, with all tensors in SRAM; and of moving its tensors in and
    out."""

    cpu: int
    isolated_cycles: int
    in_sequence_cycles: int
    load: int
    store: int


class _Judge:
    """Decides for one machine where operators run."""

    def __init__(
        self, network: UnplacedNetwork, policy: Policy, sram_bytes: int, weights: CostWeights
    ) -> None:
        self._network, self._policy, self._sram_bytes = network, policy, sram_bytes
        self._weights, self._launch = weights, weights.cpu(LAUNCH_CYCLES)
        alike, self._numbers = _alike(network)
        kinds = [policy.kinds.numbers(each.kinds) for each in alike]
        self._fixed = [self._forced(each.item, own) for each, own in zip(alike, kinds, strict=True)]
        self._costs = [
            self._estimate(each, own) if verdict is None else _FREE
            for each, own, verdict in zip(alike, kinds, self._fixed, strict=True)
        ]
        self._free = [[_judged(each, on_dla, weights) for on_dla in (False, True)] for each in self._costs]

    def all_on_dla(self) -> list[Verdict]:
        """Every operator on the DLA that can be there."""
        return self._verdicts(repeat(True))

    def alternatives(self) -> Iterator[list[Verdict]]:
        """Runs of operators judged together; all that can on the DLA; each judged for itself; none on the
        DLA, where that is not out of the question."""
        costs = [self._costs[number] for number in self._numbers]
        yield self._verdicts(self._cheapest_runs())
        yield self.all_on_dla()
        yield self._verdicts(each.isolated_cycles <= each.cpu for each in costs)
        most = MAX_PLACEMENT_COST_RATIO * sum(each.isolated_cycles for each in costs)
        if sum(each.cpu for each in costs) <= most:
            yield self._verdicts(repeat(False))

    def _forced(self, item: Item, kinds: Sequence[int]) -> Verdict | None:
        """What rules, options and the size of the SRAM decide; None where both are possible."""
        options = self._policy.options
        if not item.dla:
            return Verdict(False, item.dla_refusal)
        if not self._policy.machine.config.int16 and any(node.is_int16 for node in item.dla):
            return Verdict(False, "int16: runs on the CPU of a machine without int16 (--int16 1 adds it)")
        if options.dla_ops is not None and item.operator not in options.dla_ops:
            return Verdict(False, "not among --dla-ops")
        if item.kind is LayerKind.DEPTH and options.depthwise == "cpu":
            return Verdict(False, "--depthwise cpu")
        if options.place == "cpu":
            return Verdict(False, "--place cpu")
        if options.place == "dla" or options.tiling != "auto" or not item.host:
            return Verdict(True, "supported")
        for kind in kinds:
            if self._cycles(kind, False) == INFINITE:
                problem = self._policy.kinds.anywhere(kind, False)
                needed, there = self._policy.needed(problem), self._sram_bytes
                return Verdict(False, f"needs {needed} bytes of SRAM, but the machine has {there}")
        return None

    def _estimate(self, alike: _Alike, kinds: Sequence[int]) -> _Costs:
        item, rest = alike.item, self._requantizing_cycles(alike.item)
        machine = self._policy.machine
        isolated_cycles, in_sequence_cycles = (
            sum(self._cycles(kind, in_sram) for kind in kinds) + rest for in_sram in (False, True)
        )
        first, last = item.dla[0], item.dla[-1]
        load = machine.load_cost(prod(first.in_shape) * first.in_element_bytes)
        store = machine.load_cost(prod(last.out_shape) * last.out_element_bytes)
        return _Costs(
            self._weights.cpu(alike.cpu_cycles),
            isolated_cycles + self._launch,
            min(isolated_cycles, in_sequence_cycles),
            load,
            store,
        )

    def _requantizing_cycles(self, item: Item) -> int:
        """What an item on the DLA leaves to the CPU."""
        if self._policy.options.requant != "cpu" or not any(map(requantizes, item.dla)):
            return 0
        calls = [requantized_on_cpu(call, call.outputs[0], 0) for call in item.host]
        return self._weights.cpu(sum(_host_cycles(self._network, call, 0) for call in calls))

    def _cycles(self, kind: int, in_sram: bool) -> int:
        """Of a node with all of its tensors in SRAM, or none; INFINITE where no tiling fits."""
        return self._policy.tables.cycles(self._policy.kinds.anywhere(kind, in_sram), self._sram_bytes)

    def _cheapest_runs(self) -> list[bool]:
        """The cheapest sequence of DLA and CPU, where changing from one to the other costs a launch or a
        wait, and the tensors between them."""
        best: list[tuple[int, Any]] = [(0, None), (0, None)]  # ending on the CPU, on the DLA
        for number in self._numbers:
            verdict, known = self._fixed[number], self._costs[number]
            stays = (verdict is None or not verdict.on_dla, verdict is None or verdict.on_dla)
            change = self._launch + known.load, self._launch + known.store
            found = []
            for target, own in ((0, known.cpu), (1, known.in_sequence_cycles)):
                ways = [(best[source][0] + own + change[source] * (source != target), best[source][1])
                        for source in (target, 1 - target)]  # fmt: skip
                cycles, before = min(ways, key=lambda way: way[0])
                found.append((cycles if stays[target] else INFINITE, (before, bool(target))))
            best = found
        chosen, way = list[bool](), min(best, key=lambda way: way[0])[1]
        while way is not None:
            way, on_dla = way
            chosen.append(on_dla)
        return chosen[::-1]

    def _verdicts(self, choice: Iterable[bool]) -> list[Verdict]:
        return [
            self._fixed[number] or self._free[number][on_dla]
            for number, on_dla in zip(self._numbers, choice, strict=False)
        ]


def _host_cycles(network: UnplacedNetwork, call: HostCall, macs: int) -> int:
    inputs, outputs = (
        [network.values[number].shape for number in numbers if number >= 0]
        for numbers in (call.inputs, call.outputs)
    )
    read, written = (network.values[numbers[0]].dtype for numbers in (call.inputs, call.outputs))
    return operator_cycles(inputs, outputs, call.code, macs, call.attributes, (read, written))


_FREE = _Costs(0, 0, 0, 0, 0)  # of an item that has only one place


def _judged(costs: _Costs, on_dla: bool, weights: CostWeights) -> Verdict:
    cpu, isolated = (weights.text(cost) for cost in (costs.cpu, costs.isolated_cycles))
    if on_dla and costs.isolated_cycles > costs.cpu:
        together = f"about {weights.text(costs.in_sequence_cycles)} together with its neighbours"
        return Verdict(True, f"{together}, {cpu.split()[0]} on the CPU")
    if on_dla:
        return Verdict(True, f"about {isolated}, {cpu.split()[0]} on the CPU")
    return Verdict(False, f"about {cpu}, {isolated.split()[0]} on the DLA")
