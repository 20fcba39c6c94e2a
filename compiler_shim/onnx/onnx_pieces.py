"""What operators that move elements have in common: parts, indices, and several values in one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import (
    NO_SCALE,
    Array,
    OnnxActivation,
    OnnxConstant,
    Order,
    RefusedError,
    order_after,
    plain,
    quantized,
    scale_curve,
)


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise RefusedError(f"its axis must be from {-rank} to {rank - 1} (got {axis})")
    return axis % rank


def axes_of(converter: Converter, node: OnnxNode, rank: int) -> list[int]:
    """The dimensions that a reduction is over."""
    axes = converter.integers(node, 1, node.attributes.get("axes", ()))
    if not axes and not node.attributes.get("noop_with_empty_axes"):
        axes = list(range(rank))
    if any(not -rank <= axis < rank for axis in axes):
        raise RefusedError(f"its axes must be from {-rank} to {rank - 1} (got {axes[:8]})")
    return [axis % rank for axis in axes]


def shaped(converter: Converter, value: OnnxActivation, shape: Sequence[int], name: str) -> OnnxActivation:
    """The value in another shape: a view where the order of its dimensions allows, else put off."""
    wanted = tuple(shape)
    if len(wanted) > 8 or prod(wanted) != prod(value.shape):
        raise RefusedError(f"{list(value.shape)} cannot be reshaped to {list(wanted)}")
    if value.source is not None:  # one more reshape of what was put off
        value = replace(value.source, quantization=value.quantization, curve=value.curve, dtype=value.dtype)
    order = order_after(value, wanted)
    if order is None:
        return replace(value, shape=wanted, order=plain(len(wanted)), source=value)
    number = converter.reshape(value, [wanted[axis] for axis in order], name)
    return replace(value, number=number, shape=wanted, order=order)


def part_of(
    converter: Converter, value: OnnxActivation, begins: Sequence[int], sizes: Sequence[int], name: str
) -> OnnxActivation:
    """A box of the value, by the file's dimensions."""
    begin = converter.numbers(f"{name}/begin", [begins[axis] for axis in value.order])
    size = converter.numbers(f"{name}/size", [sizes[axis] for axis in value.order])
    number = converter.move("SLICE", [value.number, begin, size], value, name)
    return replace(value, number=number, shape=tuple(sizes))


def gathered(
    converter: Converter, value: OnnxActivation, indices: Array, axis: int, name: str
) -> OnnxActivation:
    """What lies at constant indices along a dimension."""
    if indices.ndim != 1:
        value = converter.ordered(value, plain(len(value.shape)), name)
    number = converter.move(
        "GATHER", [value.number, converter.numbers(f"{name}/indices", indices.tolist())], value, name,
        axis=value.order.index(axis), batch_dims=0,
    )  # fmt: skip
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    order = value.order if indices.ndim == 1 else plain(len(shape))
    return replace(value, number=number, shape=shape, order=order)


def type_of_all(
    converter: Converter, node: OnnxNode, parts: Sequence[OnnxActivation | OnnxConstant]
) -> tuple[str, Quantization]:
    """The type and scale of what several parts become: the scale asked for, or that of the first."""
    computed = [part for part in parts if isinstance(part, OnnxActivation)]
    target = converter.optional_target(node)
    dtypes = {part.dtype for part in computed}
    if not dtypes:
        raise RefusedError("its operands are all constant")
    if dtypes <= {"int8", "float32"} and target is not None:
        return "int8", target
    if dtypes == {"int8"} and all(is_exact(part, computed[0].quantization) for part in parts):
        return "int8", computed[0].quantization
    if dtypes <= {"int8", "float32"}:
        return "float32", NO_SCALE
    if len(dtypes) > 1:
        raise RefusedError(f"its parts are of different types: {', '.join(sorted(dtypes))}")
    return dtypes.pop(), NO_SCALE


def is_exact(part: OnnxActivation | OnnxConstant, quantization: Quantization) -> bool:
    """Whether a scale holds all that the part may be."""
    if isinstance(part, OnnxActivation):
        return part.curve is None and part.quantization == quantization
    if part.quantization is None and part.data.dtype.name in ("int8", "uint8"):
        return True
    steps = eight_bits_of(part, quantization).astype(np.int64) + 128
    return bool((scale_curve(quantization)[steps] == np.asarray(part.real, np.float32)).all())


def in_type(
    converter: Converter, value: OnnxActivation, dtype: str, quantization: Quantization, name: str
) -> OnnxActivation:
    """The value in the type and scale of several."""
    value = converter.with_reshape(value, name)
    if dtype == "int8":
        return converter.in_eight_bits(value, quantization, name)
    return converter.in_float32(value, name) if dtype == "float32" else value


def constant_in(
    converter: Converter, part: OnnxConstant, dtype: str, quantization: Quantization, order: Order, name: str
) -> int:
    if dtype == "int8":
        data = eight_bits_of(part, quantization).transpose(order)
        return converter.eight_bits(name, np.ascontiguousarray(data), quantization)
    data = np.ascontiguousarray(np.asarray(part.real, dtype).transpose(order))
    return converter.builder.constant(name[:60], data)


def eight_bits_of(data: OnnxConstant, quantization: Quantization) -> NDArray[np.int8]:
    """Real numbers in a scale; numbers of 8 bits that have no scale are what they are."""
    if data.quantization is None and data.data.dtype.name in ("int8", "uint8"):
        return as_int8(data.data).reshape(data.data.shape)
    return quantized(data.real, quantization)


def as_int8(data: Array) -> NDArray[np.int8]:
    """A filler that is an 8-bit number itself, for a Pad of integers."""
    offset = 128 if data.dtype == np.uint8 else 0
    numbers: NDArray[np.int8] = np.clip(data.astype(np.int64).ravel() - offset, -128, 127).astype(np.int8)
    return numbers
