"""Operators that move elements and compute nothing: by rules for whole dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_folding import reshaped
from dlasim.compiler_shim.onnx.onnx_pieces import (
    as_int8,
    axis_of,
    constant_in,
    gathered,
    in_type,
    is_exact,
    part_of,
    shaped,
    type_of_all,
)
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_schema import DTYPES
from dlasim.compiler_shim.onnx.onnx_values import (
    Known,
    NoIntegerFormError,
    OnnxActivation,
    OnnxConstant,
    RealInput,
    RefusedError,
    moved,
    quantized,
)
from dlasim.isa.limits import MAX_RANK


def _reshaped(converter: Converter, node: OnnxNode, shape: Sequence[int]) -> Known:
    return shaped(converter, converter.activation(node), shape, node.outputs[0])


def reshape(converter: Converter, node: OnnxNode) -> Known:
    """Reshape."""
    value, wanted = converter.activation(node), converter.constant(node, 1).data
    try:
        shape = reshaped(value.shape, wanted, bool(node.attributes.get("allowzero", 0)))
    except (ValueError, IndexError):
        raise RefusedError(
            f"{list(value.shape)} cannot be reshaped to {wanted.ravel()[:8].tolist()}"
        ) from None
    return _reshaped(converter, node, shape)


def flatten(converter: Converter, node: OnnxNode) -> Known:
    """Flatten."""
    shape = converter.activation(node).shape
    axis = node.attributes.get("axis", 1)
    axis = axis if axis == len(shape) else axis_of(axis, len(shape))
    return _reshaped(converter, node, (prod(shape[:axis]), prod(shape[axis:])))


def squeeze(converter: Converter, node: OnnxNode) -> Known:
    """Squeeze."""
    shape = converter.activation(node).shape
    given = converter.integers(node, 1, [axis for axis, size in enumerate(shape) if size == 1])
    axes = {axis_of(axis, len(shape)) for axis in given}
    if any(shape[axis] != 1 for axis in axes):
        raise RefusedError(f"axes {sorted(axes)} of {list(shape)} are not all of size 1")
    return _reshaped(converter, node, [size for axis, size in enumerate(shape) if axis not in axes])


def unsqueeze(converter: Converter, node: OnnxNode) -> Known:
    """Unsqueeze."""
    shape, given = converter.activation(node).shape, converter.integers(node, 1)
    rank = len(shape) + len(given)
    axes = {axis_of(axis, rank) for axis in given}
    sizes = iter(shape)
    if len(axes) != len(given):
        raise RefusedError(f"axes {given} repeat")
    return _reshaped(converter, node, [1 if axis in axes else next(sizes) for axis in range(rank)])


def transpose(converter: Converter, node: OnnxNode) -> Known:
    """Transpose: no operator, but another order."""
    value = converter.with_reshape(converter.activation(node), node.outputs[0])
    rank = len(value.shape)
    permutation = node.attributes.get("perm", tuple(reversed(range(rank))))
    if sorted(permutation) != list(range(rank)):
        raise RefusedError(f"perm {list(permutation)[:8]} does not fit {rank} dimensions")
    return moved(value, permutation)


def cast(converter: Converter, node: OnnxNode) -> Known:
    """Cast: nothing from one real type to another."""
    to = DTYPES.get(node.attributes.get("to", 0), "")
    value = converter.activation(node)
    is_real = value.dtype in ("int8", "float32")
    if is_real and to in ("float16", "float32", "float64"):
        return identity(converter, node)
    to = "float32" if to in ("float16", "float64") else to
    if to not in ("float32", "int32", "int64", "bool"):
        raise RefusedError(f"a conversion to {to or 'this type'} is not supported")
    name = node.outputs[0]
    value = converter.in_float32(value, name) if is_real else value
    number = converter.compute("CAST", [value.number], to, name)
    return converter.settle(node, replace(value, number=number, dtype=to))


def identity(converter: Converter, node: OnnxNode) -> Known:
    """Identity, and Dropout at inference."""
    return converter.known(node)


def concatenate(converter: Converter, node: OnnxNode) -> Known:
    """Concat: each part in the scale of the whole."""
    name = node.outputs[0]
    parts = [converter.known(node, position) for position in range(len(node.inputs))]
    first = next((part for part in parts if isinstance(part, OnnxActivation)), None)
    if first is None:
        raise RefusedError("its parts are all constant")
    first = converter.with_reshape(first, name)
    dtype, quantization = type_of_all(converter, node, parts)
    rank, numbers, size = len(first.shape), [], 0
    axis = axis_of(node.attributes.get("axis", 0), rank)
    for place, part in enumerate(parts):
        label = f"{name}/part {place}"
        if len(part.shape) != rank:
            raise RefusedError("its parts have different numbers of dimensions")
        if isinstance(part, OnnxConstant):
            numbers.append(constant_in(converter, part, dtype, quantization, first.order, label))
        else:
            value = in_type(converter, part, dtype, quantization, label)
            numbers.append(converter.ordered(value, first.order, label).number)
        size += part.shape[axis]
    shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
    whole = OnnxActivation(0, shape, first.order, quantization, dtype=dtype)
    number = converter.move("CONCATENATION", numbers, whole, name, axis=first.order.index(axis))
    return replace(whole, number=number)


def slice_(converter: Converter, node: OnnxNode) -> Known:
    """Slice with steps of 1, or of more than 1."""
    name = node.outputs[0]
    value = converter.with_reshape(converter.activation(node), name)
    rank = len(value.shape)
    begins, ends = converter.integers(node, 1), converter.integers(node, 2)
    axes = [axis_of(axis, rank) for axis in converter.integers(node, 3, range(len(begins)))]
    steps = converter.integers(node, 4, [1] * len(begins))
    if not len(begins) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise RefusedError("its begins, ends, axes and steps do not fit")
    if min(steps, default=1) < 0:
        return _backwards(converter, value, (begins, ends, axes, steps), name)
    first, last, step = [0] * rank, list(value.shape), [1] * rank
    for axis, begin, end, stride in zip(axes, begins, ends, steps, strict=True):
        first[axis], last[axis], _ = slice(begin, end).indices(value.shape[axis])
        step[axis] = min(stride, value.shape[axis])
    sizes = [-(-(end - begin) // stride) for begin, end, stride in zip(first, last, step, strict=True)]
    if min(sizes, default=1) < 1:
        raise RefusedError("its result is empty")
    if max(step, default=1) == 1:
        return part_of(converter, value, first, sizes, name)
    rows = [converter.numbers(name, [row[axis] for axis in value.order]) for row in (first, last, step)]
    number = converter.move("STRIDED_SLICE", [value.number, *rows], value, name)
    return replace(value, number=number, shape=tuple(sizes))


def _backwards(
    converter: Converter, value: OnnxActivation, rows: Sequence[Sequence[int]], name: str
) -> Known:
    """A Slice with a step below 0: an index for each place."""
    for begin, end, axis, step in zip(*rows, strict=True):
        end = end if step > 0 or end >= -value.shape[axis] else -(1 << 62)
        places = np.arange(value.shape[axis])[slice(begin, None if end < -(1 << 60) else end, step)]
        if not places.size:
            raise RefusedError("its result is empty")
        value = gathered(converter, value, places, axis, name)
    return value


def split(converter: Converter, node: OnnxNode) -> None:
    """Split, whose results are several."""
    value = converter.with_reshape(converter.activation(node), node.outputs[0])
    axis, count = axis_of(node.attributes.get("axis", 0), len(value.shape)), len(node.outputs)
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
        converter.values[name] = part_of(converter, value, begins, box, name)
        begin += size


def pad(converter: Converter, node: OnnxNode) -> OnnxActivation:
    """Pad with a constant, or with what is next to the edge."""
    name = node.outputs[0]
    value = converter.with_reshape(converter.activation(node), name)
    rank, mode = len(value.shape), node.attributes.get("mode", "constant")
    given = converter.integers(node, 1)
    axes = [axis_of(axis, rank) for axis in converter.integers(node, 3, range(rank))]
    if len(given) != 2 * len(axes) or min(given, default=0) < 0 or max(given, default=0) > 1 << 15:
        raise RefusedError("its pads do not fit, or are below 0")
    pads = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        pads[axis] = given[place], given[place + len(axes)]
    amounts = converter.numbers(f"{name}/pads", [pads[axis] for axis in value.order])
    if max(given, default=0) == 0:
        return value
    if mode == "edge":
        return _at_edge(converter, value, pads, name)
    if mode == "reflect":
        number = converter.move("MIRROR_PAD", [value.number, amounts], value, name, mode="REFLECT")
    elif mode == "constant":
        number = _padded(converter, node, value, amounts)
    else:
        raise RefusedError(f"mode {str(mode)[:20]} is not supported")
    shape = tuple(sum(pads[axis]) + size for axis, size in enumerate(value.shape))
    return replace(value, number=number, shape=shape)


def _padded(converter: Converter, node: OnnxNode, value: OnnxActivation, amounts: int) -> int:
    """A Pad with one number."""
    name = node.outputs[0]
    filler = converter.constant(node, 2).real if converter.has(node, 2) else np.zeros(1, np.float32)
    if filler.size != 1:
        raise RefusedError("it pads with a single number only")
    if value.dtype != "int8":
        constant = converter.builder.constant(f"{name[:50]}/filler", filler.reshape(1).astype(value.dtype))
        return converter.move("PADV2", [value.number, amounts, constant], value, name)
    if value.curve is not None:
        raise NoIntegerFormError(f"its input {node.inputs[0][:60]} is not quantized")
    is_asked_for = converter.optional_target(node) == value.quantization
    if not is_asked_for and not is_exact(OnnxConstant(filler), value.quantization):
        raise NoIntegerFormError("the number to pad with is not one of its scale")
    entry = quantized(float(filler.ravel()[0]), value.quantization).reshape(1)
    is_plain = converter.has(node, 2) and converter.constant(node, 2).data.dtype.kind in "iu"
    if is_plain and filler.dtype.kind in "iu":
        entry = as_int8(filler)
    if int(entry[0]) == value.quantization.zero_point:
        return converter.emit("PAD", [value.number, amounts], value.quantization, name)
    constant = converter.eight_bits(f"{name}/filler", entry, value.quantization)
    return converter.emit("PADV2", [value.number, amounts, constant], value.quantization, name)


def _at_edge(
    converter: Converter, value: OnnxActivation, pads: Sequence[tuple[int, int]], name: str
) -> OnnxActivation:
    """A Pad with what is at the edge."""
    for axis, (before, after) in enumerate(pads):
        if before or after:
            size = value.shape[axis]
            places = np.arange(-before, size + after).clip(0, size - 1)
            value = gathered(converter, value, places, axis, name)
    return value


def pad_in_float32(converter: Converter, node: OnnxNode) -> Known:
    """Pad of what is not quantized."""
    converter.values[node.inputs[0]] = converter.real(node)
    return converter.settle(node, pad(converter, node))


def expand(converter: Converter, node: OnnxNode) -> Known:
    """Expand."""
    value, wanted = converter.activation(node), converter.integers(node, 1)
    if min(wanted, default=1) < 1 or max(wanted, default=1) > 1 << 20 or len(wanted) > MAX_RANK:
        raise RefusedError(f"shape {wanted[:8]} is not supported")
    try:
        shape = np.broadcast_shapes(value.shape, tuple(wanted))
    except ValueError:
        raise RefusedError(f"{list(value.shape)} cannot be expanded to {wanted[:8]}") from None
    name = node.outputs[0]
    value = converter.extended(value, len(shape), name)
    if shape != value.shape:
        numbers = converter.numbers(name, [shape[axis] for axis in value.order])
        number = converter.move("BROADCAST_TO", [value.number, numbers], value, name)
        value = replace(value, number=number, shape=shape)
    return value


def tile(converter: Converter, node: OnnxNode) -> Known:
    """Tile."""
    name = node.outputs[0]
    value, repeats = converter.with_reshape(converter.activation(node), name), converter.integers(node, 1)
    if len(repeats) != len(value.shape) or min(repeats, default=1) < 1 or max(repeats, default=1) > 1 << 20:
        raise RefusedError(f"repeats {repeats[:8]} do not fit shape {list(value.shape)}")
    if max(repeats, default=1) > 1:
        numbers = converter.numbers(name, [repeats[axis] for axis in value.order])
        number = converter.move("TILE", [value.number, numbers], value, name)
        shape = tuple(size * count for size, count in zip(value.shape, repeats, strict=True))
        value = replace(value, number=number, shape=shape)
    return value


def shape_of(converter: Converter, node: OnnxNode) -> Known:
    """Shape and Size, which are known."""
    value = converter.value(node)
    if not isinstance(value, OnnxActivation | RealInput):
        raise RefusedError("its input has no shape")
    at, sizes = node.attributes, np.array(value.shape, np.int64)
    found = sizes.prod() if node.kind == "Size" else sizes[at.get("start", 0) : at.get("end", len(sizes))]
    return OnnxConstant(np.asarray(found, np.int64))


MOVEMENT = {
    "Cast": cast,
    "Concat": concatenate,
    "Dropout": identity,
    "Expand": expand,
    "Flatten": flatten,
    "Identity": identity,
    "Pad": pad,
    "Reshape": reshape,
    "Shape": shape_of,
    "Size": shape_of,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
