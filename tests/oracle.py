"""TensorFlow's own answers: runs a .tflite and gives every tensor it computed.

TFLite Micro is the golden reference. LiteRT's reference kernels are the second opinion; they differ by
design in FULLY_CONNECTED (double arithmetic) and are faulty for int8 SVDF.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
# Untouched pages of the arena cost nothing, so it is as large as any test's network needs.
_ARENA_BYTES = 64 << 20


def run_tflite_micro(model: bytes | Path, inputs: Sequence[Array]) -> dict[int, Array]:
    """Every tensor by its index after one inference in TFLite Micro, constants included."""
    from tflite_micro.python.tflite_micro import runtime

    data = _bytes_of(model)
    interpreter = runtime.Interpreter.from_bytes(
        data,
        arena_size=_ARENA_BYTES + 2 * len(data),
        intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
    )
    for position, value in enumerate(inputs):
        interpreter.set_input(value, position)
    interpreter.invoke()
    return {
        index: np.array(interpreter.GetTensor(index, 0)["tensor_data"]) for index in range(tensor_count(data))
    }


def run_litert_reference(model: bytes | Path, inputs: Sequence[Array]) -> dict[int, Array]:
    """Every tensor by its index after one inference with LiteRT's reference kernels."""
    interpreter = litert_interpreter(model)
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return {
        detail["index"]: interpreter.get_tensor(detail["index"])
        for detail in interpreter.get_tensor_details()
        if detail["name"] != ""
    }


def litert_interpreter(model: bytes | Path):
    """LiteRT with reference kernels and all tensors kept, ready to be given inputs."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=_bytes_of(model),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    return interpreter


def tensor_count(model: bytes | Path) -> int:
    """Number of tensors in a model's first subgraph."""
    from tflite.Model import Model

    return int(Model.GetRootAs(_bytes_of(model)).Subgraphs(0).TensorsLength())


def output_indices(model: bytes | Path) -> list[int]:
    """The indices of a model's outputs, in its own order."""
    from tflite.Model import Model

    return [int(index) for index in Model.GetRootAs(_bytes_of(model)).Subgraphs(0).OutputsAsNumpy()]


def random_inputs(model: bytes | Path, seed: int = 0) -> list[Array]:
    """Noise over the full range of each input's integer type."""
    from tflite.Model import Model
    from tflite.TensorType import TensorType

    rng = np.random.default_rng(seed)
    names = {number: name.lower() for name, number in vars(TensorType).items() if isinstance(number, int)}
    subgraph = Model.GetRootAs(_bytes_of(model)).Subgraphs(0)
    return [
        _noise(rng, np.dtype(names[tensor.Type()]), tensor.ShapeAsNumpy() if tensor.ShapeLength() else ())
        for tensor in (subgraph.Tensors(int(index)) for index in subgraph.InputsAsNumpy())
    ]


def _noise(rng: np.random.Generator, dtype: np.dtype, shape: Array) -> Array:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def _bytes_of(model: bytes | Path) -> bytes:
    return model if isinstance(model, bytes) else Path(model).read_bytes()
