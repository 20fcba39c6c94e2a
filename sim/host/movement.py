"""Operators that only move elements, whatever their type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from dlasim.isa.host_attributes import word_float
from dlasim.sim.host.call import Array, Call

Bound = Callable[[Call, Array], Callable[[], None]]


def pad(call: Call) -> list[Array]:
    """PAD."""
    values, attributes = call.inputs[0], call.attributes
    value = word_float(attributes.value) if call.dtype.kind == "f" else attributes.value
    limits = [(start, start + size) for start, size in zip(attributes.before, values.shape, strict=False)]
    fits = all(start >= 0 and stop <= size for (start, stop), size in zip(limits, call.shape, strict=True))
    if not fits:
        raise ValueError("the input lies outside the output")
    result = np.full(call.shape, value, call.dtype)
    result[tuple(slice(start, stop) for start, stop in limits)] = values
    return [result]


def concatenation(call: Call) -> list[Array]:
    """CONCATENATION."""
    outer = math.prod(call.shape[: call.attributes.axis])
    return [np.concatenate([values.reshape(outer, -1) for values in call.inputs], axis=1)]


def strided_copy(call: Call) -> list[Array]:
    """STRIDED_COPY."""
    values, attributes = call.inputs[0].reshape(-1), call.attributes
    steps = [(size - 1) * stride for size, stride in zip(attributes.size, attributes.stride, strict=True)]
    first = attributes.offset + sum(min(step, 0) for step in steps)
    last = attributes.offset + sum(max(step, 0) for step in steps)
    if min(attributes.size) < 1 or first < 0 or last >= len(values):
        raise ValueError(f"reads elements {first} to {last} of {len(values)}")
    strides = [stride * values.itemsize for stride in attributes.stride]
    return [np.lib.stride_tricks.as_strided(values[attributes.offset :], attributes.size, strides)]


def gather(call: Call, target: Array) -> Callable[[], None]:
    """GATHER."""
    values, indices = call.inputs
    axis, batch_dims = call.attributes.axis, call.attributes.batch_dims
    batches, size = math.prod(values.shape[:batch_dims]), values.shape[axis]
    between, behind = math.prod(values.shape[batch_dims:axis]), math.prod(values.shape[axis + 1 :])
    chosen = indices.reshape(batches, -1)
    results = target.reshape(batches, between, -1, behind)
    blocks = list(zip(values.reshape(batches, between, size, behind), chosen, results, strict=True))

    def compute() -> None:
        for block, places, picked in blocks:
            block.take(places, axis=1, out=picked, mode="clip")
        if indices.min() < 0 or indices.max() >= size:
            results.swapaxes(1, 2)[(chosen < 0) | (chosen >= size)] = 0

    return compute


def gather_nd(call: Call) -> list[Array]:
    """GATHER_ND."""
    values, indices = call.inputs
    depth = indices.shape[-1]
    chosen = indices.reshape(-1, depth)
    sizes = np.array(values.shape[:depth])
    inside: Array = np.all((chosen >= 0) & (chosen < sizes), axis=1)
    picked = values[tuple(np.where(inside[:, None], chosen, 0).T)].reshape(len(chosen), -1)
    return [np.where(inside[:, None], picked, 0).astype(call.dtype)]


def update_slice(call: Call, target: Array) -> Callable[[], None]:
    """UPDATE_SLICE, which may change its first input."""
    values, update, start = call.inputs
    starts, is_copy = start.reshape(-1), not np.may_share_memory(values, target)
    rooms = [whole - part for whole, part in zip(values.shape, update.shape, strict=True)]
    whole = target.reshape(values.shape)  # the output may have another shape
    assert np.may_share_memory(whole, target), "tensors are dense"
    places = np.lib.stride_tricks.sliding_window_view(whole, update.shape, writeable=True)

    def compute() -> None:
        if is_copy:
            whole[...] = values
        first = [min(max(at, 0), room) for at, room in zip(starts.tolist(), rooms, strict=True)]
        places[tuple(first)] = update

    return compute


def place_cursor(call: Call) -> list[Array]:
    """PLACE_CURSOR."""
    attributes, starts = call.attributes, call.inputs[0].reshape(-1).tolist()
    dimensions = zip(starts, attributes.room, attributes.stride, strict=False)
    return [np.array([sum(min(max(at, 0), room) * stride for at, room, stride in dimensions)], np.int32)]


def _alone(bind: Bound) -> Callable[[Call], list[Array]]:
    """A kernel that makes the result of one that writes into an array."""

    def run(call: Call) -> list[Array]:
        result = np.empty(call.shape, call.dtype)
        bind(call, result)()
        return [result]

    return run


# Operators that are prepared for their arrays, and then take little more time than what they move
BOUND: Mapping[str, Bound] = {"GATHER": gather, "UPDATE_SLICE": update_slice}
KERNELS = {
    "pad": pad,
    "concatenation": concatenation,
    "strided_copy": strided_copy,
    "gather": _alone(gather),
    "gather_nd": gather_nd,
    "place_cursor": place_cursor,
    "update_slice": _alone(update_slice),
}
