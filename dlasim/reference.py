"""TensorFlow's own results for a model: every tensor, from TFLite Micro or, where that cannot, LiteRT."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import RunError

ARENA_BYTES = 64 << 20  # pages that are not touched cost nothing
ADVICE = "pip install 'dlasim[verify]'"


@dataclass(frozen=True, slots=True)
class Reference:
    """Tensors by their number in the model, and who computed them."""

    name: str
    tensors: dict[int, NDArray[Any]]


class ReferenceModel:
    """A model loaded into TensorFlow's interpreters."""

    def __init__(self, model: bytes, tensor_count: int) -> None:
        self._model, self._tensor_count = model, tensor_count
        self._micro = self._load_micro()

    def run(self, inputs: Sequence[NDArray[Any]]) -> Reference:
        """One inference from a fresh state."""
        if self._micro:
            tensors = self._run_micro(inputs)
            if tensors is not None:
                return Reference("TFLite Micro", tensors)
            self._micro = False
        return Reference("LiteRT reference kernels", self._run_litert(inputs))

    @staticmethod
    def _load_micro() -> bool:
        try:
            import tflite_micro.python.tflite_micro.runtime  # noqa: F401
        except ImportError:
            return False
        return True

    def _run_micro(self, inputs: Sequence[NDArray[Any]]) -> dict[int, NDArray[Any]] | None:
        from tflite_micro.python.tflite_micro import runtime

        with _quiet():
            try:
                interpreter = runtime.Interpreter.from_bytes(
                    self._model,
                    arena_size=ARENA_BYTES + 2 * len(self._model),
                    intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
                )
                for number, value in enumerate(inputs):
                    interpreter.set_input(value, number)
                interpreter.invoke()
            except (RuntimeError, ValueError):
                return None  # an operator that it lacks
            return {
                index: np.array(interpreter.GetTensor(index, 0)["tensor_data"])
                for index in range(self._tensor_count)
            }

    def _run_litert(self, inputs: Sequence[NDArray[Any]]) -> dict[int, NDArray[Any]]:
        try:
            from ai_edge_litert.interpreter import Interpreter, OpResolverType
        except ImportError:
            raise RunError(
                f"nothing to verify against: TensorFlow's kernels are missing ({ADVICE})"
            ) from None
        with _quiet():
            try:
                interpreter = Interpreter(
                    model_content=self._model,
                    experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
                    experimental_preserve_all_tensors=True,
                )
                interpreter.allocate_tensors()
                for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
                    interpreter.set_tensor(detail["index"], value)
                interpreter.invoke()
            except (RuntimeError, ValueError) as error:
                reason = str(error).strip().splitlines()[0]
                raise RunError(f"neither TFLite Micro nor LiteRT runs this model: {reason}") from None
            return {
                detail["index"]: np.array(interpreter.get_tensor(detail["index"]))
                for detail in interpreter.get_tensor_details()
                if detail["name"] and detail["index"] < self._tensor_count
            }


@contextmanager
def _quiet() -> Iterator[None]:
    """TensorFlow's C++ writes to stderr whatever one asks of it; that is nothing for our users."""
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)
