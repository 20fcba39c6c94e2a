"""Computes one input after the other: the program's outputs, and those of the network in float."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, RunError, printable
from dlasim.evaluation.outcome import Prediction, predict
from dlasim.evaluation.samples import Sample
from dlasim.inputs import prepare_inputs
from dlasim.installation import extra_command
from dlasim.isa import container
from dlasim.outputs import dequantize
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.system.fileio import read_file
from dlasim.system.quiet import quiet

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """What all inputs have in common; workers receive it."""

    program: bytes
    normalize: str
    float_model: str | None
    engine: str
    with_outputs: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The predictions for one input, and its outputs as real numbers where they were asked for."""

    fixed: Prediction
    real: Prediction | None
    outputs: list[Array] | None


class FloatModel(Protocol):
    """A network in float: the first output for real inputs."""

    def scores(self, inputs: Sequence[Array]) -> Array:
        """Of one inference."""


class Predictor:
    """The program and the network in float, loaded once."""

    def __init__(self, task: EvaluationTask) -> None:
        self._task = task
        self._program = container.read(task.program)
        self._simulation = Simulation(self._program, config_of(self._program), make_executor(task.engine))
        self._float = None if task.float_model is None else open_float_model(task.float_model)

    def find(self, sample: Sample) -> Found:
        """The predictions for one input."""
        program = self._program
        try:
            arrays = prepare_inputs(program.inputs, sample.given, normalize=self._task.normalize)
        except InputError as error:
            raise InputError(f"{printable(sample.name)}: {error}") from None
        outputs = self._simulation.run(arrays).outputs
        fixed, real = predict(outputs[0], sample.label), None
        if self._float is not None:
            inputs = [dequantize(tensor, array) for tensor, array in zip(program.inputs, arrays, strict=True)]
            real = predict(self._float.scores(inputs), sample.label)
        kept = None
        if self._task.with_outputs:
            kept = [dequantize(*pair) for pair in zip(program.outputs, outputs, strict=True)]
        return Found(fixed, real, kept)


def open_float_model(path: str) -> FloatModel:
    """A `.tflite` file for LiteRT or an `.onnx` file for onnxruntime."""
    kinds: dict[str, Callable[[str], FloatModel]] = {".tflite": _LiteRtModel, ".onnx": _OnnxModel}
    kind = kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise InputError(f"the float model must be a .tflite or .onnx file (got {path})")
    return kind(path)


def fit(array: Array, shape: Sequence[int | str | None], name: str) -> Array:
    """Real numbers in the shape that the float network declares: an image's channels may come first there."""
    wanted = [n if isinstance(n, int) and n > 0 else None for n in shape]
    orders = [tuple(range(array.ndim)), (0, 3, 1, 2)] if array.ndim == 4 else [tuple(range(array.ndim))]
    for order in orders:
        turned = array.transpose(order)
        if _fits(turned.shape, wanted):
            return np.ascontiguousarray(turned, np.float32)
    if [n for n in array.shape if n != 1] == [n for n in wanted if n != 1]:
        return np.ascontiguousarray(array, np.float32).reshape([n or 1 for n in wanted])
    raise InputError(
        f"input {printable(name)}: the float model takes {list(shape)}, the int8 one {list(array.shape)}"
    )


def _fits(shape: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(
        want in (None, have) for have, want in zip(shape, wanted, strict=True)
    )


class _LiteRtModel:
    def __init__(self, path: str) -> None:
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise RunError(f"LiteRT is not installed; run {extra_command('verify')}") from None
        try:
            with quiet():
                self._interpreter = Interpreter(model_content=read_file(path), num_threads=1)
                self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{path}: LiteRT rejects the model: {_line(error)}") from None
        self._inputs = self._interpreter.get_input_details()
        _check_types(path, [np.dtype(item["dtype"]).name for item in self._inputs])
        self._output = self._interpreter.get_output_details()[0]["index"]

    def scores(self, inputs: Sequence[Array]) -> Array:
        _check_count(len(self._inputs), len(inputs))
        for item, array in zip(self._inputs, inputs, strict=True):
            self._interpreter.set_tensor(item["index"], fit(array, list(item["shape"]), item["name"]))
        self._interpreter.invoke()
        return np.array(self._interpreter.get_tensor(self._output))


class _OnnxModel:
    def __init__(self, path: str) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise RunError(f"onnxruntime is not installed; run {extra_command('onnx')}") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            raise InputError(f"{path}: onnxruntime rejects the model: {_line(error)}") from None
        self._inputs = self._session.get_inputs()
        _check_types(path, [item.type.removeprefix("tensor(").removesuffix(")") for item in self._inputs])

    def scores(self, inputs: Sequence[Array]) -> Array:
        _check_count(len(self._inputs), len(inputs))
        feed = {
            item.name: fit(array, item.shape, item.name)
            for item, array in zip(self._inputs, inputs, strict=True)
        }
        first: Array = self._session.run(None, feed)[0]
        return first


def _check_types(path: str, types: Sequence[str]) -> None:
    for name in types:
        if name not in ("float", "float32"):
            raise InputError(f"{path} takes {name}: the float model must take float32")


def _check_count(expected: int, got: int) -> None:
    if expected != got:
        raise InputError(f"the float model takes {expected} inputs, the int8 one {got}")


def _line(error: Exception) -> str:
    return printable(" ".join(str(error).split()))[:200] or type(error).__name__
