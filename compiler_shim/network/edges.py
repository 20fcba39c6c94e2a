"""Leaves out the conversions at a network's edges: inputs and outputs become the int8 tensors behind them.

A QUANTIZE that alone reads an input goes, and so does what makes an output that nothing else reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from dlasim.compiler_shim.calls.nodes import alias_chain, root_of
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.forms.partition import Item, UnplacedNetwork

_CONVERTERS = ("QUANTIZE", "DEQUANTIZE")


@once
def cut_edges(network: UnplacedNetwork) -> UnplacedNetwork:
    """The network between its conversions; `left_out` names them."""
    return _Cut(network).run()


class _Cut:
    def __init__(self, network: UnplacedNetwork) -> None:
        self._network = network
        self._values = list(network.values)
        self._left_out: list[Item] = []
        tensors = network.values[: network.tensor_count]  # behind them are parts for the DLA
        aliases = (value.alias for value in tensors if value.alias is not None)
        reads = (number for item in network.items for call in item.host for number in call.inputs)
        self._uses = Counter([*aliases, *reads, *network.outputs])

    def run(self) -> UnplacedNetwork:
        """Inputs, then outputs."""
        network = self._network
        by_source = {_ends(item)[0]: item for item in network.items if self._converts(item)}
        inputs = tuple(self._input(number, by_source.get(number)) for number in network.inputs)
        left = [item for item in network.items if item not in self._left_out]
        by_target = {_ends(item)[1]: item for item in left if self._converts(item)}
        outputs: list[int] = []
        taken = {root_of(self._values, number) for number in inputs} | self._states()
        for number in network.outputs:
            found = self._output(number, by_target.get(number), taken)
            taken.add(root_of(self._values, found))
            outputs.append(found)
        moved = dict(zip(network.outputs, outputs, strict=True))
        return replace(
            network,
            values=tuple(self._values),
            items=tuple(item for item in left if item not in self._left_out),
            inputs=inputs,
            outputs=tuple(outputs),
            model_outputs=tuple(moved.get(number, number) for number in network.model_outputs),
            left_out=tuple(f"{item.operator} {item.name}" for item in self._left_out),
        )

    def _converts(self, item: Item) -> bool:
        """Whether it is a conversion and nothing else, between int8 and another type."""
        if item.operator not in _CONVERTERS or item.merged or len(item.host) != 1:
            return False
        types = [self._values[number].dtype for number in _ends(item)]
        return types.count("int8") == 1

    def _input(self, number: int, item: Item | None) -> int:
        if item is None or self._uses[number] != 1:
            return number
        target = _ends(item)[1]
        outputs = {root_of(self._values, output) for output in self._network.outputs}
        if self._values[target].dtype != "int8" or root_of(self._values, target) in outputs:
            return number
        self._left_out.append(item)
        return target

    def _output(self, number: int, item: Item | None, taken: Iterable[int]) -> int:
        if item is None or self._uses[number] != 1:
            return number
        source = _ends(item)[0]
        root = root_of(self._values, source)
        is_free = root not in taken and self._values[root].data is None
        if self._values[source].dtype != "int8" or not is_free or not self._make_root(source):
            return number
        self._left_out.append(item)
        return source

    def _make_root(self, number: int) -> bool:
        """Let a view of a whole tensor be what that is a view of; False if it shows only a part."""
        *views, root = alias_chain(self._values, number)
        if any(self._values[view].view is not None for view in views):
            return False
        if views:
            self._values[root] = replace(self._values[root], alias=number)
            self._values[number] = replace(self._values[number], alias=None)
        return True

    def _states(self) -> set[int]:
        """Tensors that the network reads before it has written them: its inputs, and variables."""
        written: set[int] = set()
        found: set[int] = set()
        for item in self._network.items:
            for call in item.host:
                found |= {root_of(self._values, number) for number in call.inputs if number >= 0} - written
                written |= {root_of(self._values, number) for number in call.outputs}
        return found


def _ends(item: Item) -> tuple[int, int]:
    """The tensors that a call reads first and writes first."""
    return item.host[0].inputs[0], item.host[0].outputs[0]
