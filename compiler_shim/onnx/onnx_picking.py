"""Operators that pick elements by indices, such as embeddings, and blocks of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import UNSIGNED_OFFSET, Quantization
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_pieces import (
    axis_of,
    constant_in,
    eight_bits_of,
    gathered,
    in_type,
    part_of,
    shaped,
    type_of_all,
)
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import (
    NO_SCALE,
    Array,
    Known,
    OnnxActivation,
    OnnxConstant,
    RefusedError,
    moved,
    plain,
)

_MAX_PLACES = 1 << 20  # constant indices, one for each element


def gather(converter: Converter, node: OnnxNode) -> Known:
    """Gather of one constant index is a slice; of others, or from a table such as an embedding, a copy."""
    name, data = node.outputs[0], converter.known(node)
    if isinstance(data, OnnxConstant):
        data = _table(converter, node, data)
    value = converter.with_reshape(data, name)
    axis = axis_of(node.attributes.get("axis", 0), len(value.shape))
    found = converter.known(node, 1)
    if isinstance(found, OnnxActivation):
        return _looked_up(converter, value, found, axis, name)
    indices = found.data
    if indices.dtype.kind not in "iu" or not indices.size:
        raise RefusedError("its indices must be integers")
    if indices.min() < -value.shape[axis] or indices.max() >= value.shape[axis]:
        raise RefusedError(f"its indices must be from {-value.shape[axis]} to {value.shape[axis] - 1}")
    indices = indices % value.shape[axis]
    if indices.size > 1 or indices.ndim > 1:
        return gathered(converter, value, indices, axis, name)
    begins = [int(indices.ravel()[0]) if place == axis else 0 for place in range(len(value.shape))]
    box = [1 if place == axis else size for place, size in enumerate(value.shape)]
    part = part_of(converter, value, begins, box, name)
    if indices.ndim == 1:
        return part
    shape = tuple(size for place, size in enumerate(box) if place != axis)
    order = tuple(other - (other > axis) for other in part.order if other != axis)
    number = converter.reshape(part, [shape[place] for place in order], f"{name}/squeezed")
    return replace(part, number=number, shape=shape, order=order)


def _table(converter: Converter, node: OnnxNode, data: OnnxConstant) -> OnnxActivation:
    """A constant that the network picks from: in the scale that is asked for, or in its own."""
    name, found, order = f"{node.outputs[0]}/table", data.quantization, plain(data.data.ndim)
    target = converter.optional_target(node)
    if data.data.dtype.name in ("int8", "uint8"):
        offset = UNSIGNED_OFFSET if data.data.dtype == np.uint8 else 0
        if found is None:  # 8-bit numbers, which a DequantizeLinear behind gives their scale
            target = converter.scale_behind(node.outputs[0], "DequantizeLinear")
        elif target is None and not found.per_channel:
            target = Quantization(found.scales, (found.zero_point - offset,))
    if target is not None:
        number = converter.eight_bits(name, eight_bits_of(data, target), target)
        return OnnxActivation(number, data.data.shape, order, target)
    dtype = "float32" if data.real.dtype.kind == "f" else data.real.dtype.name
    number = converter.builder.constant(name[:60], np.asarray(data.real, dtype))
    return OnnxActivation(number, data.data.shape, order, NO_SCALE, dtype=dtype)


def _looked_up(
    converter: Converter, value: OnnxActivation, indices: OnnxActivation, axis: int, name: str
) -> Known:
    """What lies at indices that the network computes."""
    if indices.dtype not in ("int32", "int64"):
        raise RefusedError(f"its indices must be int32 or int64 (got {indices.dtype})")
    value = converter.ordered(value, plain(len(value.shape)), name)
    indices = converter.ordered(indices, plain(len(indices.shape)), f"{name}/indices")
    places = _from_the_front(converter, indices, value.shape[axis], name)
    number = converter.move("GATHER", [value.number, places], value, name, axis=axis, batch_dims=0)
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    return replace(value, number=number, shape=shape, order=plain(len(shape)))


def _from_the_front(converter: Converter, indices: OnnxActivation, size: int, name: str) -> int:
    """Indices, of which those below 0 count from the end."""
    label, dtype = f"{name[:60]}/index", indices.dtype
    zero, whole = (converter.builder.constant(label, np.full(1, number, dtype)) for number in (0, size))
    is_below = converter.compute("LESS", [indices.number, zero], "bool", label)
    added = converter.compute("ADD", [indices.number, whole], dtype, label)
    return converter.compute("SELECT_V2", [is_below, added, indices.number], dtype, label)


def depth_to_space(converter: Converter, node: OnnxNode) -> Known:
    """DepthToSpace and SpaceToDepth, by a reshape, a transpose and a reshape."""
    value, block = converter.activation(node), node.attributes.get("blocksize", 0)
    if len(value.shape) != 4 or not 1 <= block <= 1 << 10:
        raise RefusedError(f"its input must be an image, and its blocksize above 0 (got {block})")
    batch, depth, rows, columns = value.shape
    is_deep = node.kind == "DepthToSpace"
    if depth % (block * block) if is_deep else (rows % block or columns % block):
        raise RefusedError(f"blocks of {block} do not fit {list(value.shape)}")
    if is_deep and node.attributes.get("mode", "DCR") == "CRD":
        shape = (batch, depth // block**2, block, block, rows, columns)
        order, last = (0, 1, 4, 2, 5, 3), (batch, depth // block**2, rows * block, columns * block)
    elif is_deep:
        shape = (batch, block, block, depth // block**2, rows, columns)
        order, last = (0, 3, 4, 1, 5, 2), (batch, depth // block**2, rows * block, columns * block)
    else:
        shape = (batch, depth, rows // block, block, columns // block, block)
        order, last = (0, 3, 5, 1, 2, 4), (batch, depth * block**2, rows // block, columns // block)
    name = node.outputs[0]
    value = moved(converter.with_reshape(shaped(converter, value, shape, name), name), order)
    return shaped(converter, value, last, name)


def picked(converter: Converter, node: OnnxNode) -> Known:
    """GatherND, GatherElements, ScatterND and ScatterElements with constant indices."""
    name = node.outputs[0]
    values = [converter.known(node)]
    indices = converter.constant(node, 1).data
    is_scatter = node.kind.startswith("Scatter")
    if is_scatter:
        if node.attributes.get("reduction", "none") != "none":
            raise RefusedError("its reduction must be none")
        values.append(converter.known(node, 2))
    dtype, quantization = type_of_all(converter, node, values)
    sizes = [item.shape for item in values]
    places = _places(node, sizes, indices)
    flat = []
    for place, item in enumerate(values):
        label, count = f"{name}/operand {place}", prod(sizes[place])
        if isinstance(item, OnnxConstant):
            whole = constant_in(converter, item, dtype, quantization, plain(len(sizes[place])), label)
            value = OnnxActivation(whole, sizes[place], plain(len(sizes[place])), quantization, dtype=dtype)
        else:
            value = converter.ordered(
                in_type(converter, item, dtype, quantization, label), plain(len(item.shape)), label
            )
        flat.append(converter.reshape(value, [count], label))
    total = sum(prod(size) for size in sizes)
    value = OnnxActivation(flat[0], (total,), (0,), quantization, dtype=dtype)
    if is_scatter:
        value = replace(value, number=converter.move("CONCATENATION", flat, value, f"{name}/all", axis=0))
    found = gathered(converter, value, places.ravel(), 0, f"{name}/elements")
    number = converter.reshape(found, places.shape, name)
    return replace(found, number=number, shape=places.shape, order=plain(places.ndim))


def _places(node: OnnxNode, sizes: Sequence[tuple[int, ...]], indices: Array) -> Array:
    """Where each element of the result is, in the data and, behind them, the updates."""
    count = prod(sizes[0])
    if count + indices.size > _MAX_PLACES or node.attributes.get("batch_dims", 0):
        raise RefusedError("it has too many elements, or batch_dims")
    places = np.arange(count).reshape(sizes[0])
    try:
        if node.kind.endswith("ND"):
            chosen: Any = tuple(np.moveaxis(indices, -1, 0))
        else:
            axis = axis_of(node.attributes.get("axis", 0), len(sizes[0]))
            chosen = tuple(
                indices if place == axis else grid for place, grid in enumerate(np.indices(indices.shape))
            )
        if not node.kind.startswith("Scatter"):
            return np.asarray(places[chosen])
        places[chosen] = np.arange(prod(sizes[1])).reshape(sizes[1]) + count
    except (IndexError, ValueError):
        raise RefusedError("its indices do not fit") from None
    return places


PICKING = {
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), depth_to_space),
    **dict.fromkeys(("GatherElements", "GatherND", "ScatterElements", "ScatterND"), picked),
    "Gather": gather,
}
