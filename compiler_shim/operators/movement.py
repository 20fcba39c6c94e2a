"""Operators that move elements in other ways than a strided copy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.isa.host_attributes import float_word
from dlasim.isa.host_op_rows import RESIZE_FRACTION_BITS
from dlasim.isa.limits import MAX_RANK

_MAX_INDICES = 1 << 24


def pad(op: BoundOperator) -> list[KernelCall]:
    """PAD and PADV2; without a value, what surrounds the input means 0."""
    before = op.constant(1).reshape(len(op.input().shape), 2)[:, 0].tolist()
    value = _pad_value(op) if op.has(2) else _zero(op, op.output().dtype)
    return [pad_call(op, before, op.output_numbers[0], value)]


def pad_call(
    op: BoundOperator, before: Sequence[int], output: int | Tensor, value: int | None = None
) -> KernelCall:
    """The call that pads the operator's first input, with so much before each dimension."""
    rank = len(before)
    op.require(rank <= MAX_RANK, f"it must have at most {MAX_RANK} dimensions (got {rank})")
    filler = _zero(op, op.output().dtype) if value is None else value
    edges = [*before] + [0] * (MAX_RANK - rank)
    return op.call("PAD", op.input_numbers[:1], (output,), before=edges, value=filler)


def _zero(op: BoundOperator, dtype: str) -> int:
    return op.zero_point(op.output()) if dtype in ("int8", "int16") else 0


def _pad_value(op: BoundOperator) -> int:
    op.same_types(op.input(2), op.output())
    values = op.constant(2)
    op.require(values.size == 1, f"there must be 1 value to pad with (got {values.size})")
    value = values.ravel()[0]
    return float_word(float(value)) if op.output().dtype == "float32" else int(value)


def concatenation(op: BoundOperator) -> list[KernelCall]:
    """CONCATENATION: TensorFlow too has it on one scale only."""
    output = op.output()
    for position in range(len(op.input_numbers)) if output.dtype in ("int8", "int16") else ():
        values = op.input(position)
        found, wanted = ((op.scale(tensor), op.zero_point(tensor)) for tensor in (values, output))
        op.require(found == wanted, f"{values.name} must have the scale and zero point of {output.name}")
    return _side_by_side(op, op.option("axis"))


def pack(op: BoundOperator) -> list[KernelCall]:
    """PACK."""
    return _side_by_side(op, op.option("axis"))


def _side_by_side(op: BoundOperator, axis: int) -> list[KernelCall]:
    output = op.output()
    activation = op.activation
    op.require(activation == "NONE", f"fused activation {activation} is not supported")
    op.same_types(output, *(op.input(position) for position in range(len(op.input_numbers))))
    return [op.call("CONCATENATION", op.input_numbers, axis=op.axis(axis, len(output.shape)))]


def gather(op: BoundOperator) -> list[KernelCall]:
    """GATHER."""
    values, indices = op.input(0), op.input(1)
    op.types(indices, "int32", "int64")
    axis = op.axis(op.option("axis"), len(values.shape))
    batch_dims = op.option("batch_dims")
    batch_dims += len(indices.shape) if batch_dims < 0 else 0
    return [op.call("GATHER", op.input_numbers, axis=axis, batch_dims=batch_dims)]


def mirror_pad(op: BoundOperator) -> list[KernelCall]:
    """MIRROR_PAD: what lies at the mirrored indices, up to the last dimension that is padded."""
    shape, amounts = op.shape(0), _paddings(op)
    skip = int(op.option("mode") == "REFLECT")
    indices = []
    for size, (before, after) in zip(shape, amounts, strict=True):
        _limit_indices(op, size + before + after)
        places = np.arange(-before, size + after)
        places = np.where(places < 0, -1 + skip - places, places)
        indices.append(np.where(places >= size, 2 * size - 1 - skip - places, places))
    padded = [axis for axis, pair in enumerate(amounts) if any(pair)]
    depth = padded[-1] + 1 if padded else 1
    _limit_indices(op, depth * math.prod(op.output().shape[:depth]))
    grid = np.stack(np.meshgrid(*indices[:depth], indexing="ij"), axis=-1).astype(np.int32)
    return [op.call("GATHER_ND", (op.input_numbers[0], op.new_constant("indices", grid)))]


def _limit_indices(op: BoundOperator, count: int) -> None:
    """Refuses to make more indices of elements than any image has: they are a constant of the program."""
    op.require(count <= _MAX_INDICES, f"it takes {count:,} indices; at most {_MAX_INDICES:,} are supported")


def _paddings(op: BoundOperator) -> list[tuple[int, int]]:
    rank, paddings = len(op.shape(0)), op.integer_array(1)
    op.require(
        paddings.shape == (rank, 2), f"paddings must have shape [{rank}, 2] (got {list(paddings.shape)})"
    )
    return [(int(before), int(after)) for before, after in paddings]


def embedding_lookup(op: BoundOperator) -> list[KernelCall]:
    """EMBEDDING_LOOKUP: rows of the second input."""
    op.types(op.input(0), "int32")
    return [op.call("GATHER", op.input_numbers[::-1], axis=0, batch_dims=0)]


def update_slice(op: BoundOperator) -> list[KernelCall]:
    """DYNAMIC_UPDATE_SLICE."""
    return [op.call("UPDATE_SLICE", op.input_numbers)]


def gather_nd(op: BoundOperator) -> list[KernelCall]:
    """GATHER_ND."""
    op.types(op.input(1), "int32", "int64")
    return [op.call("GATHER_ND", op.input_numbers)]


def resize_nearest(op: BoundOperator) -> list[KernelCall]:
    """RESIZE_NEAREST_NEIGHBOR."""
    rows, columns = (
        op.new_constant(name, _nearest(op, op.input().shape[axis], op.output().shape[axis]))
        for name, axis in (("rows", 1), ("columns", 2))
    )
    return [op.call("RESIZE_NEAREST", (op.input_numbers[0], rows, columns))]


def _nearest(op: BoundOperator, size: int, count: int) -> NDArray[np.int32]:
    """Where each row or column of the output comes from, computed in float32."""
    _limit_indices(op, count)
    align, half = op.option("align_corners"), op.option("half_pixel_centers")
    centre = np.float32(0.5 if half else 0.0)
    if align and count > 1:
        scale = np.float32(size - 1) / np.float32(count - 1)
    else:
        scale = np.float32(size) / np.float32(count)
    positions = (np.arange(count, dtype=np.float32) + centre) * scale
    # They are not negative, so half away from zero is half up; float64 holds the sum exactly.
    whole = np.floor(positions.astype(np.float64) + (0.5 if align else 0.0))
    return np.minimum(whole, size - 1).astype(np.int32)


def resize_bilinear(op: BoundOperator) -> list[KernelCall]:
    """RESIZE_BILINEAR."""
    op.types(op.input(), "int8", "float32")
    in_float32 = op.input().is_unsigned or op.input().dtype == "float32"
    both = op.option("align_corners") and op.option("half_pixel_centers")
    op.require(not both, "align_corners and half_pixel_centers exclude each other")
    weights = _float_weights if in_float32 else _weights
    rows, columns = (
        op.new_constant(name, weights(op, op.input().shape[axis], op.output().shape[axis]))
        for name, axis in (("rows", 1), ("columns", 2))
    )
    kernel = "RESIZE_FLOAT" if in_float32 else "RESIZE_BILINEAR"
    return [op.call(kernel, (op.input_numbers[0], rows, columns))]


def _float_weights(op: BoundOperator, size: int, count: int) -> NDArray[np.int32]:
    """Between which rows or columns of the input each of the output lies, and how far in float32, as bits."""
    _limit_indices(op, count)
    align = op.option("align_corners") and count > 1
    scale = np.float32(size - 1) / np.float32(count - 1) if align else np.float32(size) / np.float32(count)
    positions = np.arange(count, dtype=np.float32)
    if op.option("half_pixel_centers"):
        positions = (positions + np.float32(0.5)) * scale - np.float32(0.5)
    else:
        positions = positions * scale
    lower = np.maximum(np.floor(positions), 0).astype(np.int32)
    upper = np.minimum(np.ceil(positions), size - 1).astype(np.int32)
    fraction = positions - lower.astype(np.float32)
    return np.stack([lower, upper, fraction.view(np.int32)], axis=1)


def _weights(op: BoundOperator, size: int, count: int) -> NDArray[np.int32]:
    """Between which rows or columns of the input each of the output lies, in 2^-10ths."""
    one = 1 << RESIZE_FRACTION_BITS
    if op.option("align_corners") and count > 1:
        size_in, size_out = size - 1, count - 1
    else:
        size_in, size_out = size, count
    scale = (one * size_in + size_out // 2) // size_out
    positions = np.arange(count, dtype=np.int64) * scale
    if op.option("half_pixel_centers"):
        positions += scale // 2 - one // 2
    # Before the first centre the position is negative: the fraction then is, too.
    lower = np.clip(positions // one, 0, size - 1)
    upper = np.clip(-(-positions // one), 0, size - 1)
    return np.stack([lower, upper, positions - one * lower], axis=1).astype(np.int32)


def pad_shape(op: BoundOperator) -> list[Shape]:
    """PAD and PADV2."""
    shape, paddings = op.shape(0), op.integer_array(1)
    op.require(
        paddings.shape == (len(shape), 2) and bool((paddings >= 0).all()),
        f"paddings {paddings.tolist()} do not fit shape {list(shape)}",
    )
    return [
        tuple(size + int(before) + int(after) for size, (before, after) in zip(shape, paddings, strict=True))
    ]


def concatenation_shape(op: BoundOperator) -> list[Shape]:
    """CONCATENATION."""
    shapes = [op.shape(position) for position in range(len(op.inputs))]
    axis = op.axis(op.option("axis"), len(shapes[0]))
    rests = {(len(shape), shape[:axis], shape[axis + 1 :]) for shape in shapes}
    op.require(len(rests) == 1, f"shapes {[list(shape) for shape in shapes]} differ beyond dimension {axis}")
    return [(*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])]


def pack_shape(op: BoundOperator) -> list[Shape]:
    """PACK: a new dimension."""
    shapes = {op.shape(position) for position in range(len(op.inputs))}
    op.require(len(shapes) == 1, f"its inputs have different shapes: {sorted(map(list, shapes))}")
    count = op.option("values_count")
    op.require(count == len(op.inputs), f"it must have values_count ({count}) inputs (got {len(op.inputs)})")
    shape = shapes.pop()
    axis = op.axis(op.option("axis"), len(shape) + 1)
    return [(*shape[:axis], len(op.inputs), *shape[axis:])]


def resize_shape(op: BoundOperator) -> list[Shape]:
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""
    shape, size = op.shape(0, 4), op.integers(1)
    op.require(len(size) == 2, f"size must be height and width (got {size})")
    return [(shape[0], *size, shape[3])]


def gather_shape(op: BoundOperator) -> list[Shape]:
    """GATHER along an axis."""
    shape, indices, batch = op.shape(0), op.shape(1), op.option("batch_dims")
    axis = op.axis(op.option("axis"), len(shape))
    batch += len(indices) if batch < 0 else 0
    op.require(
        0 <= batch <= min(axis, len(indices)) and shape[:batch] == indices[:batch],
        f"batch_dims {batch} does not fit axis {axis}, shape {list(shape)} and indices {list(indices)}",
    )
    _check_indices(op, [shape[axis]])
    return [shape[:axis] + indices[batch:] + shape[axis + 1 :]]


def mirror_pad_shape(op: BoundOperator) -> list[Shape]:
    """MIRROR_PAD: no more than there is to mirror."""
    shape, amounts = op.shape(0), _paddings(op)
    op.require(bool(shape), "a scalar has no dimension to pad")
    skip = int(op.option("mode") == "REFLECT")
    for size, pair in zip(shape, amounts, strict=True):
        op.require(
            min(pair) >= 0 and max(pair) <= size - skip,
            f"paddings of a dimension of {size} must be from 0 to {size - skip} (got {pair})",
        )
    return [tuple(size + sum(pair) for size, pair in zip(shape, amounts, strict=True))]


def embedding_shape(op: BoundOperator) -> list[Shape]:
    """EMBEDDING_LOOKUP: a row for each index."""
    indices, table = op.shape(0, 1), op.shape(1)
    op.require(len(table) >= 2, f"its table must have at least 2 dimensions (got shape {list(table)})")
    return [(*indices, *table[1:])]


def gather_nd_shape(op: BoundOperator) -> list[Shape]:
    """GATHER_ND."""
    shape, indices = op.shape(0), op.shape(1)
    depth = indices[-1] if indices else 0
    op.require(
        1 <= depth <= len(shape),
        f"each index must have 1 to {len(shape)} numbers (got indices of shape {list(indices)})",
    )
    _check_indices(op, shape[:depth])
    return [indices[:-1] + shape[depth:]]


def update_slice_shape(op: BoundOperator) -> list[Shape]:
    """DYNAMIC_UPDATE_SLICE: that of its first input."""
    shape, update, start = op.shape(0), op.shape(1), op.shape(2)
    op.require(bool(shape), "a scalar has no part to update")
    parts = zip(update, shape, strict=False)
    fits = len(update) == len(shape) and all(0 < part <= size for part, size in parts)
    op.require(fits, f"an update of shape {list(update)} is no part of shape {list(shape)}")
    fits = start == (len(shape),)
    op.require(fits, f"its start must have {len(shape)} numbers (got shape {list(start)})")
    return [shape]


def _check_indices(op: BoundOperator, limits: Sequence[int]) -> None:
    if op.input(1).is_constant:
        values = op.integer_array(1)
        inside = bool(((values >= 0) & (values < np.asarray(limits))).all())
        op.require(inside, f"its indices must be 0 to {[limit - 1 for limit in limits]}")


def shape_shape(op: BoundOperator) -> list[Shape]:
    """SHAPE: one number per dimension."""
    return [(len(op.shape(0)),)]
