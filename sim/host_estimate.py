"""How long host calls take on a plain in-order CPU: an estimate, for when no CPU is simulated.

Cycles for each of what a kernel of the virtual prototype's firmware loops over, fitted to its instructions on
a core that executes one a cycle (`benchmarks/cpu_estimate.py`); the virtual prototype measures instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from dlasim.isa import host_ops
from dlasim.isa.program import HostCall, Program

DOORBELL_CYCLES = 40


@dataclass(frozen=True, slots=True)
class Rates:
    """Cycles of a call, and for each of what it works on."""

    call: float = 300
    mac: float = 0
    read: float = 0  # element of the first input
    written: float = 0  # element of the outputs
    window_row: float = 0  # row of the window, for each element written
    row: float = 0  # row of a channel of the output
    channel: float = 0  # of the output
    weight: float = 0


RATES = {
    "CONV_2D": Rates(mac=2.9, written=29, window_row=10, weight=8),
    "TRANSPOSE_CONV": Rates(mac=2.9, written=29, window_row=10, weight=8),
    "DEPTHWISE_CONV_2D": Rates(mac=4.1, written=34, row=100),
    "FULLY_CONNECTED": Rates(mac=4.1, written=30, channel=100),
    "ADD": Rates(written=34),
    "SUB": Rates(written=34),
    "MUL": Rates(written=33),
    "PRELU": Rates(written=41),
    "LUT": Rates(written=8),
    "AVERAGE_POOL_2D": Rates(read=2.6, written=40),
    "MAX_POOL_2D": Rates(read=2.6, written=40),
    "MEAN": Rates(read=18, written=100),
    "SOFTMAX": Rates(call=450, written=57),
    "PAD": Rates(written=4),
    "CONCATENATION": Rates(written=2),
    "STRIDED_COPY": Rates(written=5),
    "GATHER": Rates(written=2),
    "GATHER_ND": Rates(written=2),
    "RESIZE_NEAREST": Rates(written=2),
    "RESIZE_BILINEAR": Rates(written=31),
    "QUANTIZE": Rates(written=290),
    "CAST": Rates(written=21),
    "BINARY": Rates(written=20),
    "UNARY": Rates(written=13),
    "ARG_MAX": Rates(read=20),
}
OTHERS = Rates(read=16, written=16)  # the firmware has no kernel to measure
_MEASURED = {operator.name for operator in host_ops.HOST_OPERATORS if operator.firmware}
assert RATES.keys() >= _MEASURED, f"no rates for {_MEASURED - RATES.keys()}"
assert RATES.keys() <= host_ops.BY_NAME.keys(), "rates of no host operator"

Shape = tuple[int, ...]


def call_cycles(program: Program, call: HostCall) -> int:
    """Estimated CPU cycles of a host call of a program."""
    shapes = [
        [program.tensors[n].shape for n in numbers if n >= 0] for numbers in (call.inputs, call.outputs)
    ]
    return operator_cycles(shapes[0], shapes[1], call.code, program.layers[call.layer].macs)


def operator_cycles(inputs: Sequence[Shape], outputs: Sequence[Shape], code: int, macs: int) -> int:
    """Estimated CPU cycles of a host operator on tensors of these shapes."""
    rates = RATES.get(host_ops.BY_CODE[code].name, OTHERS)
    written = sum(prod(shape) for shape in outputs)
    cycles = rates.call + rates.mac * macs + rates.written * written
    cycles += rates.read * (prod(inputs[0]) if inputs else 0)
    if rates.mac:
        weights = inputs[1] if len(inputs) > 1 else ()
        cycles += _of_weights(rates, weights, outputs[0] if outputs else (), written)
    return round(cycles)


def _of_weights(rates: Rates, weights: Shape, output: Shape, written: int) -> float:
    """What depends on the shapes of weights, [OC, KH, KW, IC] or [OC, IC], and output."""
    width, channels = (1, 1, *output)[-2:]
    window_rows = weights[1] if len(weights) == 4 else 1
    cycles = rates.window_row * window_rows * written + rates.weight * prod(weights)
    return cycles + rates.row * (written // max(width, 1)) + rates.channel * channels
