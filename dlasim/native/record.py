"""Records of routines: C structures of 64-bit integers, which plain Python and machine code share.

    class Box(Record):
        row: int = 0
        rows: int = 0

    class Tile(Record):
        box: Box = member(Box)
        addresses: list[int] = array(int, 2)
        words: Numbers = pointer(int)

An integer takes a slot of 64 bits, members and arrays lie inside the record, and a pointer takes a slot that
holds an address. `ctypes` gives Python the same fields by the same names. `storage.plain` makes an object
with these fields for numbers that do not fit in 64 bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast, dataclass_transform

from dlasim.named_tuple import NamedTuple

_Element_co = TypeVar("_Element_co", covariant=True)
_LAYOUT = "__layout__"
SLOT_BYTES = 8


class Numbers(Protocol):
    """An array of integers as a routine sees it."""

    def __getitem__(self, place: int, /) -> int: ...

    def __setitem__(self, place: int, number: int, /) -> None: ...


class Records(Protocol[_Element_co]):
    """Records that a pointer leads to, as a routine sees them."""

    def __getitem__(self, place: int, /) -> _Element_co: ...


class Integer(NamedTuple):
    """A number in memory that is narrower than a slot."""

    bits: int
    is_signed: bool = True


class Array(NamedTuple):
    """Numbers, or records of one class, behind each other; a pointer leads to any number of them."""

    element: Any
    length: int = 0
    is_pointer: bool = False


class RecordField(NamedTuple):
    """A field of a record: its first slot, and what it holds: `int`, a record's class, or an array."""

    slot: int
    kind: Any


class RecordLayout:
    """The fields of a record by name, and its slots."""

    def __init__(self, kinds: dict[str, Any]) -> None:
        self.fields, self.slots = dict[str, RecordField](), 0
        for name, kind in kinds.items():
            self.fields[name] = RecordField(self.slots, kind)
            self.slots += slots_of(kind)

    @cached_property
    def packing(self) -> Struct:
        """Reads and writes all slots at once."""
        return Struct(f"{self.slots}q")


class _Member(NamedTuple):
    """What stands in a class for a field that is not a number."""

    kind: Any


def member(kind: type) -> Any:
    """A record within a record."""
    return _Member(kind)


def array(element: type, length: int) -> Any:
    """So many numbers, or records, within a record."""
    return _Member(Array(element, length))


def pointer(element: type | Integer) -> Any:
    """Numbers or records elsewhere, as many as there may be."""
    return _Member(Array(element, is_pointer=True))


def c_type(kind: Any) -> Any:
    """The type by which `ctypes` knows what a field holds."""
    if kind is int:
        return ctypes.c_int64
    if isinstance(kind, Integer):
        return getattr(ctypes, f"c_{'' if kind.is_signed else 'u'}int{kind.bits}")
    if isinstance(kind, Array):
        element = c_type(kind.element)
        return ctypes.POINTER(element) if kind.is_pointer else element * kind.length
    return kind


if TYPE_CHECKING:
    from _ctypes import _PyCStructType as _StructureType
else:
    _StructureType = type(ctypes.Structure)


class _RecordType(_StructureType):
    """Makes a class a structure of the fields that it annotates; each has a default."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        defaults = {each: members.pop(each) for each in members.get("__annotations__", ())}
        kinds = {each: it.kind if isinstance(it, _Member) else int for each, it in defaults.items()}
        members |= {
            "__slots__": (),
            _LAYOUT: RecordLayout(kinds),
            "_fields_": [(each, c_type(kind)) for each, kind in kinds.items()],
        }
        others = {each: value for each, value in defaults.items() if isinstance(value, int) and value}
        if others:
            members["__init__"] = _init(list(kinds), others)
        return super().__new__(cls, name, bases, members)


def _init(names: list[str], defaults: dict[str, int]) -> Any:
    """Sets what is given, and the other fields to defaults where these are not 0."""
    places = [(names.index(name), name, value) for name, value in defaults.items()]

    def __init__(self: Any, *numbers: Any, **named: Any) -> None:  # noqa: N807
        count = len(numbers)
        missing = {name: value for place, name, value in places if place >= count}
        ctypes.Structure.__init__(self, *numbers, **missing | named)

    return __init__


def layout(kind: type) -> RecordLayout:
    """Where the fields of a record are."""
    return cast("RecordLayout", getattr(kind, _LAYOUT))


def is_record(kind: object) -> bool:
    """Whether it is a record's class."""
    return isinstance(kind, type) and hasattr(kind, _LAYOUT)


def slots_of(kind: Any) -> int:
    """How many slots a value takes within a record."""
    if kind is int:
        return 1
    if isinstance(kind, Array):
        return 1 if kind.is_pointer else kind.length * slots_of(kind.element)
    return layout(kind).slots


@dataclass_transform()
class Record(ctypes.Structure, metaclass=_RecordType):
    """A record's methods. One with pointers is neither copied nor compared."""

    __slots__ = ()

    def assign(self, other: Self) -> None:
        """Take over all numbers of another record of this class."""
        self.unflatten(other.flatten())

    def equals(self, other: Self) -> bool:
        """Whether all numbers are those of another record of this class."""
        return self.flatten() == other.flatten()

    def flatten(self) -> list[int]:
        """The numbers by slot."""
        return list(layout(type(self)).packing.unpack(self))

    def unflatten(self, numbers: Sequence[int]) -> None:
        """Take over all numbers by slot."""
        layout(type(self)).packing.pack_into(self, 0, *numbers)
