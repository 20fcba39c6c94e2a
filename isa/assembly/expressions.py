"""Numbers, symbols and the arithmetic on them.

An expression is kept as a postfix list and computed with a stack, so no text can exhaust Python's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from dlasim.errors import suggestion
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.source import Source

LIMIT = 1 << 64  # no intermediate result may reach it
_MAX_DIGITS = 80
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NUMBERS = "decimal, 0x hexadecimal, 0b binary, or with KiB, MiB, GiB"


def number(source: Source, token: Token) -> int:
    """The value of a number token."""
    text, unit = token.text, 1
    if text[-3:] in _UNITS:
        text, unit = text[:-3], _UNITS[text[-3:]]
    try:
        value = int(text, 0) * unit if len(text) <= _MAX_DIGITS else None
    except ValueError:
        value = None
    if value is None:
        source.fail(token.place, f"{token} is not a number (allowed: {_NUMBERS})")
    return value


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with its value; `line` is where it was defined, 0 if it always is."""

    value: int
    line: int


class Symbols:
    """Every name that expressions may use."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._table: dict[str, Symbol] = {}

    def predefine(self, name: str, value: int) -> None:
        """A name that every program has."""
        self._table[name] = Symbol(value, 0)

    def define(self, token: Token, value: int) -> None:
        """A name of this program; each is defined once."""
        known = self._table.get(token.text)
        if known is not None:
            where = f"in line {known.line}" if known.line else "by the assembler"
            self._source.fail(token.place, f"{token} is already defined {where}")
        self._table[token.text] = Symbol(value, token.place.line)

    def get(self, name: str) -> int | None:
        """The value of a name, None as long as it has none."""
        symbol = self._table.get(name)
        return None if symbol is None else symbol.value

    def fail_unknown(self, token: Token) -> NoReturn:
        """Raise the error that a name is defined nowhere."""
        hint = suggestion(token.text, self._table)
        self._source.fail(token.place, f"{token} is not defined (allowed: a label, an .equ name){hint}")


@dataclass(frozen=True, slots=True)
class Expression:
    """Postfix: numbers, symbol tokens, and the signs + - * and ~ for negation, as tokens."""

    start: Token
    items: tuple[int | Token, ...]

    def value(self, source: Source, symbols: Symbols) -> int | Token:
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
                source.fail(self.start.place, "a value beyond 64 bits")
        return stack[0]


def _apply(sign: str, stack: list[int]) -> int:
    right = stack.pop()
    if sign == "~":
        return -right
    left = stack.pop()
    if sign == "*":
        return left * right
    return left + right if sign == "+" else left - right
