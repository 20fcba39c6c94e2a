"""Numbers, symbols and the arithmetic on them.

An expression is a postfix list, evaluated with an explicit stack, so that no text can overflow Python's.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.dataclass import dataclass
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.source import Refused, SourceText, suggestion_text

LIMIT = 1 << 64  # no intermediate result may reach it
_MAX_DIGITS = 80
_MAX_LINES = 5  # listed where a name is used again
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NUMBERS = "12, 0x1F, 0b101, 0o17 or 64KiB (MiB, GiB)"


def number(source: SourceText, token: Token) -> int:
    """The value of a number token."""
    text, unit = token.text, 1
    if text[-3:] in _UNITS:
        text, unit = text[:-3], _UNITS[text[-3:]]
    try:
        value = int(text, 0) * unit if len(text) <= _MAX_DIGITS else None
    except ValueError:
        value = None
    if value is None:
        source.fail(token.place, f"{token} is not a number; write it like {_NUMBERS}")
    return value


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with its value; `line` is where it was defined, 0 if it always is.

    A symbol that is erroneous has no value because its own definition has an error.
    """

    value: int
    line: int
    is_erroneous: bool = False


class Symbols:
    """Every name that expressions may use."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._table: dict[str, Symbol] = {}

    def predefine(self, name: str, value: int) -> None:
        """A name that every program has."""
        self._table[name] = Symbol(value, 0)

    def define(self, token: Token, value: int) -> None:
        """A name of this program; each is defined once."""
        known = self._table.get(token.text)
        if known is not None:
            if known.is_erroneous:
                raise Refused
            line = self._source.written_line(known.line)
            where = f"in line {line}" if line else "by the assembler; choose another name"
            self._source.fail(token.place, f"{token} is already defined {where}")
        self._table[token.text] = Symbol(value, token.place.line)

    def mark_erroneous(self, token: Token) -> None:
        """Mark a name whose definition has an error; using it is not reported as a further error."""
        self._table.setdefault(token.text, Symbol(0, token.place.line, is_erroneous=True))

    def get(self, name: str) -> int | None:
        """The value of a name, None as long as it has none."""
        symbol = self._table.get(name)
        if symbol is not None and symbol.is_erroneous:
            raise Refused
        return None if symbol is None else symbol.value

    def note_unknown(self, uses: Sequence[Token]) -> None:
        """Keep the error that a name is defined nowhere, at the first place that uses it."""
        first = uses[0]
        lines = sorted({self._source.written_line(token.place.line) for token in uses[1:]})
        again = f" (used again in line {', '.join(map(str, lines[:_MAX_LINES]))}" if lines else ""
        more = f" and {len(lines) - _MAX_LINES} more" if len(lines) > _MAX_LINES else ""
        end = ")" if lines else ""
        hint = self.hint(first)
        self._source.note(first.place, f"{first} is not defined{again}{more}{end}{hint}")

    def hint(self, token: Token) -> str:
        """The known name that was probably meant."""
        return suggestion_text(token.text, self._table)


@dataclass(frozen=True, slots=True)
class SymbolicExpression:
    """Postfix: numbers, symbol tokens, and the signs + - * and ~ for negation, as tokens."""

    start: Token
    items: tuple[int | Token, ...]

    def value(self, source: SourceText, symbols: Symbols) -> int | Token:
        """Its value, or the first symbol that has none yet."""
        stack: list[int] = []
        for item in self.items:
            if isinstance(item, int):
                stack.append(item)
            elif item.kind is Kind.NAME:
                known = symbols.get(item.text)
                if known is None:
                    return item
                stack.append(known)
            else:
                stack.append(_apply(item.text, stack))
            if abs(stack[-1]) >= LIMIT:
                source.fail(self.start.place, "this expression needs more than 64 bits")
        return stack[0]


def _apply(sign: str, stack: list[int]) -> int:
    right = stack.pop()
    if sign == "~":
        return -right
    left = stack.pop()
    if sign == "*":
        return left * right
    return left + right if sign == "+" else left - right
