"""Prepares a model's inputs: arrays or `.npy` files in the model's type or as real numbers, or noise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, printable
from dlasim.isa.program import TensorDescriptor

Given = str | Path | NDArray[Any]


def prepare_inputs(
    expected: Sequence[TensorDescriptor], given: Sequence[Given] | None, seed: int = 0
) -> list[NDArray[Any]]:
    """One array for each input, in the model's type; noise if nothing is given."""
    if not given:
        return noise(expected, seed)
    if len(given) != len(expected):
        names = ", ".join(printable(tensor.name) for tensor in expected)
        noun = "input" if len(expected) == 1 else "inputs"
        raise InputError(f"the model takes {len(expected)} {noun} ({names}), got {len(given)}")
    return [_fit(tensor, item) for tensor, item in zip(expected, given, strict=True)]


def noise(expected: Sequence[TensorDescriptor], seed: int) -> list[NDArray[Any]]:
    """Uniform noise over each type's range; floats between -1 and 1."""
    if seed < 0:
        raise InputError(f"seed must be at least 0 (got {seed})")
    generator = np.random.default_rng(seed)
    return [_noise(generator, tensor) for tensor in expected]


def _noise(generator: np.random.Generator, tensor: TensorDescriptor) -> NDArray[Any]:
    dtype = np.dtype(tensor.type.name)
    if dtype.kind == "f":
        return generator.uniform(-1, 1, tensor.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, tensor.shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, tensor.shape, dtype, endpoint=True)


def _fit(tensor: TensorDescriptor, item: Given) -> NDArray[Any]:
    array, origin = (item, "array") if isinstance(item, np.ndarray) else (load_npy(item), str(item))
    dtype = np.dtype(tensor.type.name)
    if array.size != int(np.prod(tensor.shape, dtype=np.int64)) or not _same_but_for_ones(array, tensor):
        raise _mismatch(tensor, origin, array, "")
    array = array.reshape(tensor.shape)
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "f" and dtype.kind == "f":
        return _convert(array, tensor, origin)
    if array.dtype.kind == "f" and dtype.kind in "iu" and tensor.scale > 0:
        return _quantize(array, tensor, origin)
    quantizes = dtype.kind in "iu" and tensor.scale > 0
    raise _mismatch(tensor, origin, array, " or floats, which are quantized" if quantizes else "")


def _mismatch(tensor: TensorDescriptor, origin: str, array: NDArray[Any], others: str) -> InputError:
    got = f"{array.dtype} {list(array.shape)} ({origin})"
    expected = f"{np.dtype(tensor.type.name)} {list(tensor.shape)}{others}"
    return InputError(f"input {printable(tensor.name)}: expected {expected}, got {got}")


def _same_but_for_ones(array: NDArray[Any], tensor: TensorDescriptor) -> bool:
    return [n for n in array.shape if n != 1] == [n for n in tensor.shape if n != 1]


def _convert(array: NDArray[Any], tensor: TensorDescriptor, origin: str) -> NDArray[Any]:
    """Convert floats of another width (NumPy's default is float64); a scale does not apply to floats."""
    with np.errstate(over="ignore"):
        converted = array.astype(tensor.type.name)
    lost = np.isfinite(array) & ~np.isfinite(converted)
    if lost.any():
        raise InputError(
            f"input {printable(tensor.name)}: {array[lost][0]:g} does not fit {converted.dtype} ({origin})"
        )
    return converted


def _quantize(array: NDArray[Any], tensor: TensorDescriptor, origin: str) -> NDArray[Any]:
    if not np.isfinite(array).all():
        raise InputError(f"input {printable(tensor.name)}: cannot quantize infinity or NaN ({origin})")
    limits = np.iinfo(np.dtype(tensor.type.name))
    with np.errstate(over="ignore"):  # infinity after the division is clipped below
        steps = np.round(array.astype(np.float64) / tensor.scale) + tensor.zero_point
    return np.clip(steps, limits.min, limits.max).astype(tensor.type.name)


def load_npy(path: str | Path) -> NDArray[Any]:
    """Read the array in a `.npy` file; pickled objects are refused."""
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that Python 2 wrote
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # NumPy parses the header as Python, which can raise almost anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a valid .npy file: {reason}") from None
    if array.dtype.kind not in "iufb":
        raise InputError(f"{path}: expected numbers, got an array of {array.dtype}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def save_npy(array: NDArray[Any]) -> bytes:
    """The bytes of a `.npy` file."""
    import io

    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()
