"""Numbers of 4 bits, two in a byte: the first is in the low half."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LEAST, _GREATEST = -8, 7
_FEW = 64


def unpack_int4(packed: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """So many signed numbers, each as a byte."""
    halves = np.stack((packed << 4, packed), axis=-1).ravel()[:count]
    return halves.view(np.int8) >> 4


def pack_int4(numbers: NDArray[np.int8]) -> NDArray[np.uint8]:
    """An even count of numbers, two in a byte."""
    first, second = numbers[::2].view(np.uint8), numbers[1::2].view(np.uint8)
    return (first & 15 | second << 4).astype(np.uint8)


def is_int4(numbers: NDArray[np.int8]) -> bool:
    """Whether all are of 4 bits; most weights of 8 bits show in the first few that they are not."""
    return all(part.min() >= _LEAST and part.max() <= _GREATEST for part in (numbers.ravel()[:_FEW], numbers))
