"""Parts of a call that the DLA computes one by one: images of a batch, groups of a convolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from numpy.typing import NDArray

from dlasim.compiler_shim.calls.views import View, dense, sliced
from dlasim.compiler_shim.forms.rules import Candidate


def images(candidate: Candidate) -> Iterator[Candidate]:
    """The call for each image of a batch; what has a batch of 1 serves for all."""
    count = prod(candidate.outputs[0].shape[:-3])
    if count == 1:
        yield candidate
        return
    for number in range(count):
        part = candidate
        for position, value in enumerate(candidate.inputs[: candidate.activation_count]):
            if prod(value.shape[:-3]) == count:
                part = with_input(part, position, *_image(value.shape, number))
        yield with_output(part, *_image(candidate.outputs[0].shape, number))


def groups(candidate: Candidate) -> Iterator[Candidate]:
    """The convolution of each group of channels."""
    depth, channels = candidate.inputs[1].shape[3], candidate.inputs[1].shape[0]
    count = candidate.inputs[0].shape[3] // depth
    if count == 1:
        yield candidate
        return
    step = channels // count
    for number in range(count):
        part = with_input(candidate, 0, *_channels(candidate.inputs[0].shape, number * depth, depth))
        rows = slice(number * step, (number + 1) * step)
        for position in (1, 2):
            data = candidate.inputs[position].data
            assert data is not None
            part = with_constant(part, position, data[rows])
        yield with_output(part, *_channels(candidate.outputs[0].shape, number * step, step))


def _image(shape: tuple[int, ...], number: int) -> tuple[View, tuple[int, ...]]:
    whole = dense(shape[-3:])
    return replace(whole, offset=number * prod(shape[-3:])), (1, *shape[-3:])


def _channels(shape: tuple[int, ...], first: int, count: int) -> tuple[View, tuple[int, ...]]:
    begin, part = (*(0,) * (len(shape) - 1), first), (*shape[:-1], count)
    return sliced(shape, begin, part, (1,) * len(shape)), part


def with_input(candidate: Candidate, position: int, view: View, shape: tuple[int, ...]) -> Candidate:
    """The call with a part of an input in its place."""
    inputs, numbers = list(candidate.inputs), list(candidate.input_numbers)
    inputs[position] = replace(inputs[position], shape=shape, data=None, alias=numbers[position], view=view)
    numbers[position] = candidate.add(inputs[position])
    return replace(candidate, inputs=tuple(inputs), input_numbers=tuple(numbers))


def with_constant(candidate: Candidate, position: int, data: NDArray[Any]) -> Candidate:
    """The call with another constant for an input."""
    inputs, numbers = list(candidate.inputs), list(candidate.input_numbers)
    inputs[position] = replace(inputs[position], shape=data.shape, data=data)
    numbers[position] = candidate.add(inputs[position])
    return replace(candidate, inputs=tuple(inputs), input_numbers=tuple(numbers))


def with_output(candidate: Candidate, view: View, shape: tuple[int, ...]) -> Candidate:
    """The call that computes only a part of its output."""
    part = replace(candidate.outputs[0], shape=shape, alias=candidate.output_number, view=view)
    return replace(candidate, outputs=(part,), output_number=candidate.add(part))
