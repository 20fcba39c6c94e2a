"""Makes a model's outputs readable: real numbers instead of int8, and the classes with the highest scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, printable
from dlasim.isa.program import TensorDescriptor
from dlasim.system.fileio import read_file

_MAX_LABEL_LENGTH = 60


def dequantize(tensor: TensorDescriptor, array: NDArray[Any]) -> NDArray[Any]:
    """The array as real numbers, if the tensor has a scale; unchanged otherwise."""
    if array.dtype.kind not in "iu" or not tensor.scale > 0:
        return array
    real: NDArray[Any] = (array.astype(np.float64) - tensor.zero_point) * tensor.scale
    return real.astype(np.float32)


def highest(array: NDArray[Any], count: int) -> list[tuple[int, float]]:
    """The positions and values of the highest elements, highest first; equal ones in their order."""
    flat = array.ravel()
    order = np.argsort(-flat.astype(np.float64), kind="stable")[:count]
    return [(int(position), float(flat[position])) for position in order]


def read_labels(path: str | Path) -> list[str]:
    """The names of the classes, one per line."""
    try:
        lines = read_file(path).decode().splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not valid UTF-8; expected one label per line") from None
    if not lines:
        raise InputError(f"{path} is empty; expected one label per line")
    return [printable(line.strip())[:_MAX_LABEL_LENGTH] for line in lines]
