"""TensorFlow's interpreters, run in a separate process because an assert in their C++ code ends it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Numerics
from dlasim.system.processes import start
from dlasim.system.quiet import quiet

ARENA_BYTES = 64 << 20  # untouched pages cost nothing
KEPT = 32  # interpreters of models that will run with other inputs, too; each has an arena
MICRO, LITERT = "TFLite Micro", "LiteRT"
PACKAGES = {MICRO: "tflite_micro", LITERT: "ai_edge_litert"}

Tensors = dict[int, NDArray[Any]]


def available(numerics: str = Numerics.TFLM) -> list[str]:
    """The installed interpreters, the one whose integers are computed first."""
    found = [name for name, package in PACKAGES.items() if find_spec(package) is not None]
    return found[::-1] if numerics == Numerics.LITERT else found


def run(name: str, model: bytes, inputs: Sequence[NDArray[Any]], tensor_count: int) -> Tensors | None:
    """Every tensor after one inference from a fresh state; None if the interpreter rejects the model."""
    with quiet():
        try:
            return infer(name, model, inputs, tensor_count)
        except (RuntimeError, ValueError):
            return None


def infer(name: str, model: bytes, inputs: Sequence[NDArray[Any]], tensor_count: int) -> Tensors:
    """The same in this process, of a model that the interpreter takes."""
    return (_run_micro if name == MICRO else _run_litert)(model, inputs, tensor_count)


def _run_micro(model: bytes, inputs: Sequence[NDArray[Any]], tensor_count: int) -> Tensors:
    interpreter = _micro_interpreter(model)
    interpreter.reset()
    for number, value in enumerate(inputs):
        interpreter.set_input(value, number)
    interpreter.invoke()
    return {index: np.array(interpreter.GetTensor(index, 0)["tensor_data"]) for index in range(tensor_count)}


@lru_cache(maxsize=KEPT)
def _micro_interpreter(model: bytes) -> Any:
    """TFLite Micro, which keeps all tensors."""
    from tflite_micro.python.tflite_micro import runtime

    return runtime.Interpreter.from_bytes(
        model,
        arena_size=ARENA_BYTES + 2 * len(model),
        intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
    )


def litert_interpreter(model: bytes) -> Any:
    """LiteRT with reference kernels, ready to be given inputs; it keeps all tensors."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    return interpreter


def _run_litert(model: bytes, inputs: Sequence[NDArray[Any]], tensor_count: int) -> Tensors:
    interpreter = litert_interpreter(model)
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return {
        detail["index"]: np.array(interpreter.get_tensor(detail["index"]))
        for detail in interpreter.get_tensor_details()
        if detail["index"] < tensor_count
    }


class KernelProcess:
    """Runs models in another process, and starts a new one when that has crashed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self, name: str, model: bytes, inputs: Sequence[NDArray[Any]], tensor_count: int
    ) -> Tensors | None:
        """Like the function `run`; also None if the interpreter crashes its process."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((name, model, list(inputs), tensor_count), process.stdin)
            process.stdin.flush()
            answer: Tensors | None = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.close()
            return None
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = start(
            __name__, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __enter__(self) -> KernelProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main(_: list[str]) -> None:
    """Runs in the separate process: answers requests from standard input until it closes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep what TensorFlow prints out of the answers
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(run(*request), answers)
        answers.flush()
