"""Routines: functions over integers and records that run as plain Python or as machine code, from one source.

A routine takes records, arrays and integers. It calls other routines and nothing else, allocates nothing and
raises nothing. Compiled numbers have 64 bits; the caller makes sure that this suffices, or runs plain Python.
`backend` runs routines.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from dlasim.native.compilation_unit import CompilationUnit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK, _SYMBOL = "is_routine", "symbol"


class Numbers(Protocol):
    """An array of integers as a routine sees it."""

    def __getitem__(self, place: int, /) -> int: ...

    def __setitem__(self, place: int, number: int, /) -> None: ...


def routine(function: _Function) -> _Function:
    """Marks a function that `translate` may compile; it refuses any other."""
    vars(function)[_MARK] = True
    return function


def foreign(symbol: str) -> Callable[[_Function], _Function]:
    """Marks a function that stands for one of another library, for compiled routines to call."""

    def mark(function: _Function) -> _Function:
        vars(function)[_SYMBOL] = symbol
        return routine(function)

    return mark


def is_routine(function: object) -> bool:
    """Whether it is a function that has been marked."""
    return _MARK in getattr(function, "__dict__", {})


def foreign_symbol(function: object) -> str | None:
    """The symbol of a function of another library."""
    return getattr(function, "__dict__", {}).get(_SYMBOL)


class Routine:
    """A routine that other code calls through a backend; `sources` are the modules that it is made of."""

    __slots__ = ("_imported", "function", "unit")

    def __init__(self, function: Callable[..., int], name: str, sources: Iterable[str]) -> None:
        arguments = len(inspect.signature(function).parameters)
        self.function = function
        self.unit = CompilationUnit(name, function.__module__, function.__name__, arguments, tuple(sources))
        self._imported = time.time()

    @property
    def has_changed(self) -> bool:
        """Whether its sources are newer than the functions that this process has imported."""
        return self.unit.has_changed(self._imported)
