"""Where records of routines are: plain objects, or slots of an array that compiled code works on.

`create` makes one record, `RecordMemory` as many as are asked for; both give plain objects, or views that
read and write the array by the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from struct import Struct
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dlasim.native.record import Array, Record, layout, slots_of

_Kind = TypeVar("_Kind")


def create(kind: type[_Kind], is_compiled: bool) -> _Kind:
    """A record of zeros: an ordinary object, or a view of memory for compiled code."""
    if not is_compiled:
        return kind()
    return cast("_Kind", view_class(cast("type", kind))(np.zeros(max(layout(kind).slots, 1), np.int64), 0))


def copy_of(original: _Kind, is_compiled: bool) -> _Kind:
    """A record with the same numbers, for compiled code or for Python."""
    made = create(type(original), is_compiled)
    made.assign(original)  # type: ignore[attr-defined]
    return made


class RecordView:
    """A record in an array."""

    __slots__ = ("_array", "_first", "_known_address")
    _slots: int
    _packing: Struct  # which writes a list of numbers faster than NumPy does

    def __init__(self, array: NDArray[np.int64], first: int) -> None:
        self._array, self._first, self._known_address = array, first, 0

    @property
    def address(self) -> int:
        """What compiled code takes for the record."""
        if not self._known_address:
            self._known_address = _address(self._array) + 8 * self._first
        return self._known_address

    def assign(self, other: Any) -> None:
        """Take over all numbers of another record of this class."""
        self._packing.pack_into(self._array.data, 8 * self._first, *other.flatten())

    def equals(self, other: Any) -> bool:
        """Whether all numbers are those of another record of this class."""
        return self.flatten() == cast("list[int]", other.flatten())

    def flatten(self) -> list[int]:
        """The numbers by slot."""
        return cast("list[int]", self._array[self._first : self._first + self._slots].tolist())


class _ArrayView:
    """An array within a record in an array."""

    __slots__ = ("_array", "_first", "_kind")

    def __init__(self, array: NDArray[np.int64], first: int, kind: Array) -> None:
        self._array, self._first, self._kind = array, first, kind

    def __len__(self) -> int:
        return self._kind.length

    def __getitem__(self, place: int) -> Any:
        element = self._kind.element
        if not 0 <= place < self._kind.length:
            raise IndexError(place)
        at = self._first + place * slots_of(element)
        return int(self._array[at]) if element is int else view_class(element)(self._array, at)

    def __setitem__(self, place: Any, value: Any) -> None:
        """A number, a slice of numbers, or all numbers of a record."""
        if isinstance(place, slice):
            self._array[self._first : self._first + self._kind.length][place] = value
        elif self._kind.element is int:
            self._array[self._first + place] = value
        else:
            self[place].assign(value)


def _address(array: NDArray[np.int64]) -> int:
    return cast("int", array.__array_interface__["data"][0])


@cache
def view_class(kind: type) -> type[RecordView]:
    """The views of a record."""
    slots = layout(kind).slots
    packing = Struct(f"{slots}q")
    members: dict[str, Any] = {"__slots__": (), "_slots": slots, "_packing": packing, "__doc__": kind.__doc__}
    for name, (slot, what) in layout(kind).fields.items():
        members[name] = _property(slot, what)
    return type(f"{kind.__name__}RecordView", (RecordView,), members)


def _property(slot: int, kind: Any) -> property:
    if kind is int or (isinstance(kind, Array) and kind.is_pointer):
        return _number_property(slot)
    if isinstance(kind, Array):
        return property(lambda view: _ArrayView(view._array, view._first + slot, kind))
    return property(lambda view: view_class(kind)(view._array, view._first + slot))


def _number_property(slot: int) -> property:
    def read(view: RecordView) -> int:
        return int(view._array[view._first + slot])

    def write(view: RecordView, value: int) -> None:
        view._array[view._first + slot] = value

    return property(read, write)


class _Made(dict[int, _Kind]):
    """Plain records, each made when it is first asked for."""

    def __init__(self, kind: type[_Kind]) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, place: int) -> _Kind:
        made = self[place] = self._kind()
        return made


class RecordMemory(Generic[_Kind]):
    """As many records of one class as are needed; point a field of another record at it."""

    __slots__ = ("_array", "_kind", "_slots", "address", "numbers")

    def __init__(self, kind: type[_Kind], is_compiled: bool) -> None:
        self._kind, self._slots = kind, layout(kind).slots
        self._array = np.zeros(0, np.int64) if is_compiled else None
        self.numbers: Any = None if is_compiled else _Made(kind)
        self.address = 0  # for compiled code

    def reserve(self, count: int, used: int) -> None:
        """Make room for so many records; the first `used` stay, the others may hold anything."""
        size = count * self._slots
        if self._array is not None and len(self._array) < size:
            kept = used * self._slots
            larger = np.empty(size + len(self._array), np.int64)
            larger[:kept] = self._array[:kept]
            self._array, self.address = larger, _address(larger)

    def put(self, records: Sequence[_Kind]) -> None:
        """Make these the first records."""
        if self._array is None:
            self.numbers.update(enumerate(records))
            return
        self.write(0, [number for each in records for number in cast("Record", each).flatten()])

    def write(self, first: int, numbers: Sequence[int]) -> None:
        """Write slots from the start of a record on, as many as there are numbers; the others stay."""
        slots, count = self._slots, len(numbers)
        if self._array is None:
            for place in range(first, first - -count // slots):
                start = (place - first) * slots
                part = numbers[start : start + slots]
                made = self.numbers[place]
                made.unflatten([*part, *made.flatten()[len(part) :]])
            return
        self.reserve(first - -count // slots, len(self._array) // slots)
        _numbers(count).pack_into(self._array.data, 8 * first * slots, *numbers)

    def array(self, count: int) -> NDArray[np.int64]:
        """The slots of the first records, a record a row."""
        slots = self._slots
        if self._array is not None:
            return self._array[: count * slots].reshape(count, slots).copy()
        rows = [self.numbers[place].flatten() for place in range(count)]
        return np.array(rows, np.int64).reshape(count, slots)

    def __getitem__(self, place: int) -> _Kind:
        if self._array is None:
            return cast("_Kind", self.numbers[place])
        return cast("_Kind", view_class(cast("type", self._kind))(self._array, place * self._slots))


def bind(record: object, name: str, memory: Any) -> None:
    """Let a pointer of a record lead to a memory; again whenever that has grown."""
    setattr(record, name, memory.address if isinstance(record, RecordView) else memory.numbers)


def address_of(record: object) -> int:
    """What compiled code takes for a record that was made for it."""
    assert isinstance(record, RecordView), "only such records have an address"
    return record.address


def write_first(record: object, numbers: Sequence[int]) -> None:
    """Write the first slots of a record that was made for compiled code, at once."""
    assert isinstance(record, RecordView), "only such records have slots"
    _numbers(len(numbers)).pack_into(record._array.data, 8 * record._first, *numbers)


@lru_cache(maxsize=1024)
def _numbers(count: int) -> Struct:
    return Struct(f"{count}q")


def point(record: object, name: str, target: Any) -> None:
    """Let a pointer of a record lead to another record, which must live as long."""
    setattr(record, name, target.address if isinstance(record, RecordView) else [target])
