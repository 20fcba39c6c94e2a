"""Macros and repetitions: which line is assembled next, and what the lines say that they expand to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.program_builder import Builder
from dlasim.isa.assembly.source import ErrorLimitError, Origin, Refused, SourceText, TextPosition, joined
from dlasim.isa.instructions import BY_MNEMONIC

if TYPE_CHECKING:
    import re

# Enough for what a person writes; a text that expands without end is refused within a second or two.
MAX_EXPANDED_LINES = 1 << 14
MAX_EXPANDED_CHARACTERS = 1 << 18
MAX_DEPTH = 32  # of calls within calls; more is taken for a macro that calls itself
MACRO, END_MACRO, REPEAT, END_REPEAT = ".macro", ".endm", ".rept", ".endr"
_ENDS = {MACRO: END_MACRO, REPEAT: END_REPEAT}
_CALL_NUMBER, _ITERATION, _SEPARATOR = "@", "+", "()"
_IN_STRINGS = ("n", "r", "t", "u")  # \n in a string is a line break, not a parameter
Substitution = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class BodyLine:
    """A line between a directive and its end; whether it belongs to a macro or repetition in there."""

    number: int
    in_macro: bool
    in_repetition: bool


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro; a parameter without a default has None. An erroneous one was not understood."""

    name: str
    parameters: Mapping[str, str | None]
    body: Sequence[BodyLine]
    is_erroneous: bool = False


@dataclass(slots=True)
class _Frame:
    """Lines that are being read: of the text, of a macro's call or of a repetition."""

    numbers: Iterator[int]
    place: TextPosition | None = None  # of what expands to them


class Expander:
    """The lines of a text in the order in which they are assembled."""

    def __init__(self, source: SourceText, builder: Builder) -> None:
        self._source, self._builder = source, builder
        self._frames = [_Frame(iter(range(1, len(source.lines) + 1)))]
        self.macros: dict[str, Macro] = {}
        self._lines = self._characters = self._calls = 0
        self.directives: dict[str, Callable[[Line, Token], None]] = {
            MACRO: self._define, REPEAT: self._repeat,
            END_MACRO: self._unexpected, END_REPEAT: self._unexpected,
        }  # fmt: skip

    def __iter__(self) -> Iterator[int]:
        """The number of each line; lines that a line expands to follow it."""
        while self._frames:
            frame = self._frames[-1]
            for number in frame.numbers:
                yield number
                if self._frames[-1] is not frame:
                    break
            else:
                self._frames.pop()

    def call(self, line: Line, macro: Macro, name: Token) -> None:
        """Read the arguments of a call, and the lines of the macro next."""
        if macro.is_erroneous:
            self._builder.mark_section_unknown()
            raise Refused
        try:
            arguments = _arguments(line, macro, name)
        except Refused:
            self._builder.mark_section_unknown()
            raise
        number, self._calls = self._calls, self._calls + 1

        def value(key: str) -> str | None:
            return arguments.get(key, "" if key == _SEPARATOR else None)

        def value_or_number(key: str) -> str | None:
            return str(number) if key == _CALL_NUMBER else value(key)

        def lines() -> Iterator[int]:
            for part in macro.body:
                text = self._source.lines[part.number - 1]
                text = _substituted(text, value if part.in_macro else value_or_number)
                yield self._source.expand(text, Origin(part.number, macro.name, line.number))

        self._push(lines(), name.place)

    def _push(self, numbers: Iterator[int], place: TextPosition) -> None:
        if len(self._frames) > MAX_DEPTH:
            self._stop(place, f"macros and repetitions nest more than {MAX_DEPTH} deep here")
        self._frames.append(_Frame(map(self._counted, numbers), place))

    def _counted(self, number: int) -> int:
        """A line that something expands to, be it assembled or part of a body."""
        self._lines += 1
        self._characters += len(self._source.lines[number - 1])
        place = self._frames[1].place
        assert place is not None
        if self._lines > MAX_EXPANDED_LINES:
            self._stop(place, f"macros and repetitions expand to more than {MAX_EXPANDED_LINES} lines")
        if self._characters > MAX_EXPANDED_CHARACTERS:
            self._stop(
                place, f"macros and repetitions expand to more than {MAX_EXPANDED_CHARACTERS} characters"
            )
        return number

    def _stop(self, place: TextPosition, what: str) -> None:
        """End the assembly: what follows would fail in the same way."""
        self._source.note(place, what)
        raise ErrorLimitError

    def _define(self, line: Line, directive: Token) -> None:
        """`.macro NAME PARAMETER, PARAMETER=DEFAULT, …`, up to `.endm`."""
        body = self._body(directive)
        name = line.expect_kind("the macro's name", Kind.NAME)
        parameters: dict[str, str | None] | None = None
        try:
            self._check_name(line, name)
            parameters = _parameters(line)
        finally:
            macro = Macro(name.text, parameters or {}, body, parameters is None)
            self.macros.setdefault(name.text, macro)

    def _check_name(self, line: Line, name: Token) -> None:
        if name.text.upper() in BY_MNEMONIC:
            line.fail(f"{name} is an instruction; choose another name for the macro", name)
        if name.text in self.macros:
            line.fail(f"macro {name} is already defined", name)

    def _repeat(self, line: Line, directive: Token) -> None:
        """`.rept COUNT`, up to `.endr`. After an error in the count, the lines are assembled once."""
        body, count = self._body(directive), 1
        try:
            count = self._builder.now(line)
            line.expect_end()
        finally:
            if body:
                self._push(self._repetitions(body, count), directive.place)

    def _repetitions(self, body: Sequence[BodyLine], count: int) -> Iterator[int]:
        sign = f"\\{_ITERATION}"
        lines = self._source.lines
        for iteration in range(count):
            for part in body:
                text = lines[part.number - 1]
                if part.in_repetition or sign not in text:
                    yield part.number  # the same line again
                else:
                    text = _substituted(text, {_ITERATION: str(iteration)}.get)
                    yield self._source.expand(text, Origin(part.number))

    def _body(self, directive: Token) -> list[BodyLine]:
        """The lines up to the end of a macro or repetition."""
        body: list[BodyLine] = []
        opened = [directive.text.lower()]
        while opened:
            number = next(self._frames[-1].numbers, None)
            if number is None:
                end = _ENDS[opened[0]]
                self._source.fail(directive.place, f"this {directive} does not end; add {end} after it")
            found = _block_pattern().match(self._source.lines[number - 1])
            word = found[1].lower() if found else ""
            if word == _ENDS[opened[-1]]:
                opened.pop()
            body.append(BodyLine(number, MACRO in opened[1:], REPEAT in opened[1:]))
            if word in _ENDS:
                opened.append(word)
        return body[:-1]

    def _unexpected(self, line: Line, directive: Token) -> None:
        begin = next(begin for begin, end in _ENDS.items() if end == directive.text.lower())
        line.fail(f"no {begin} is open here", directive)


@cache
def _block_pattern() -> re.Pattern[str]:
    """A line, perhaps with labels, whose directive begins or ends a body."""
    import re

    words = "|".join(word[1:] for word in (*_ENDS, *_ENDS.values()))
    return re.compile(rf"\s*(?:[A-Za-z_]\w*\s*:\s*)*(\.(?:{words}))(?!\w)", re.ASCII | re.IGNORECASE)


@cache
def _use_pattern() -> re.Pattern[str]:
    import re

    return re.compile(r"\\(\\|@|\+|\(\)|[A-Za-z_][0-9A-Za-z_]*)")


def _substituted(text: str, value: Substitution) -> str:
    r"""The text with each `\name` that has a value replaced by it; `\\` is kept, as it is one in a string."""
    if "\\" not in text:
        return text

    def replace(found: re.Match[str]) -> str:
        given = value(found[1])
        return found[0] if given is None else given

    return _use_pattern().sub(replace, text)


def _parameters(line: Line) -> dict[str, str | None]:
    """`NAME, NAME=DEFAULT, …`."""
    found: dict[str, str | None] = {}
    line.accept(",")
    while not line.at_end:
        name = line.expect_kind("a parameter", Kind.NAME)
        if name.text in found:
            line.fail(f"{name} is given twice", name)
        if name.text in _IN_STRINGS:
            line.fail(f"a parameter cannot be called {name}: \\{name} has a meaning in strings", name)
        found[name.text] = line.argument() if line.accept("=") else None
        if not line.accept(","):
            line.expect_end()
        elif line.at_end:
            line.fail("expected another parameter after the comma")
    return found


def _arguments(line: Line, macro: Macro, name: Token) -> dict[str, str]:
    """The text of each parameter: by position, by name, or its default."""
    given: dict[str, str] = {}
    while not line.at_end:
        key = line.next
        if line.starts_keyword() and key.text in macro.parameters:
            line.take()
            line.expect("=")
        else:
            free = [parameter for parameter in macro.parameters if parameter not in given]
            if not free:
                takes = joined(macro.parameters, "and") if macro.parameters else "no arguments"
                line.fail(f"unexpected {key}: {macro.name} takes {takes}", key)
            key = Token(Kind.NAME, free[0], key.place)
        if key.text in given:
            line.fail(f"{key} is given twice", key)
        given[key.text] = line.argument()
        if line.accept(",") and line.at_end:
            line.fail("expected another argument after the comma")
    defaults = {key: text for key, text in macro.parameters.items() if text is not None}
    missing = [key for key in macro.parameters if key not in given and key not in defaults]
    if missing:
        line.fail(f"{macro.name} needs {joined(missing, 'and')} as well", name)
    return defaults | given
