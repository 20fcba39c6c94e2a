"""Host calls to DLA nodes: the same quantization parameters under the names of the register table."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.compiler_shim.nodes import DlaNode, Shape
from dlasim.compiler_shim.rules import Candidate, as_image
from dlasim.isa.host_ops import ADD_LEFT_SHIFT, BinaryFunction
from dlasim.isa.instructions import Init, Out, PoolMode, Quant
from dlasim.isa.records import LayerKind

KINDS = {
    "CONV_2D": LayerKind.CONV,
    "DEPTHWISE_CONV_2D": LayerKind.DEPTH,
    "FULLY_CONNECTED": LayerKind.FC,
    "AVERAGE_POOL_2D": LayerKind.POOL,
    "MAX_POOL_2D": LayerKind.POOL,
    "MEAN": LayerKind.POOL,
    "ADD": LayerKind.ELTWISE,
    "SUB": LayerKind.ELTWISE,
    "MUL": LayerKind.ELTWISE,
    "BINARY": LayerKind.ELTWISE,
    "LUT": LayerKind.ACT,
}
_ELTWISE = {"ADD": "OP_E_ADD", "SUB": "OP_E_SUB", "MUL": "OP_E_MUL"}
_PER_CHANNEL = {"init": Init.BIAS, "out": Out.INT8, "quant": Quant.CHANNEL}


def translate(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    """The DLA node of a call that passes the rules; tensors by value number."""
    return _TRANSLATORS[candidate.name](candidate, inputs, output, layer)


def _clamp(candidate: Candidate) -> dict[str, int]:
    return {"ACT_MIN": candidate.attributes.clamp_min, "ACT_MAX": candidate.attributes.clamp_max}


def _convolution(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    at = candidate.attributes
    fields = dict(_PER_CHANNEL)
    mnemonic = "OP_DEPTH_CONV"
    if candidate.name == "CONV_2D":
        mnemonic = "OP_CONV_RELU" if at.clamp_min == at.output_zero_point else "OP_CONV"
        if mnemonic == "OP_CONV_RELU":
            del fields["out"]
    kernel = candidate.inputs[1].shape[1:3]
    return DlaNode(
        mnemonic, layer, inputs[:1], output,
        as_image(candidate.inputs[0].shape), as_image(candidate.outputs[0].shape),
        kernel=(kernel[0], kernel[1]),
        stride=(at.stride_height, at.stride_width),
        dilation=(at.dilation_height, at.dilation_width),
        pad=(at.pad_top, at.pad_left),
        fields=fields,
        registers={"IN_ZP": at.input_zero_point, "PAD_VALUE": at.input_zero_point,
                   "OUT_ZP": at.output_zero_point, **_clamp(candidate)},
        weights=inputs[1], records=inputs[2],
    )  # fmt: skip


def _fully_connected(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    at = candidate.attributes
    channels, depth = candidate.inputs[1].shape
    rows = candidate.inputs[0].size_bytes // depth
    return DlaNode(
        "OP_MAT_MUL", layer, inputs[:1], output, (rows, 1, depth), (rows, 1, channels),
        fields=dict(_PER_CHANNEL),
        registers={"IN_ZP": at.input_zero_point, "OUT_ZP": at.output_zero_point, **_clamp(candidate)},
        weights=inputs[1], records=inputs[2],
    )  # fmt: skip


def _pool(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    at = candidate.attributes
    mode = PoolMode.MAX if candidate.name == "MAX_POOL_2D" else PoolMode.AVERAGE
    return DlaNode(
        "OP_POOL", layer, inputs[:1], output,
        as_image(candidate.inputs[0].shape), as_image(candidate.outputs[0].shape),
        kernel=(at.filter_height, at.filter_width), stride=(at.stride_height, at.stride_width),
        pad=(at.pad_top, at.pad_left), fields={"mode": mode}, registers=_clamp(candidate),
    )  # fmt: skip


def _mean(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    at = candidate.attributes
    height, width, channels = as_image(candidate.inputs[0].shape)
    return DlaNode(
        "OP_POOL", layer, inputs[:1], output, (height, width, channels), (1, 1, channels),
        kernel=(height, width), fields={"mode": PoolMode.MEAN},
        registers={"IN_ZP": at.input_zero_point, "OUT_ZP": at.output_zero_point,
                   "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift,
                   "ACT_MIN": -128, "ACT_MAX": 127},
    )  # fmt: skip


def _elementwise(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    at = candidate.attributes
    shape = as_image(candidate.outputs[0].shape)
    second = as_image(candidate.inputs[1].shape)
    broadcast = (int(second[0] == shape[0]), int(second[1] == shape[1]))
    if candidate.name == "BINARY":
        mnemonic = "OP_C_MAX" if at.function == BinaryFunction.MAXIMUM else "OP_C_MIN"
        return DlaNode(mnemonic, layer, inputs[:2], output, shape, shape, broadcast=broadcast)
    registers = {"IN_ZP": at.input1_zero_point, "IN2_ZP": at.input2_zero_point,
                 "OUT_ZP": at.output_zero_point,
                 "OUT_MULT": at.output_multiplier, "OUT_SHIFT": at.output_shift,
                 **_clamp(candidate)}  # fmt: skip
    if candidate.name != "MUL":
        registers |= {"LEFT_SHIFT": ADD_LEFT_SHIFT,
                      "IN_MULT": at.input1_multiplier, "IN_SHIFT": at.input1_shift,
                      "IN2_MULT": at.input2_multiplier, "IN2_SHIFT": at.input2_shift}  # fmt: skip
    return DlaNode(
        _ELTWISE[candidate.name],
        layer,
        inputs[:2],
        output,
        shape,
        shape,
        registers=registers,
        broadcast=broadcast,
    )


def _table(candidate: Candidate, inputs: tuple[int, ...], output: int, layer: int) -> DlaNode:
    shape = _flat_image(candidate.outputs[0].shape)
    return DlaNode("OP_ACT_LUT", layer, inputs[:1], output, shape, shape, table=inputs[1])


def _flat_image(shape: tuple[int, ...]) -> Shape:
    """Any shape as an image: leading dimensions are rows."""
    rows = 1
    for extent in shape[:-2]:
        rows *= extent
    width, channels = (1, 1, *shape)[-2:]
    return rows, width, channels


_TRANSLATORS: dict[str, Callable[[Candidate, tuple[int, ...], int, int], DlaNode]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "FULLY_CONNECTED": _fully_connected,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    "ADD": _elementwise,
    "SUB": _elementwise,
    "MUL": _elementwise,
    "BINARY": _elementwise,
    "LUT": _table,
}
