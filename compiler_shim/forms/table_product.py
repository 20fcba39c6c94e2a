"""MUL_LUT: tables give the bytes of the factors, the MAC unit makes int32 of them, and VECTOR multiplies.

A factor of more than 15 bits is two numbers for OP_E16_MUL, of two bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.calls.nodes import DlaNode, Value
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.compiler_shim.forms.translate import elementwise, flat_image, with_one_whole
from dlasim.compiler_shim.forms.wide_arithmetic import WideArithmetic
from dlasim.isa.instruction_rows import INT32_BYTES, Init, Out, Quant, ShiftMode
from dlasim.sim.arithmetic.numerics import INT8_MAX, Integers

_LOW_BITS, _UPPER = 14, 128  # of the lower number, and what the first of two bytes counts
_MOST_OF_BYTES = INT8_MAX * _UPPER + _UPPER // 2 - 1  # that two bytes can hold


def multiply_by_table(candidate: Candidate) -> list[DlaNode]:
    """MUL_LUT."""
    table = candidate.inputs[2].data
    assert table is not None, "made by the compiler"
    return _Product(candidate).nodes(table.ravel().astype(np.int64))


class _Product:
    """The nodes of one call."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate, spread = with_one_whole(candidate)
        self._wide = WideArithmetic(self._candidate)
        self._wide.nodes += spread
        self._image = flat_image(candidate.outputs[0].shape)

    def nodes(self, factors: Integers) -> list[DlaNode]:
        """One product, or the sum of two of which the first counts more."""
        at, wide = self._candidate.attributes, self._wide
        values = self._as_integers(0, self._candidate.input_numbers[0], at.input1_zero_point)
        low = _signed_rest(factors, 1 << _LOW_BITS)
        if np.abs(factors).max() <= _MOST_OF_BYTES:
            product = self._times(values, self._looked_up(factors))
        else:
            upper = self._times(values, self._looked_up((factors - low) >> _LOW_BITS))
            moved = wide.compute(
                "OP_E32_SHIFT", (upper,), wide.tensor(*self._image), self._image,
                {"SHIFT_AMOUNT": _LOW_BITS}, {"mode": ShiftMode.LEFT},
            )  # fmt: skip
            parts = moved, self._times(values, self._looked_up(low))
            product = wide.compute("OP_E32_ADD", parts, wide.tensor(*self._image), self._image)
        limits = {"ACT_MIN": at.clamp_min, "ACT_MAX": at.clamp_max}
        scale = at.output_multiplier, at.output_shift
        wide.requantize(product, scale, at.output_zero_point, self._image, limits)
        return wide.nodes

    def _times(self, values: int, factors: int) -> int:
        """The products of two int32 tensors shaped like the inputs."""
        output = self._wide.tensor(*self._candidate.outputs[0].shape)
        inputs = tuple(replace(value, dtype="int32", data=None) for value in self._candidate.inputs[:2])
        call = replace(
            self._candidate, inputs=inputs, input_numbers=(values, factors), output_number=output,
            activation_count=2,
        )  # fmt: skip
        self._wide.nodes += [
            replace(node, in_element_bytes=INT32_BYTES, out_element_bytes=INT32_BYTES)
            for node in elementwise(call, "OP_E16_MUL", {})
        ]
        return output

    def _looked_up(self, numbers: Integers) -> int:
        """One of these numbers for each element of the second input, as int32, from its two bytes."""
        image = flat_image(self._candidate.inputs[1].shape)
        rest = _signed_rest(numbers, _UPPER)
        tables = [table.astype(np.int8) for table in ((rest - numbers) // _UPPER, rest)]
        pairs = self._wide.look_up_bytes(self._candidate.input_numbers[1], image, tables)
        return self._as_integers(1, pairs, 0, (-_UPPER, 1))

    def _as_integers(self, position: int, source: int, zero_point: int, weights: Sequence[int] = (1,)) -> int:
        """An input, or the bytes of what it became, as int32; of several neighbours the weighted sum."""
        rows, width, channels = image = flat_image(self._candidate.inputs[position].shape)
        count = len(weights)
        data = np.repeat(np.array(weights, np.int8), channels).reshape(1, count, channels)
        output = self._wide.tensor(*self._candidate.inputs[position].shape)
        self._wide.nodes.append(DlaNode(
            "OP_DEPTH_CONV", self._candidate.layer, (source,), output, (rows, width * count, channels), image,
            kernel=(1, count), stride=(1, count), out_element_bytes=INT32_BYTES,
            fields={"init": Init.ZERO, "out": Out.INT32, "quant": Quant.TENSOR},
            registers={"IN_ZP": zero_point, "PAD_VALUE": 0, "WEIGHT_ZP": 0},
            weights=self._candidate.add(Value("weights", data.shape, "int8", data=data)),
        ))  # fmt: skip
        return output


def _signed_rest(numbers: Integers, divisor: int) -> Integers:
    """What is left of numbers by an even divisor, from minus its half on."""
    return (numbers + divisor // 2) % divisor - divisor // 2
