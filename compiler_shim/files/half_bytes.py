"""Numbers of 4 bits, two in a byte: the first is in the low half."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unpack_int4(packed: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """So many signed numbers, each as a byte."""
    halves = np.stack((packed << 4, packed), axis=-1).ravel()[:count]
    return halves.view(np.int8) >> 4
