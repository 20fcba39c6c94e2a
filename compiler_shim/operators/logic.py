"""Comparisons, what combines their results, and what chooses by them."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.calls.views import dense
from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators import lookup
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.strided import copy_call
from dlasim.errors import InputError
from dlasim.isa.host_op_rows import BinaryFunction, CompareFunction

_MAX_DEPTH = 1 << 20  # of ONE_HOT, whose output has an element for each


def compare(op: BoundOperator) -> list[KernelCall]:
    """EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER and GREATER_EQUAL."""
    first, second = op.input(0), op.input(1)
    op.same_types(first, second)
    op.types(first, "int8", "int16", "int32", "int64", "bool", "float32")
    function = CompareFunction[op.kind]
    is_order = function > CompareFunction.NOT_EQUAL
    # LiteRT, which alone has int16, orders the integers as they are, and rescales to find equals.
    is_rescaled = first.dtype == "int8" or (first.dtype == "int16" and not is_order)
    attributes = {"input1_zero_point": 0, "input2_zero_point": 0}
    for number, tensor in ((1, first), (2, second)):
        multiplier, shift = 0, 0
        if is_rescaled:
            op.require(op.scale(tensor) < 1, f"{tensor.name} has a scale of 1 or more")
            multiplier, shift = op.multiplier(op.scale(tensor))
            attributes[f"input{number}_zero_point"] = op.zero_point(tensor)
        attributes |= {f"input{number}_multiplier": multiplier, f"input{number}_shift": shift}
    op.require(
        first.dtype != "bool" or not is_order,
        "bool values have no order; only EQUAL and NOT_EQUAL compare them",
    )
    return [op.call("COMPARE", op.input_numbers, function=function, **attributes)]


def logical(op: BoundOperator) -> list[KernelCall]:
    """LOGICAL_AND and LOGICAL_OR: the lesser and the greater of two."""
    function = BinaryFunction.MINIMUM if op.kind == "LOGICAL_AND" else BinaryFunction.MAXIMUM
    return [op.call("BINARY", op.input_numbers, function=function, clamp_min=0, clamp_max=0)]


def logical_not(op: BoundOperator) -> list[KernelCall]:
    """LOGICAL_NOT: a table."""
    return [lookup.table_call(op, ~np.arange(256).astype(bool))]


def _equality(op: BoundOperator, first: int | Tensor, second: Tensor, output: Tensor) -> KernelCall:
    """The call that finds equal elements, of a type other than int8."""
    zeros = dict.fromkeys(
        [f"input{number}_{name}" for number in (1, 2) for name in ("zero_point", "multiplier", "shift")], 0
    )
    return op.call("COMPARE", (first, second), (output,), function=CompareFunction.EQUAL, **zeros)


def one_hot(op: BoundOperator) -> list[KernelCall]:
    """ONE_HOT: the index, repeated, is compared with each number below the depth.

    The two values are copied as they are, whatever their scales, as LiteRT does.
    """
    indices, output = op.input(), op.output()
    op.same_types(op.input(2), op.input(3), output)
    axis, depth = _one_hot_axis(op), op.scalar(1)
    rest = (1,) * (len(output.shape) - 1 - axis)
    numbers = op.new_constant("numbers", np.arange(depth, dtype=indices.dtype).reshape(depth, *rest))
    table = _hot_values(op)
    if table is not None and indices.elements == 1:
        is_hot = Tensor(f"{output.name}/is_hot", np.broadcast_shapes(indices.shape, numbers.shape), "bool")
        return [_equality(op, op.input_numbers[0], numbers, is_hot), op.call("LUT", (is_hot, table))]
    column = Tensor(f"{output.name}/index", (*indices.shape[:axis], 1, *indices.shape[axis:]), indices.dtype)
    is_hot = Tensor(f"{output.name}/is_hot", output.shape, "bool")
    values = (table,) if table is not None else op.input_numbers[2:]
    return [
        copy_call(op, op.input_numbers[0], dense(indices.shape), column),
        _equality(op, column, numbers, is_hot),
        op.call("SELECT" if table is None else "LUT", (is_hot, *values)),
    ]


def _hot_values(op: BoundOperator) -> Tensor | None:
    """The table of ONE_HOT's values by false and true, if they are constants of int8."""
    on, off = op.input(2), op.input(3)
    if on.dtype != "int8" or on.data is None or off.data is None:
        return None
    table = np.full(256, off.data.item(), np.int8)
    table[1] = on.data.item()
    return op.new_constant("table", table)


def one_hot_shape(op: BoundOperator) -> list[Shape]:
    """ONE_HOT: a dimension for the depth, in front of the axis, or at the end."""
    shape, depth = op.shape(0), op.scalar(1)
    op.require(1 <= depth <= _MAX_DEPTH, f"its depth must be from 1 to {_MAX_DEPTH} (got {depth})")
    for position in (2, 3):
        op.require(op.input(position).elements == 1, "its values must be single numbers")
    axis = _one_hot_axis(op)
    return [(*shape[:axis], depth, *shape[axis:])]


def _one_hot_axis(op: BoundOperator) -> int:
    rank = len(op.shape(0))
    return rank if op.option("axis") == -1 else op.axis(op.option("axis"), rank + 1)


def select(op: BoundOperator) -> list[KernelCall]:
    """SELECT and SELECT_V2."""
    _check_choices(op, op.input(1), op.input(2))
    return [op.call("SELECT", op.input_numbers)]


def _check_choices(op: BoundOperator, first: Tensor, second: Tensor) -> None:
    """What the output is chosen from has its type and scale."""
    output = op.output()
    op.same_types(first, second, output)
    if output.dtype == "int8":
        scales = {(op.scale(tensor), op.zero_point(tensor)) for tensor in (first, second, output)}
        op.require(len(scales) == 1, "its operands have different scales or zero points")


def select_shape(op: BoundOperator) -> list[Shape]:
    """SELECT and SELECT_V2: broadcasting of three inputs; SELECT takes only equal shapes."""
    shapes = [op.shape(position) for position in range(3)]
    if op.kind == "SELECT":
        op.require(shapes[0] == shapes[1] == shapes[2], "its inputs have different shapes")
    try:
        return [np.broadcast_shapes(*shapes)]
    except ValueError:
        raise InputError(f"{op.where}: shapes {list(map(list, shapes))} do not match") from None
