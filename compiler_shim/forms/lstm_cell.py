"""LSTM_CELL in the VECTOR unit: gates, cell and output of a step, from the sums of the MAC unit."""

from __future__ import annotations

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.calls.views import View
from dlasim.compiler_shim.forms.rules import Candidate
from dlasim.compiler_shim.forms.wide_arithmetic import NO_LIMIT, WideArithmetic, scaled
from dlasim.isa.instruction_rows import SigmoidMode
from dlasim.sim.arithmetic.interpolation import sigmoid_scale

_GATES = 4
_GATE_FACTOR, _GATE_SHIFT = sigmoid_scale(-12)


def lstm_cell(candidate: Candidate) -> list[DlaNode]:
    """LSTM_CELL: gates in pixels of all batches, logistic ones first."""
    at, (batch, units) = candidate.attributes, candidate.outputs[0].shape
    wide, (new_cell,) = WideArithmetic(candidate), candidate.more_outputs
    inputs, recurrent, cell, table = candidate.input_numbers
    shape, row = (batch, units), _GATES * units

    def sigmoid(mode: SigmoidMode, source: int, pixel: tuple[int, int], factor: int, shift: int) -> int:
        registers = {"IN_MULT": factor, "SHIFT_AMOUNT": shift}
        return wide.compute(
            "OP_E16_SIGMOID", (source,), wide.tensor(*pixel), pixel, registers, {"mode": mode}, table
        )

    gates = wide.tensor(batch, row)
    for gate in range(_GATES):
        place = View(gate * units, shape, (row, 1))
        rows = View(at.first_row * row + gate * units, shape, (at.row_step * row, 1))
        registers = {
            **scaled("IN", (at.input_multiplier[gate], at.input_shift[gate])),
            **scaled("IN2", (at.recurrent_multiplier[gate], at.recurrent_shift[gate])),
            "LIMIT": NO_LIMIT,
        }
        sums = wide.part(inputs, rows), wide.part(recurrent, place)
        wide.compute("OP_E16_ADD", sums, wide.part(gates, place), shape, registers)
    opened = (batch, (_GATES - 1) * units)
    logistic = sigmoid(
        SigmoidMode.LOGISTIC, wide.part(gates, View(0, opened, (row, 1))), opened, _GATE_FACTOR, _GATE_SHIFT
    )
    entering, kept, shown = (
        wide.part(logistic, View(gate * units, shape, (opened[1], 1))) for gate in range(_GATES - 1)
    )
    last = wide.part(gates, View(opened[1], shape, (row, 1)))
    candidates = sigmoid(SigmoidMode.TANH, last, shape, _GATE_FACTOR, _GATE_SHIFT)
    parts = wide.multiply(kept, cell, shape), wide.multiply(entering, candidates, shape)
    registers = {
        **scaled("IN", (at.forget_multiplier, at.forget_shift)),
        **scaled("IN2", (at.update_multiplier, at.update_shift)),
        "LIMIT": at.cell_clip,
    }
    wide.compute("OP_E16_ADD", parts, new_cell, shape, registers)
    bent = sigmoid(SigmoidMode.TANH, new_cell, shape, at.tanh_factor, at.tanh_shift)
    result = wide.multiply(bent, shown, shape)
    wide.requantize(result, (at.output_multiplier, at.output_shift), at.output_zero_point, shape)
    return wide.nodes
