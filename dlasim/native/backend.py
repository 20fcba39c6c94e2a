"""How routines run: a backend holds the machine code that has been loaded; the others run as plain Python.

A caller that wants compiled code loads a backend (`library.load_backend`) and passes it down with the
configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.native.routine import Routine


@dataclass(frozen=True, slots=True)
class Runner:
    """A routine as a backend runs it: as plain Python."""

    function: Callable[..., int]
    is_compiled = False  # whether records and arrays for it must be memory of machine code

    def __call__(self, *arguments: Any) -> int:
        """Run it on records, arrays and integers."""
        return self.function(*[getattr(item, "numbers", item) for item in arguments])


@dataclass(frozen=True, slots=True)
class CompiledRunner(Runner):
    """A routine whose machine code takes addresses and integers."""

    is_compiled = True

    def __call__(self, *arguments: Any) -> int:
        """Run it on records and arrays that were made for compiled code, and integers."""
        return self.function(*[item if isinstance(item, int) else item.address for item in arguments])


@dataclass(frozen=True, slots=True)
class Backend:
    """The machine code of some routines, by routine."""

    codes: Mapping[Routine, Callable[..., int]] = field(default_factory=dict)

    def runner(self, routine: Routine) -> Runner:
        """Runs a routine: its machine code where that is loaded, else the Python function."""
        code = self.codes.get(routine)
        return Runner(routine.function) if code is None else CompiledRunner(code)


PLAIN = Backend()
