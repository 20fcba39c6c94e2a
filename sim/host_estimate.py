"""How long host calls take on a plain in-order CPU: an estimate, for when no CPU is simulated.

Cycles per multiply-accumulate and per element, rounded from the virtual prototype's firmware on a
single-issue core; the virtual prototype measures instead of estimating.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dlasim.isa import host_ops
from dlasim.isa.program import HostCall, Program

CALL_CYCLES = 300
DOORBELL_CYCLES = 40
CYCLES_PER_MAC = 4
CYCLES_PER_ELEMENT = {"SOFTMAX": 80, "RESIZE_BILINEAR": 40, "MEAN": 6, "LUT": 5, "STRIDED_COPY": 6, "PAD": 6}
DEFAULT_PER_ELEMENT = 16


Shape = tuple[int, ...]
_WITH_WEIGHTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


def call_cycles(program: Program, call: HostCall) -> int:
    """Estimated CPU cycles of a host call of a program."""
    shapes = [
        [program.tensors[n].shape for n in numbers if n >= 0] for numbers in (call.inputs, call.outputs)
    ]
    return operator_cycles(shapes[0], shapes[1], call.code, program.layers[call.layer].macs)


def operator_cycles(inputs: Sequence[Shape], outputs: Sequence[Shape], code: int, macs: int) -> int:
    """Estimated CPU cycles of a host operator on tensors of these shapes."""
    name = host_ops.BY_CODE[code].name
    written = sum(prod(shape) for shape in outputs)
    if name in _WITH_WEIGHTS:
        return CALL_CYCLES + CYCLES_PER_MAC * macs + DEFAULT_PER_ELEMENT * written
    rate = CYCLES_PER_ELEMENT.get(name, DEFAULT_PER_ELEMENT)
    return CALL_CYCLES + rate * max(written, prod(inputs[0]) if inputs else 0)
