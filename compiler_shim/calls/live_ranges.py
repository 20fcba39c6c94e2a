"""What nodes read and write, and from when to when values are alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dlasim.compiler_shim.calls.nodes import DlaNode, HostNode, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import once
from dlasim.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LiveRange:
    """A value that needs `size_bytes` from step `first` to step `last`."""

    key: int
    size_bytes: int
    first: int
    last: int


def reads(node: DlaNode | HostNode, network: PlacedNetwork) -> list[int]:
    """The activations that a node reads, aliases resolved. One that writes at a cursor keeps the rest."""
    if isinstance(node, DlaNode):
        inputs = node.sources if node.cursor is None else (*node.sources, node.output)
    else:
        inputs = node.call.inputs
    resolved = [root_of(network.values, value) for value in inputs if value >= 0]
    return [value for value in resolved if network.values[value].data is None]


def writes(node: DlaNode | HostNode, network: PlacedNetwork) -> list[int]:
    """The values that a node writes, aliases resolved."""
    outputs = (node.output,) if isinstance(node, DlaNode) else node.call.outputs
    return [root_of(network.values, value) for value in outputs]


@once
def find_live_ranges(network: PlacedNetwork) -> Mapping[int, LiveRange]:
    """For each value that a node writes: from its first write to its last use."""
    spans: dict[int, tuple[int, int]] = {}
    for step, node in enumerate(network.nodes):
        for value in writes(node, network):
            first, _ = spans.get(value, (step, step))
            spans[value] = (first, step)
        for value in reads(node, network):
            if value in spans:
                spans[value] = (spans[value][0], step)
    for value in [root_of(network.values, output) for output in network.outputs]:
        if value in spans:
            spans[value] = (spans[value][0], len(network.nodes))
    for value in variables(network):
        spans[value] = (0, len(network.nodes))
    return {
        value: LiveRange(value, network.values[value].size_bytes, first, last)
        for value, (first, last) in spans.items()
    }


@once
def variables(network: PlacedNetwork) -> frozenset[int]:
    """The values that are read before they are written: they live on from inference to inference."""
    known = {root_of(network.values, value) for value in network.inputs}
    found: set[int] = set()
    for node in network.nodes:
        read = set(reads(node, network))
        found |= read - known
        known |= read.union(writes(node, network))
    return frozenset(found)


@once
def footprints(network: PlacedNetwork) -> Sequence[tuple[frozenset[int], frozenset[int]]]:
    """What each node reads, and what it writes."""
    return [(frozenset(reads(node, network)), frozenset(writes(node, network))) for node in network.nodes]


def extend_live_ranges(
    network: PlacedNetwork, live_ranges: Mapping[int, LiveRange], chains: Iterable[Sequence[int]]
) -> dict[int, LiveRange]:
    """The live ranges where the steps of each chain are interleaved: a value that one of them uses is live
    during all of them."""
    extended = dict(live_ranges)
    for steps in chains:
        touched = {value for step in steps for values in footprints(network)[step] for value in values}
        for value in touched & extended.keys():
            live_range = extended[value]
            first, last = min(live_range.first, steps[0]), max(live_range.last, steps[-1])
            extended[value] = LiveRange(value, live_range.size_bytes, first, last)
    return extended
