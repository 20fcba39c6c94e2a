"""What a row of the machine's table says of a parameter. The rows are the fields of `DlaConfig`.

Whatever names the machine's parameters reads these rows: the options of the command line, the keywords of the
API, the axes of a sweep, the manual, the order of machines, and the RTL's parameters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar, cast

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of
from dlasim.sim.configuration.sizes import SIZE_FORM, UNLIMITED, parse_size, size_text

_Value = TypeVar("_Value", int, float, str)
_ROW = "row"
_MOST_BITS = 64
_TYPE_NAMES = {int: "a whole number", str: "text", float: "a number"}


class Better(Enum):
    """Which of two values makes no operation longer."""

    LESS = "less"
    MORE = "more"
    NEITHER = "depends"


class Form(Enum):
    """How people write a value."""

    NUMBER = "number"
    SIZE = "size"
    GRID = "grid"
    WORD = "word"
    TABLE = "table"


class Rtl(Enum):
    """How the RTL gets a value: as the parameter of the same name, as thousandths of a cycle for each result,
    as the number of a choice, or not at all."""

    SAME = "same"
    CYCLES_EACH = "cycles each"
    CHOICE = "choice"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RtlLimit:
    """The values that the RTL has hardware for, and why."""

    text: str
    low: float = float("-inf")
    high: float = float("inf")
    word: str = ""

    def allows(self, value: float | str) -> bool:
        """Whether a machine with this value can be built."""
        return value == self.word if isinstance(value, str) else self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class MachineParameter:
    """A row: all that is known of a parameter, except what it does."""

    kind: type
    default: int | float | str
    text: str = ""  # for the help, the API and the manual
    low: float = 0
    high: float = 1 << 20
    flag: str = ""  # of the command line; none for what only --set and files give
    part: str = "Machine"  # of the machine: a section of the help and of the manual
    form: Form = Form.NUMBER
    choices: tuple[str, ...] = ()
    may_be_unlimited: bool = False  # which is 0, but not as people write it
    least_if_limited: float = 0
    better: Better = Better.NEITHER
    rtl: Rtl = Rtl.NONE
    rtl_limit: RtlLimit | None = None
    no_area: str = ""  # why a larger value takes no area, if none does

    @property
    def is_size(self) -> bool:
        """Whether values may be sizes such as 512KiB."""
        return self.form is Form.SIZE

    @property
    def wanted(self) -> str:
        """What a value must be: `a whole number`, `a size such as …`."""
        return SIZE_FORM if self.is_size else _TYPE_NAMES[self.kind]

    @property
    def default_text(self) -> str:
        """The default as one would type it; empty if there is none."""
        if self.may_be_unlimited and not self.default:
            return UNLIMITED
        if isinstance(self.default, float):
            return f"{self.default:g}"
        return size_text(cast(int, self.default)) if self.is_size else str(self.default)

    @property
    def least(self) -> float:
        """The least value that is a limit."""
        return self.least_if_limited or self.low or 1 if self.may_be_unlimited else self.low

    def outside(self, value: float | str, is_written: bool = False) -> str:
        """`must be from 1 to 255` if that is the range and the value is outside it, else nothing. Whoever
        writes a value has the word `unlimited` for 0."""
        if self.choices:
            is_known = isinstance(value, str) and value in self.choices
            return "" if is_known else f"must be {one_of(self.choices)}"
        if self.kind is str:
            return ""
        assert not isinstance(value, str)
        is_unlimited = self.may_be_unlimited and value == 0 and not is_written
        if is_unlimited or self.least <= value <= self.high:
            return ""
        return (
            f"must be from {self.least} to {self.high}{f', or {UNLIMITED}' if self.may_be_unlimited else ''}"
        )

    def checked(self, name: str, value: Any) -> Any:
        """A value of the parameter's type; numbers may be text such as `512KiB` and `unlimited`."""
        check_word(name, value)
        if isinstance(value, str) and value == UNLIMITED and self.may_be_unlimited:
            return self.kind(0)
        if self.is_size and isinstance(value, str):
            return self._size(name, value)
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if not isinstance(value, self.kind) or isinstance(value, bool):
            raise InputError(f"{name} must be {_TYPE_NAMES[self.kind]} (got {value!r})")
        return value

    def read(self, name: str, text: str) -> Any:
        """The value that a text gives; the machine checks its range."""
        text = text.strip()
        if self.kind is str:
            return text
        if text.lower() == UNLIMITED and self.may_be_unlimited:
            return self.kind(0)
        size = parse_size(text) if self.is_size else None
        try:
            value = self.kind(text) if size is None else size
        except ValueError:
            raise InputError(f"{name} must be {self.wanted} (got {text!r})") from None
        self.refuse_zero(name, value)
        return value

    def refuse_zero(self, name: str, value: Any) -> None:
        """Refuse 0 for `unlimited`, where a person wrote it."""
        if self.may_be_unlimited and value == 0:
            raise InputError(f"{name} {self.outside(value, is_written=True)} (got {value!r})")

    def _size(self, name: str, text: str) -> int:
        size = parse_size(text)
        if size is None:
            raise InputError(f"{name} must be {SIZE_FORM} (got {text!r})")
        return size


def check_word(name: str, value: Any) -> None:
    """Refuse an integer of more than 64 bits, which neither fits a float nor can be shown in a message."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InputError(f"{name} must have at most {_MOST_BITS} bits (got {value.bit_length():,})")


def row(default: _Value, text: str, **facts: Any) -> _Value:
    """A field of the machine, with its row: what `facts` leaves out has the row's default."""
    made = MachineParameter(type(default), default, text, **facts)
    return dataclasses.field(default=default, metadata={_ROW: made})


def rows_of(machine: type) -> Mapping[str, MachineParameter]:
    """The rows of a machine by name, in order."""
    found = {field.name: field.metadata[_ROW] for field in dataclasses.fields(machine) if field.metadata}
    return MappingProxyType(found)
