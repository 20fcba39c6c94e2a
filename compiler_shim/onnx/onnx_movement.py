"""Operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_emitter import RefusedError
from dlasim.compiler_shim.onnx.onnx_folding import reshaped
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_schema import DTYPES
from dlasim.compiler_shim.onnx.onnx_values import (
    Array,
    OnnxActivation,
    OnnxConstant,
    channels_last,
    moved,
    order_after,
    plain,
    quantized,
)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise RefusedError(f"its axis must be from {-rank} to {rank - 1} (got {axis})")
    return axis % rank


def _reshaped(converter: Converter, node: OnnxNode, shape: Sequence[int]) -> None:
    """The value in another shape: a view where the order of its dimensions allows, else put off."""
    value, name, wanted = converter.activation(node), node.outputs[0], tuple(shape)
    if len(wanted) > 8 or prod(wanted) != prod(value.shape):
        raise RefusedError(f"{list(value.shape)} cannot be reshaped to {list(wanted)}")
    if value.source is not None:  # one more reshape of what was put off
        value = replace(value.source, quantization=value.quantization, curve=value.curve)
    order = order_after(value, wanted)
    if order is None:
        converter.values[name] = replace(value, shape=wanted, order=plain(len(wanted)), source=value)
        return
    number = converter.reshape(value, [wanted[axis] for axis in order], name)
    converter.values[name] = replace(value, number=number, shape=wanted, order=order)


def reshape(converter: Converter, node: OnnxNode) -> None:
    """Reshape."""
    value, wanted = converter.activation(node), converter.constant(node, 1).data
    try:
        shape = reshaped(value.shape, wanted, bool(node.attributes.get("allowzero", 0)))
    except (ValueError, IndexError):
        raise RefusedError(
            f"{list(value.shape)} cannot be reshaped to {wanted.ravel()[:8].tolist()}"
        ) from None
    _reshaped(converter, node, shape)


def flatten(converter: Converter, node: OnnxNode) -> None:
    """Flatten."""
    shape = converter.activation(node).shape
    axis = node.attributes.get("axis", 1)
    axis = axis if axis == len(shape) else _axis(axis, len(shape))
    _reshaped(converter, node, (prod(shape[:axis]), prod(shape[axis:])))


def squeeze(converter: Converter, node: OnnxNode) -> None:
    """Squeeze."""
    shape = converter.activation(node).shape
    given = converter.integers(node, 1, [axis for axis, size in enumerate(shape) if size == 1])
    axes = {_axis(axis, len(shape)) for axis in given}
    if any(shape[axis] != 1 for axis in axes):
        raise RefusedError(f"axes {sorted(axes)} of {list(shape)} are not all of size 1")
    _reshaped(converter, node, [size for axis, size in enumerate(shape) if axis not in axes])


def unsqueeze(converter: Converter, node: OnnxNode) -> None:
    """Unsqueeze."""
    shape, given = converter.activation(node).shape, converter.integers(node, 1)
    rank = len(shape) + len(given)
    axes = {_axis(axis, rank) for axis in given}
    sizes = iter(shape)
    if len(axes) != len(given):
        raise RefusedError(f"axes {given} repeat")
    _reshaped(converter, node, [1 if axis in axes else next(sizes) for axis in range(rank)])


def transpose(converter: Converter, node: OnnxNode) -> None:
    """Transpose: no operator, but another order."""
    value, name = converter.with_reshape(converter.activation(node), node.outputs[0]), node.outputs[0]
    rank = len(value.shape)
    permutation = node.attributes.get("perm", tuple(reversed(range(rank))))
    if sorted(permutation) != list(range(rank)):
        raise RefusedError(f"perm {list(permutation)[:8]} does not fit {rank} dimensions")
    converter.values[name] = moved(value, permutation)


def cast(converter: Converter, node: OnnxNode) -> None:
    """Cast from one real type to another."""
    if DTYPES.get(node.attributes.get("to", 0)) not in ("float16", "float32", "float64"):
        raise RefusedError("only conversions between real types are supported")
    identity(converter, node)


def identity(converter: Converter, node: OnnxNode) -> None:
    """Identity, and Dropout at inference."""
    converter.values[node.outputs[0]] = converter.value(node)


def concatenate(converter: Converter, node: OnnxNode) -> None:
    """Concat: each part in the scale of the whole."""
    name = node.outputs[0]
    parts = [converter.value(node, position) for position in range(len(node.inputs))]
    values = [
        converter.with_reshape(part, f"{name}/part {place}") if isinstance(part, OnnxActivation) else part
        for place, part in enumerate(parts)
    ]
    first = next((part for part in values if isinstance(part, OnnxActivation)), None)
    if first is None:
        raise RefusedError("its parts are not quantized")
    quantization = converter.optional_target(node) or first.quantization
    rank, numbers, size = len(first.shape), [], 0
    axis = _axis(node.attributes.get("axis", 0), rank)
    for place, part in enumerate(values):
        label = f"{name}/part {place}"
        if isinstance(part, OnnxConstant):
            if part.data.ndim != rank:
                raise RefusedError("its parts have different numbers of dimensions")
            data = quantized(part.real, quantization).transpose(first.order)
            numbers.append(converter.eight_bits(label, np.ascontiguousarray(data), quantization))
            size += part.data.shape[axis]
            continue
        if not isinstance(part, OnnxActivation) or len(part.shape) != rank:
            raise RefusedError("its parts have different numbers of dimensions")
        part = converter.table(part, part.real, quantization, label)
        numbers.append(converter.ordered(part, first.order, label).number)
        size += part.shape[axis]
    number = converter.emit("CONCATENATION", numbers, quantization, name, axis=first.order.index(axis))
    shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
    converter.values[name] = OnnxActivation(number, shape, first.order, quantization)


def _part(
    converter: Converter, value: OnnxActivation, begins: Sequence[int], sizes: Sequence[int], name: str
) -> OnnxActivation:
    """A box of the value, by the file's dimensions."""
    begin = converter.numbers(f"{name}/begin", [begins[axis] for axis in value.order])
    size = converter.numbers(f"{name}/size", [sizes[axis] for axis in value.order])
    number = converter.emit("SLICE", [value.number, begin, size], value.quantization, name)
    return replace(value, number=number, shape=tuple(sizes))


def slice_(converter: Converter, node: OnnxNode) -> None:
    """Slice with steps of 1, or of more than 1."""
    name = node.outputs[0]
    value = converter.with_reshape(converter.activation(node), name)
    rank = len(value.shape)
    begins, ends = converter.integers(node, 1), converter.integers(node, 2)
    axes = [_axis(axis, rank) for axis in converter.integers(node, 3, range(len(begins)))]
    steps = converter.integers(node, 4, [1] * len(begins))
    if not len(begins) == len(ends) == len(axes) == len(steps) or min(steps, default=1) < 1:
        raise RefusedError("its begins, ends, axes and steps do not fit, or a step is below 1")
    first, last, step = [0] * rank, list(value.shape), [1] * rank
    for axis, begin, end, stride in zip(axes, begins, ends, steps, strict=True):
        first[axis], last[axis], _ = slice(begin, end).indices(value.shape[axis])
        step[axis] = min(stride, value.shape[axis])
    sizes = [-(-(end - begin) // stride) for begin, end, stride in zip(first, last, step, strict=True)]
    if min(sizes, default=1) < 1:
        raise RefusedError("its result is empty")
    if max(step, default=1) == 1:
        converter.values[name] = _part(converter, value, first, sizes, name)
        return
    rows = [converter.numbers(name, [row[axis] for axis in value.order]) for row in (first, last, step)]
    number = converter.emit("STRIDED_SLICE", [value.number, *rows], value.quantization, name)
    converter.values[name] = replace(value, number=number, shape=tuple(sizes))


def split(converter: Converter, node: OnnxNode) -> None:
    """Split."""
    value = converter.with_reshape(converter.activation(node), node.outputs[0])
    axis, count = _axis(node.attributes.get("axis", 0), len(value.shape)), len(node.outputs)
    whole = value.shape[axis]
    share = -(-whole // max(count, 1))
    usual = [min(share, whole - share * place) for place in range(count)]
    sizes = converter.integers(node, 1, usual)
    if len(sizes) != count or sum(sizes) != whole or min(sizes) < 1:
        raise RefusedError(f"sizes {sizes[:8]} of {count} parts do not fit {whole}")
    begin = 0
    for name, size in zip(node.outputs, sizes, strict=True):
        begins = [begin if place == axis else 0 for place in range(len(value.shape))]
        box = [size if place == axis else other for place, other in enumerate(value.shape)]
        converter.values[name] = _part(converter, value, begins, box, name)
        begin += size


def gather(converter: Converter, node: OnnxNode) -> None:
    """Gather of one constant index: a slice."""
    name = node.outputs[0]
    value = converter.with_reshape(converter.activation(node), name)
    indices = converter.constant(node, 1).data
    axis = _axis(node.attributes.get("axis", 0), len(value.shape))
    if indices.size != 1 or indices.dtype.kind not in "iu" or indices.ndim > 1:
        raise RefusedError("only one constant index is supported")
    index = _axis(int(indices.ravel()[0]), value.shape[axis])
    begins = [index if place == axis else 0 for place in range(len(value.shape))]
    box = [1 if place == axis else size for place, size in enumerate(value.shape)]
    part = _part(converter, value, begins, box, name)
    if indices.ndim == 1:
        converter.values[name] = part
        return
    shape = tuple(size for place, size in enumerate(box) if place != axis)
    order = tuple(other - (other > axis) for other in part.order if other != axis)
    number = converter.reshape(part, [shape[place] for place in order], f"{name}/squeezed")
    converter.values[name] = replace(part, number=number, shape=shape, order=order)


def pad(converter: Converter, node: OnnxNode) -> None:
    """Pad with a constant, or with what is next to the edge."""
    name = node.outputs[0]
    value = converter.with_reshape(converter.exact(node), name)
    rank, mode = len(value.shape), node.attributes.get("mode", "constant")
    given = converter.integers(node, 1)
    axes = [_axis(axis, rank) for axis in converter.integers(node, 3, range(rank))]
    if len(given) != 2 * len(axes) or min(given, default=0) < 0 or max(given, default=0) > 1 << 15:
        raise RefusedError("its pads do not fit, or are below 0")
    pads = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        pads[axis] = given[place], given[place + len(axes)]
    amounts = converter.numbers(f"{name}/pads", [pads[axis] for axis in value.order])
    if mode == "reflect":
        number = converter.emit(
            "MIRROR_PAD", [value.number, amounts], value.quantization, name, mode="REFLECT"
        )
    elif mode == "constant":
        filler = converter.constant(node, 2).real if converter.has(node, 2) else np.zeros(1, np.float32)
        if filler.size != 1:
            raise RefusedError("it pads with a single number only")
        entry = quantized(float(filler.ravel()[0]), value.quantization).reshape(1)
        if (
            converter.has(node, 2)
            and converter.constant(node, 2).data.dtype.kind in "iu"
            and filler.dtype.kind in "iu"
        ):
            entry = _as_int8(filler)
        if int(entry[0]) == value.quantization.zero_point:
            number = converter.emit("PAD", [value.number, amounts], value.quantization, name)
        else:
            constant = converter.eight_bits(f"{name}/filler", entry, value.quantization)
            number = converter.emit("PADV2", [value.number, amounts, constant], value.quantization, name)
    else:
        raise RefusedError(f"mode {str(mode)[:20]} is not supported")
    shape = tuple(sum(pads[axis]) + size for axis, size in enumerate(value.shape))
    converter.values[name] = replace(value, number=number, shape=shape)


def _as_int8(data: Array) -> NDArray[np.int8]:
    """A filler that is an 8-bit number itself, for a Pad of integers."""
    offset = 128 if data.dtype == np.uint8 else 0
    numbers: NDArray[np.int8] = np.clip(data.astype(np.int64).ravel() - offset, -128, 127).astype(np.int8)
    return numbers


def resize(converter: Converter, node: OnnxNode) -> None:
    """Resize to the nearest neighbour, by whole factors."""
    name, at = node.outputs[0], node.attributes
    value = converter.with_reshape(converter.activation(node), name)
    rank = len(value.shape)
    if at.get("mode", "nearest") != "nearest" or rank != 4:
        raise RefusedError("only mode nearest and images of 4 dimensions are supported")
    if converter.has(node, 3):
        sizes = converter.integers(node, 3)
    else:
        scales = converter.constant(node, 2).real.ravel().tolist()
        if len(scales) != rank or not all(0 < scale < 1 << 15 for scale in scales):
            raise RefusedError("its scales do not fit")
        sizes = [int(size * scale) for size, scale in zip(value.shape, scales, strict=True)]
    if len(sizes) != rank or sizes[:2] != list(value.shape[:2]) or min(sizes) < 1 or max(sizes) > 1 << 15:
        raise RefusedError("it must keep batch and channels")
    if any(size % old for size, old in zip(sizes, value.shape, strict=True)):
        raise RefusedError(f"{list(value.shape)} to {sizes} is not by whole factors")
    if at.get("coordinate_transformation_mode", "half_pixel") not in ("asymmetric", "half_pixel"):
        raise RefusedError("its coordinates must be asymmetric or half_pixel")
    is_asymmetric = at.get("coordinate_transformation_mode", "half_pixel") == "asymmetric"
    if is_asymmetric and at.get("nearest_mode", "round_prefer_floor") != "floor":
        raise RefusedError("with asymmetric coordinates its nearest_mode must be floor")
    value = converter.image(value, name)
    wanted = converter.numbers(f"{name}/size", sizes[2:])
    number = converter.emit("RESIZE_NEAREST_NEIGHBOR", [value.number, wanted], value.quantization, name)
    converter.values[name] = replace(value, number=number, shape=tuple(sizes), order=channels_last(4))


def shape_of(converter: Converter, node: OnnxNode) -> None:
    """Shape, which is known."""
    shape = converter.value(node)
    sizes = getattr(shape, "shape", None) if not isinstance(shape, OnnxConstant) else shape.data.shape
    if sizes is None:
        raise RefusedError("its input has no shape")
    chosen = sizes[node.attributes.get("start", 0) : node.attributes.get("end", len(sizes))]
    converter.values[node.outputs[0]] = OnnxConstant(np.array(chosen, np.int64))


MOVEMENT = {
    "Cast": cast,
    "Concat": concatenate,
    "Dropout": identity,
    "Flatten": flatten,
    "Gather": gather,
    "Identity": identity,
    "Pad": pad,
    "Reshape": reshape,
    "Resize": resize,
    "Shape": shape_of,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
