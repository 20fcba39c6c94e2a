"""Arrays of integers that routines work on: NumPy arrays for compiled code, lists for plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


class NumberMemory:
    """Integers that a routine reads and writes: an array for compiled code, else a list, in which None stands
    for what was never written."""

    __slots__ = ("_array", "address", "numbers")

    def __init__(self, is_compiled: bool, size: int = 0) -> None:
        self._array: NDArray[np.int64] | None = None
        self.numbers: list[Any] = []
        self.address = 0
        if is_compiled:
            self._use(np.empty(max(size, 16), np.int64))
        else:
            self.reserve(size, 0)

    def _use(self, array: NDArray[np.int64]) -> None:
        self._array = array
        self.address = array.__array_interface__["data"][0]

    def reserve(self, size: int, used: int) -> None:
        """Make room for so many numbers; the first `used` stay."""
        array = self._array
        if array is None:
            self.numbers += [None] * (size - len(self.numbers))
        elif len(array) < size:
            larger = np.empty(size + len(array), np.int64)
            larger[:used] = array[:used]
            self._use(larger)

    def put(self, first: int, numbers: Sequence[int]) -> None:
        """Write numbers from a place on."""
        end = first + len(numbers)
        if self._array is None:
            self.reserve(end, 0)
            self.numbers[first:end] = numbers
        else:
            self.reserve(end, len(self._array))
            self._array[first:end] = numbers

    def take(self, first: int, end: int) -> list[int]:
        """The numbers of some places."""
        if self._array is None:
            return self.numbers[first:end]
        return cast("list[int]", self._array[first:end].tolist())

    def array(self, count: int) -> NDArray[np.int64]:
        """The first numbers as an array of their own, of the lowest 64 bits each."""
        if self._array is None:
            low = [number & 0xFFFF_FFFF_FFFF_FFFF for number in self.numbers[:count]]
            return np.array(low, np.uint64).view(np.int64)
        return self._array[:count].copy()


class Column:
    """An array that a routine reads or fills: compiled code works on the array itself, else it is a list."""

    __slots__ = ("address", "array", "numbers")

    def __init__(self, array: NDArray[np.int64], is_compiled: bool) -> None:
        self.array = np.ascontiguousarray(array, np.int64)
        self.address = self.array.__array_interface__["data"][0] if is_compiled else 0
        self.numbers: list[int] = [] if is_compiled else self.array.tolist()
