"""Some of a tensor's elements in an order: slices, transposes and parts of tensors without copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dlasim.dataclass import dataclass
from dlasim.named_tuple import NamedTuple

MAX_VIEWS = 4096  # for which answers are remembered, as layers repeat


@dataclass(frozen=True, slots=True)
class View:
    """The first element, and how many elements how far apart in each dimension; the last index is fastest."""

    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


class Layout(NamedTuple):
    """A view as an image with contiguous channels: its first element, and the elements from a pixel to the
    next and from a row to the next."""

    offset: int
    pixel: int
    line: int


def dense(shape: Sequence[int]) -> View:
    """All elements in order."""
    return View(0, tuple(shape), tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape))))


def sliced(shape: Sequence[int], begin: Sequence[int], size: Sequence[int], step: Sequence[int]) -> View:
    """`size` elements in each dimension from `begin` on, every `step`-th."""
    whole = dense(shape)
    offset = sum(first * stride for first, stride in zip(begin, whole.stride, strict=True))
    return View(offset, tuple(size), tuple(a * b for a, b in zip(step, whole.stride, strict=True)))


def merged(view: View) -> View:
    """The same elements with as few dimensions as possible: those of size 1 go, those that follow on join."""
    size: list[int] = []
    stride: list[int] = []
    for count, step in zip(view.size, view.stride, strict=True):
        if count == 1:
            continue
        if size and stride[-1] == count * step:
            size[-1], stride[-1] = size[-1] * count, step
        else:
            size.append(count)
            stride.append(step)
    return View(view.offset, tuple(size), tuple(stride))


def is_whole(view: View, elements: int) -> bool:
    """Whether the view is a tensor of so many elements, all in order."""
    least = merged(view)
    return least.offset == 0 and math.prod(view.size) == elements and least.stride in ((), (1,))


@lru_cache(maxsize=MAX_VIEWS)
def composed(view: View, base: View) -> View | None:
    """The view of a tensor that is itself a view, in terms of the latter's tensor; None where the strides do
    not combine."""
    inner = merged(base)
    places = dense(inner.size).stride
    first, offset, rest = [0] * len(places), inner.offset, view.offset
    for axis, place in enumerate(places):
        first[axis], rest = divmod(rest, place)
        offset += first[axis] * inner.stride[axis]
    size: list[int] = []
    stride: list[int] = []
    last = list(first)
    for count, step in zip(view.size, view.stride, strict=True):
        parts = _split(count, step, inner.size, places)
        if parts is None:
            return None
        for axis, number, steps in parts:
            size.append(number)
            stride.append(steps * inner.stride[axis] if number > 1 else 0)
            last[axis] += (number - 1) * steps
    if any(end >= limit for end, limit in zip(last, inner.size, strict=True)):
        return None
    return merged(View(offset, tuple(size), tuple(stride)))


def _split(
    count: int, step: int, sizes: Sequence[int], places: Sequence[int]
) -> list[tuple[int, int, int]] | None:
    """A dimension as steps along the dimensions of a dense tensor, outermost first: (axis, count, steps)."""
    parts: list[tuple[int, int, int]] = []
    while count > 1:
        axis = next((axis for axis, place in enumerate(places) if place <= step and step % place == 0), None)
        if axis is None:
            return None
        room, steps = sizes[axis], step // places[axis]
        if count * steps <= room or room % steps:
            return [(axis, count, steps), *parts]
        number = room // steps
        if count % number or number == 1:
            return [(axis, count, steps), *parts]
        parts.insert(0, (axis, number, steps))
        count, step = count // number, room * places[axis]
    return parts


@lru_cache(maxsize=MAX_VIEWS)
def image_layout(view: View, shape: tuple[int, int, int]) -> Layout | None:
    """The view as an image of this shape; None where no two strides describe it."""
    least = merged(view)
    strides: list[int] = []
    sizes, steps = list(least.size), list(least.stride)
    for count in reversed(shape):
        if count == 1:
            strides.append(0)
            continue
        if not sizes or sizes[-1] % count:
            return None
        strides.append(steps[-1])
        sizes[-1] //= count
        steps[-1] *= count
        if sizes[-1] == 1:
            del sizes[-1], steps[-1]
    if sizes or strides[0] not in (0, 1) or min(strides) < 0:
        return None
    pixel = strides[1] if shape[1] > 1 else shape[2]
    line = strides[2] if shape[0] > 1 else shape[1] * pixel
    return Layout(least.offset, pixel, line)


def dense_layout(shape: tuple[int, int, int]) -> Layout:
    """An image without gaps."""
    return Layout(0, shape[2], shape[1] * shape[2])
