"""Comparisons, what combines their results, and what chooses by them."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.errors import InputError
from dlasim.isa.host_ops import BinaryFunction, CompareFunction


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
    """LOGICAL_NOT: whether something equals false."""
    false = op.new_constant("false", np.zeros(1, bool))
    zeros = dict.fromkeys(
        [f"input{number}_{name}" for number in (1, 2) for name in ("zero_point", "multiplier", "shift")], 0
    )
    return [op.call("COMPARE", (op.input_numbers[0], false), function=CompareFunction.EQUAL, **zeros)]


def select(op: BoundOperator) -> list[KernelCall]:
    """SELECT and SELECT_V2."""
    first, second, output = op.input(1), op.input(2), op.output()
    op.same_types(first, second, output)
    if output.dtype == "int8":
        scales = {(op.scale(tensor), op.zero_point(tensor)) for tensor in (first, second, output)}
        op.require(len(scales) == 1, "its operands have different scales or zero points")
    return [op.call("SELECT", op.input_numbers)]


def select_shape(op: BoundOperator) -> list[Shape]:
    """SELECT and SELECT_V2: broadcasting of three inputs; SELECT takes only equal shapes."""
    shapes = [op.shape(position) for position in range(3)]
    if op.kind == "SELECT":
        op.require(shapes[0] == shapes[1] == shapes[2], "its inputs have different shapes")
    try:
        return [np.broadcast_shapes(*shapes)]
    except ValueError:
        raise InputError(f"{op.where}: shapes {list(map(list, shapes))} do not match") from None
