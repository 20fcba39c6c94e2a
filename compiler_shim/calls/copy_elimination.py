"""Removes copies between views: one tensor becomes part of the other, and nodes read or write it there.

A copy of a whole tensor to a part of another goes if only DLA nodes touch the tensor: they write and read the
part instead, as producers of a concatenation do. A copy of a part to a whole tensor goes if only DLA nodes
read that: they read the part, as consumers of a slice do. The copies that remain run on the vector unit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import prod

import numpy as np

from dlasim.compiler_shim.calls.live_ranges import reads, variables, writes
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of, whole_view, with_layouts
from dlasim.compiler_shim.calls.views import Layout, dense_layout, is_whole
from dlasim.isa.instructions import BY_MNEMONIC


def eliminate_copies(network: PlacedNetwork) -> PlacedNetwork:
    """The network with as few copies as possible, and the layouts of all operands in their nodes."""
    if not any(
        isinstance(node, DlaNode) and (node.is_copy or node.layouts or node.matrix is not None)
        for node in network.nodes
    ):
        return network
    return _CopyElimination(network).run()


class _CopyElimination:
    def __init__(self, network: PlacedNetwork) -> None:
        self._network = network
        self._values = list(network.values)
        self._nodes = dict(enumerate(network.nodes))
        self._touching: dict[int, set[int]] = defaultdict(set)  # by root, the nodes that read or write it
        self._writers: dict[int, set[int]] = defaultdict(set)
        self._variables = variables(network)
        outside = {self._root(value) for value in (*network.inputs, *network.outputs)}
        self._fixed = outside | self._variables
        for step, node in self._nodes.items():
            for value in writes(node, network):
                self._writers[value].add(step)
            for value in (*reads(node, network), *writes(node, network)):
                self._touching[value].add(step)
        for node in self._nodes.values():
            if not isinstance(node, DlaNode):
                self._fixed |= {*reads(node, network), *writes(node, network)}

    def run(self) -> PlacedNetwork:
        """Copy by copy."""
        for step, node in list(self._nodes.items()):
            if isinstance(node, DlaNode) and node.is_copy:
                source, target = node.inputs[0], node.output
                if self._is_free(source) and self._coalesce(step, source, target):
                    continue
                if self._is_free(target) and self._writers[self._root(target)] == {step}:
                    self._coalesce(step, target, source)
        nodes = []
        for node in self._nodes.values():
            if isinstance(node, DlaNode):
                found = with_layouts(node, self._values)
                assert found is not None
                node = _with_wide_channels(found)
            nodes.append(node)
        return replace(self._network, values=tuple(self._values), nodes=tuple(nodes))

    def _root(self, value: int) -> int:
        return root_of(self._values, value)

    def _is_free(self, value: int) -> bool:
        """Whether this is all of a tensor, in order, that only DLA nodes touch within an inference."""
        root = self._root(value)
        if root in self._fixed or self._values[root].data is not None:
            return False
        view, whole = whole_view(self._values, value), self._values[root]
        if view is None or not is_whole(view, prod(whole.shape)):
            return False
        return all(self._touches_elements(number, root) for number in self._touching[root])

    def _touches_elements(self, number: int, root: int) -> bool:
        """Whether a node takes a tensor's elements as what they are; some take the bytes of wider ones."""
        node, size = self._nodes[number], np.dtype(self._values[root].dtype).itemsize
        assert isinstance(node, DlaNode)
        return size == (node.out_element_bytes if self._root(node.output) == root else node.in_element_bytes)

    def _coalesce(self, step: int, value: int, host: int) -> bool:
        """Let a tensor be the part that `host` is, without the copy; False if some node has no view of it, or
        would read it where the machine refuses that."""
        root, base = self._root(value), self._root(host)
        if root == base or self._values[base].data is not None or base in self._variables:
            return False
        before = self._values[root]
        self._values[root] = replace(before, alias=host)
        touching = self._touching[root] - {step}
        for number in touching:
            node = self._nodes[number]
            assert isinstance(node, DlaNode)
            if with_layouts(node, self._values) is None or self._reads_around_its_output(node):
                self._values[root] = before
                return False
        del self._nodes[step]
        self._touching[base] = self._touching[base] - {step} | touching
        self._writers[base] = self._writers[base] - {step} | self._writers[root] - {step}
        return True

    def _reads_around_its_output(self, node: DlaNode) -> bool:
        """Whether it reads other pixels than it writes, of one tensor. A tile of its input then begins in
        another row or column than that of its output, and the two are no slices of the same pixels."""
        is_pixelwise = node.kernel == node.stride == node.broadcast == (1, 1)
        if is_pixelwise and node.in_shape[:2] == node.out_shape[:2]:
            return False
        return self._root(node.output) in map(self._root, node.inputs)


def _with_wide_channels(node: DlaNode) -> DlaNode:
    """An average over columns of single elements, the rows of which are neighbours: those become channels.

    So a global average of a tensor that was transposed to NCHW takes as long as that of the NHWC tensor.
    """
    rows, columns, channels = node.in_shape
    layout = node.layout(0)
    is_average = BY_MNEMONIC[node.mnemonic].pools and node.kernel == (1, columns) and channels == 1
    if (
        not is_average
        or node.out_shape != (rows, 1, 1)
        or layout is None
        or layout.line != 1
        or node.layout(1) != dense_layout(node.out_shape)
    ):
        return node
    layouts = Layout(layout.offset, layout.pixel, columns * layout.pixel), dense_layout((1, 1, rows))
    return replace(node, in_shape=(1, columns, rows), out_shape=(1, 1, rows), layouts=layouts)
