"""Resize: to the nearest neighbour with integers, between neighbours in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_float import real_of, settle
from dlasim.compiler_shim.onnx.onnx_pieces import axis_of, gathered
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_real import Real
from dlasim.compiler_shim.onnx.onnx_values import (
    Array,
    Known,
    NoIntegerFormError,
    OnnxActivation,
    RefusedError,
    channels_last,
    plain,
)


def resize(converter: Converter, node: OnnxNode) -> Known:
    """Resize to the nearest neighbour: an index for each row and column, unless the factors are whole."""
    name, at = node.outputs[0], node.attributes
    value = converter.with_reshape(converter.activation(node), name)
    sizes, scales = resized(converter, node, value.shape)
    if at.get("mode", "nearest") != "nearest":
        return _interpolated_integers(converter, node, value, sizes)
    way = at.get("coordinate_transformation_mode", "half_pixel")
    nearest = at.get("nearest_mode", "round_prefer_floor")
    is_whole = len(sizes) == 4 and sizes[:2] == list(value.shape[:2])
    is_whole = is_whole and not any(size % old for size, old in zip(sizes, value.shape, strict=True))
    if is_whole and (way, nearest) in (("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")):
        value = converter.image(value, name)
        wanted = converter.numbers(f"{name}/size", sizes[2:])
        number = converter.move("RESIZE_NEAREST_NEIGHBOR", [value.number, wanted], value, name)
        return replace(value, number=number, shape=tuple(sizes), order=channels_last(4))
    for axis, size in enumerate(sizes):
        if size != value.shape[axis]:
            places = centres(way, value.shape[axis], size, scales[axis])
            value = gathered(converter, value, _nearest(places, nearest, value.shape[axis]), axis, name)
    return value


def _interpolated_integers(
    converter: Converter, node: OnnxNode, value: OnnxActivation, sizes: Sequence[int]
) -> OnnxActivation:
    """Mode linear: exact but for halves where the factors are powers of two and the scale stays."""
    way = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    factors = {new / old for new, old in zip(sizes[2:], value.shape[2:], strict=True)}
    is_exact = len(sizes) == 4 and list(sizes[:2]) == list(value.shape[:2]) and factors <= {1, 2, 4, 8, 16}
    is_exact = is_exact and way in ("asymmetric", "half_pixel", "pytorch_half_pixel") and min(sizes[2:]) > 1
    is_kept = value.dtype == "int8" and value.curve is None
    if not is_exact or not is_kept or converter.optional_target(node) != value.quantization:
        raise NoIntegerFormError("only mode nearest is exact with integers")
    name = node.outputs[0]
    image = converter.image(value, name)
    inputs = [image.number, converter.numbers(f"{name}/size", list(sizes[2:]))]
    is_half = way != "asymmetric"
    number = converter.emit("RESIZE_BILINEAR", inputs, value.quantization, name, half_pixel_centers=is_half)
    return replace(image, number=number, shape=tuple(sizes))


def resized(converter: Converter, node: OnnxNode, shape: Sequence[int]) -> tuple[list[int], list[float]]:
    """The shape that a Resize gives, and the factor of each dimension."""
    rank = len(shape)
    axes = [axis_of(axis, rank) for axis in node.attributes.get("axes", range(rank))]
    sizes, scales = list(shape), [1.0] * rank
    if converter.has(node, 3):
        given = converter.integers(node, 3)
    else:
        given = converter.constant(node, 2).real.ravel().tolist()
    if len(given) != len(axes) or not all(0 < number < 1 << 15 for number in given):
        raise RefusedError("its scales or sizes do not fit")
    if (
        node.attributes.get("antialias")
        or node.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    ):
        raise RefusedError("antialias and keep_aspect_ratio_policy are not supported")
    for axis, number in zip(axes, given, strict=True):
        sizes[axis] = number if converter.has(node, 3) else int(np.float32(shape[axis]) * np.float32(number))
        scales[axis] = number / shape[axis] if converter.has(node, 3) else number
    if min(sizes) < 1 or max(sizes) > 1 << 15:
        raise RefusedError(f"{list(shape)} to {sizes[:8]} is not supported")
    return sizes, scales


def centres(way: str, size: int, count: int, scale: float) -> NDArray[np.float32]:
    """Where each index of the result lies in the input, in float32."""
    places = np.arange(count, dtype=np.float32)
    factor = np.float32(scale)
    if way == "asymmetric":
        return np.asarray(places / factor)
    if way == "align_corners":
        return np.asarray(places * np.float32(size - 1) / np.float32(max(count - 1, 1)))
    if way == "half_pixel" or (way == "pytorch_half_pixel" and count > 1):
        return np.asarray((places + np.float32(0.5)) / factor - np.float32(0.5))
    if way == "pytorch_half_pixel":
        return np.zeros(count, np.float32)
    raise RefusedError(f"coordinates {way[:30]} are not supported")


def _nearest(places: Array, mode: str, size: int) -> Array:
    below = np.floor(places)
    ways = {
        "floor": below,
        "ceil": np.ceil(places),
        "round_prefer_floor": np.ceil(places - np.float32(0.5)),
        "round_prefer_ceil": np.floor(places + np.float32(0.5)),
    }
    if mode not in ways:
        raise RefusedError(f"nearest_mode {mode[:30]} is not supported")
    return np.asarray(ways[mode].clip(0, size - 1).astype(np.int64))


def interpolation(converter: Converter, node: OnnxNode) -> Known:
    """Resize with mode linear; of 8-bit numbers before their DequantizeLinear, fractions are cut off."""
    if node.attributes.get("mode", "nearest") != "linear":
        raise RefusedError("only modes nearest and linear are supported")
    name, value = node.outputs[0], converter.activation(node)
    origin = converter.quantized_by(node.inputs[0])
    if origin is None or value.dtype != "int8":
        return settle(converter, node, _interpolated(converter, node, real_of(converter, node)))
    quantization, dtype = converter.parameters(origin)
    value = converter.ordered(value, plain(len(value.shape)), name)
    found = Real(converter, converter.compute("CAST", [value.number], "float32", name), name)
    if dtype == "uint8":
        found = (_interpolated(converter, node, found + 128.0)).computed("FLOOR") - 128.0
    else:
        found = _interpolated(converter, node, found)
    number = converter.emit("CAST", [found.number], quantization, name)
    return OnnxActivation(number, found.shape, plain(len(found.shape)), quantization)


def _interpolated(converter: Converter, node: OnnxNode, found: Real) -> Real:
    """Along each dimension, two neighbours by their distances."""
    way = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    sizes, scales = resized(converter, node, found.shape)
    for axis, (count, scale) in enumerate(zip(sizes, scales, strict=True)):
        size = found.shape[axis]
        if count != size:
            places = centres(way, size, count, scale).clip(0, size - 1)
            below = np.floor(places).astype(np.int64)
            column = [1] * axis + [count] + [1] * (len(sizes) - axis - 1)
            above = (places - below).astype(np.float32).reshape(column)
            low = found.picked(below, axis) * found.constant(1 - above)
            found = low + found.picked((below + 1).clip(max=size - 1), axis) * found.constant(above)
    return found


RESIZING = {"Resize": resize}
REAL_RESIZING = {"Resize": interpolation}
