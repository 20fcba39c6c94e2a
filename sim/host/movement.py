"""Operators that only move elements, whatever their type."""

from __future__ import annotations

import math

import numpy as np

from dlasim.isa.host_attributes import word_float
from dlasim.sim.host.call import Array, Call


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


def gather(call: Call) -> list[Array]:
    """GATHER."""
    values, indices = call.inputs
    axis, batch_dims = call.attributes.axis, call.attributes.batch_dims
    batches, size = math.prod(values.shape[:batch_dims]), values.shape[axis]
    between, behind = math.prod(values.shape[batch_dims:axis]), math.prod(values.shape[axis + 1 :])
    blocks = values.reshape(batches, between, size, behind)
    chosen = indices.reshape(batches, -1)
    inside: Array = (chosen >= 0) & (chosen < size)
    picked = blocks[np.arange(batches)[:, None], :, np.where(inside, chosen, 0)]
    return [np.where(inside[:, :, None, None], picked, 0).transpose(0, 2, 1, 3).astype(call.dtype)]


def gather_nd(call: Call) -> list[Array]:
    """GATHER_ND."""
    values, indices = call.inputs
    depth = indices.shape[-1]
    chosen = indices.reshape(-1, depth)
    sizes = np.array(values.shape[:depth])
    inside: Array = np.all((chosen >= 0) & (chosen < sizes), axis=1)
    picked = values[tuple(np.where(inside[:, None], chosen, 0).T)].reshape(len(chosen), -1)
    return [np.where(inside[:, None], picked, 0).astype(call.dtype)]


def update_slice(call: Call) -> list[Array]:
    """UPDATE_SLICE."""
    values, update, start = call.inputs
    room = np.array(values.shape) - update.shape
    first = np.clip(start.reshape(-1), 0, room)
    result = values.copy()
    result[tuple(slice(at, at + size) for at, size in zip(first, update.shape, strict=True))] = update
    return [result]


KERNELS = {
    "pad": pad,
    "concatenation": concatenation,
    "strided_copy": strided_copy,
    "gather": gather,
    "gather_nd": gather_nd,
    "update_slice": update_slice,
}
