"""UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell, step by step, as TFLite Micro computes it.

The four gates look at the inputs of all steps in one product, and at the last output in one product for each
step. Both leave their 32-bit sums to LSTM_CELL, which is the rest of a step.
"""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.calls.views import dense
from dlasim.compiler_shim.network.graph import Numerics, Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.elementwise import rescale_call
from dlasim.compiler_shim.operators.strided import copy_call
from dlasim.sim.arithmetic.interpolation import SIGMOID_TABLE, sigmoid_scale

# Of the gates for input, forgetting, output and cell: those of one function are neighbours.
_INPUT_WEIGHTS = (1, 2, 4, 3)
_RECURRENT_WEIGHTS = (5, 6, 8, 7)
_BIASES = (12, 13, 15, 14)
_OUTPUT_STATE, _CELL_STATE = 18, 19
STATES = (_OUTPUT_STATE, _CELL_STATE)
_VARIANTS = {"a peephole": (9, 10, 11), "a projection": (16, 17), "layer normalization": (20, 21, 22, 23)}
_GATE_SCALE, _FACTOR_SCALE = 2.0**-12, 2.0**-15  # before and after the gates' functions
_UNLIMITED = 1 << 15


def lstm_shape(op: BoundOperator) -> list[Shape]:
    """The output: that of each step."""
    for variant, positions in _VARIANTS.items():
        op.require(not any(op.has(position) for position in positions), f"{variant} is not supported")
    op.require(not op.option("diagonal_recurrent_tensors"), "diagonal recurrent weights are not supported")
    steps, batch, depth = _extents(op)
    units = op.shape(_RECURRENT_WEIGHTS[0], 2)[0]
    for positions, size in ((_INPUT_WEIGHTS, (units, depth)), (_RECURRENT_WEIGHTS, (units, units))):
        for position in positions:
            found = op.shape(position, 2)
            op.require(found == size, f"input {position} has shape {list(found)}, not {list(size)}")
    for position in _BIASES:
        op.require(
            op.input(position).elements == units, f"input {position} is a bias for other than {units} units"
        )
    for position in STATES:
        fits = op.input(position).elements == batch * units
        op.require(fits, f"state {list(op.shape(position))} does not fit {batch} batches of {units} units")
    return [(steps, batch, units) if op.option("time_major") else (batch, steps, units)]


def lstm_macs(op: BoundOperator) -> int:
    """Multiply-accumulates of all gates in all steps."""
    steps, batch, depth = _extents(op)
    units = op.output().shape[-1]
    return 4 * steps * batch * units * (depth + units)


def lstm(op: BoundOperator) -> list[KernelCall]:
    """UNIDIRECTIONAL_SEQUENCE_LSTM; both states are inputs and outputs."""
    op.require(
        op.numerics is not Numerics.LITERT, "dlasim has LSTM as TFLite Micro computes it, not LiteRT's LSTM"
    )
    activation = op.activation
    op.require(activation == "TANH", f"fused activation {activation} is not supported, only TANH")
    steps, batch, _ = _extents(op)
    units, of_cell = op.output().shape[-1], _cell_attributes(op)
    in_steps = op.option("time_major")
    sums = _sums(op, "inputs", (steps * batch, 4 * units))
    calls = [_product(op, op.input_numbers[0], 0, _weights(op, "inputs", _INPUT_WEIGHTS, _BIASES), sums)]
    weights = _weights(op, "recurrent", _RECURRENT_WEIGHTS)
    last: int | Tensor = op.input_numbers[_OUTPUT_STATE]
    cell = Tensor(f"{op.output().name}/cell", (batch, units), "int32")
    calls.append(rescale_call(op, op.input_numbers[_CELL_STATE], cell, op.multiplier(1.0)))
    table = op.new_constant("sigmoid", SIGMOID_TABLE)
    outputs = []
    for step in range(steps):
        recurrent = _sums(op, f"step_{step}", (batch, 4 * units))
        calls.append(_product(op, last, _OUTPUT_STATE, weights, recurrent))
        last = _output_of_step(op, step, (batch, units))
        outputs.append(last)
        rows = (
            {"first_row": step * batch, "row_step": 1} if in_steps else {"first_row": step, "row_step": steps}
        )
        new_cell = Tensor(f"{op.output().name}/cell_{step}", (batch, units), "int32")
        inputs = sums, recurrent, cell, table
        calls.append(op.call("LSTM_CELL", inputs, (last, new_cell), **rows, **of_cell))
        cell = new_cell
    calls.append(rescale_call(op, cell, op.input_numbers[_CELL_STATE], op.multiplier(1.0)))
    calls.append(copy_call(op, last, dense((batch, units)), op.input_numbers[_OUTPUT_STATE]))
    calls.append(op.call("CONCATENATION", outputs, axis=0 if in_steps else 1))
    return calls


def _extents(op: BoundOperator) -> tuple[int, int, int]:
    """Steps, batches and elements of an input."""
    first, second, depth = op.shape(0, 3)
    return (first, second, depth) if op.option("time_major") else (second, first, depth)


def _sums(op: BoundOperator, name: str, shape: Shape) -> Tensor:
    return Tensor(f"{op.output().name}/{name}/int32", shape, "int32")


def _output_of_step(op: BoundOperator, step: int, shape: Shape) -> Tensor:
    return Tensor(f"{op.output().name}/step_{step}", shape, "int8", op.input(_OUTPUT_STATE).quantization)


def _weights(
    op: BoundOperator, name: str, weights: tuple[int, ...], biases: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor]:
    """The weights of all four gates, and their records."""
    together = np.concatenate([op.constant(number) for number in weights])
    records = np.zeros((len(together), 3), np.int32)
    if biases:
        records[:, 0] = np.concatenate([op.constant(number).ravel() for number in biases])
    return op.new_constant(f"{name}/weights", together), op.new_constant(f"{name}/records", records)


def _product(
    op: BoundOperator, values: int | Tensor, position: int, weights: tuple[Tensor, Tensor], sums: Tensor
) -> KernelCall:
    """All four gates' weights times the inputs, or times the last output."""
    zero_point = op.zero_point(op.input(position))
    return op.call("MATRIX_SUMS", (values, *weights), (sums,), input_zero_point=zero_point)


def _cell_attributes(op: BoundOperator) -> dict[str, int | list[int]]:
    """The attributes of LSTM_CELL that all steps share."""
    hidden, cell = op.input(_OUTPUT_STATE), op.input(_CELL_STATE)
    cell_scale = op.scale(cell)
    op.require(op.zero_point(cell) == 0, "the zero point of its cell state is not 0")
    factor, shift = _tanh_scale(op, cell_scale)
    attributes: dict[str, int | list[int]] = {
        "output_zero_point": op.zero_point(hidden), "cell_clip": _cell_clip(op, cell_scale),
        "tanh_factor": factor, "tanh_shift": shift,
    }  # fmt: skip
    for name, source, weights in (
        ("input_", op.input(0), _INPUT_WEIGHTS), ("recurrent_", hidden, _RECURRENT_WEIGHTS),
    ):  # fmt: skip
        pairs = [op.multiplier(_gate_factor(op, source, op.input(position))) for position in weights]
        attributes[f"{name}multiplier"] = [multiplier for multiplier, _ in pairs]
        attributes[f"{name}shift"] = [shift for _, shift in pairs]
    for name, real in (
        ("forget_", _FACTOR_SCALE * cell_scale / cell_scale),
        ("update_", _FACTOR_SCALE * _FACTOR_SCALE / cell_scale),
        ("output_", _FACTOR_SCALE * _FACTOR_SCALE / op.scale(hidden)),
    ):
        attributes[f"{name}multiplier"], attributes[f"{name}shift"] = op.multiplier(real)
    return attributes


def _gate_factor(op: BoundOperator, source: Tensor, weights: Tensor) -> float:
    """From a gate's sum to its scale."""
    op.require(op.zero_point(weights) == 0, f"weights {weights.name} have a zero point other than 0")
    return op.scale(source) * op.factor(weights) / _GATE_SCALE


def _cell_clip(op: BoundOperator, cell_scale: float) -> int:
    clip = float(np.float32(op.option("cell_clip")))
    op.require(clip >= 0, f"cell_clip must be at least 0 (got {clip:g})")
    return int(min(clip / cell_scale, float(_UNLIMITED - 1))) if clip else _UNLIMITED


def _tanh_scale(op: BoundOperator, cell_scale: float) -> tuple[int, int]:
    power = round(np.log2(cell_scale))
    op.require(-31 <= power <= 0, f"its cell state has a scale of {cell_scale:g}, not of 2^-31 to 1")
    return sigmoid_scale(power)
