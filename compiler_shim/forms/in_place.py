"""Variables that are updated in place, as a decoder appends to its caches.

The new value of a variable is a tensor of its own, and the last operators copy it (see `network/state.py`).
If it is the old value with a part written over, and nobody reads the old one afterwards, both have the
variable's bytes: only the part is written, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Set

from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.operators.definition import Trait
from dlasim.compiler_shim.operators.table import has_trait


def find_updates(graph: Graph, variables: Set[int]) -> dict[int, int]:
    """Tensors that have the bytes of a variable, by their numbers."""
    found: dict[int, int] = {}
    producers = {number: operator for operator in graph.operators for number in operator.outputs}
    views: dict[int, set[int]] = {}  # by the tensor of which they are views
    for number in range(len(graph.tensors)):
        views.setdefault(_origin(number, producers, variables), set()).add(number)
    for copy in graph.operators:
        if has_trait(copy.kind, Trait.VIEW) and copy.outputs[0] in variables:
            new, variable = _origin(copy.inputs[0], producers, variables), copy.outputs[0]
            update, old = producers.get(new), views[variable]
            if update is None or not has_trait(update.kind, Trait.UPDATES):
                continue
            if update.inputs[0] in old and _is_last(graph, update, old):
                found |= dict.fromkeys({new, *old} - {variable}, variable)
    return found


def _origin(number: int, producers: dict[int, Operator], variables: Set[int]) -> int:
    """The tensor of which this one is a view."""
    while number not in variables and number in producers and has_trait(producers[number].kind, Trait.VIEW):
        number = producers[number].inputs[0]
    return number


def _is_last(graph: Graph, update: Operator, old: Set[int]) -> bool:
    """Whether nothing reads the old value after the update, or anything else of it in the update."""
    after = graph.operators[graph.operators.index(update) + 1 :]
    readers = [operator for operator in after if not has_trait(operator.kind, Trait.VIEW)]
    read = {number for operator in readers for number in operator.inputs}
    return old.isdisjoint((*read, *update.inputs[1:], *graph.outputs))
