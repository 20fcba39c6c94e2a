"""Lets MAC operations add a tensor to their results as these leave, in place of a sum in the VECTOR unit.

A sum of two tensors goes into the MAC operation that computes one of them, where nothing else reads that. Of
two such operations it is the later one, whose results leave when the other tensor is complete.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod

from dlasim.compiler_shim.calls.live_ranges import reads, variables, writes
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of, with_layouts
from dlasim.isa.host_op_rows import ADD_LEFT_SHIFT
from dlasim.isa.instruction_rows import SUM_LEFT_SHIFT, Out, Sum, has_channel_scales, is_one_pass
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS

# By the instruction of an operation, the one that also adds.
_SUMMING = {row.mnemonic: row.mnemonic for row in INSTRUCTIONS if row.sum_parameters} | {
    row.mnemonic: row.sums for row in INSTRUCTIONS if row.sums
}
_READ = BY_MNEMONIC["OP_E_ADD"].parameters[2:]  # all but the sizes
assert ADD_LEFT_SHIFT == SUM_LEFT_SHIFT, "sums of MAC must be those of ADD"


def add_in_output_stage(network: PlacedNetwork) -> PlacedNetwork:
    """The network with as many sums in MAC operations as possible; itself where there are none."""
    return _Summing(network).run()


class _Summing:
    def __init__(self, network: PlacedNetwork) -> None:
        self._network = network
        self._nodes = dict(enumerate(network.nodes))
        self._layers = list(network.layers)
        self._variables = variables(network)
        self._uses = Counter(value for node in network.nodes for value in reads(node, network))
        self._uses.update(root_of(self._network.values, value) for value in network.outputs)
        written = [(value, step) for step, node in self._nodes.items() for value in writes(node, network)]
        self._writers = Counter(value for value, _ in written)
        self._last_write = dict(written)

    def run(self) -> PlacedNetwork:
        """Sum by sum."""
        for step, node in enumerate(self._network.nodes):
            if isinstance(node, DlaNode) and _is_sum(node):
                self._move(step, node)
        if len(self._nodes) == len(self._network.nodes):
            return self._network
        return replace(self._network, nodes=tuple(self._nodes.values()), layers=tuple(self._layers))

    def _move(self, step: int, node: DlaNode) -> None:
        """Let the operation before a sum do it, if it can."""
        computed = [self._last_write.get(root_of(self._network.values, value), -1) for value in node.inputs]
        number = 0 if computed[0] > computed[1] else 1
        before, value = self._nodes.get(computed[number]), node.inputs[number]
        if not isinstance(before, DlaNode) or before.output != value or not self._is_temporary(value):
            return
        if root_of(self._network.values, node.output) in self._variables or not _may_add(before):
            return
        adding = self._adding(before, node, number)
        if adding is None:
            return
        self._nodes[computed[number]] = adding
        del self._nodes[step]
        base = root_of(self._network.values, node.output)
        if self._last_write[base] == step:
            self._last_write[base] = computed[number]
        reason = f"added by {self._layers[before.layer].name} as its results leave"
        self._layers[node.layer] = replace(self._layers[node.layer], reason=reason)

    def _is_temporary(self, value: int) -> bool:
        """Whether a tensor is written by one node and then read by one, as a whole."""
        is_whole = self._network.values[value].alias is None and value not in self._variables
        return is_whole and self._uses[value] == self._writers[value] == 1

    def _adding(self, before: DlaNode, node: DlaNode, number: int) -> DlaNode | None:
        """An operation that also computes a sum, whose input of that number it computes; None where it
        cannot."""
        given = node.registers
        own, other = ("IN2", "IN") if (number == 1) != node.swaps_inputs else ("IN", "IN2")
        fits = (
            prod(before.out_shape) == prod(node.out_shape)
            and given[f"{own}_ZP"] == before.registers["OUT_ZP"]
            and given["LEFT_SHIFT"] == SUM_LEFT_SHIFT
            and max(given["IN_SHIFT"], given["IN2_SHIFT"]) <= 0
        )
        if not fits:
            return None
        made = replace(
            before,
            mnemonic=_SUMMING[before.mnemonic],
            inputs=(*before.inputs, node.inputs[1 - number]),
            output=node.output,
            registers={
                **before.registers, "ACT_MIN": _least(before),
                "IN_MULT": given[f"{own}_MULT"], "IN_SHIFT": given[f"{own}_SHIFT"],
                "IN2_MULT": given[f"{other}_MULT"], "IN2_SHIFT": given[f"{other}_SHIFT"],
                "IN2_ZP": given[f"{other}_ZP"],
                "OUT_MULT": given["OUT_MULT"], "OUT_SHIFT": given["OUT_SHIFT"],
                "SUM_ZP": given["OUT_ZP"], "SUM_MIN": given["ACT_MIN"], "SUM_MAX": given["ACT_MAX"],
            },
            fields={**before.fields, "out": Out.INT8, "sum": Sum.TENSOR},
        )  # fmt: skip
        return with_layouts(made, self._network.values)


def _is_sum(node: DlaNode) -> bool:
    """Whether it is a sum of two tensors of one shape."""
    is_whole = node.mnemonic == "OP_E_ADD" and node.broadcast == (1, 1)
    return is_whole and not node.is_int16 and {*_READ} <= node.registers.keys()


def _may_add(node: DlaNode) -> bool:
    """Whether it is a MAC operation that could add a tensor to its results."""
    return (
        node.mnemonic in _SUMMING
        and node.matrix is None
        and not node.is_channel_by_channel
        and not node.is_int16
        and is_one_pass(node.fields)
        and has_channel_scales(node.fields)
        and not node.adds_tensor
    )


def _least(node: DlaNode) -> int:
    """The least result, which a ReLU of the instruction's own may raise."""
    least, zero_point = node.registers["ACT_MIN"], node.registers["OUT_ZP"]
    return max(least, zero_point) if node.mnemonic == "OP_CONV_RELU" else least
