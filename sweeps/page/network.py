"""The network's graph as rows and lanes: a row for each layer in the order in which they run, and a lane for
each value that later layers still read, as version control draws branches."""

from __future__ import annotations

from typing import Any

from dlasim.compiler_shim.calls.live_ranges import reads, writes
from dlasim.compiler_shim.calls.nodes import PlacedNetwork

MAX_LANES = 24


def network_graph(network: PlacedNetwork) -> dict[str, Any]:
    """For each layer its lane and output shape, and the edges: from row, to row (the number of layers for the
    network's output, -1 for its input) and lane."""
    count = len(network.layers)
    producer, readers = _uses(network)
    edges = [(producer.get(value, -1), reader, value) for value, rows in readers.items() for reader in rows]
    last = {value: max(rows) for value, rows in readers.items()}
    lanes = _lanes(producer, last)
    shapes = _shapes(network)
    return {
        "lanes": min(max(lanes.values(), default=0) + 1, MAX_LANES),
        "lane": [lanes.get(row, 0) for row in range(count)],
        "shape": [shapes.get(row, "") for row in range(count)],
        "edges": sorted({(start, end, lanes.get(start, 0)) for start, end, _ in edges if start < end}),
    }


def _uses(network: PlacedNetwork) -> tuple[dict[int, int], dict[int, set[int]]]:
    """The layer that completes each value, and the layers that read it."""
    producer: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    for node in network.nodes:
        for value in reads(node, network):
            if producer.get(value) != node.layer:
                readers.setdefault(value, set()).add(node.layer)
        for value in writes(node, network):
            producer[value] = node.layer
    for value in network.outputs:
        if value in producer:
            readers.setdefault(value, set()).add(len(network.layers))
    return producer, readers


def _lanes(producer: dict[int, int], last: dict[int, int]) -> dict[int, int]:
    """A lane for each row: that of a value which it reads last, else the first that is free."""
    until: dict[int, int] = {
        -1: max((row for value, row in last.items() if value not in producer), default=0)
    }
    for value, row in producer.items():
        until[row] = max(until.get(row, row), last.get(value, row))
    free_from: list[int] = []  # for each lane the row from which it is free
    lanes: dict[int, int] = {}
    for row in sorted(until):
        lane = next((n for n, end in enumerate(free_from) if end <= row), len(free_from))
        if lane == len(free_from):
            free_from.append(0)
        free_from[lane] = until[row]
        lanes[row] = min(lane, MAX_LANES - 1)
    return lanes


def _shapes(network: PlacedNetwork) -> dict[int, str]:
    """The shape of the last value that each layer writes."""
    return {
        node.layer: "×".join(map(str, network.values[value].shape))
        for node in network.nodes
        for value in writes(node, network)
    }
