"""Output shapes of the operators that only move data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dlasim.compiler_shim.operators.slicing import MASKS, sliced_ranges
from dlasim.compiler_shim.tflite.shape_step import Shape, Step


def pad(step: Step) -> list[Shape]:
    """PAD and PADV2."""
    shape, paddings = step.shape(0), step.values(1)
    step.require(
        paddings.shape == (len(shape), 2) and bool((paddings >= 0).all()),
        f"paddings {paddings.tolist()} for shape {list(shape)}",
    )
    return [
        tuple(size + int(before) + int(after) for size, (before, after) in zip(shape, paddings, strict=True))
    ]


def reshape(step: Step) -> list[Shape]:
    """RESHAPE to its second input, else to its option; one -1 stands for the rest."""
    elements = step.tensor(0).elements
    wanted = step.integers(1) if step.has(1) else list(step.option("new_shape"))
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) == 1 and known > 0:
        wanted[wanted.index(-1)] = elements // known
    step.require(
        min(wanted, default=0) >= 0 and math.prod(wanted) == elements,
        f"{elements} elements cannot be reshaped to {wanted}",
    )
    return [tuple(wanted)]


def squeeze(step: Step) -> list[Shape]:
    """SQUEEZE: the chosen dimensions of size 1 go, or all."""
    shape = step.shape(0)
    chosen = {step.axis(axis, len(shape)) for axis in step.option("squeeze_dims")}
    axes = chosen or {axis for axis, size in enumerate(shape) if size == 1}
    step.require(
        all(shape[axis] == 1 for axis in axes), f"dimensions {sorted(axes)} of {list(shape)} are not 1"
    )
    return [tuple(size for axis, size in enumerate(shape) if axis not in axes)]


def expand_dims(step: Step) -> list[Shape]:
    """EXPAND_DIMS."""
    shape = step.shape(0)
    axis = step.axis(step.scalar(1), len(shape) + 1)
    return [(*shape[:axis], 1, *shape[axis:])]


def concatenation(step: Step) -> list[Shape]:
    """CONCATENATION."""
    shapes = [step.shape(position) for position in range(len(step.inputs))]
    axis = step.axis(step.option("axis"), len(shapes[0]))
    rests = {(len(shape), shape[:axis], shape[axis + 1 :]) for shape in shapes}
    step.require(
        len(rests) == 1, f"shapes {[list(shape) for shape in shapes]} differ beyond dimension {axis}"
    )
    return [(*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])]


def split(step: Step) -> list[Shape]:
    """SPLIT into equal parts."""
    shape, parts = step.shape(1), len(step.operator.outputs)
    axis = step.axis(step.scalar(0), len(shape))
    splits = step.option("num_splits")
    step.require(splits == parts, f"{parts} outputs for {splits} splits")
    step.require(shape[axis] % parts == 0, f"dimension {axis} of {list(shape)} does not split into {parts}")
    return [(*shape[:axis], shape[axis] // parts, *shape[axis + 1 :])] * parts


def split_v(step: Step) -> list[Shape]:
    """SPLIT_V; one -1 stands for the rest."""
    shape, sizes = step.shape(0), step.integers(1)
    axis = step.axis(step.scalar(2), len(shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(size for size in sizes if size != -1)
    step.require(sum(sizes) == shape[axis], f"sizes {sizes} for dimension {axis} of {list(shape)}")
    return [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]


def pack(step: Step) -> list[Shape]:
    """PACK: a new dimension."""
    shapes = {step.shape(position) for position in range(len(step.inputs))}
    step.require(len(shapes) == 1, f"its inputs have different shapes: {sorted(map(list, shapes))}")
    count = step.option("values_count")
    step.require(count == len(step.inputs), f"{len(step.inputs)} inputs for {count} values")
    shape = shapes.pop()
    axis = step.axis(step.option("axis"), len(shape) + 1)
    return [(*shape[:axis], len(step.inputs), *shape[axis:])]


def unpack(step: Step) -> list[Shape]:
    """UNPACK: a dimension goes."""
    shape = step.shape(0)
    axis = step.axis(step.option("axis"), len(shape))
    parts = len(step.operator.outputs)
    step.require(
        shape[axis] == step.option("num") == parts,
        f"dimension {axis} of {list(shape)}, num {step.option('num')}, for {parts} outputs",
    )
    return [shape[:axis] + shape[axis + 1 :]] * parts


def strided_slice(step: Step) -> list[Shape]:
    """STRIDED_SLICE."""
    bounds = [step.integers(position) for position in (1, 2, 3)]
    masks = {name: step.option(name) for name in MASKS}
    return [sliced_ranges(step.shape(0), bounds, masks, step.require)[1]]


def slice_(step: Step) -> list[Shape]:
    """SLICE; size -1 reaches to the end."""
    shape, begins, sizes = step.shape(0), step.integers(1), step.integers(2)
    step.require(len(begins) == len(sizes) == len(shape), f"begin {begins}, size {sizes} for {list(shape)}")
    output = []
    for total, begin, size in zip(shape, begins, sizes, strict=True):
        length = total - begin if size == -1 else size
        step.require(
            begin >= 0 and 0 < length <= total - begin, f"begin {begins}, size {sizes} of {list(shape)}"
        )
        output.append(length)
    return [tuple(output)]


def tile(step: Step) -> list[Shape]:
    """TILE: repeats along each dimension."""
    shape, repeats = step.shape(0), step.integers(1)
    step.require(len(repeats) == len(shape), f"{len(repeats)} repeats for shape {list(shape)}")
    return [tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))]


def transpose(step: Step) -> list[Shape]:
    """TRANSPOSE."""
    shape, order = step.shape(0), step.integers(1)
    axes = [step.axis(axis, len(shape)) for axis in order]
    step.require(sorted(axes) == list(range(len(shape))), f"permutation {order} of {len(shape)} dimensions")
    return [tuple(shape[axis] for axis in axes)]


def resize(step: Step) -> list[Shape]:
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""
    shape, size = step.shape(0, 4), step.integers(1)
    step.require(len(size) == 2, f"size {size}, height and width expected")
    return [(shape[0], *size, shape[3])]


def gather(step: Step) -> list[Shape]:
    """GATHER along an axis."""
    shape, indices, batch = step.shape(0), step.shape(1), step.option("batch_dims")
    axis = step.axis(step.option("axis"), len(shape))
    batch += len(indices) if batch < 0 else 0
    step.require(
        0 <= batch <= min(axis, len(indices)) and shape[:batch] == indices[:batch],
        f"batch_dims {batch} with axis {axis}, shape {list(shape)} and indices {list(indices)}",
    )
    _check_indices(step, [shape[axis]])
    return [shape[:axis] + indices[batch:] + shape[axis + 1 :]]


def gather_nd(step: Step) -> list[Shape]:
    """GATHER_ND."""
    shape, indices = step.shape(0), step.shape(1)
    depth = indices[-1] if indices else 0
    step.require(1 <= depth <= len(shape), f"indices {list(indices)} into shape {list(shape)}")
    _check_indices(step, shape[:depth])
    return [indices[:-1] + shape[depth:]]


def _check_indices(step: Step, limits: Sequence[int]) -> None:
    if step.tensor(1).is_constant:
        values = step.values(1)
        inside = bool(((values >= 0) & (values < np.asarray(limits))).all())
        step.require(inside, f"its indices must be 0 to {[limit - 1 for limit in limits]}")


def shape(step: Step) -> list[Shape]:
    """SHAPE: one number per dimension."""
    return [(len(step.shape(0)),)]
