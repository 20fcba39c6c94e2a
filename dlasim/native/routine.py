"""Routines: functions over integers and records that run as plain Python or as machine code, from one source.

A routine takes records, arrays and integers. It calls other routines and nothing else, allocates nothing and
raises nothing. Compiled numbers have 64 bits; the caller makes sure that this suffices, or calls the Python
function. `Routine` runs machine code where that is there.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias, TypeVar

from dlasim.named_tuple import NamedTuple
from dlasim.native.record import Array, Integer, Numbers, c_type, is_record
from dlasim.native.unit import CodeUnit

__all__ = ["Numbers", "Routine", "apart", "foreign", "inlined", "is_routine", "rare", "routine"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK = "routine_attributes"
_FOREIGN, _INTRINSIC = "foreign", "intrinsic"
NUMBERS, BYTES = Array(int, is_pointer=True), Array(Integer(8), is_pointer=True)
VECTOR, ANY = "Vector", "Pointer"  # sixteen numbers of 32 bits; a pointer as the caller has it
Bytes: TypeAlias = Any
Pointer: TypeAlias = Any
Number: TypeAlias = Any
Vector: TypeAlias = Any
_KINDS = {
    "int": int,
    "bool": int,
    "Number": int,
    "Numbers": NUMBERS,
    "Bytes": BYTES,
    "Vector": VECTOR,
    "Pointer": ANY,
}


class TupleKind(NamedTuple):
    """What a tuple consists of, and the NamedTuple that it is, if it is one."""

    names: type | None
    parts: tuple[Any, ...]


class RoutineError(Exception):
    """A routine uses what no routine may; the message says which, where and what."""


def _mark(function: _Function, *attributes: str) -> _Function:
    vars(function)[_MARK] = attributes
    return function


def routine(function: _Function) -> _Function:
    """Marks a function that may be compiled; the translator refuses any other."""
    return _mark(function)


def inlined(function: _Function) -> _Function:
    """A routine that becomes part of its callers."""
    return _mark(function, "alwaysinline")


def apart(function: _Function) -> _Function:
    """A routine that never becomes part of its callers: their values would take registers from its own."""
    return _mark(function, "noinline")


def rare(function: _Function) -> _Function:
    """A routine that is hardly ever called."""
    return _mark(function, "noinline", "cold")


def foreign(function: _Function) -> _Function:
    """Marks a function that stands for one of another library, which is at the address that is its first
    argument."""
    return _mark(function, _FOREIGN)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that writes LLVM's code for a call: it takes a builder and the values of the
    arguments."""
    return _mark(function, _INTRINSIC)


def attributes(function: object) -> tuple[str, ...]:
    """What LLVM is told of a routine."""
    found: tuple[str, ...] = getattr(function, "__dict__", {}).get(_MARK, ())
    return found


def is_routine(function: object) -> bool:
    """Whether it is a function that has been marked."""
    return _MARK in getattr(function, "__dict__", {})


def is_foreign(function: object) -> bool:
    """Whether it is a function of another library."""
    return _FOREIGN in attributes(function)


def kind_of(annotation: str, names: Mapping[str, Any]) -> Any:
    """What a parameter's annotation stands for: `int`, a record's class, or an array."""
    name = annotation.strip("'\"")
    if name in _KINDS:
        return _KINDS[name]
    if name.startswith("tuple["):
        return TupleKind(None, tuple([kind_of(part.strip(), names) for part in name[6:-1].split(",")]))
    first, *rest = name.split(".")
    found = reduce(lambda whole, part: getattr(whole, part, None), rest, names.get(first))
    if is_named_tuple(found):
        where = vars(sys.modules[found.__module__])
        texts = map(_text, found.__annotations__.values())
        return TupleKind(found, tuple([kind_of(text, where) for text in texts]))
    if is_record(found):
        return found
    raise RoutineError(f"a routine takes and gives `int`, `Numbers` and records, not `{name}`")


def is_named_tuple(kind: object) -> bool:
    """Whether it is the class of tuples with names."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_intrinsic(function: object) -> bool:
    """Whether it writes LLVM's code for a call."""
    return _INTRINSIC in attributes(function)


def _text(annotation: Any) -> str:
    """An annotation as it stands in the source."""
    text: str = getattr(annotation, "__forward_arg__", None) or getattr(annotation, "__name__", annotation)
    return text


class Routine:
    """A routine that other code calls: machine code where that is there, else plain Python."""

    __slots__ = ("_run", "function", "unit")

    def __init__(self, function: Callable[..., int], name: str) -> None:
        self.function = function
        self.unit = CodeUnit(name, function.__module__, function.__name__)
        self._run: Callable[..., int] | None = None

    def __call__(self, *arguments: Any) -> int:
        """Run it on records, memory and integers."""
        return (self._run or self._find())(*arguments)

    @property
    def is_compiled(self) -> bool:
        """Whether it runs as machine code."""
        return (self._run or self._find()) is not self.function

    def _find(self) -> Callable[..., int]:
        from dlasim.native.library import find_function

        address = find_function(self.unit)
        self._run = self.function if address is None else self.at(address)
        return self._run

    def at(self, address: int) -> Callable[..., int]:
        """Machine code at an address as a function that takes the same arguments."""
        code: Any = self.function.__code__
        names = code.co_varnames[: code.co_argcount]
        texts = [_text(self.function.__annotations__[name]) for name in names]
        kinds = [kind_of(each, self.function.__globals__) for each in texts]
        types = [ctypes.POINTER(c_type(kind)) if is_record(kind) else c_type(kind) for kind in kinds]
        return ctypes.CFUNCTYPE(ctypes.c_int64, *types)(address)
