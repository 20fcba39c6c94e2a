"""Operators of an ONNX file whose inputs are all constant: mostly the arithmetic of shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.onnx.onnx_functions import FUNCTIONS, Function
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_schema import DTYPES
from dlasim.compiler_shim.onnx.onnx_values import Array, OnnxConstant

_KEEP_SCALE = frozenset(
    ("Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose",
     "Unsqueeze")
)  # fmt: skip
_MAX_ELEMENTS = 1 << 20  # what a small file may ask for, beyond what it has itself
Fold = Callable[[list[Array], Mapping[str, Any]], Array]


def fold_node(node: OnnxNode, inputs: Sequence[object]) -> list[OnnxConstant] | None:
    """The node's results; None where it is not one of these operators, or cannot be computed.

    What moves elements of a constant with one scale keeps the scale, and so does a Transpose with several.
    """
    constants = [value for value in inputs if isinstance(value, OnnxConstant)]
    first = constants[0] if constants else None
    if node.kind in _KEEP_SCALE and first is not None and first.quantization is not None:
        found = _moved_scale(node, first)
        if found is not None:
            moved = _results(node, [first.data, *(value.data for value in constants[1:])])
            return None if moved is None else [OnnxConstant(data, found) for data in moved]
    given = [value.real if isinstance(value, OnnxConstant) else None for value in inputs]
    results = _results(node, given)
    return None if results is None else [OnnxConstant(data) for data in results]


def _moved_scale(node: OnnxNode, value: OnnxConstant) -> Quantization | None:
    found = value.quantization
    if found is None or not found.per_channel:
        return found
    turned = tuple(node.attributes.get("perm", reversed(range(value.data.ndim))))
    is_transpose = node.kind == "Transpose" and sorted(turned) == list(range(value.data.ndim))
    return replace(found, axis=turned.index(found.axis)) if is_transpose else None


def _results(node: OnnxNode, inputs: Sequence[Array | None]) -> list[Array] | None:
    try:
        with np.errstate(all="ignore"):
            if node.kind == "Split":
                return _split(node, inputs)
            fold = _FOLDS.get(node.kind)
            if fold is None or len(node.outputs) != 1:
                return None
            result = np.asarray(fold([*inputs], node.attributes))  # type: ignore[list-item]
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, ZeroDivisionError, AttributeError):
        return None
    return [result] if result.dtype.kind in "iufb" else None


def _split(node: OnnxNode, inputs: Sequence[Array | None]) -> list[Array] | None:
    data, axis, count = np.asarray(inputs[0]), node.attributes.get("axis", 0), len(node.outputs)
    if len(inputs) > 1 and inputs[1] is not None:
        sizes = inputs[1].ravel().tolist()
    else:
        share = -(-data.shape[axis] // count)
        sizes = [min(share, data.shape[axis] - share * place) for place in range(count)]
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != data.shape[axis]:
        return None
    return list(np.split(data, np.cumsum(sizes)[:-1], axis))


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


def _mean(data: Array, axis: Any, keepdims: bool) -> Array:
    return np.asarray(np.mean(data, axis=axis, keepdims=keepdims, dtype=data.dtype))


def _clip(inputs: list[Array]) -> Array:
    low, high = (inputs[place] if place < len(inputs) else None for place in (1, 2))
    return np.asarray(np.clip(inputs[0], low, high))


def _tile(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    data, repeats = inputs
    _bounded([data.size, *repeats.ravel().clip(1).tolist()])
    return np.tile(data, _bounded(repeats))


def _triangle(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    offset = int(inputs[1].ravel()[0]) if len(inputs) > 1 else 0
    return np.triu(inputs[0], offset) if at.get("upper", 1) else np.tril(inputs[0], offset)


def _flatten(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    return inputs[0].reshape(prod(inputs[0].shape[: at.get("axis", 1)]), -1)


def _scatter(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    data, indices, updates = inputs
    if at.get("reduction", "none") != "none":
        raise ValueError
    result = data.copy()
    result[tuple(np.moveaxis(indices, -1, 0))] = updates
    return result


def _gather_nd(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    if at.get("batch_dims", 0):
        raise ValueError
    data, indices = inputs
    _bounded([data.size, indices.size])
    return np.asarray(data[tuple(np.moveaxis(indices, -1, 0))])


def _sums(inputs: list[Array], at: Mapping[str, Any]) -> Array:
    if at.get("exclusive") or at.get("reverse"):
        raise ValueError
    return np.cumsum(inputs[0], int(inputs[1].ravel()[0]), dtype=inputs[0].dtype)


def _product(inputs: list[Array], _: Mapping[str, Any]) -> Array:
    one, two = inputs
    _bounded([one.size, two.shape[-1]])
    return np.asarray(np.matmul(one, two))


def _pair(function: Callable[..., Any]) -> Fold:
    """A function of several operands, one after another."""

    def fold(inputs: list[Array], at: Mapping[str, Any]) -> Array:
        result = inputs[0]
        for other in inputs[1:]:
            result = _each(function)([result, other], at)
        return result

    return fold


def _function(function: Function) -> Fold:
    return lambda inputs, at: function(inputs[0], at)


_FOLDS: Mapping[str, Fold] = {
    **{kind: _function(function) for kind, function in FUNCTIONS.items()},
    "Add": _each(np.add),
    "And": _each(np.logical_and),
    "Cast": _cast,
    "CastLike": lambda inputs, _: inputs[0].astype(inputs[1].dtype),
    "Clip": lambda inputs, _: _clip(inputs),
    "Concat": lambda inputs, at: np.concatenate(inputs, at["axis"]),
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "CumSum": _sums,
    "Div": _divided,
    "Equal": _each(np.equal),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": lambda inputs, at: np.take_along_axis(inputs[0], inputs[1], at.get("axis", 0)),
    "GatherND": _gather_nd,
    "Greater": _each(np.greater),
    "GreaterOrEqual": _each(np.greater_equal),
    "Identity": _each(np.asarray),
    "IsNaN": _each(np.isnan),
    "Less": _each(np.less),
    "LessOrEqual": _each(np.less_equal),
    "MatMul": _product,
    "Max": _pair(np.maximum),
    "Min": _pair(np.minimum),
    "Mod": _each(lambda one, two: np.mod(one, two)),
    "Mul": _each(np.multiply),
    "Not": _each(np.logical_not),
    "Or": _each(np.logical_or),
    "Pow": lambda inputs, _: np.power(inputs[0], inputs[1].astype(inputs[0].dtype)),
    "Range": _range,
    "ReduceMax": _reduce(np.max),
    "ReduceMean": _reduce(_mean),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Reshape": _reshape,
    "ScatterND": _scatter,
    "Shape": lambda inputs, at: np.array(inputs[0].shape[at.get("start", 0) : at.get("end")], np.int64),
    "Sign": _each(np.sign),
    "Size": lambda inputs, _: np.array(inputs[0].size, np.int64),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _each(np.subtract),
    "Tile": _tile,
    "Transpose": lambda inputs, at: np.transpose(inputs[0], at.get("perm")),
    "Trilu": _triangle,
    "Unsqueeze": lambda inputs, at: np.expand_dims(inputs[0], tuple(inputs[1].ravel().tolist())),
    "Where": _each(np.where),
    "Xor": _each(np.logical_xor),
}  # fmt: skip
