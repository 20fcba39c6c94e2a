"""A convolution apart from its requantization: int32 sums go to memory, and a step of its own scales them."""

from __future__ import annotations

from dataclasses import replace

from dlasim.compiler_shim.calls.nodes import DlaNode, Value, alias_chain
from dlasim.isa import host_ops
from dlasim.isa.host_attributes import decode_attributes, encode_attributes
from dlasim.isa.instruction_rows import Out, Quant
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import HostCall

_CLAMP_REGISTERS = ("OUT_ZP", "ACT_MIN", "ACT_MAX")


def sums_of(output: Value) -> Value:
    """The sums that become a tensor."""
    return Value(f"{output.name}/int32", output.shape, "int32")


def storing_sums(node: DlaNode, sums: int) -> DlaNode:
    """The convolution that stores its sums, bias included, in that value."""
    mnemonic = BY_MNEMONIC[node.mnemonic].sums or node.mnemonic
    fields = {**node.fields, "out": Out.INT32, "quant": Quant.TENSOR}
    return replace(node, mnemonic=mnemonic, fields=fields, output=sums, out_element_bytes=4)


def requantizes(node: DlaNode) -> bool:
    """Whether it scales its sums by records, and could leave that to another; sums of int16 have no room."""
    return node.records is not None and node.fields.get("out") != Out.INT32 and not node.is_int16


def requantized_on_dla(node: DlaNode, sums: int, layer: int) -> DlaNode:
    """The rest of that convolution as an instruction of its own."""
    return DlaNode(
        "OP_REQUANT", layer, (sums,), node.output, node.out_shape, node.out_shape,
        fields={"quant": Quant.CHANNEL}, in_element_bytes=4, records=node.records,
        registers={name: value for name, value in node.registers.items() if name in _CLAMP_REGISTERS},
    )  # fmt: skip


def requantized_on_cpu(call: HostCall, sums: int, layer: int) -> HostCall:
    """The rest of a convolution, given as the call that computes all of it, as a call of its own."""
    at = decode_attributes(host_ops.BY_CODE[call.code], call.attributes)
    words = encode_attributes(
        "REQUANT",
        output_zero_point=at.output_zero_point,
        clamp_min=at.clamp_min,
        clamp_max=at.clamp_max,
        rounds_once=0,
    )
    return HostCall(host_ops.BY_NAME["REQUANT"].code, (sums, call.inputs[2]), call.outputs, words, layer)


def requantizing_call(calls: tuple[HostCall, ...], node: DlaNode, values: list[Value]) -> HostCall | None:
    """The convolution's call whose output a node computes, or a part of it."""
    if not requantizes(node):
        return None
    written = alias_chain(values, node.output)
    return next((call for call in calls if call.outputs[0] in written), None)
