"""Operators of an ONNX file whose inputs are all constant: mostly the arithmetic of shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_schema import DTYPES
from dlasim.compiler_shim.onnx.onnx_values import Array

_MAX_ELEMENTS = 1 << 20  # what a small file may ask for, beyond what it has itself
Fold = Callable[[list[Array], Mapping[str, Any]], Array]


def fold_constants(node: OnnxNode, inputs: list[Array]) -> Array | None:
    """The node's result; None where it is not one of these operators, or cannot be computed."""
    fold = _FOLDS.get(node.kind)
    if fold is None or len(node.outputs) != 1:
        return None
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(fold(inputs, node.attributes))
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, ZeroDivisionError, AttributeError):
        return None
    return result if result.dtype.kind in "iufb" else None


def _bounded(shape: Any) -> tuple[int, ...]:
    sizes = tuple(int(size) for size in np.asarray(shape).ravel())
    if len(sizes) > 8 or min(sizes, default=0) < 0 or prod(sizes) > _MAX_ELEMENTS:
        raise ValueError
    return sizes


def _constant(_: list[Array], at: Mapping[str, Any]) -> Array:
    for name, dtype in (("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32),
                        ("value_floats", np.float32)):  # fmt: skip
        if name in at:
            return np.array(at[name], dtype)
    return np.asarray(at["value"])


def _filled(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    value = at.get("value", np.zeros(1, np.float32))
    return np.full(_bounded(inputs[0]), value.ravel()[0], value.dtype)


def _cast(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    return inputs[0].astype(DTYPES[at["to"]])


def _range(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    first, limit, step = (item.item() for item in inputs)
    _bounded([max(0, int((limit - first) / step) + 1)])
    return np.arange(first, limit, step, dtype=inputs[0].dtype)


def _divided(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    one, two = inputs
    return np.trunc(one / two).astype(one.dtype) if one.dtype.kind in "iu" else one / two


def _slice(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    data, *rest = inputs
    begins, ends = (item.ravel().tolist() for item in rest[:2])
    axes = rest[2].ravel().tolist() if len(rest) > 2 else range(len(begins))
    steps = rest[3].ravel().tolist() if len(rest) > 3 else [1] * len(begins)
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        place: list[Any] = [slice(None)] * data.ndim
        place[axis] = slice(begin, None if step < 0 and end < -data.shape[axis] else end, step)
        data = data[tuple(place)]
    return data


def _reshape(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    return inputs[0].reshape(reshaped(inputs[0].shape, inputs[1], bool(at.get("allowzero", 0))))


def reshaped(shape: tuple[int, ...], wanted: Array, zero_is_zero: bool) -> tuple[int, ...]:
    """The shape that a Reshape asks for: 0 copies a size, -1 is the rest; ValueError if there is none."""
    sizes = [int(size) for size in wanted.ravel()]
    if not zero_is_zero:
        sizes = [shape[place] if size == 0 else size for place, size in enumerate(sizes)]
    if sizes.count(-1) == 1:
        others = prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = prod(shape) // others if others else -1
    if len(sizes) > 8 or min(sizes, default=0) < 0 or prod(sizes) != prod(shape):
        raise ValueError
    return tuple(sizes)


def _squeeze(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    return np.squeeze(inputs[0], tuple(inputs[1].ravel().tolist()) if len(inputs) > 1 else None)


def _expand(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    shape = _bounded(inputs[1])
    return np.broadcast_to(inputs[0], _bounded(np.broadcast_shapes(inputs[0].shape, shape)))


def _reduce(function: Callable[..., Array]) -> Fold:
    def fold(inputs: list[Array], at: Mapping[str, Any]) -> Array:
        axes = inputs[1] if len(inputs) > 1 else np.array(at.get("axes", range(inputs[0].ndim)))
        return np.asarray(
            function(inputs[0], axis=tuple(axes.ravel().tolist()), keepdims=bool(at.get("keepdims", 1)))
        )

    return fold


def _each(function: Callable[..., Any]) -> Fold:
    def fold(inputs: list[Array], _: Mapping[str, Any]) -> Array:
        if len(inputs) > 1 and max(item.size for item in inputs) < prod(
            np.broadcast_shapes(*map(np.shape, inputs))
        ):
            _bounded(np.broadcast_shapes(*map(np.shape, inputs)))
        return np.asarray(function(*inputs))

    return fold


def _gather(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    data, indices = inputs
    axis = at.get("axis", 0)
    _bounded([data.size // max(data.shape[axis], 1), indices.size])
    return np.take(data, indices, axis)


_FOLDS: Mapping[str, Fold] = {
    "Add": _each(np.add),
    "Cast": _cast,
    "Ceil": _each(np.ceil),
    "Concat": lambda inputs, at: np.concatenate(inputs, at["axis"]),
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Div": _divided,
    "Equal": _each(np.equal),
    "Expand": _expand,
    "Floor": _each(np.floor),
    "Gather": _gather,
    "Identity": _each(np.asarray),
    "Max": _each(np.maximum),
    "Min": _each(np.minimum),
    "Mul": _each(np.multiply),
    "Neg": _each(np.negative),
    "Range": _range,
    "ReduceProd": _reduce(np.prod),
    "ReduceMax": _reduce(np.max),
    "Reshape": _reshape,
    "Slice": _slice,
    "Sqrt": _each(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _each(np.subtract),
    "Transpose": lambda inputs, at: np.transpose(inputs[0], at.get("perm")),
    "Unsqueeze": lambda inputs, at: np.expand_dims(inputs[0], tuple(inputs[1].ravel().tolist())),
    "Where": _each(np.where),
}  # fmt: skip
