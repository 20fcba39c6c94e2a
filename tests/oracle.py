"""TensorFlow's own answers: runs a .tflite and gives every tensor it computed.

TFLite Micro is the golden reference. LiteRT's reference kernels are the second opinion; they differ by
design in FULLY_CONNECTED (double arithmetic) and are faulty for int8 SVDF.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dlasim.checking.interpreters import LITERT, MICRO, infer

Array = NDArray[np.generic]


def run_tflite_micro(model: bytes | Path, inputs: Sequence[Array]) -> dict[int, Array]:
    """Every tensor by its index after one inference in TFLite Micro, constants included."""
    return infer(MICRO, _bytes_of(model), inputs, tensor_count(model))


def run_litert_reference(model: bytes | Path, inputs: Sequence[Array]) -> dict[int, Array]:
    """Every tensor by its index after one inference with LiteRT's reference kernels."""
    return infer(LITERT, _bytes_of(model), inputs, tensor_count(model))


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
