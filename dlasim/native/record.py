"""Records of routines: integer fields and fixed-size members, as plain objects or as machine memory.

    @record
    class Box(Record):
        row: int = 0
        rows: int = 0

    @record
    class Tile(Record):
        box: Box = member(Box)
        addresses: list[int] = array(int, 2)
        words: Numbers = pointer(int)

Plain Python works on ordinary objects. Compiled code works on slots of 64 bits: an integer takes one, members
and arrays lie inside the record, a pointer takes one slot that holds an address. `storage` makes either kind
of record; Python reads and writes both by the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any, NamedTuple, Protocol, Self, TypeVar, cast, dataclass_transform

from dlasim.dataclass import dataclass

_Class = TypeVar("_Class")
_Element_co = TypeVar("_Element_co", covariant=True)
_LAYOUT = "__layout__"


class Records(Protocol[_Element_co]):
    """Records that a pointer leads to, as a routine sees them."""

    def __getitem__(self, place: int, /) -> _Element_co: ...


class Array(NamedTuple):
    """Numbers, or records of one class, behind each other; a pointer leads to any number of them."""

    element: type
    length: int = 0
    is_pointer: bool = False


class RecordField(NamedTuple):
    """A field of a record: its first slot, and what it holds: `int`, a record's class, or an array."""

    slot: int
    kind: Any


class RecordLayout(NamedTuple):
    """The fields of a record by name, and its slots."""

    fields: dict[str, RecordField]
    slots: int


def member(kind: type) -> Any:
    """A record within a record."""
    return field(default_factory=kind, metadata={"kind": kind})


def array(element: type, length: int) -> Any:
    """So many numbers, or records, within a record."""
    make = (lambda: [0] * length) if element is int else (lambda: [element() for _ in range(length)])
    return field(default_factory=make, metadata={"kind": Array(element, length)})


def pointer(element: type) -> Any:
    """Numbers or records elsewhere, as many as there may be."""
    return field(default=None, metadata={"kind": Array(element, is_pointer=True)})


@dataclass_transform()
def record(cls: type[_Class]) -> type[_Class]:
    """Makes a class a record: every field has a default, and all is zero in a new one."""
    made = dataclass(slots=True, eq=False)(cls)
    found, slot = {}, 0
    for each in fields(made):  # type: ignore[arg-type]
        kind = each.metadata.get("kind", int)
        found[each.name] = RecordField(slot, kind)
        slot += slots_of(kind)
    setattr(made, _LAYOUT, RecordLayout(found, slot))
    return made


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


def _spell_out(cls: type) -> None:
    """Gives a class the methods of `Record`, field by field; one with pointers has none."""
    found = layout(cls).fields
    if any(isinstance(kind, Array) and kind.is_pointer for _, kind in found.values()):
        raise AssertionError("a record with pointers is neither copied nor compared")
    copies, same = [], []
    for name, (_, kind) in found.items():
        mine, other = f"self.{name}", f"other.{name}"
        if kind is int:
            copies.append(f"{mine} = {other}")
            same.append(f"{mine} == {other}")
        elif not isinstance(kind, Array):
            copies.append(f"{mine}.assign({other})")
            same.append(f"{mine}.equals({other})")
        elif kind.element is int:
            copies.append(f"{mine}[:] = {other}")
            same.append(f"list({mine}) == list({other})")
        else:
            copies.append(f"for one, two in zip({mine}, {other}): one.assign(two)")
            same.append(f"all(one.equals(two) for one, two in zip({mine}, {other}))")
    body = "\n    ".join(copies)
    _define(cls, "assign", f"def assign(self, other):\n    {body}")
    _define(cls, "equals", f"def equals(self, other):\n    return {' and '.join(same)}")
    _define(cls, "flatten", f"def flatten(self):\n    return [{', '.join(_slot_names('self', cls))}]")


def _slot_names(whole: str, kind: Any) -> list[str]:
    """How Python spells each slot of a record, or of an array within it."""
    if kind is int:
        return [whole]
    if not isinstance(kind, Array):
        fields = layout(kind).fields.items()
        return [name for field, (_, what) in fields for name in _slot_names(f"{whole}.{field}", what)]
    elements = range(kind.length)
    return [name for place in elements for name in _slot_names(f"{whole}[{place}]", kind.element)]


def _define(cls: type, name: str, source: str) -> None:
    made: dict[str, Callable[..., Any]] = {}
    exec(compile(source, f"<{cls.__name__}.{name}>", "exec"), made)  # as dataclasses make __init__
    setattr(cls, name, made[name])


class Record:
    """A record's methods. Each class gets its own, spelled out, when one of them is first called: few of the
    records of a process are ever copied."""

    __slots__ = ()

    def assign(self, other: Self) -> None:
        """Take over all numbers of another record of this class."""
        _spell_out(type(self))
        self.assign(other)

    def equals(self, other: Self) -> bool:
        """Whether all numbers are those of another record of this class."""
        _spell_out(type(self))
        return self.equals(other)

    def flatten(self) -> list[int]:
        """The numbers by slot."""
        _spell_out(type(self))
        return self.flatten()

    def unflatten(self, numbers: Sequence[int]) -> None:
        """Take over all numbers by slot."""
        slots = ", ".join(_slot_names("self", type(self)))
        _define(type(self), "unflatten", f"def unflatten(self, numbers):\n    [{slots}] = numbers")
        self.unflatten(numbers)
