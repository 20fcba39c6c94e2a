"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: the pixels of an image as a batch of smaller ones, and back.

There is a smaller image for each place in a block, of every block's pixel there; its number in the batch is
the place, row by row, times the images of the input, plus the image's own.
"""

from __future__ import annotations

import math
from itertools import accumulate

from dlasim.compiler_shim.calls.views import View, dense, sliced
from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.movement import pad_call
from dlasim.compiler_shim.operators.strided import copy_call

_MAX_BLOCK = 1 << 16


def space_to_batch_shape(op: BoundOperator) -> list[Shape]:
    """SPACE_TO_BATCH_ND: blocks divide the padded image."""
    block, amounts = _block(op), _pairs(op)
    shape = op.shape(0)
    sizes = [size + sum(pair) for size, pair in zip(shape[1:], amounts, strict=False)]
    fits = all(size % side == 0 for size, side in zip(sizes, block, strict=True))
    op.require(fits, f"blocks of {block} do not divide the padded sizes {sizes}")
    inner = (size // side for size, side in zip(sizes, block, strict=True))
    return [(shape[0] * math.prod(block), *inner, *shape[1 + len(block) :])]


def batch_to_space_shape(op: BoundOperator) -> list[Shape]:
    """BATCH_TO_SPACE_ND: a block of images becomes one, and its edges are cropped."""
    block, amounts = _block(op), _pairs(op)
    shape, count = op.shape(0), math.prod(block)
    op.require(shape[0] % count == 0, f"blocks of {block} do not divide a batch of {shape[0]}")
    sides = zip(shape[1:], block, amounts, strict=False)
    inner = (size * side - sum(pair) for size, side, pair in sides)
    return [(shape[0] // count, *inner, *shape[1 + len(block) :])]


def space_to_batch(op: BoundOperator) -> list[KernelCall]:
    """SPACE_TO_BATCH_ND: the image padded, if that is asked for, then one copy."""
    block, amounts, shape = _block(op), _pairs(op), op.shape(0)
    before = [0, *(first for first, _ in amounts)]
    padded = list(shape)
    for axis, pair in enumerate(amounts, start=1):
        padded[axis] += sum(pair)
    source: int | Tensor = op.input_numbers[0]
    calls: list[KernelCall] = []
    if tuple(padded) != shape:
        image = _between(op, "padded", tuple(padded))
        calls.append(pad_call(op, before + [0] * (len(shape) - len(before)), image))
        source = image
    return [*calls, copy_call(op, source, _by_place(tuple(padded), block), op.output_numbers[0])]


def batch_to_space(op: BoundOperator) -> list[KernelCall]:
    """BATCH_TO_SPACE_ND: one copy, and another of what is left if edges are cropped."""
    block, amounts, output = _block(op), _pairs(op), op.output().shape
    whole = list(output)
    for axis, pair in enumerate(amounts, start=1):
        whole[axis] += sum(pair)
    images = _from_places(op.shape(0), tuple(whole), block)
    if tuple(whole) == output:
        return [copy_call(op, op.input_numbers[0], images, op.output_numbers[0])]
    image = _between(op, "uncropped", tuple(whole))
    begin = [0, *(first for first, _ in amounts)]
    begin += [0] * (len(output) - len(begin))
    kept = sliced(tuple(whole), begin, output, [1] * len(output))
    return [
        copy_call(op, op.input_numbers[0], images, image),
        copy_call(op, image, kept, op.output_numbers[0]),
    ]


def _by_place(shape: Shape, block: list[int]) -> View:
    """An image's pixels in the order of their places in blocks: a view of places, images and blocks."""
    stride = dense(shape).stride
    spatial = range(1, 1 + len(block))
    places = [(side, stride[axis]) for axis, side in zip(spatial, block, strict=True)]
    blocks = [(shape[axis] // side, side * stride[axis]) for axis, side in zip(spatial, block, strict=True)]
    rest = list(zip(shape, stride, strict=True))
    return _view([*places, rest[0], *blocks, *rest[1 + len(block) :]])


def _from_places(shape: Shape, whole: Shape, block: list[int]) -> View:
    """The images of a batch in the order of the pixels of the whole ones: `_by_place` backwards."""
    stride = dense(shape).stride
    # A place's images follow those of the place before.
    steps = list(accumulate(reversed(block), lambda step, side: step * side, initial=whole[0] * stride[0]))
    inner = []
    for axis, (side, step) in enumerate(zip(block, reversed(steps[:-1]), strict=True), start=1):
        inner += [(shape[axis], stride[axis]), (side, step)]
    rest = zip(shape[1 + len(block) :], stride[1 + len(block) :], strict=True)
    return _view([(whole[0], stride[0]), *inner, *rest])


def _view(axes: list[tuple[int, int]]) -> View:
    size, stride = zip(*axes, strict=True)
    return View(0, size, stride)


def _between(op: BoundOperator, suffix: str, shape: Shape) -> Tensor:
    return Tensor(f"{op.output().name}/{suffix}", shape, op.input().dtype, op.input().quantization)


def _block(op: BoundOperator) -> list[int]:
    block = op.integers(1)
    op.require(op.shape(1) == (len(block),), f"its block must be a list (got shape {list(op.shape(1))})")
    fits = len(block) < len(op.shape(0)) and len(block) in (1, 2)
    op.require(fits, f"blocks of {len(block)} dimensions in {len(op.shape(0))}; 1 or 2 are supported")
    sound = all(1 <= side <= _MAX_BLOCK for side in block)
    op.require(sound, f"the sides of blocks must be from 1 to {_MAX_BLOCK} (got {block})")
    return block


def _pairs(op: BoundOperator) -> list[tuple[int, int]]:
    """What is added or cropped before and after each side."""
    found, count = op.integer_array(2), len(op.integers(1))
    op.require(found.shape == (count, 2), f"it needs {count} pairs of edges (got shape {list(found.shape)})")
    sound = bool(((found >= 0) & (found < 1 << 31)).all())
    op.require(sound, f"its edges must be 0 or more (got {found.tolist()})")
    return [(int(first), int(last)) for first, last in found]
