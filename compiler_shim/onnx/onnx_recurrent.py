"""LSTM, GRU and RNN, which onnxruntime's quantizer leaves in float32: step by step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_float import real_of, settle
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_real import Real
from dlasim.compiler_shim.onnx.onnx_values import RefusedError
from dlasim.dataclass import dataclass

_MAX_STEPS = 256  # in all: each takes some 30 operators
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_USUAL = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: what the inputs give at each step, and the weights and biases of the state."""

    gates: Real  # [steps, batch, gates * hidden]
    weights: Real
    bias: Real | None
    state: Real  # [batch, hidden]
    cell: Real | None


def recurrent(converter: Converter, node: OnnxNode) -> None:
    """The layer in one direction or two."""
    given = real_of(converter, node)
    ways = {"forward": (1,), "reverse": (-1,), "bidirectional": (1, -1)}.get(
        node.attributes.get("direction", "forward"), ()
    )
    _check(converter, node, given, len(ways))
    steps = given.shape[0]
    rows: list[list[Real]] = []
    last: list[tuple[Real, Real | None]] = []
    for number, way in enumerate(ways):
        found, cell = _run(node, _direction(converter, node, given, number), way)
        rows.append(found[::way])
        last.append((found[-1], cell))
    hidden = rows[0][0].shape[-1]
    batch = given.shape[1]
    outputs = [*node.outputs, "", "", ""][:3]
    if outputs[0]:
        flat = [row[step].reshaped((1, 1, batch, hidden)) for step in range(steps) for row in rows]
        whole = flat[0].joined(flat[1:], 0).reshaped((steps, len(ways), batch, hidden))
        settle(converter, node, whole)
    for place, states in ((1, [state for state, _ in last]), (2, [cell for _, cell in last])):
        parts = [state.reshaped((1, batch, hidden)) for state in states if state is not None]
        if outputs[place] and parts:
            settle(converter, node, parts[0].joined(parts[1:], 0), place=place)


def _check(converter: Converter, node: OnnxNode, given: Real, ways: int) -> None:
    at = node.attributes
    named = [str(name).lower() for name in at.get("activations", ())]
    if not ways or len(given.shape) != 3 or at.get("layout") or at.get("clip") or at.get("input_forget"):
        raise RefusedError("its direction, layout, clip or input_forget is not supported")
    if named and named != [*_USUAL[node.kind]] * ways:
        raise RefusedError(f"its activations must be {', '.join(_USUAL[node.kind])}")
    if converter.has(node, 7) or (converter.has(node, 4) and not _are_whole(converter, node, given.shape[0])):
        raise RefusedError("peepholes and sequences of different lengths are not supported")
    if given.shape[0] * ways > _MAX_STEPS:
        raise RefusedError(
            f"it has {given.shape[0]} steps in each direction; at most {_MAX_STEPS} are supported"
        )


def _are_whole(converter: Converter, node: OnnxNode, steps: int) -> bool:
    return bool((converter.constant(node, 4).data == steps).all())


def _direction(converter: Converter, node: OnnxNode, given: Real, number: int) -> Direction:
    count, (steps, batch, depth) = _GATES[node.kind], given.shape
    weights, states = real_of(converter, node, 1), real_of(converter, node, 2)
    hidden = states.shape[-1] if states.shape else 0
    fits = len(weights.shape) == len(states.shape) == 3 and number < min(weights.shape[0], states.shape[0])
    if not fits or weights.shape[1:] != (count * hidden, depth) or states.shape[1] != count * hidden:
        raise RefusedError(
            f"weights {list(weights.shape)} and {list(states.shape)} do not fit {list(given.shape)}"
        )
    rows = weights.part(0, number, 1).reshaped((count * hidden, depth))
    matrix = states.part(0, number, 1).reshaped((count * hidden, hidden))
    gates = given.reshaped((steps * batch, depth)).times_rows(rows)
    bias = None
    if converter.has(node, 3):
        both = real_of(converter, node, 3)
        if len(both.shape) != 2 or both.shape[1:] != (2 * count * hidden,) or number >= both.shape[0]:
            raise RefusedError(f"its bias has shape {list(both.shape)}")
        both = both.part(0, number, 1)
        gates = gates + both.part(1, 0, count * hidden)
        bias = both.part(1, count * hidden, count * hidden)
    first = [_initial(converter, node, place, number, given, batch, hidden) for place in (5, 6)]
    cell = first[1] if node.kind == "LSTM" else None
    return Direction(gates.reshaped((steps, batch, count * hidden)), matrix, bias, first[0], cell)


def _initial(
    converter: Converter, node: OnnxNode, place: int, number: int, given: Real, batch: int, hidden: int
) -> Real:

    if not converter.has(node, place):
        return given.constant(np.zeros((batch, hidden), np.float32))
    return real_of(converter, node, place).part(0, number, 1).reshaped((batch, hidden))


def _run(node: OnnxNode, way: Direction, step: int) -> tuple[list[Real], Real | None]:
    """The state after each step, in the order in which they are computed, and the last cell."""
    steps, batch, width = way.gates.shape
    state, cell, found = way.state, way.cell, []
    update = _UPDATES[node.kind]
    for place in range(steps)[::step]:
        inputs = way.gates.part(0, place, 1).reshaped((batch, width))
        state, cell = update(node, inputs, state, cell, way)
        found.append(state)
    return found, cell


def _recurring(state: Real, way: Direction) -> Real:
    found = state.times_rows(way.weights)
    return found if way.bias is None else found + way.bias


def _parts(value: Real, count: int) -> list[Real]:
    size = value.shape[-1] // count
    return [value.part(1, place * size, size) for place in range(count)]


def _lstm(
    _: OnnxNode, inputs: Real, state: Real, cell: Real | None, way: Direction
) -> tuple[Real, Real | None]:
    assert cell is not None
    i, o, f, c = _parts(inputs + _recurring(state, way), 4)
    cell = f.sigmoid() * cell + i.sigmoid() * c.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru(
    node: OnnxNode, inputs: Real, state: Real, _: Real | None, way: Direction
) -> tuple[Real, Real | None]:
    z, r, h = _parts(inputs, 3)
    of_z, of_r, of_h = _parts(_recurring(state, way), 3)
    update, reset = (z + of_z).sigmoid(), (r + of_r).sigmoid()
    if node.attributes.get("linear_before_reset"):
        of_h = reset * of_h
    else:
        size = state.shape[1]
        of_h = (reset * state).times_rows(way.weights.part(0, 2 * size, size))
        of_h = of_h if way.bias is None else of_h + way.bias.part(1, 2 * size, size)
    new = (h + of_h).tanh()
    return new + update * (state - new), None


def _rnn(_: OnnxNode, inputs: Real, state: Real, __: Real | None, way: Direction) -> tuple[Real, Real | None]:
    return (inputs + _recurring(state, way)).tanh(), None


Update = Callable[[OnnxNode, Real, Real, "Real | None", Direction], "tuple[Real, Real | None]"]
_UPDATES: dict[str, Update] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}
RECURRENT = dict.fromkeys(_GATES, recurrent)
