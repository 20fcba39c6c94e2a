"""The text being assembled, and the errors found in it, each with its place.

Lines are known by number. Those of the text come first; a line that a macro expands to gets a number behind
them, and remembers where it comes from.

A line with an error does not end the work: `fail` leaves the line, `collect` keeps the error and goes on with
the next, and `check` raises all of them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NoReturn

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable, suggestion

UNNAMED = "<text>"
MAX_SHOWN_ERRORS = 20
MAX_ERRORS = 200  # the assembler stops after this many
_SHOWN_COLUMNS = 100  # of a longer line, only this much is shown around the caret
_SHOWN_CALLS = 4  # of nested macros
_MAX_LISTED = 20


@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """A position in the text; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an expanded line comes from: a line of a macro's or repetition's body, and the line of the call.

    A repetition has no call.
    """

    body: int
    macro: str = ""
    call: int = 0


class Refused(Exception):  # noqa: N818 (never leaves the assembler)
    """The statement being read has an error. An error that follows from another one has no message."""

    def __init__(self, place: TextPosition | None = None, what: str = "") -> None:
        super().__init__(what)
        self.place, self.what = place, what


class ErrorLimitError(Exception):
    """The text has MAX_ERRORS errors; the assembler stops."""


class SourceText:
    """The lines of one text, and its errors; `name` is that of its file, if it has one."""

    def __init__(self, text: str, name: str | None) -> None:
        self.name = name
        self.lines = text.split("\n")
        self._written = len(self.lines)
        self._origins: list[Origin] = []  # of the lines behind those that are written
        self._errors: list[tuple[TextPosition, str]] = []

    def expand(self, text: str, origin: Origin) -> int:
        """Add an expanded line; returns its number."""
        self.lines.append(text)
        self._origins.append(origin)
        return len(self.lines)

    def written_line(self, number: int) -> int:
        """The line of the text that a line is, or was expanded from."""
        while number > self._written:
            number = self._origin(number).body
        return number

    def outermost_line(self, number: int) -> int:
        """The line of the text that a line is, or that calls the macros that it was expanded from."""
        while number > self._written:
            origin = self._origin(number)
            number = origin.call or origin.body
        return number

    def outermost_lines(self, numbers: Sequence[int]) -> Sequence[int]:
        """Those of many lines."""
        return [self.outermost_line(number) for number in numbers] if self._origins else numbers

    def _origin(self, number: int) -> Origin:
        return self._origins[number - self._written - 1]

    def _calls(self, number: int) -> Iterator[str]:
        """The macros that a line was expanded from, the innermost first."""
        while number > self._written:
            origin = self._origin(number)
            if origin.call:
                yield f"in macro {origin.macro} called in line {self.written_line(origin.call)}"
            number = origin.call or origin.body

    def fail(self, place: TextPosition, what: str) -> NoReturn:
        """Stop reading this statement: `what` is wrong at `place`."""
        raise Refused(place, what)

    def note(self, place: TextPosition, what: str) -> None:
        """Keep an error and go on."""
        self._errors.append((place, what))
        if len(self._errors) >= MAX_ERRORS:
            raise ErrorLimitError

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep the error that ends this block, if one does."""
        try:
            yield
        except Refused as refused:
            if refused.place is not None:
                self.note(refused.place, refused.what)

    def check(self) -> None:
        """Raise everything that was found, in the order of the text, if anything was."""
        if not self._errors:
            return
        found = sorted(dict.fromkeys(self._errors), key=self._order)
        shown = [self._text(place, what) for place, what in found[:MAX_SHOWN_ERRORS]]
        if len(found) > 1:
            shown.insert(0, f"{self.name or UNNAMED}: {self._count(len(found))} errors")
        if len(found) > MAX_SHOWN_ERRORS:
            shown.append(f"… and {self._count(len(found) - MAX_SHOWN_ERRORS)} more")
        raise InputError("\n".join(shown))

    def _count(self, number: int) -> str:
        return f"at least {number}" if len(self._errors) >= MAX_ERRORS else str(number)

    def _order(self, error: tuple[TextPosition, str]) -> tuple[int, TextPosition, str]:
        return self.outermost_line(error[0].line), *error

    def _text(self, place: TextPosition, what: str) -> str:
        calls = list(islice(self._calls(place.line), _SHOWN_CALLS + 1))
        calls[_SHOWN_CALLS:] = ["…"] if len(calls) > _SHOWN_CALLS else []
        where = f" ({', '.join(calls)})" if calls else ""
        line = self.written_line(place.line)
        return f"{self.name or UNNAMED}:{line}:{place.column}: {what}{where}\n{self._picture(place)}"

    def _picture(self, place: TextPosition) -> str:
        """The line, and a caret below its column."""
        line = self.lines[place.line - 1].rstrip("\r")
        column = place.column - 1
        start = max(0, column - _SHOWN_COLUMNS * 2 // 3) if len(line) > _SHOWN_COLUMNS else 0
        shown = printable(line[start : start + _SHOWN_COLUMNS], also="\t")
        # Tabs are kept before the caret, so that it lands below its character.
        blank = "".join("\t" if letter == "\t" else " " for letter in shown[: column - start])
        return f"    {shown}\n    {blank}^"


def joined(names: Iterable[str], word: str = "or") -> str:
    """`a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def suggestion_text(name: str, known: Iterable[str], what: str = "") -> str:
    """`; did you mean X?` if a known name is close; otherwise, given `what`, the known names if few."""
    names = list(known)
    hint = suggestion(name, names)
    if hint or not what or not 0 < len(names) <= _MAX_LISTED:
        return hint
    return f"; {what} {joined(names, 'and')}"


def must_be(lowest: int, highest: int) -> str:
    """`must be from 0 to 7`, `must be 0`."""
    return f"must be {lowest}" if lowest == highest else f"must be from {lowest} to {highest}"
