"""Element-wise operators, reductions and products that a network leaves in float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_pieces import axes_of, axis_of
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_real import Real
from dlasim.compiler_shim.onnx.onnx_values import (
    NO_SCALE,
    Known,
    OnnxActivation,
    OnnxConstant,
    Order,
    RefusedError,
    Shape,
    plain,
)

Function = Callable[[Real, OnnxNode], Real]
_HALF_ROOT = math.sqrt(0.5)


def real_of(converter: Converter, node: OnnxNode, position: int = 0) -> Real:
    """An input in float32, in the file's order of dimensions."""
    name, value = node.outputs[0], converter.real(node, position)
    return Real(converter, converter.ordered(value, plain(len(value.shape)), name).number, name)


def settle(
    converter: Converter, node: OnnxNode, result: Real, order: Order | None = None, place: int = 0
) -> Known:
    """A result of the node, which is stored in this order, or else in the file's."""
    order = plain(len(result.shape)) if order is None else order
    return _settle_plain(converter, node, result.number, order, "float32", place)


def function_of(converter: Converter, node: OnnxNode) -> Known:
    """A function of each element."""
    value = converter.real(node)
    given = Real(converter, value.number, node.outputs[0])
    if node.kind == "Clip":
        low, high = converter.limits(node)
        result = given if low == -np.inf else given.at_least(low)
        result = result if high == np.inf else result.at_most(high)
    else:
        result = FUNCTIONS[node.kind](given, node)
    return settle(converter, node, result, value.order)


def _gelu(x: Real, node: OnnxNode) -> Real:
    if node.attributes.get("approximate", "none") == "tanh":
        inner = ((x * x * x) * 0.044715 + x) * math.sqrt(2 / math.pi)
        return x * 0.5 * (inner.tanh() + 1.0)
    return x * 0.5 * ((x * _HALF_ROOT).erf() + 1.0)


def _elu(x: Real, alpha: float) -> Real:
    return x.at_least(0.0) + (x.at_most(0.0).exponential() - 1.0) * alpha


def _mish(x: Real, _: OnnxNode) -> Real:
    """x * tanh(log(1 + e^x)), of which tanh is (s * s - 1) / (s * s + 1) with s = 1 + e^x."""
    square = x.at_most(20.0).exponential() + 1.0
    square = square * square
    return x * ((square - 1.0) / (square + 1.0))


FUNCTIONS: dict[str, Function] = {
    "Abs": lambda x, _: x.computed("ABS"),
    "Ceil": lambda x, _: x.computed("CEIL"),
    "Elu": lambda x, n: _elu(x, n.attributes.get("alpha", 1.0)),
    "Erf": lambda x, _: x.erf(),
    "Exp": lambda x, _: x.exponential(),
    "Floor": lambda x, _: x.computed("FLOOR"),
    "Gelu": _gelu,
    "HardSigmoid": lambda x, n: (
        (x * n.attributes.get("alpha", 0.2) + n.attributes.get("beta", 0.5)).at_least(0.0).at_most(1.0)
    ),
    "HardSwish": lambda x, _: x * (x * (1 / 6) + 0.5).at_least(0.0).at_most(1.0),
    "LeakyRelu": lambda x, n: x.at_least(0.0) + x.at_most(0.0) * n.attributes.get("alpha", 0.01),
    "Mish": _mish,
    "Neg": lambda x, _: -x,
    "Reciprocal": lambda x, _: x.over(1.0),
    "Relu": lambda x, _: x.at_least(0.0),
    "Round": lambda x, _: x.computed("ROUND"),
    "Selu": lambda x, n: (
        _elu(x, n.attributes.get("alpha", 1.67326319217681884765625))
        * n.attributes.get("gamma", 1.05070102214813232421875)
    ),
    "Sigmoid": lambda x, _: x.sigmoid(),
    "Softplus": lambda x, _: x.at_least(0.0) + ((-x.computed("ABS")).exponential() + 1.0).logarithm_of_sum(),
    "Softsign": lambda x, _: x / (x.computed("ABS") + 1.0),
    "Sqrt": lambda x, _: x.computed("SQRT"),
    "Tanh": lambda x, _: x.tanh(),
}
_BINARY = {"Add": "ADD", "Sub": "SUB", "Mul": "MUL", "Div": "DIV", "Max": "MAXIMUM", "Min": "MINIMUM",
           "Sum": "ADD", "Mean": "ADD", "And": "LOGICAL_AND", "Or": "LOGICAL_OR"}  # fmt: skip
_COMPARISONS = {"Equal": "EQUAL", "Greater": "GREATER", "GreaterOrEqual": "GREATER_EQUAL", "Less": "LESS",
                "LessOrEqual": "LESS_EQUAL"}  # fmt: skip


def _plain_type(converter: Converter, node: OnnxNode, positions: Sequence[int]) -> str:
    """The type in which the operands are computed: that of integers and booleans, or float32."""
    values = (converter.known(node, position) for position in positions)
    found = {each.data.dtype.name if isinstance(each, OnnxConstant) else each.dtype for each in values}
    return found.pop() if len(found) == 1 and found <= {"int32", "int64", "bool"} else "float32"


def aligned(
    converter: Converter, node: OnnxNode, positions: Sequence[int], dtypes: Sequence[str]
) -> tuple[list[int], Shape, Order]:
    """The operands at these positions in these types, in one order; the shape to which they broadcast."""
    name = node.outputs[0]
    constants: dict[int, OnnxConstant] = {}
    values: dict[int, OnnxActivation] = {}
    for position, dtype in zip(positions, dtypes, strict=True):
        value = converter.known(node, position)
        if isinstance(value, OnnxConstant):
            constants[position] = value
        else:
            values[position] = converter.in_float32(value, name) if dtype == "float32" else value
    shapes = [v.shape for v in constants.values()] + [v.shape for v in values.values()]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise RefusedError(f"shapes {[list(each) for each in shapes][:3]} do not match") from None
    rank, numbers = len(shape), []
    extended = {place: converter.extended(value, rank, name) for place, value in values.items()}
    order = max(extended.values(), key=lambda v: prod(v.shape)).order if extended else plain(rank)
    for position, dtype in zip(positions, dtypes, strict=True):
        if position in constants:
            data = np.asarray(constants[position].real, dtype)
            data = data.reshape((1,) * (rank - data.ndim) + data.shape).transpose(order)
            numbers.append(converter.builder.constant(f"{name[:60]}/operand", np.ascontiguousarray(data)))
        else:
            numbers.append(converter.ordered(extended[position], order, name).number)
    return numbers, shape, order


def binary(converter: Converter, node: OnnxNode) -> Known:
    """Add and the like of two operands, or of several one after another."""
    positions = range(len(node.inputs))
    dtype = _plain_type(converter, node, positions)
    numbers, _, order = aligned(converter, node, positions, [dtype] * len(node.inputs))
    name, kind = node.outputs[0], _BINARY[node.kind]
    total = numbers[0]
    for number in numbers[1:]:
        total = converter.compute(kind, [total, number], dtype, name)
    target = converter.optional_target(node) if node.kind == "Div" and dtype == "float32" else None
    if target is not None:  # 0 / 0 becomes the lowest number, as onnxruntime's conversion has it on x86
        lowest = (-128 - target.zero_point) * target.scale
        total = Real(converter, total, name).at_least(lowest).number
    if node.kind == "Mean":
        total = (Real(converter, total, name) * (1 / len(numbers))).number
    return _settle_plain(converter, node, total, order, dtype)


def _settle_plain(
    converter: Converter, node: OnnxNode, number: int, order: Order, dtype: str, place: int = 0
) -> Known:
    stored = converter.builder.shape(number)
    shape = tuple(stored[order.index(axis)] for axis in range(len(order)))
    return converter.settle(node, OnnxActivation(number, shape, order, NO_SCALE, dtype=dtype), place)


def comparison(converter: Converter, node: OnnxNode) -> Known:
    """Equal and the like."""
    dtype = _plain_type(converter, node, (0, 1))
    numbers, _, order = aligned(converter, node, (0, 1), [dtype, dtype])
    number = converter.compute(_COMPARISONS[node.kind], numbers, "bool", node.outputs[0])
    return _settle_plain(converter, node, number, order, "bool")


def negation(converter: Converter, node: OnnxNode) -> Known:
    """Not."""
    value = converter.activation(node)
    number = converter.compute("LOGICAL_NOT", [value.number], "bool", node.outputs[0])
    return _settle_plain(converter, node, number, value.order, "bool")


def where(converter: Converter, node: OnnxNode) -> Known:
    """Where: each element from one of two tensors."""
    dtype = _plain_type(converter, node, (1, 2))
    numbers, _, order = aligned(converter, node, (0, 1, 2), ["bool", dtype, dtype])
    number = converter.compute("SELECT_V2", numbers, dtype, node.outputs[0])
    return _settle_plain(converter, node, number, order, dtype)


def power(converter: Converter, node: OnnxNode) -> Known:
    """Pow with a whole exponent, or a half."""
    exponent = converter.constant(node, 1).real
    if exponent.size != 1:
        raise RefusedError("in float32, its exponent must be a single number")
    value, wanted = converter.real(node), float(exponent.ravel()[0])
    given = Real(converter, value.number, node.outputs[0])
    if wanted in (0.5, -0.5):
        result = given.computed("SQRT" if wanted > 0 else "RSQRT")
    elif wanted == int(wanted) and 1 <= abs(wanted) <= 8:
        result = given
        for _ in range(int(abs(wanted)) - 1):
            result = result * given
        result = result if wanted > 0 else result.over(1.0)
    else:
        raise RefusedError(f"in float32, its exponent must be a half or up to 8 (got {wanted:g})")
    return settle(converter, node, result, value.order)


_REDUCTIONS = {"ReduceMax": "REDUCE_MAX", "ReduceMin": "REDUCE_MIN", "ReduceProd": "REDUCE_PROD",
               "GlobalMaxPool": "REDUCE_MAX"}  # fmt: skip


def reduction(converter: Converter, node: OnnxNode) -> Known:
    """ReduceMean and the like, and global pools."""
    given, kind = real_of(converter, node), node.kind
    rank = len(given.shape)
    if kind.startswith("Global"):
        axes, keeps = list(range(2, rank)), True
    else:
        axes, keeps = axes_of(converter, node, rank), bool(node.attributes.get("keepdims", 1))
    if kind in _REDUCTIONS:
        result = given.reduced(_REDUCTIONS[kind], axes, keeps)
    elif kind in ("ReduceMean", "GlobalAveragePool"):
        result = given.mean(axes, keeps)
    else:
        squares = given * given if kind in ("ReduceL2", "ReduceSumSquare") else given
        result = (given.computed("ABS") if kind == "ReduceL1" else squares).reduced("SUM", axes, keeps)
        result = result.computed("SQRT") if kind == "ReduceL2" else result
    return settle(converter, node, result)


def softmax(converter: Converter, node: OnnxNode) -> Known:
    """Softmax and LogSoftmax over any dimension."""
    given = real_of(converter, node)
    rank = len(given.shape)
    axis = axis_of(node.attributes.get("axis", -1), rank)
    if node.kind == "LogSoftmax":
        below = given - given.reduced("REDUCE_MAX", [axis])
        return settle(converter, node, below - below.exponential().reduced("SUM", [axis]).logarithm_of_sum())
    order = [*(place for place in range(rank) if place != axis), axis]
    turned = given.transposed(order)
    number = converter.compute("SOFTMAX", [turned.number], "float32", node.outputs[0], beta=1.0)
    return settle(converter, node, Real(converter, number, node.outputs[0]), tuple(order))


def product(converter: Converter, node: OnnxNode) -> Known:
    """MatMul of any operands."""
    one, other = real_of(converter, node, 0), real_of(converter, node, 1)
    if min(len(one.shape), len(other.shape)) < 2:
        raise RefusedError("in float32, its operands must have two dimensions or more")
    return settle(converter, node, one.times_rows(_turned(other)))


def _turned(matrix: Real) -> Real:
    rank = len(matrix.shape)
    if rank < 2:
        raise RefusedError(f"its operands must have two dimensions or more (got {list(matrix.shape)})")
    return matrix.transposed([*range(rank - 2), rank - 1, rank - 2])


def linear(converter: Converter, node: OnnxNode) -> Known:
    """Gemm."""
    at = node.attributes
    one, other = real_of(converter, node, 0), real_of(converter, node, 1)
    one = _turned(one) if at.get("transA") else one
    result = one.times_rows(other if at.get("transB") else _turned(other))
    result = result if at.get("alpha", 1.0) == 1.0 else result * at["alpha"]
    if converter.has(node, 2):
        bias = real_of(converter, node, 2)
        result = result + (bias if at.get("beta", 1.0) == 1.0 else bias * at["beta"])
    return settle(converter, node, result)


def prelu(converter: Converter, node: OnnxNode) -> Known:
    """PRelu."""
    numbers, _, order = aligned(converter, node, (0, 1), ["float32", "float32"])
    given, slope = (Real(converter, number, node.outputs[0]) for number in numbers)
    return settle(converter, node, given.at_least(0.0) + given.at_most(0.0) * slope, order)


IN_FLOAT32 = {
    **dict.fromkeys(FUNCTIONS, function_of),
    **dict.fromkeys(_BINARY, binary),
    **dict.fromkeys(_COMPARISONS, comparison),
    **dict.fromkeys(_REDUCTIONS, reduction),
    **dict.fromkeys(
        ("ReduceMean", "GlobalAveragePool", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare"), reduction
    ),
    "Clip": function_of,
    "Gemm": linear,
    "LogSoftmax": softmax,
    "MatMul": product,
    "Not": negation,
    "PRelu": prelu,
    "Pow": power,
    "Softmax": softmax,
    "Where": where,
}
