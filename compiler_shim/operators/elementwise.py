"""Element-wise operators of one or two inputs that are not tables."""

from __future__ import annotations

from math import prod

import numpy as np

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators import int16, lookup
from dlasim.compiler_shim.operators.activations import ACTIVATIONS, float_range, integer_range
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.factor_table import find_factors
from dlasim.errors import InputError
from dlasim.isa.host_attributes import float_word
from dlasim.isa.host_op_rows import ADD_LEFT_SHIFT, DIFFERENCE_LEFT_SHIFT, BinaryFunction, UnaryFunction
from dlasim.isa.instruction_rows import INT32_BYTES
from dlasim.sim.arithmetic.float_steps import float_steps
from dlasim.sim.arithmetic.numerics import (
    INT8_MAX,
    INT8_MIN,
    Integers,
    limit,
    quantize_multiplier,
    quotient,
    requant,
)

_WORTH_A_TABLE = 512  # elements


def arithmetic(op: BoundOperator) -> list[KernelCall]:
    """ADD, SUB, MUL and DIV: rescaled where they are int8 or int16, else unquantized."""
    if int16.is_int16(op):
        return int16.arithmetic(op)
    if op.output().dtype != "int8":
        return unquantized(op)
    for position in (0, 1):
        op.types(op.input(position), "int8")
    order = _operand_order(op)
    call = (_product if op.kind in ("MUL", "DIV") else _sum)(op, order)
    call = _with_constant(op, call, order)
    return _by_factors(op, call) if call.name == "DIV" else [call]


def _by_factors(op: BoundOperator, call: KernelCall) -> list[KernelCall]:
    """A quotient as products, if these give all of TFLite's results."""
    values, at = np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64), call.attributes
    results = _computed(call, values[:, None], values)
    table = find_factors(results, values, values, (at.input1_zero_point, at.output_zero_point))
    return [call] if table is None else table.calls(op, op.input_numbers, (op.shape(0), op.shape(1)))


def _operand_order(op: BoundOperator) -> tuple[int, int]:
    """The positions of the inputs: where the operator commutes, first one that has the output's shape and
    that the network computes."""
    first, second = op.input(0), op.input(1)
    moves = first.is_constant or first.elements < second.elements
    return (1, 0) if op.kind not in ("SUB", "DIV") and moves and not second.is_constant else (0, 1)


def _with_constant(op: BoundOperator, call: KernelCall, order: tuple[int, int]) -> KernelCall:
    """The call, or a table where one input is the same constant everywhere."""
    numbers = np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64)
    operands: list[Integers] = [numbers, numbers]
    for place, position in enumerate(order):
        tensor, other = op.input(position), op.input(order[1 - place])
        if tensor.data is not None and other.elements == op.output().elements and not other.is_constant:
            values = np.unique(tensor.data)
            if len(values) == 1:
                operands[place] = values.astype(np.int64)
                return lookup.table_call(op, _computed(call, *operands).astype(np.int8), order[1 - place])
    return call


def _computed(call: KernelCall, first: Integers, second: Integers) -> Integers:
    """What the call computes of integers."""
    at = call.attributes
    one, other = first - at.input1_zero_point, second - at.input2_zero_point
    if call.name == "DIV":
        scaled = quotient(one, other, at.output_multiplier, at.output_shift)
        return limit(scaled, at.output_zero_point, at.clamp_min, at.clamp_max).astype(np.int64)
    if call.name == "MUL":
        result = one * other
    else:
        one = requant(one << ADD_LEFT_SHIFT, at.input1_multiplier, at.input1_shift)
        other = requant(other << ADD_LEFT_SHIFT, at.input2_multiplier, at.input2_shift)
        result = one + other if call.name == "ADD" else one - other
    scaled = requant(result, at.output_multiplier, at.output_shift)
    limited: Integers = np.clip(scaled + at.output_zero_point, at.clamp_min, at.clamp_max)
    return limited


def _sum(op: BoundOperator, order: tuple[int, int]) -> KernelCall:
    scales = [op.factor(op.input(position)) for position in order]
    common = 2 * max(scales)
    op.require(common > 0, "both of its inputs have a scale that is not above 0")
    output_scale = common / ((1 << ADD_LEFT_SHIFT) * op.scale(op.output()))
    attributes = {
        **_zero_points(op, order),
        **_multiplier(op, "input1_", scales[0] / common),
        **_multiplier(op, "input2_", scales[1] / common),
        **_multiplier(op, "output_", output_scale),
        **op.clamp(),
    }
    if op.kind == "SUB" and output_scale >= 1 and not op.rounds_once:
        attributes |= _only_sign(attributes)
    return op.call(op.kind, [op.input_numbers[position] for position in order], **attributes)


def _only_sign(attributes: dict[str, int]) -> dict[str, int]:
    """What makes a SUB one step below its zero point where the difference is negative, else one above.

    That is LiteRT's result where a step of the output is less than one of the difference: it shifts right by
    a negative number, and only the sign is left. TFLite Micro stops. Here 0 stands one step higher, negative
    numbers stay two steps or more below, and the rest is clamped.
    """
    zero_point, least, greatest = (
        attributes[name] for name in ("output_zero_point", "clamp_min", "clamp_max")
    )
    multiplier, shift = quantize_multiplier(2.0)
    return {
        "output_multiplier": multiplier,
        "output_shift": shift,
        "output_zero_point": min(zero_point + 1, INT8_MAX),
        "clamp_min": min(max(zero_point - 1, least), greatest),
        "clamp_max": min(max(zero_point + 1, least), greatest),
    }


def _product(op: BoundOperator, order: tuple[int, int]) -> KernelCall:
    first, second = (op.factor(op.input(position)) for position in (0, 1))
    output = op.scale(op.output())
    is_product = op.kind == "MUL"
    scale = op.ratio([first, second], [output]) if is_product else op.ratio([first], [second, output])
    rescaling = op.product_multiplier if is_product else op.multiplier
    return op.call(
        op.kind,
        [op.input_numbers[position] for position in order],
        **_zero_points(op, order),
        **dict(zip(("output_multiplier", "output_shift"), rescaling(scale), strict=True)),
        **op.clamp(),
    )


def _zero_points(op: BoundOperator, order: tuple[int, int]) -> dict[str, int]:
    return {
        "input1_zero_point": op.zero_point(op.input(order[0])),
        "input2_zero_point": op.zero_point(op.input(order[1])),
        "output_zero_point": op.zero_point(op.output()),
    }


def _multiplier(op: BoundOperator, prefix: str, real: float) -> dict[str, int]:
    multiplier, shift = op.multiplier(real)
    return {f"{prefix}multiplier": multiplier, f"{prefix}shift": shift}


def squared_difference(op: BoundOperator) -> list[KernelCall]:
    """SQUARED_DIFFERENCE: rescaled where it is int8 or int16, else unquantized."""
    if int16.is_int16(op):
        return int16.arithmetic(op)
    if op.output().dtype != "int8":
        return unquantized(op)
    for tensor in (op.input(0), op.input(1), op.output()):
        op.types(tensor, "int8")
    scales = [op.scale(op.input(position)) for position in (0, 1)]
    common = 2 * max(scales)
    output_scale = common * common / ((1 << (2 * DIFFERENCE_LEFT_SHIFT)) * op.scale(op.output()))
    return [
        op.call(
            "SQUARED_DIFFERENCE",
            op.input_numbers,
            **_zero_points(op, (0, 1)),
            **_multiplier(op, "input1_", scales[0] / common),
            **_multiplier(op, "input2_", scales[1] / common),
            **_multiplier(op, "output_", output_scale),
            clamp_min=INT8_MIN,
            clamp_max=INT8_MAX,
        )
    ]


def prelu(op: BoundOperator) -> list[KernelCall]:
    """PRELU."""
    values, alpha, output = op.input(0), op.input(1), op.output()
    for tensor in (values, alpha, output):
        op.types(tensor, "int8")
    scales, scale_out = [op.scale(values), op.scale(alpha)], [op.scale(output)]
    return [
        op.call(
            "PRELU",
            op.input_numbers,
            input_zero_point=op.zero_point(values),
            alpha_zero_point=op.zero_point(alpha),
            output_zero_point=op.zero_point(output),
            **_multiplier(op, "positive_", op.ratio(scales[:1], scale_out)),
            **_multiplier(op, "negative_", op.ratio(scales, scale_out)),
        )
    ]


def extremum(op: BoundOperator) -> list[KernelCall]:
    """MAXIMUM and MINIMUM: TFLite compares the integers as they are."""
    first, second, output = op.input(0), op.input(1), op.output()
    op.same_types(first, second, output)
    op.types(output, "int8", "int32", "int64", "float32")
    function = BinaryFunction[op.kind]
    # Which of two zeros or NaNs is taken depends on the order of floats.
    order = (0, 1) if output.dtype == "float32" else _operand_order(op)
    numbers = [op.input_numbers[position] for position in order]
    return [op.call("BINARY", numbers, function=function, clamp_min=0, clamp_max=0)]


def unquantized(op: BoundOperator) -> list[KernelCall]:
    """Arithmetic of float32 and integers that have no scale."""
    output = op.output()
    op.same_types(op.input(0), op.input(1), output)
    op.types(output, "int32", "int64", "float32")
    return [
        op.call(
            "BINARY", op.input_numbers, function=BinaryFunction[op.kind], **_unquantized_clamp(op, output)
        )
    ]


def _unquantized_clamp(op: BoundOperator, output: Tensor) -> dict[str, int]:
    activation = op.activation
    op.require(activation in ACTIVATIONS, f"fused activation {activation} is not supported")
    if output.dtype == "float32":
        # FLOOR_DIV has no activation, and lets infinities pass.
        infinite = op.kind in ("FLOOR_DIV", "FLOOR_MOD", "SQUARED_DIFFERENCE")
        least, greatest = (-np.inf, np.inf) if infinite else float_range(activation)
        return {"clamp_min": float_word(least), "clamp_max": float_word(greatest)}
    op.require(
        output.dtype == "int32" or activation == "NONE",
        f"fused activation {activation} of int64 is not supported",
    )
    bounds = integer_range(activation)
    return {"clamp_min": bounds[0], "clamp_max": bounds[1]}


def power(op: BoundOperator) -> list[KernelCall]:
    """POW of int32; exponents below 0, which TensorFlow refuses when it meets one, count as 0."""
    op.types(op.output(), "int32")
    return unquantized(op)


def float_unary(op: BoundOperator) -> list[KernelCall]:
    """FLOOR, CEIL, ROUND and SQUARE."""
    op.types(op.input(), "float32", *(("int32",) if op.kind == "SQUARE" else ()))
    return [_unary(op, UnaryFunction[op.kind])]


def inverse_square_root(op: BoundOperator) -> list[KernelCall]:
    """RSQRT: a table where it is int8 or int16."""
    if int16.is_int16(op):
        return int16.inverse_square_root(op)
    op.types(op.input(), "int8", "float32")
    is_table = op.input().dtype == "int8"
    return lookup.inverse_square_root(op) if is_table else [_unary(op, UnaryFunction.RSQRT)]


def square_root(op: BoundOperator) -> list[KernelCall]:
    """SQRT: a table where it is int8; int16 goes through float32."""
    if int16.is_int16(op):
        return int16.square_root(op)
    op.types(op.input(), "int8", "float32")
    return lookup.square_root(op) if op.input().dtype == "int8" else [_unary(op, UnaryFunction.SQRT)]


def negative(op: BoundOperator) -> list[KernelCall]:
    """NEG."""
    op.types(op.input(), "float32", "int32")
    return [_unary(op, UnaryFunction.NEG)]


def absolute(op: BoundOperator) -> list[KernelCall]:
    """ABS: a table where it is int8."""
    op.types(op.input(), "int8", "float32", "int32")
    return lookup.absolute(op) if op.input().dtype == "int8" else [_unary(op, UnaryFunction.ABS)]


def _unary(op: BoundOperator, function: UnaryFunction) -> KernelCall:
    op.same_types(op.input(), op.output())
    return op.call("UNARY", op.input_numbers, function=function)


def quantize(op: BoundOperator) -> list[KernelCall]:
    """QUANTIZE: from float32, a table from 8 bits, or from one quantization to another."""
    values, output = op.input(), op.output()
    op.types(values, "float32", "int8", "uint8", "int16", "int32")
    if values.dtype == "float32":
        op.types(output, "int8", "uint8", "int16")
        return [_quantization(op)]
    multiplier = op.multiplier(op.scale(values) / op.scale(output))
    if values.dtype in ("int16", "int32"):
        op.types(output, "int8", "int16", "int32")
        return [_rescaling(op, multiplier)]
    op.types(output, "int8", "uint8", *(("int16", "int32") if values.dtype == "int8" else ()))
    lowest = np.iinfo(values.dtype).min
    centred = np.arange(lowest, lowest + 256) - op.zero_point(values)
    limits = np.iinfo(output.dtype)
    table = np.clip(requant(centred, *multiplier) + op.zero_point(output), limits.min, limits.max)
    return [lookup.table_call(op, table.astype(output.dtype))]


def _quantization(op: BoundOperator) -> KernelCall:
    """From float32: to 8 bits by tables, if there are as many elements as are worth 10 KiB."""
    output = op.output()
    scale, zero_point = op.scale(output), op.zero_point(output)
    is_table = output.dtype in ("int8", "uint8") and prod(output.shape) >= _WORTH_A_TABLE
    steps = float_steps(scale, zero_point, output.dtype) if is_table else None
    if steps is None:
        return op.call("QUANTIZE", op.input_numbers, scale=scale, zero_point=zero_point)
    cells = op.new_constant("cells", np.concatenate([steps.positive, steps.negative]))
    return op.call(
        "QUANTIZE_TABLE",
        (op.input_numbers[0], cells, op.new_constant("starts", steps.starts.view(np.int32))),
        first=steps.first,
        zero_point=zero_point,
        bits=steps.bits,
        positive_cells=len(steps.positive) - 1,
        negative_cells=len(steps.negative) - 1,
    )


def _rescaling(op: BoundOperator, multiplier: tuple[int, int]) -> KernelCall:
    """From 16 or 32 bits to integers of another scale."""
    zero_points = op.zero_point(op.input()), op.zero_point(op.output())
    op.require(
        all(-(1 << 15) <= point < 1 << 15 for point in zero_points),
        f"zero points {zero_points} are beyond int16",
    )
    return rescale_call(op, op.input_numbers[0], op.output_numbers[0], multiplier, zero_points)


def rescale_call(
    op: BoundOperator,
    source: int | Tensor,
    target: int | Tensor,
    multiplier: tuple[int, int],
    zero_points: tuple[int, int] = (0, 0),
) -> KernelCall:
    """RESCALE of one tensor to another, by a multiplier and its shift."""
    return op.call(
        "RESCALE", (source,), (target,), input_zero_point=zero_points[0], output_zero_point=zero_points[1],
        output_multiplier=multiplier[0], output_shift=multiplier[1],
    )  # fmt: skip


def dequantize(op: BoundOperator) -> list[KernelCall]:
    """DEQUANTIZE: a table of float32 for 8-bit inputs."""
    values = op.input()
    op.types(values, "int8", "uint8", "int16")
    op.types(op.output(), "float32")
    scale, zero_point = op.scale(values), op.zero_point(values)
    if values.dtype not in ("int8", "uint8"):
        return [op.call("DEQUANTIZE", op.input_numbers, scale=scale, zero_point=zero_point)]
    lowest = np.iinfo(values.dtype).min
    steps = np.arange(lowest, lowest + 256) - zero_point
    return [lookup.table_call(op, (scale * steps).astype(np.float32))]


def cast(op: BoundOperator) -> list[KernelCall]:
    """CAST: a table for 8-bit inputs, unless its entries would be int64."""
    types = ("int8", "int32", "float32", "bool", "int64", "uint8", "int16")
    op.types(op.input(), *types)
    op.types(op.output(), *types)
    source, target = np.dtype(op.input().dtype), np.dtype(op.output().dtype)
    if source.itemsize > 1 or target.itemsize > INT32_BYTES:
        return [op.call("CAST", op.input_numbers)]
    first = np.iinfo(source).min if source.kind == "i" else 0
    return [lookup.table_call(op, np.arange(first, first + 256).astype(source).astype(target))]


def same_shape(op: BoundOperator) -> list[Shape]:
    """An output like the input."""
    return [op.shape(0)]


def broadcast_shape(op: BoundOperator) -> list[Shape]:
    """NumPy's broadcasting of two inputs."""
    shapes = [op.shape(0), op.shape(1)]
    try:
        return [np.broadcast_shapes(*shapes)]
    except ValueError:
        raise InputError(f"{op.where}: shapes {list(shapes[0])} and {list(shapes[1])} do not match") from None


def prelu_shape(op: BoundOperator) -> list[Shape]:
    """Alpha is spread over the input."""
    outputs = broadcast_shape(op)
    op.require(
        outputs == [op.shape(0)],
        f"alpha of shape {list(op.shape(1))} must broadcast to the input's shape {list(op.shape(0))}",
    )
    return outputs
