"""Operators that are one strided copy each: slices, splits, transposes, reshapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlasim.compiler_shim.graph import Tensor
from dlasim.compiler_shim.operators.bound import HostCall, Site
from dlasim.compiler_shim.operators.slicing import MASKS, sliced_ranges
from dlasim.isa.host_ops import MAX_RANK


@dataclass(frozen=True, slots=True)
class View:
    """Some of a tensor's elements in an order: the first, and how many how far apart in each dimension."""

    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


def dense(shape: Sequence[int]) -> View:
    """All elements in order."""
    return View(0, tuple(shape), tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape))))


def sliced(shape: Sequence[int], begin: Sequence[int], size: Sequence[int], step: Sequence[int]) -> View:
    """`size` elements in each dimension from `begin` on, every `step`-th."""
    whole = dense(shape)
    offset = sum(first * stride for first, stride in zip(begin, whole.stride, strict=True))
    return View(offset, tuple(size), tuple(a * b for a, b in zip(step, whole.stride, strict=True)))


def merged(view: View) -> View:
    """The same elements with as few dimensions as can be: those of size 1 go, those that follow on join."""
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


def copy_call(site: Site, source: int, view: View, output: int) -> HostCall:
    """The call that copies the view of a tensor into another."""
    least = merged(view)
    spare = MAX_RANK - len(least.size)
    site.require(spare >= 0, f"{len(least.size)} dimensions that cannot be joined, {MAX_RANK} are supported")
    return site.call(
        "STRIDED_COPY",
        (source,),
        (output,),
        offset=least.offset,
        size=(1,) * spare + least.size,
        stride=(0,) * spare + least.stride,
    )


def reshape(site: Site) -> list[HostCall]:
    """RESHAPE, SQUEEZE and EXPAND_DIMS: the same elements in the same order."""
    values, output = site.input(), site.output()
    site.require(values.elements == output.elements, f"{values.elements} elements to {output.elements}")
    return [copy_call(site, site.operator.inputs[0], dense(values.shape), site.operator.outputs[0])]


def transpose(site: Site) -> list[HostCall]:
    """TRANSPOSE."""
    values = site.input()
    whole = dense(values.shape)
    order = [site.axis(axis, len(values.shape)) for axis in site.integers(1)]
    view = View(0, tuple(whole.size[axis] for axis in order), tuple(whole.stride[axis] for axis in order))
    return [copy_call(site, site.operator.inputs[0], view, site.operator.outputs[0])]


def tile(site: Site) -> list[HostCall]:
    """TILE: each dimension over and over, its repetitions a dimension of their own with stride 0."""
    whole = dense(site.input().shape)
    view = View(
        0,
        tuple(size for pair in zip(site.integers(1), whole.size, strict=True) for size in pair),
        tuple(stride for step in whole.stride for stride in (0, step)),
    )
    return [copy_call(site, site.operator.inputs[0], view, site.operator.outputs[0])]


def slice_(site: Site) -> list[HostCall]:
    """SLICE."""
    shape, begin = site.input().shape, site.integers(1)
    view = sliced(shape, begin, site.output().shape, [1] * len(shape))
    return [copy_call(site, site.operator.inputs[0], view, site.operator.outputs[0])]


def strided_slice(site: Site) -> list[HostCall]:
    """STRIDED_SLICE."""
    shape, bounds = site.input().shape, [site.integers(position) for position in (1, 2, 3)]
    masks = {name: site.option(name, 0) for name in MASKS}
    ranges, output = sliced_ranges(shape, bounds, masks, site.require)
    site.require(math.prod(output) == site.output().elements, "its output has another number of elements")
    begins, sizes, steps = zip(*((taken.start, len(taken), taken.step) for taken in ranges), strict=True)
    view = sliced(shape, begins, sizes, steps)
    return [copy_call(site, site.operator.inputs[0], view, site.operator.outputs[0])]


def split(site: Site) -> list[HostCall]:
    """SPLIT."""
    return _parts(site, 1, site.integers(0)[0])


def split_v(site: Site) -> list[HostCall]:
    """SPLIT_V."""
    return _parts(site, 0, site.integers(2)[0])


def _parts(site: Site, source: int, axis: int) -> list[HostCall]:
    values = site.input(source)
    axis = site.axis(axis, len(values.shape))
    calls, start = [], 0
    for position, number in enumerate(site.operator.outputs):
        part = site.output(position)
        calls.append(_part(site, source, values, axis, start, part.shape[axis], number))
        start += part.shape[axis]
    return calls


def unpack(site: Site) -> list[HostCall]:
    """UNPACK."""
    values = site.input()
    axis = site.axis(site.option("axis", 0), len(values.shape))
    return [
        _part(site, 0, values, axis, position, 1, number)
        for position, number in enumerate(site.operator.outputs)
    ]


def _part(
    site: Site, source: int, values: Tensor, axis: int, start: int, length: int, number: int
) -> HostCall:
    begin = [0] * len(values.shape)
    size = list(values.shape)
    begin[axis], size[axis] = start, length
    view = sliced(values.shape, begin, size, [1] * len(size))
    return copy_call(site, site.operator.inputs[source], view, number)
