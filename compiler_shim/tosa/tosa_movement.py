"""Operators of TOSA that move elements, or choose among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter
from dlasim.compiler_shim.tosa.tosa_reader import TosaOperator
from dlasim.compiler_shim.tosa.tosa_schema import BILINEAR, NEAREST
from dlasim.compiler_shim.tosa.tosa_values import (
    EIGHT_BITS,
    Array,
    TosaActivation,
    TosaConstant,
    UnplacedError,
    Value,
)

_REDUCTIONS = "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"


def _move(
    converter: TosaConverter,
    operator: TosaOperator,
    kind: str,
    *others: int,
    on_constant: Callable[[Array], Array] | None = None,
    **options: Any,
) -> Value:
    """An operator that moves the elements of its first input, whatever they stand for."""
    value = converter.value(operator)
    if isinstance(value, TosaConstant) and on_constant is not None:
        return TosaConstant(on_constant(value.data))
    if not isinstance(value, TosaActivation):
        value = converter.activation(value, operator.inputs[0])
    number = emitted(converter, kind, [value.number, *others], value, operator.outputs[0], **options)
    return replace(value, number=number, shape=converter.builder.shape(number))


def emitted(
    converter: TosaConverter, kind: str, inputs: list[int], value: TosaActivation, name: str, **options: Any
) -> int:
    """An operator whose result has the type and scale of the tensor that holds a value."""
    if value.dtype == "int8" or value.curve is not None:
        return converter.emit(kind, inputs, converter.scale_of(value.number), name, **options)
    return converter.compute(kind, inputs, value.dtype, name, **options)


def reshape(converter: TosaConverter, operator: TosaOperator) -> Value:
    """RESHAPE."""
    shape, value = tuple(converter.integers(operator, 1)), converter.value(operator)
    if prod(shape) != prod(value.shape) or any(size < 1 for size in shape):
        raise UnplacedError(f"{list(value.shape)} cannot be reshaped to {list(shape)[:8]}")
    return _move(
        converter, operator, "RESHAPE", on_constant=lambda data: data.reshape(shape), new_shape=shape
    )


def transpose(converter: TosaConverter, operator: TosaOperator) -> Value:
    """TRANSPOSE."""
    rank = len(converter.value(operator).shape)
    order = converter.numbers(operator, "perms", rank)
    if sorted(order) != list(range(rank)):
        raise UnplacedError(f"its perms must be 0 to {rank - 1} (got {order})")
    numbers = converter.list_of(operator.outputs[0], order)
    return _move(converter, operator, "TRANSPOSE", numbers, on_constant=lambda data: data.transpose(order))


def identity(converter: TosaConverter, operator: TosaOperator) -> Value:
    """IDENTITY."""
    return converter.value(operator)


def concatenation(converter: TosaConverter, operator: TosaOperator) -> Value:
    """CONCAT."""
    values = [converter.value(operator, place) for place in range(len(operator.inputs))]
    if not values or len({value.dtype for value in values}) > 1:
        raise UnplacedError("its inputs must be of one type")
    name = operator.outputs[0]
    axis = converter.axis(operator, len(values[0].shape))
    numbers = [converter.tensor(value, name) for value in values]
    first = TosaActivation(numbers[0], values[0].shape, values[0].dtype)
    if first.dtype == "int8":
        scale = converter.scale_of(numbers[0])
        numbers = [converter.seen(number, scale, name) for number in numbers]
    number = emitted(converter, "CONCATENATION", numbers, first, name, axis=axis)
    return converter.result(number, first.dtype)


def pad(converter: TosaConverter, operator: TosaOperator) -> Value:
    """PAD."""
    value, name = converter.activation(converter.value(operator), operator.inputs[0]), operator.outputs[0]
    amounts, filler = converter.integers(operator, 1), converter.constant(operator, 2)
    if len(amounts) != 2 * len(value.shape) or min(amounts, default=0) < 0 or filler.size != 1:
        raise UnplacedError(f"its padding must be two numbers from 0 for each dimension (got {amounts[:16]})")
    if filler.dtype.name != value.dtype:
        raise UnplacedError(f"it pads {value.dtype} with {filler.dtype.name}")
    is_int8 = value.dtype == "int8"
    scale = converter.scale_of(value.number) if is_int8 else None
    pads = converter.list_of(name, np.reshape(amounts, (-1, 2)).tolist())
    inputs = [value.number, pads]
    if scale is not None and int(filler.ravel()[0]) == scale.zero_point:
        number = converter.emit("PAD", inputs, scale, name)
    else:
        inputs.append(converter.stored(f"{name}/filler", filler.reshape(1), scale))
        number = emitted(converter, "PADV2", inputs, value, name)
    return converter.result(number, value.dtype)


def part(converter: TosaConverter, operator: TosaOperator) -> Value:
    """SLICE."""
    begins, sizes = (converter.integers(operator, place) for place in (1, 2))
    shape = converter.value(operator).shape
    if not len(begins) == len(sizes) == len(shape) or any(
        first < 0 or size < 1 or first + size > whole
        for first, size, whole in zip(begins, sizes, shape, strict=False)
    ):
        raise UnplacedError(f"start {begins[:8]} and size {sizes[:8]} do not fit {list(shape)}")
    name = operator.outputs[0]
    box = tuple(slice(first, first + size) for first, size in zip(begins, sizes, strict=True))
    numbers = [converter.list_of(name, row) for row in (begins, sizes)]
    return _move(converter, operator, "SLICE", *numbers, on_constant=lambda data: data[box])


def reverse(converter: TosaConverter, operator: TosaOperator) -> Value:
    """REVERSE."""
    axis = converter.axis(operator, len(converter.value(operator).shape))
    numbers = converter.list_of(operator.outputs[0], [axis])
    return _move(converter, operator, "REVERSE_V2", numbers, on_constant=lambda data: np.flip(data, axis))


def tile(converter: TosaConverter, operator: TosaOperator) -> Value:
    """TILE."""
    times, shape = converter.integers(operator, 1), converter.value(operator).shape
    if len(times) != len(shape) or not all(0 < number < 1 << 20 for number in times):
        raise UnplacedError(f"its multiples {times[:8]} do not fit {list(shape)}")
    value = converter.value(operator)
    if isinstance(value, TosaConstant):
        return TosaConstant(np.tile(value.data, times))
    if not isinstance(value, TosaActivation):
        value = converter.activation(value, operator.inputs[0])
    number, name = value.number, operator.outputs[0]
    for axis, count in enumerate(times):  # one after another, as the graph's operator has few dimensions
        if count > 1:
            row = [count if other == axis else 1 for other in range(len(times))]
            number = emitted(converter, "TILE", [number, converter.list_of(name, row)], value, name)
    return replace(value, number=number, shape=converter.builder.shape(number))


def gather(converter: TosaConverter, operator: TosaOperator) -> Value:
    """GATHER: for each batch, rows at indices."""
    value, indices = converter.value(operator), converter.value(operator, 1)
    if len(value.shape) != 3 or len(indices.shape) != 2 or indices.dtype != "int32":
        raise UnplacedError(f"shapes {list(value.shape)} and {list(indices.shape)} do not fit")
    place = converter.tensor(indices, operator.inputs[1])
    return _move(converter, operator, "GATHER", place, axis=1, batch_dims=1)


def scatter(converter: TosaConverter, operator: TosaOperator) -> Value:
    """SCATTER: for each batch, rows at indices replaced."""
    values = [converter.value(operator, place) for place in (0, 2)]
    indices, name = converter.value(operator, 1), operator.outputs[0]
    shape, rows = values[0].shape, indices.shape
    fits = len(shape) == 3 and len(rows) == 2 and rows[0] == shape[0] and values[1].shape == (*rows, shape[2])
    if not fits or values[0].dtype != values[1].dtype or indices.dtype != "int32":
        raise UnplacedError(f"shapes {[list(value.shape) for value in (*values, indices)]} do not fit")
    old, new = (converter.activation(value, name) for value in values)
    numbers = [old.number, new.number]
    if old.dtype == "int8":
        numbers[1] = converter.seen(numbers[1], converter.scale_of(numbers[0]), name)
    if isinstance(indices, TosaConstant):
        if indices.data.min() < 0 or indices.data.max() >= shape[1]:
            raise UnplacedError(f"its indices must be from 0 to {shape[1] - 1}")
        places = np.tile(np.arange(shape[1]), (shape[0], 1))
        np.put_along_axis(places, indices.data, shape[1] + np.arange(rows[1])[None], 1)
        joined = emitted(converter, "CONCATENATION", numbers, old, name, axis=1)
        inputs = [joined, converter.list_of(name, places.tolist())]
        number = emitted(converter, "GATHER", inputs, old, name, axis=1, batch_dims=1)
    elif rows == (1, 1):
        ends = converter.list_of(name, [0])
        row = converter.compute("RESHAPE", [converter.tensor(indices, name)], "int32", name, new_shape=(1,))
        start = converter.compute("CONCATENATION", [ends, row, ends], "int32", name, axis=0)
        number = emitted(converter, "DYNAMIC_UPDATE_SLICE", [*numbers, start], old, name)
    else:
        raise UnplacedError(f"it must replace one row, or at constant indices (got {list(rows)} indices)")
    return replace(old, number=number)


def reduction(converter: TosaConverter, operator: TosaOperator) -> Value:
    """REDUCE_MAX and the like."""
    value = converter.value(operator)
    if not isinstance(value, TosaActivation) or value.line is None:
        value = converter.activation(value, operator.inputs[0])
    axis, name = converter.axis(operator, len(value.shape)), operator.outputs[0]
    if value.dtype == "int16" and value.curve is None:  # which has a scale in the graph's operator
        value = replace(value, number=converter.compute("CAST", [value.number], "int32", name), dtype="int32")
    inputs = [value.number, converter.list_of(name, [axis])]
    number = emitted(converter, operator.kind, inputs, value, name, keep_dims=True)
    if value.dtype != converter.declared_type(operator):
        value = replace(value, dtype="int16")
        number = converter.compute("CAST", [number], "int16", name)
    if operator.kind == "REDUCE_MAX":
        converter.maxima[number] = value.number
    return replace(value, number=number, shape=converter.builder.shape(number))


def greatest(converter: TosaConverter, operator: TosaOperator) -> Value:
    """ARGMAX."""
    value = converter.value(operator)
    axis = converter.list_of(operator.outputs[0], [converter.axis(operator, len(value.shape))])
    number = converter.compute(
        "ARG_MAX", [converter.tensor(value, operator.inputs[0]), axis], "int32", operator.outputs[0]
    )
    return converter.result(number, "int32")


def resize(converter: TosaConverter, operator: TosaOperator) -> Value:
    """RESIZE to the nearest pixels, which are picked, or between pixels of 8 bits, in int32."""
    value, name = converter.value(operator), operator.outputs[0]
    if not isinstance(value, TosaActivation):
        raise UnplacedError("it must resize what the network computes")
    scale, offset, border = (converter.integers(operator, place) for place in (1, 2, 3))
    if len(value.shape) != 4 or [len(each) for each in (scale, offset, border)] != [4, 2, 2]:
        raise UnplacedError("it must have an image, a scale of 4, an offset and a border of 2 numbers")
    if min(scale) < 1 or max(scale) > 1 << 11:
        raise UnplacedError(f"its scale must be from 1 to 2048 (got {scale})")
    mode = operator.attributes.get("mode")
    if mode not in (NEAREST, BILINEAR):
        raise UnplacedError(f"its mode must be {NEAREST} or {BILINEAR} (got {mode})")
    if mode == BILINEAR:
        if value.dtype != "int8":
            raise UnplacedError(f"only int8 is resized between pixels (got {value.dtype})")
        curve = EIGHT_BITS if value.curve is None else value.curve
        value = converter.activation(replace(value, dtype="int32", curve=curve, line=None), name)
    along = _between if mode == BILINEAR else _nearest
    number = value.number
    for place, axis in enumerate((1, 2)):
        numerator, denominator = scale[2 * place], scale[2 * place + 1]
        count = ((value.shape[axis] - 1) * numerator - offset[place] + border[place]) // denominator + 1
        if not 0 < count < 1 << 15:
            raise UnplacedError(f"it makes {count} rows or columns of {value.shape[axis]}")
        places = np.arange(count) * denominator + offset[place]
        number = along(converter, replace(value, number=number), axis, places, numerator, name)
    return replace(value, number=number, shape=converter.builder.shape(number))


def _nearest(
    converter: TosaConverter, value: TosaActivation, axis: int, places: Array, numerator: int, name: str
) -> int:
    """The rows or columns nearest to these places, in parts of 1 / numerator."""
    nearest = places // numerator + (2 * (places % numerator) >= numerator)
    return _picked(converter, value, axis, nearest, name)


def _between(
    converter: TosaConverter, value: TosaActivation, axis: int, places: Array, numerator: int, name: str
) -> int:
    """The two rows or columns next to each place by their distances, times the numerator."""
    below, above = places // numerator, (places % numerator).astype(np.int32)
    shape = [1] * axis + [len(places)] + [1] * (3 - axis)
    parts = []
    for neighbour, weights in ((below, numerator - above), (below + 1, above)):
        weight = converter.stored(f"{name}/weights", weights.reshape(shape))
        picked = _picked(converter, value, axis, neighbour, name)
        parts.append(converter.compute("MUL", [picked, weight], "int32", name))
    return converter.compute("ADD", parts, "int32", name)


def _picked(converter: TosaConverter, value: TosaActivation, axis: int, places: Array, name: str) -> int:
    """Rows or columns of an image; what lies outside is at its edge."""
    indices = converter.list_of(name, places.clip(0, value.shape[axis] - 1).tolist())
    return emitted(converter, "GATHER", [value.number, indices], value, name, axis=axis, batch_dims=0)


MOVEMENT = {
    **dict.fromkeys(_REDUCTIONS, reduction),
    "ARGMAX": greatest,
    "CONCAT": concatenation,
    "GATHER": gather,
    "IDENTITY": identity,
    "PAD": pad,
    "RESHAPE": reshape,
    "RESIZE": resize,
    "REVERSE": reverse,
    "SCATTER": scatter,
    "SLICE": part,
    "TILE": tile,
    "TRANSPOSE": transpose,
}
