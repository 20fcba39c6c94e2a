"""Memory that routines work on, and objects that take the place of records where 64 bits do not suffice."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from struct import Struct
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dlasim.native.record import SLOT_BYTES, Array, Integer, Record, c_type, is_record, layout, slots_of

_Kind = TypeVar("_Kind")
_NUMBERS = np.dtype(np.int64)


def pointer_to(array: NDArray[np.integer[Any]], kind: Any = int) -> Any:
    """Leads to the numbers of an array, or to the records that they are, and keeps the array alive. Other
    types, and arrays that may not be written, are copied."""
    wanted, made = _types_of(kind)
    if array.dtype is not wanted or not array.flags.carray:
        array = np.require(array, wanted, ("C", "W"))
    return ctypes.pointer(made.from_buffer(array)) if array.size else None


@cache
def _types_of(kind: Any) -> tuple[np.dtype[Any], Any]:
    """The type of an array's numbers, and that of what a pointer leads to."""
    return np.dtype(c_type(kind)) if isinstance(kind, Integer) else _NUMBERS, c_type(kind)


def lead_to(record: Record, **arrays: NDArray[Any]) -> None:
    """Let pointers of a record, by their names, lead to arrays."""
    fields = layout(type(record)).fields
    for name, array in arrays.items():
        setattr(record, name, pointer_to(array, fields[name].kind.element))


class Store(Generic[_Kind]):
    """Numbers, or records of one class, behind each other: as many as are asked for.

    `pointer` is what a field of a record takes; it must be set again when the memory has grown.
    """

    __slots__ = ("_array", "_kind", "_pointer", "_slots")

    def __init__(self, kind: type[_Kind], count: int = 0) -> None:
        self._kind, self._slots, self._pointer = kind, slots_of(kind), None
        self._array = np.zeros(max(count, 1) * self._slots, np.int64)

    @property
    def pointer(self) -> Any:
        """Leads to the first."""
        if self._pointer is None:
            self._pointer = pointer_to(self._array, self._kind)
        return self._pointer

    def reserve(self, count: int, used: int) -> None:
        """Make room for so many; the first `used` stay, the others may hold anything."""
        size = count * self._slots
        if len(self._array) < size:
            kept = used * self._slots
            larger = np.empty(size + len(self._array), np.int64)
            larger[:kept] = self._array[:kept]
            self._array, self._pointer = larger, None

    def write(self, first: int, numbers: Sequence[int]) -> None:
        """Write slots from an element on, as many as there are numbers; the others stay."""
        count = len(numbers)
        self.reserve(first - -count // self._slots, len(self))
        _packing(count).pack_into(self._array.data, SLOT_BYTES * first * self._slots, *numbers)

    def write_array(self, first: int, slots: NDArray[np.int64]) -> None:
        """The same with an array."""
        begin = first * self._slots
        self.reserve(first - -len(slots) // self._slots, len(self))
        self._array[begin : begin + len(slots)] = slots

    def clear(self, count: int) -> NDArray[np.int64]:
        """Make room for so many, all numbers 0; a view of them."""
        self.reserve(count, 0)
        view = self.view()[:count]
        view[:] = 0
        return view

    def fill(self, slots: bytes) -> None:
        """Begin with these slots; the others may hold anything."""
        self.reserve(-(-len(slots) // (SLOT_BYTES * self._slots)), 0)
        self._array.data.cast("B")[: len(slots)] = slots

    def take(self, first: int, end: int) -> list[int]:
        """The numbers of some places."""
        return cast("list[int]", self._array[first:end].tolist())

    def view(self) -> NDArray[np.int64]:
        """All numbers, or the slots of all records, a record a row, until the memory grows."""
        return (
            self._array
            if self._kind is int
            else self._array[: len(self) * self._slots].reshape(len(self), -1)
        )

    def array(self, count: int) -> NDArray[np.int64]:
        """A copy of the first."""
        return self.view()[:count].copy()

    def __len__(self) -> int:
        return len(self._array) // self._slots

    def __getitem__(self, place: int) -> _Kind:
        return cast("_Kind", self.pointer[place])


class PointedMemory:
    """The memory that the pointers of a record lead to, by their names, as much as is asked for."""

    def __init__(self, record: Record) -> None:
        self._record, self._stores = record, dict[str, Store[Any]]()
        for name, (_, kind) in layout(type(record)).fields.items():
            if isinstance(kind, Array) and kind.is_pointer:
                self._stores[name] = Store(kind.element)

    def reserve(self, **counts: int) -> None:
        """Make room for so many of each; all may hold anything."""
        for name, count in counts.items():
            store = self._stores[name]
            store.reserve(count, 0)
            setattr(self._record, name, store.pointer)

    def __getitem__(self, name: str) -> Store[Any]:
        return self._stores[name]


def filled_memory(kind: type[_Kind], records: Iterable[Record]) -> Store[_Kind]:
    """A memory that begins with these records."""
    made = Store(kind)
    made.fill(b"".join(map(bytes, records)))
    return made


def filled_numbers(numbers: Sequence[int]) -> Store[int]:
    """A memory that begins with these numbers."""
    made = Store(int)
    made.write(0, numbers)
    return made


@lru_cache(maxsize=1024)
def _packing(count: int) -> Struct:
    return Struct(f"{count}q")


def plain(kind: type[_Kind]) -> _Kind:
    """An object with the fields of a record, which may hold numbers of any size, or arrays of them: what
    routines work on where they run as Python alone."""
    return cast("_Kind", _Plain(kind))


class _Plain:
    def __init__(self, kind: Any) -> None:
        for name, (_, what) in layout(kind).fields.items():
            setattr(self, name, _empty(what))

    def assign(self, other: Any) -> None:
        for name, mine in vars(self).items():
            _copy(self, name, mine, getattr(other, name))

    def equals(self, other: Any) -> bool:
        return self.flatten() == cast("list[int]", other.flatten())

    def flatten(self) -> list[int]:
        return [number for value in vars(self).values() for number in _numbers(value)]


def _empty(kind: Any) -> Any:
    if is_record(kind):
        return _Plain(kind)
    if isinstance(kind, Array):
        return None if kind.is_pointer else [_empty(kind.element) for _ in range(kind.length)]
    return 0


def _copy(whole: Any, place: Any, mine: Any, other: Any) -> None:
    if isinstance(mine, _Plain):
        mine.assign(other)
    elif isinstance(mine, list):
        for number, each in enumerate(mine):
            _copy(mine, number, each, other[number])
    elif isinstance(whole, list):
        whole[place] = other
    else:
        setattr(whole, place, other)


def _numbers(value: Any) -> list[int]:
    if isinstance(value, _Plain):
        return value.flatten()
    return [number for each in value for number in _numbers(each)] if isinstance(value, list) else [value]
