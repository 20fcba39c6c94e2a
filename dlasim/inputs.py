"""Prepares a model's inputs: arrays, `.npy` files, pictures and sounds, or noise."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, printable, unknown
from dlasim.isa.program import TensorDescriptor
from dlasim.media import AUTO, InputRange, is_media, parse_range, read_media
from dlasim.system.fileio import read_file

Given = str | Path | NDArray[Any]
Inputs = Given | Sequence[Given] | Mapping[str, Given]  # one input, all in the model's order, or by name


def prepare_inputs(
    expected: Sequence[TensorDescriptor], given: Inputs | None, seed: int = 0, normalize: str = AUTO
) -> list[NDArray[Any]]:
    """One array for each input, in the model's type; noise if nothing is given. `normalize` is for pictures
    and sounds."""
    input_range = parse_range(normalize)
    items = _listed(expected, given)
    if not items:
        return noise(expected, seed)
    if len(items) != len(expected):
        names = ", ".join(printable(tensor.name) for tensor in expected)
        noun = "input" if len(expected) == 1 else "inputs"
        raise InputError(f"the model takes {len(expected)} {noun} ({names}), got {len(items)}")
    return [_fit(tensor, item, input_range) for tensor, item in zip(expected, items, strict=True)]


def _listed(expected: Sequence[TensorDescriptor], given: Inputs | None) -> Sequence[Given]:
    """The inputs as a list, in the model's order."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        names = [tensor.name for tensor in expected]
        unexpected = [name for name in given if name not in names]
        if unexpected:
            raise InputError(unknown("input", str(unexpected[0]), names))
        return [given[name] for name in names if name in given]
    return given if isinstance(given, list | tuple) else [given]  # type: ignore[list-item]


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


def _fit(tensor: TensorDescriptor, item: Given, input_range: InputRange) -> NDArray[Any]:
    if isinstance(item, str | Path):
        origin = str(item)
        array = read_media(item, tensor, input_range) if is_media(item) else load_npy(item)
    else:
        origin, array = "array", _array(item)
    dtype = np.dtype(tensor.type.name)
    if array.size != int(np.prod(tensor.shape, dtype=np.int64)) or not _same_but_for_ones(array, tensor):
        raise _mismatch(tensor, origin, array)
    array = array.reshape(tensor.shape)
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "f" and dtype.kind == "f":
        return _convert(array, tensor, origin)
    if array.dtype.kind in "iu" and dtype.kind in "iu" and not tensor.scale and _fits(array, dtype):
        return array.astype(dtype)  # such as positions and numbers of tokens
    if array.dtype.kind == "f" and _takes_floats(tensor):
        return _quantize(array, tensor, origin)
    raise _mismatch(tensor, origin, array)


def _fits(array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    limits = np.iinfo(dtype)
    return not array.size or bool(limits.min <= array.min() and array.max() <= limits.max)


def _takes_floats(tensor: TensorDescriptor) -> bool:
    return np.dtype(tensor.type.name).kind in "iu" and tensor.scale > 0


def _array(item: Any) -> NDArray[Any]:
    """What NumPy makes of an array of any library, or of nested lists."""
    try:
        return np.asarray(item)
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot make an array of an input of type {type(item).__name__}: {error}") from None


def _mismatch(tensor: TensorDescriptor, origin: str, array: NDArray[Any]) -> InputError:
    others = " or floats, which are quantized" if _takes_floats(tensor) else ""
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
    file = io.BytesIO(read_file(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that Python 2 wrote
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:  # NumPy parses the header as Python, which can raise almost anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a valid .npy file: {reason}") from None
    if array.dtype.kind not in "iufb":
        raise InputError(f"{path}: expected numbers, got an array of {array.dtype}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """The arrays of a `.npz` file by name; that of a `.npy` file has no name."""
    from zipfile import BadZipFile  # with all that packs and unpacks files

    try:
        found = np.load(io.BytesIO(read_file(path)), allow_pickle=False)
        return {"": found} if isinstance(found, np.ndarray) else {name: found[name] for name in found.files}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        raise InputError(f"{path} is not a .npz or .npy file of numbers") from None


def save_npy(array: NDArray[Any]) -> bytes:
    """The bytes of a `.npy` file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()
