"""System memory as the DLA reaches it: bytes between two addresses, and windows into them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass

_LINE_BYTES = 64  # of a cache


class DmaMemory(Protocol):
    """The memory that the DLA's transfers read and write."""

    def window(self, address: int, size_bytes: int) -> NDArray[np.uint8] | None:
        """The bytes from `address`, not a copy, or None where they are not all there."""


@dataclass(frozen=True, slots=True)
class SystemMemory:
    """Bytes from `base` on; the array may be shared with other users of that memory."""

    data: NDArray[np.uint8]
    base: int = 0

    def window(self, address: int, size_bytes: int) -> NDArray[np.uint8] | None:
        """The bytes from `address`, or None where they are not all there."""
        offset = address - self.base
        if offset < 0 or offset + size_bytes > len(self.data):
            return None
        return self.data[offset : offset + size_bytes]


def zeroed_bytes(size: int) -> NDArray[np.uint8]:
    """Memory that begins with a cache line, as tiles of weights want it; untouched pages take no room."""
    memory = np.zeros(size + _LINE_BYTES, np.uint8)
    first = -int(memory.ctypes.data) % _LINE_BYTES
    return memory[first : first + size]
