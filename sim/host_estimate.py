"""How long host calls take on a plain in-order CPU: an estimate, for when no CPU is simulated.

Cycles per multiply-accumulate and per element, rounded from the virtual prototype's firmware on a
single-issue core; the virtual prototype measures instead of estimating.
"""

from __future__ import annotations

from dlasim.isa import host_ops
from dlasim.isa.program import HostCall, Program

CALL_CYCLES = 300
DOORBELL_CYCLES = 40
CYCLES_PER_MAC = 4
CYCLES_PER_ELEMENT = {"SOFTMAX": 80, "RESIZE_BILINEAR": 40, "MEAN": 6, "LUT": 5, "STRIDED_COPY": 6, "PAD": 6}
DEFAULT_PER_ELEMENT = 16


def call_cycles(program: Program, call: HostCall) -> int:
    """Estimated CPU cycles of a host call."""
    macs = program.layers[call.layer].macs
    name = host_ops.BY_CODE[call.code].name
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"):
        outputs = _elements(program, call.outputs)
        return CALL_CYCLES + CYCLES_PER_MAC * macs + DEFAULT_PER_ELEMENT * outputs
    rate = CYCLES_PER_ELEMENT.get(name, DEFAULT_PER_ELEMENT)
    return CALL_CYCLES + rate * max(_elements(program, call.outputs), _elements(program, call.inputs[:1]))


def _elements(program: Program, tensors: tuple[int, ...]) -> int:
    total = 0
    for number in tensors:
        if number >= 0:
            elements = 1
            for extent in program.tensors[number].shape:
                elements *= extent
            total += elements
    return total
