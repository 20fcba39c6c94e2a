"""Operators that are one strided copy each: slices, splits, transposes, reshapes."""

from __future__ import annotations

import math

from dlasim.compiler_shim.calls.views import View, dense, merged, sliced
from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.slicing import MASKS, sliced_ranges
from dlasim.isa.limits import MAX_RANK


def copy_call(op: BoundOperator, source: int | Tensor, view: View, output: int | Tensor) -> KernelCall:
    """The call that copies the view of a tensor into another."""
    least = merged(view)
    spare = MAX_RANK - len(least.size)
    op.require(
        spare >= 0,
        f"at most {MAX_RANK} dimensions that cannot be joined are supported (got {len(least.size)})",
    )
    return op.call(
        "STRIDED_COPY",
        (source,),
        (output,),
        offset=least.offset,
        size=(1,) * spare + least.size,
        stride=(0,) * spare + least.stride,
    )


def reshape(op: BoundOperator) -> list[KernelCall]:
    """RESHAPE, SQUEEZE and EXPAND_DIMS: the same elements in the same order."""
    values, output = op.input(), op.output()
    op.require(
        values.elements == output.elements, f"cannot make {output.elements} elements of {values.elements}"
    )
    return [copy_call(op, op.input_numbers[0], dense(values.shape), op.output_numbers[0])]


def transpose(op: BoundOperator) -> list[KernelCall]:
    """TRANSPOSE."""
    values = op.input()
    whole = dense(values.shape)
    order = [op.axis(axis, len(values.shape)) for axis in op.integers(1)]
    view = View(0, tuple(whole.size[axis] for axis in order), tuple(whole.stride[axis] for axis in order))
    return [copy_call(op, op.input_numbers[0], view, op.output_numbers[0])]


def tile(op: BoundOperator) -> list[KernelCall]:
    """TILE: each dimension over and over, its repetitions a dimension of their own with stride 0."""
    whole = dense(op.input().shape)
    view = View(
        0,
        tuple(size for pair in zip(op.integers(1), whole.size, strict=True) for size in pair),
        tuple(stride for step in whole.stride for stride in (0, step)),
    )
    return [copy_call(op, op.input_numbers[0], view, op.output_numbers[0])]


def broadcast_to(op: BoundOperator) -> list[KernelCall]:
    """BROADCAST_TO: stride 0 along what is repeated."""
    whole, size = dense(op.input().shape), op.output().shape
    missing = (0,) * (len(size) - len(whole.size))
    stride = (
        *missing,
        *(0 if own == 1 else step for own, step in zip(whole.size, whole.stride, strict=True)),
    )
    return [copy_call(op, op.input_numbers[0], View(0, size, stride), op.output_numbers[0])]


def reverse(op: BoundOperator) -> list[KernelCall]:
    """REVERSE_V2: negative strides from the last element on."""
    whole = dense(op.input().shape)
    axes = {op.axis(axis, len(whole.size)) for axis in op.integers(1)}
    offset = sum((whole.size[axis] - 1) * whole.stride[axis] for axis in axes)
    stride = tuple(-step if axis in axes else step for axis, step in enumerate(whole.stride))
    return [copy_call(op, op.input_numbers[0], View(offset, whole.size, stride), op.output_numbers[0])]


def depth_to_space(op: BoundOperator) -> list[KernelCall]:
    """DEPTH_TO_SPACE: the channels of a pixel are a block of pixels, row by row."""
    (batch, height, width, depth), block = op.shape(0), op.option("block_size")
    channels = depth // block**2
    size = (batch, height, block, width, block, channels)
    stride = (height * width * depth, width * depth, block * channels, depth, channels, 1)
    return [copy_call(op, op.input_numbers[0], View(0, size, stride), op.output_numbers[0])]


def space_to_depth(op: BoundOperator) -> list[KernelCall]:
    """SPACE_TO_DEPTH: a block of pixels becomes the channels of one, row by row."""
    (batch, height, width, depth), block = op.shape(0), op.option("block_size")
    line = width * depth
    size = (batch, height // block, width // block, block, block, depth)
    stride = (height * line, block * line, block * depth, line, depth, 1)
    return [copy_call(op, op.input_numbers[0], View(0, size, stride), op.output_numbers[0])]


def slice_(op: BoundOperator) -> list[KernelCall]:
    """SLICE."""
    shape, begin = op.input().shape, op.integers(1)
    view = sliced(shape, begin, op.output().shape, [1] * len(shape))
    return [copy_call(op, op.input_numbers[0], view, op.output_numbers[0])]


def strided_slice(op: BoundOperator) -> list[KernelCall]:
    """STRIDED_SLICE."""
    shape, bounds = op.input().shape, [op.integers(position) for position in (1, 2, 3)]
    masks = {name: op.option(name) for name in MASKS}
    ranges, output = sliced_ranges(shape, bounds, masks, op.require)
    op.require(math.prod(output) == op.output().elements, "its output has a different number of elements")
    begins, sizes, steps = zip(*((taken.start, len(taken), taken.step) for taken in ranges), strict=True)
    view = sliced(shape, begins, sizes, steps)
    return [copy_call(op, op.input_numbers[0], view, op.output_numbers[0])]


def split(op: BoundOperator) -> list[KernelCall]:
    """SPLIT."""
    return _parts(op, 1, op.integers(0)[0])


def split_v(op: BoundOperator) -> list[KernelCall]:
    """SPLIT_V."""
    return _parts(op, 0, op.integers(2)[0])


def _parts(op: BoundOperator, source: int, axis: int) -> list[KernelCall]:
    values = op.input(source)
    axis = op.axis(axis, len(values.shape))
    calls, start = [], 0
    for position, number in enumerate(op.output_numbers):
        part = op.output(position)
        calls.append(_part(op, source, values, axis, start, part.shape[axis], number))
        start += part.shape[axis]
    return calls


def unpack(op: BoundOperator) -> list[KernelCall]:
    """UNPACK."""
    values = op.input()
    axis = op.axis(op.option("axis"), len(values.shape))
    return [
        _part(op, 0, values, axis, position, 1, number) for position, number in enumerate(op.output_numbers)
    ]


def _part(
    op: BoundOperator, source: int, values: Tensor, axis: int, start: int, length: int, number: int
) -> KernelCall:
    begin = [0] * len(values.shape)
    size = list(values.shape)
    begin[axis], size[axis] = start, length
    view = sliced(values.shape, begin, size, [1] * len(size))
    return copy_call(op, op.input_numbers[source], view, number)


def reshape_shape(op: BoundOperator) -> list[Shape]:
    """RESHAPE to its second input, else to its option; one -1 stands for the rest."""
    elements = op.input(0).elements
    wanted = op.integers(1) if op.has(1) else list(op.option("new_shape"))
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) == 1 and known > 0:
        wanted[wanted.index(-1)] = elements // known
    op.require(
        min(wanted, default=0) >= 0 and math.prod(wanted) == elements,
        f"{elements} elements cannot be reshaped to {wanted}",
    )
    return [tuple(wanted)]


def squeeze_shape(op: BoundOperator) -> list[Shape]:
    """SQUEEZE: the chosen dimensions of size 1 go, or all."""
    shape = op.shape(0)
    chosen = {op.axis(axis, len(shape)) for axis in op.option("squeeze_dims")}
    axes = chosen or {axis for axis, size in enumerate(shape) if size == 1}
    op.require(
        all(shape[axis] == 1 for axis in axes), f"dimensions {sorted(axes)} of {list(shape)} are not 1"
    )
    return [tuple(size for axis, size in enumerate(shape) if axis not in axes)]


def expand_dims_shape(op: BoundOperator) -> list[Shape]:
    """EXPAND_DIMS."""
    shape = op.shape(0)
    axis = op.axis(op.scalar(1), len(shape) + 1)
    return [(*shape[:axis], 1, *shape[axis:])]


def split_shape(op: BoundOperator) -> list[Shape]:
    """SPLIT into equal parts."""
    shape, parts = op.shape(1), len(op.outputs)
    axis = op.axis(op.scalar(0), len(shape))
    splits = op.option("num_splits")
    op.require(splits == parts, f"it must have num_splits ({splits}) outputs (got {parts})")
    op.require(shape[axis] % parts == 0, f"dimension {axis} of {list(shape)} does not split into {parts}")
    return [(*shape[:axis], shape[axis] // parts, *shape[axis + 1 :])] * parts


def split_v_shape(op: BoundOperator) -> list[Shape]:
    """SPLIT_V; one -1 stands for the rest."""
    shape, sizes = op.shape(0), op.integers(1)
    axis = op.axis(op.scalar(2), len(shape))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(size for size in sizes if size != -1)
    op.require(
        sum(sizes) == shape[axis],
        f"its sizes must add up to {shape[axis]}, dimension {axis} of the input (got {sizes})",
    )
    return [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]


def unpack_shape(op: BoundOperator) -> list[Shape]:
    """UNPACK: a dimension goes."""
    shape = op.shape(0)
    axis = op.axis(op.option("axis"), len(shape))
    parts = len(op.outputs)
    op.require(
        shape[axis] == op.option("num") == parts,
        f"dimension {axis} of {list(shape)}, num {op.option('num')} and {parts} outputs do not match",
    )
    return [shape[:axis] + shape[axis + 1 :]] * parts


def strided_slice_shape(op: BoundOperator) -> list[Shape]:
    """STRIDED_SLICE."""
    bounds = [op.integers(position) for position in (1, 2, 3)]
    masks = {name: op.option(name) for name in MASKS}
    return [sliced_ranges(op.shape(0), bounds, masks, op.require)[1]]


def slice_shape(op: BoundOperator) -> list[Shape]:
    """SLICE; size -1 reaches to the end."""
    shape, begins, sizes = op.shape(0), op.integers(1), op.integers(2)
    op.require(
        len(begins) == len(sizes) == len(shape),
        f"begin and size must have {len(shape)} numbers each, one per dimension (got {begins} and {sizes})",
    )
    output = []
    for total, begin, size in zip(shape, begins, sizes, strict=True):
        length = total - begin if size == -1 else size
        op.require(
            begin >= 0 and 0 < length <= total - begin,
            f"begin {begins} and size {sizes} reach outside of shape {list(shape)}",
        )
        output.append(length)
    return [tuple(output)]


def broadcast_to_shape(op: BoundOperator) -> list[Shape]:
    """BROADCAST_TO the shape in the second input."""
    shape, wanted = op.shape(0), op.integers(1)
    padded = (1,) * (len(wanted) - len(shape)) + shape
    op.require(
        len(wanted) >= len(shape) and all(own in (1, size) for own, size in zip(padded, wanted, strict=True)),
        f"shape {list(shape)} cannot be broadcast to {wanted}",
    )
    return [tuple(wanted)]


def depth_to_space_shape(op: BoundOperator) -> list[Shape]:
    """DEPTH_TO_SPACE."""
    (batch, height, width, depth), block = op.shape(0, 4), op.option("block_size")
    op.require(
        block >= 1 and depth % block**2 == 0,
        f"the channels must divide by the square of block_size (got {depth} channels, block_size {block})",
    )
    return [(batch, height * block, width * block, depth // block**2)]


def space_to_depth_shape(op: BoundOperator) -> list[Shape]:
    """SPACE_TO_DEPTH."""
    (batch, height, width, depth), block = op.shape(0, 4), op.option("block_size")
    fits = block >= 1 and height % block == 0 and width % block == 0
    op.require(fits, f"height and width must divide by block_size (got {height}x{width}, block_size {block})")
    return [(batch, height // block, width // block, depth * block**2)]


def tile_shape(op: BoundOperator) -> list[Shape]:
    """TILE: repeats along each dimension."""
    shape, repeats = op.shape(0), op.integers(1)
    op.require(
        len(repeats) == len(shape),
        f"it must have {len(shape)} repeats, one per dimension (got {len(repeats)})",
    )
    return [tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))]


def transpose_shape(op: BoundOperator) -> list[Shape]:
    """TRANSPOSE."""
    shape, order = op.shape(0), op.integers(1)
    axes = [op.axis(axis, len(shape)) for axis in order]
    op.require(
        sorted(axes) == list(range(len(shape))),
        f"perm must name each of {len(shape)} dimensions once (got {order})",
    )
    return [tuple(shape[axis] for axis in axes)]
