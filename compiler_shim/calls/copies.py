"""Calls that only move elements, as copies between views of their tensors.

A copy is OP_POOL with a window of one pixel. Its strides, and those of transfers, serve slices, transposes of
any kind and interleaved pixels. `copy_elimination.py` removes those copies that another node can make
unnecessary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from math import prod
from operator import sub

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import Cursor, DlaNode, Shape, Value
from dlasim.compiler_shim.calls.views import View, dense, sliced
from dlasim.compiler_shim.forms.products import pick_channels
from dlasim.compiler_shim.forms.rules import MAX_PARTS, Candidate
from dlasim.isa.instruction_rows import INT16_BYTES, Elements, PoolMode
from dlasim.isa.registers import MAX_EXTENT

_MAX_PICKED = (
    256  # channels: each result is a sum over all of them, a copy of single elements takes no longer
)
_Dimension = tuple[int, int, int]  # elements, and how far apart they are in source and target


def strided_copy(candidate: Candidate) -> list[DlaNode] | None:
    """STRIDED_COPY."""
    at = candidate.attributes
    return copy_into(candidate, 0, View(at.offset, at.size, at.stride), dense(at.size))


def concatenation(candidate: Candidate) -> list[DlaNode] | None:
    """CONCATENATION."""
    shape, axis = candidate.outputs[0].shape, candidate.attributes.axis
    outer, row, first = prod(shape[:axis]), prod(shape[axis:]), 0
    nodes: list[DlaNode] = []
    for position, value in enumerate(candidate.inputs):
        part = prod(value.shape) // outer
        target = View(first, (outer, part), (row, 1))
        found = copy_into(candidate, position, dense((outer, part)), target)
        if found is None:
            return None
        nodes += found
        first += part
    return nodes


def update_slice(candidate: Candidate) -> list[DlaNode] | None:
    """UPDATE_SLICE in place: a copy that begins where a cursor is."""
    whole, part = candidate.inputs[0].shape, candidate.inputs[1].shape
    room, steps = tuple(map(sub, whole, part)), dense(whole).stride
    size = np.dtype(candidate.outputs[0].dtype).itemsize
    cursor = Cursor(candidate.input_numbers[2], room, tuple(size * step for step in steps))
    nodes = copy_into(candidate, 1, dense(part), View(0, part, steps))
    return None if nodes is None else [replace(node, cursor=cursor) for node in nodes]


def pad(candidate: Candidate) -> list[DlaNode] | None:
    """PAD: the input, and before and behind it along each dimension a constant."""
    inner, whole = candidate.inputs[0].shape, candidate.outputs[0].shape
    before = candidate.attributes.before[: len(whole)]
    ones = (1,) * len(whole)
    nodes = copy_into(candidate, 0, dense(inner), sliced(whole, before, inner, ones))
    begin, size = [0] * len(whole), list(whole)
    slabs: list[tuple[list[int], list[int]]] = []
    for axis, (first, count, total) in enumerate(zip(before, inner, whole, strict=True)):
        for start, end in ((0, first), (first + count, total)):
            if end > start:
                begin[axis], size[axis] = start, end - start
                slabs.append((list(begin), list(size)))
        begin[axis], size[axis] = first, count
    if not slabs or nodes is None:
        return nodes
    most = max(prod(size) for _, size in slabs)
    dtype = candidate.inputs[0].dtype
    filling = np.full(most, candidate.attributes.value, dtype)
    name = f"{candidate.outputs[0].name}/padding"
    surrounds = Value(name, (most,), dtype, data=filling)
    filled = replace(candidate, inputs=(surrounds,), input_numbers=(candidate.add(surrounds),))
    for begin, size in slabs:
        found = copy_into(filled, 0, dense(size), sliced(whole, begin, size, ones))
        if found is None:
            return None
        nodes += found
    return nodes


def resize_nearest(candidate: Candidate) -> list[DlaNode] | None:
    """RESIZE_NEAREST by whole factors: the input once for each pixel that one of its pixels becomes."""
    (batch, height, width, channels), large = candidate.inputs[0].shape, candidate.outputs[0].shape
    down, across = large[1] // height, large[2] // width
    for data, size, factor in ((1, height, down), (2, width, across)):
        table = candidate.inputs[data].data
        assert table is not None
        if not np.array_equal(table, np.repeat(np.arange(size), factor)):
            return None
    whole = dense(large)
    steps = (whole.stride[0], down * whole.stride[1], across * whole.stride[2], 1)
    nodes: list[DlaNode] = []
    for row, column in product(range(down), range(across)):
        offset = row * whole.stride[1] + column * whole.stride[2]
        target = View(offset, (batch, height, width, channels), steps)
        found = copy_into(candidate, 0, dense((batch, height, width, channels)), target)
        if found is None:
            return None
        nodes += found
    return nodes


def gather(candidate: Candidate) -> list[DlaNode] | None:
    """GATHER at constant indices."""
    at, indices = candidate.attributes, candidate.inputs[1].data
    assert indices is not None
    return _gathered(candidate, indices.ravel().astype(np.int64), at.axis, at.axis + 1)


def gather_nd(candidate: Candidate) -> list[DlaNode] | None:
    """GATHER_ND at constant indices, as those of one dimension."""
    whole, indices = candidate.inputs[0].shape, candidate.inputs[1].data
    assert indices is not None
    depth = indices.shape[-1]
    flat = indices.reshape(-1, depth).astype(np.int64) @ np.array(dense(whole[:depth]).stride, np.int64)
    return _gathered(candidate, flat, 0, depth)


def _gathered(candidate: Candidate, indices: NDArray[np.int64], first: int, end: int) -> list[DlaNode] | None:
    """What lies at indices into some dimensions: a copy for each run of them, or a product."""
    whole = candidate.inputs[0].shape
    outer, size, inner = prod(whole[:first]), prod(whole[first:end]), prod(whole[end:])
    runs = _runs(indices)
    is_int8 = candidate.inputs[0].dtype == "int8"
    if (
        is_int8
        and inner == 1
        and size <= _MAX_PICKED
        and any(step > 1 or count == 1 for _, count, step in runs)
    ):
        return [pick_channels(candidate, indices, size)]
    nodes: list[DlaNode] = []
    place = 0
    for begin, count, step in runs:
        shape = (outer, count, inner)
        source = View(begin * inner, shape, (size * inner, step * inner, 1))
        target = View(place * inner, shape, (len(indices) * inner, inner, 1))
        found = copy_into(candidate, 0, source, target)
        if found is None or len(nodes) + len(found) > MAX_PARTS:
            return None
        nodes += found
        place += count
    return nodes


def _runs(indices: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Indices as runs of equal steps upward: first, count, step."""
    runs: list[tuple[int, int, int]] = []
    for index in indices.tolist():
        begin, count, step = runs[-1] if runs else (0, 0, 0)
        if count == 1 and index > begin:
            runs[-1] = begin, 2, index - begin
        elif count > 1 and index == begin + count * step:
            runs[-1] = begin, count + 1, step
        else:
            runs.append((index, 1, 1))
    return runs


def copy_into(candidate: Candidate, position: int, source: View, target: View) -> list[DlaNode] | None:
    """The copies of a view of an input to a view of the output; None where they would be too many."""
    dimensions = _common_dimensions(source, target)
    channels = 1
    if dimensions and dimensions[-1][1:] == (1, 1):
        channels = dimensions.pop()[0]
    by_size = sorted((d for d in dimensions if d[1] > 0), key=lambda dimension: -dimension[0])
    plane = [dimension for dimension in dimensions if dimension in by_size[:2]][-2:]
    loops = list(dimensions)
    for dimension in plane:
        loops.remove(dimension)
    plane = [(1, 0, 0)] * (2 - len(plane)) + plane
    if prod(count for count, _, _ in loops) > MAX_PARTS or any(count > MAX_EXTENT for count, _, _ in plane):
        return None
    shape = (plane[0][0], plane[1][0], channels)
    nodes = []
    for steps in product(*(range(count) for count, _, _ in loops)):
        ends = []
        for side, view in ((1, source), (2, target)):
            moved = sum(step * loop[side] for step, loop in zip(steps, loops, strict=True))
            strides = (plane[0][side], plane[1][side], 1)
            ends.append(View(view.offset + moved, shape, strides))
        nodes.append(_node(candidate, position, shape, *ends))
    return nodes


def _node(candidate: Candidate, position: int, shape: Shape, source: View, target: View) -> DlaNode:
    value, output = candidate.inputs[position], candidate.outputs[0]
    number = candidate.input_numbers[position]
    read = candidate.add(replace(value, shape=shape, data=None, alias=number, view=source))
    written = candidate.add(replace(output, shape=shape, alias=candidate.output_number, view=target))
    size, fields = 1, {"mode": int(PoolMode.MAX)}
    if value.dtype == "int16":
        size, fields["elements"] = INT16_BYTES, Elements.INT16
    return DlaNode(
        "OP_POOL", candidate.layer, (read,), written, shape, shape, is_copy=True, fields=fields,
        registers={"ACT_MIN": -128, "ACT_MAX": 127}, in_element_bytes=size, out_element_bytes=size,
    )  # fmt: skip


def _common_dimensions(source: View, target: View) -> list[_Dimension]:
    """The dimensions of two views of the same elements in the same order, as few as possible."""
    dimensions: list[_Dimension] = []
    for count, near, far in _aligned(source, target):
        if count == 1:
            continue
        if dimensions:
            outer, outer_near, outer_far = dimensions[-1]
            if (outer_near, outer_far) == (count * near, count * far):
                dimensions[-1] = outer * count, near, far
                continue
        dimensions.append((count, near, far))
    return dimensions


def _aligned(source: View, target: View) -> Iterable[_Dimension]:
    """The two views with the same sizes; those here differ only in dimensions of size 1."""
    sizes = [[count for count in view.size if count > 1] for view in (source, target)]
    assert sizes[0] == sizes[1], f"{source} and {target} are not alike"
    strides = [
        [stride for count, stride in zip(view.size, view.stride, strict=True) if count > 1]
        for view in (source, target)
    ]
    return zip(sizes[0], *strides, strict=True)
