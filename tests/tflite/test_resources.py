"""Variables that a file keeps as resources: TFLite Micro's and LiteRT's results over several inferences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.checking.interpreters import litert_interpreter
from dlasim.compiler_shim.compile import load_graph
from dlasim.errors import InputError
from tests.tflite.streaming_model import SHAPE, ZERO_POINT, X, streaming_model


def theirs(data: bytes, runs: int) -> np.ndarray:
    interpreter = litert_interpreter(data)
    for _ in range(runs):
        interpreter.set_tensor(0, X)
        interpreter.invoke()
    return np.array(interpreter.get_tensor(2))


def micros(data: bytes, runs: int) -> np.ndarray:
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(data)
    for _ in range(runs):
        interpreter.set_input(X, 0)
        interpreter.invoke()
    return np.array(interpreter.get_output(0))


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("assigns", [True, False])
def test_state_lasts_as_in_tensorflow(tmp_path: Path, host: str, assigns: bool) -> None:
    """A variable that nothing assigns may begin with any values."""
    initial = np.full(SHAPE, ZERO_POINT, np.int8) if assigns else X[::-1].copy()
    path = tmp_path / "model.tflite"
    path.write_bytes(streaming_model(initial, assigns))
    for runs in (1, 2, 3):
        expected = theirs(path.read_bytes(), runs)
        np.testing.assert_array_equal(micros(path.read_bytes(), runs), expected)
        found = dlasim.run(path, inputs=[X], repeat=runs, host=host).outputs[0]
        np.testing.assert_array_equal(found, expected)


def test_nothing_is_left_of_the_handles(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(streaming_model(np.full(SHAPE, ZERO_POINT, np.int8)))
    kinds = [operator.kind for operator in load_graph(path).operators]
    assert set(kinds) == {"ADD", "RESHAPE"}
    assert dlasim.verify(path).passed


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (np.ones(SHAPE, np.int8), "variable state begins with values other than 0"),
        (np.ones((1, 48), np.int8), "variable state begins as a tensor of another shape or type"),
    ],
)
def test_what_is_refused(tmp_path: Path, initial: np.ndarray, message: str) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(streaming_model(initial))
    with pytest.raises(InputError, match=message):
        load_graph(path)
