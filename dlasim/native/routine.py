"""Routines: functions over integers that run as plain Python, and compiled where that has been prepared.

A routine takes memories and integers, and returns an integer. It calls other routines and nothing else,
allocates nothing and raises nothing. One source serves both: starting costs nothing, and whoever lowers
thousands of machines has it compiled. The numbers are 64-bit; who calls sees to it that they suffice.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import DlasimError
from dlasim.native.unit import Unit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LOOK_AGAIN_SECONDS = 1.0
_MARK = "is_routine"


class Numbers(Protocol):
    """A memory as a routine sees it."""

    def __getitem__(self, place: int, /) -> int: ...

    def __setitem__(self, place: int, number: int, /) -> None: ...


class _State:
    """Of this process: whether it wants what has been compiled, and of what."""

    wanted = False
    routines: ClassVar[list[Routine]] = []


def routine(function: _Function) -> _Function:
    """Marks a function that `translate` may compile; it refuses any other."""
    vars(function)[_MARK] = True
    return function


def is_routine(function: object) -> bool:
    """Whether it is a function that has been marked."""
    return _MARK in getattr(function, "__dict__", {})


def want_compiled() -> None:
    """From now on, use compiled routines as soon as the cache has them."""
    _State.wanted = True


def routines() -> tuple[Routine, ...]:
    """Those of all modules that have been imported."""
    return tuple(_State.routines)


class Memory:
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


class Routine:
    """A routine that is called from outside; its parameters are named `Numbers` or `int`."""

    def __init__(self, function: Callable[..., int], name: str, sources: Iterable[str]) -> None:
        arguments = len(inspect.signature(function).parameters)
        self.unit = Unit(name, function.__module__, function.__name__, arguments, tuple(sources))
        self._function = function
        self._code: Callable[..., int] | None = None
        self._looked = -_LOOK_AGAIN_SECONDS
        self._imported = time.time()
        _State.routines.append(self)

    def is_ready(self) -> bool:
        """Whether compiled code is there; who wants it makes compiled memories for it."""
        if self._code is None and _State.wanted and time.monotonic() - self._looked >= _LOOK_AGAIN_SECONDS:
            self._code = self._find()
            self._looked = time.monotonic()
        return self._code is not None

    def _find(self) -> Callable[..., int] | None:
        """The compiled code; None too where this machine cannot have any, which Python does not mind."""
        try:
            from dlasim.native.library import find

            return None if self.unit.has_changed(self._imported) else find(self.unit)
        except (ImportError, OSError, RuntimeError, DlasimError):
            return None

    def __call__(self, *arguments: Any) -> int:
        """Run it on records, memories and integers, as the first of them is meant for."""
        if getattr(arguments[0], "address", 0):
            assert self._code is not None
            return self._code(*[item if isinstance(item, int) else item.address for item in arguments])
        return self._function(*[getattr(item, "numbers", item) for item in arguments])
