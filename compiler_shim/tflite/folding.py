"""Operators whose inputs are all constant, computed at import: mostly the arithmetic of open shapes.

Only what needs no quantization is folded. Leaving an operator in place is always right, so anything unusual
stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.graph import Tensor
from dlasim.compiler_shim.tflite.shape_step import Step

Values = list[NDArray[Any]]
# Of the values themselves; int8 stands for reals and is left to the kernels.
_PLAIN = ("int32", "int64", "float32", "bool")
# Shapes are short. Nothing else may grow, or a small file could ask for gigabytes.
_MAX_GROWN_ELEMENTS = 1 << 16


def fold(step: Step, outputs: Sequence[Tensor]) -> Values | None:
    """The operator's results if they are known before the first inference; `outputs` have their shapes."""
    if step.operator.kind == "SHAPE" and outputs[0].dtype in ("int32", "int64"):
        return [np.asarray(step.shape(0), dtype=outputs[0].dtype)]
    rule = _MOVES.get(step.operator.kind) or _ARITHMETIC.get(step.operator.kind)
    tensors = [tensor for tensor in step.inputs if tensor is not None]
    if rule is None or not tensors or not all(tensor.is_constant for tensor in tensors):
        return None
    if step.operator.kind not in _RESHAPES and any(tensor.dtype not in _PLAIN for tensor in tensors):
        return None
    if step.operator.options.get("fused_activation_function", "NONE") != "NONE":
        return None
    if math.prod(outputs[0].shape) > max(_MAX_GROWN_ELEMENTS, sum(tensor.elements for tensor in tensors)):
        return None
    return _shaped(rule(step, outputs[0]), outputs)


def _shaped(values: Values | None, outputs: Sequence[Tensor]) -> Values | None:
    if values is None:
        return None
    pairs = list(zip(values, outputs, strict=True))
    if any(value.dtype != output.dtype for value, output in pairs):
        return None
    return [np.ascontiguousarray(value).reshape(output.shape) for value, output in pairs]


Rule = Callable[[Step, Tensor], Values | None]


def _data(step: Step, position: int) -> NDArray[Any]:
    data = step.tensor(position).data
    assert data is not None
    return data


def _reshape(step: Step, output: Tensor) -> Values:
    return [_data(step, 0)]


def _transpose(step: Step, output: Tensor) -> Values:
    return [np.transpose(_data(step, 0), step.integers(1))]


def _concatenation(step: Step, output: Tensor) -> Values:
    parts = [_data(step, position) for position in range(len(step.inputs))]
    return [np.concatenate(parts, axis=step.option("axis"))]


def _pack(step: Step, output: Tensor) -> Values:
    parts = [_data(step, position) for position in range(len(step.inputs))]
    return [np.stack(parts, axis=step.option("axis"))]


def _unpack(step: Step, output: Tensor) -> Values:
    return list(np.moveaxis(_data(step, 0), step.option("axis"), 0))


def _strided_slice(step: Step, output: Tensor) -> Values:
    bounds = zip(*(step.integers(position) for position in (1, 2, 3)), strict=True)
    return [_data(step, 0)[tuple(_index(step, 1 << axis, *bound) for axis, bound in enumerate(bounds))]]


def _index(step: Step, bit: int, begin: int, end: int, stride: int) -> int | slice:
    if step.option("shrink_axis_mask") & bit:
        return begin
    start = None if step.option("begin_mask") & bit else begin
    return slice(start, None if step.option("end_mask") & bit else end, stride)


def _slice(step: Step, output: Tensor) -> Values:
    ranges = zip(step.integers(1), output.shape, strict=True)
    return [_data(step, 0)[tuple(slice(begin, begin + size) for begin, size in ranges)]]


def _gather(step: Step, output: Tensor) -> Values | None:
    if step.option("batch_dims") != 0:
        return None
    return [np.take(_data(step, 0), _data(step, 1), axis=step.option("axis"))]


def _cast(step: Step, output: Tensor) -> Values | None:
    data = _data(step, 0)
    if (
        data.dtype.kind == "f"
        and output.dtype not in ("float32", "bool")
        and not (np.abs(data) < 2**31).all()
    ):
        return None
    return [data.astype(output.dtype)] if output.dtype in _PLAIN else None


def _binary(function: Callable[..., NDArray[Any]], divides: bool = False) -> Rule:
    def rule(step: Step, output: Tensor) -> Values | None:
        first, second = _data(step, 0), _data(step, 1)
        if divides and not second.all():
            return None
        # As in TensorFlow: integers wrap, and what is no number is no error.
        with np.errstate(all="ignore"):
            return [np.asarray(function(first, second))]

    return rule


_RESHAPES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE")
_MOVES: Mapping[str, Rule] = {
    "CAST": _cast,
    "CONCATENATION": _concatenation,
    "EXPAND_DIMS": _reshape,
    "GATHER": _gather,
    "PACK": _pack,
    "RESHAPE": _reshape,
    "SLICE": _slice,
    "SQUEEZE": _reshape,
    "STRIDED_SLICE": _strided_slice,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
_ARITHMETIC: Mapping[str, Rule] = {
    "ADD": _binary(np.add),
    "FLOOR_DIV": _binary(np.floor_divide, divides=True),
    "MAXIMUM": _binary(np.maximum),
    "MINIMUM": _binary(np.minimum),
    "MUL": _binary(np.multiply),
    "SUB": _binary(np.subtract),
}
