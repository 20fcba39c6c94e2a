"""A small language of conditions on parameters, such as `pes <= 128 or sram >= 1MiB`.

    or:      and ("or" and)*
    and:     not ("and" not)*
    not:     "not" not | compare
    compare: sum (("==" | "!=" | "<=" | ">=" | "<" | ">") sum | "in" "(" or ("," or)* ")")*
    sum:     term (("+" | "-") term)*
    term:    factor (("*" | "//" | "/" | "%") factor)*
    factor:  "-" factor | number | size | energy | time | 'text' | name | "unlimited" | "(" or ")"

A parameter that is unlimited, which tables write as 0, is more than any number. An energy such as 2mJ is in
nanojoules, a time such as 10ms in milliseconds, as tables have them.

A condition becomes a tree of closures over the parameters' values; Python's `eval` is not involved.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from dlasim.errors import InputError, unknown
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameter_names import ALIASES
from dlasim.sim.configuration.sizes import UNLIMITED, parse_size

Values = Mapping[str, Any]
Closure = Callable[[Values], Any]

MAX_LENGTH = 2000
_MAX_DEPTH = 40
_TOKEN = re.compile(
    r"\s*(?:(?P<quantity>\d+(?:\.\d+)?\s?(?:[nuµm]?J|[um]?s)\b)|(?P<number>\d+\.\d+|\d+(?:[KMG]i?B?)?\b)|(?P<name>[A-Za-z_]\w*)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<sign>==|!=|<=|>=|//|[<>+\-*/%(),]))"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_SUM: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
_TERM: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul, "//": operator.floordiv, "/": operator.truediv, "%": operator.mod,
}  # fmt: skip


# The units of tables are nJ and ms.
_UNITS = {"nJ": 1.0, "uJ": 1e3, "µJ": 1e3, "mJ": 1e6, "J": 1e9, "us": 1e-3, "ms": 1.0, "s": 1e3}
_QUANTITY = re.compile(r"([\d.]+)\s?(.+)")


class Condition:
    """A condition on the values of a point or of a row."""

    def __init__(
        self, text: str, names: Collection[str], origin: str, short: Mapping[str, str] = ALIASES
    ) -> None:
        self.text, self._origin = text, origin
        parser = _Parser(text, names, origin, short)
        self._closure = parser.parse()
        self.names = frozenset(parser.used)
        """The names that it uses."""

    def holds(self, values: Values) -> bool:
        """Whether the condition is true for these values."""
        return bool(self.value(values))

    def value(self, values: Values) -> Any:
        """What the text gives for these values: a truth, or the number of a sum."""
        try:
            return self._closure(values)
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise InputError(f"{self._origin}: cannot evaluate {self.text!r}: {error}") from None


class _Parser:
    def __init__(self, text: str, names: Collection[str], origin: str, short: Mapping[str, str]) -> None:
        self._text, self._names, self._origin, self._short = text, names, origin, short
        self._tokens = self._split()
        self._next = 0
        self._depth = 0
        self.used: set[str] = set()

    def parse(self) -> Closure:
        closure = self._or()
        if self._next < len(self._tokens):
            self._fail(f"{self._tokens[self._next][1]!r} is unexpected")
        return closure

    def _split(self) -> list[tuple[str, str]]:
        if len(self._text) > MAX_LENGTH:
            self._fail(f"longer than {MAX_LENGTH} characters")
        tokens, position = [], 0
        text = self._text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                rest = text[position:].strip()
                hint = "; write == to compare" if rest.startswith("=") else ""
                self._fail(f"{rest[:20]!r} is not a valid token{hint}")
            tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        return tokens

    def _fail(self, why: str) -> NoReturn:
        raise InputError(f"{self._origin}: condition {self._text[:100]!r}: {why}")

    def _take(self, *words: str) -> str | None:
        """The next token if it is one of these."""
        if self._next < len(self._tokens):
            kind, token = self._tokens[self._next]
            if token in words and kind != "text":
                self._next += 1
                return token
        return None

    def _or(self) -> Closure:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._fail("too deeply nested")
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else lambda values: any(part(values) for part in parts)

    def _and(self) -> Closure:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else lambda values: all(part(values) for part in parts)

    def _not(self) -> Closure:
        flips = False
        while self._take("not"):
            flips = not flips
        found = self._compare()
        return (lambda values: not found(values)) if flips else found

    def _compare(self) -> Closure:
        left = self._sum()
        parts: list[Closure] = []
        while sign := self._take(*_COMPARE, "in"):
            if sign == "in":
                parts.append(_among(left, self._list()))
            else:
                right = self._sum()
                parts.append(_apply(_COMPARE[sign], left, right))
                left = right
        if not parts:
            return left
        return parts[0] if len(parts) == 1 else lambda values: all(part(values) for part in parts)

    def _list(self) -> list[Closure]:
        if not self._take("("):
            self._fail("`in` must be followed by values in parentheses, such as in (64, 128)")
        items = [self._or()]
        while self._take(","):
            items.append(self._or())
        self._close()
        return items

    def _close(self) -> None:
        if not self._take(")"):
            self._fail("a closing parenthesis is missing")

    def _sum(self) -> Closure:
        return self._chain(_SUM, self._term)

    def _term(self) -> Closure:
        return self._chain(_TERM, self._factor)

    def _chain(self, signs: dict[str, Callable[[Any, Any], Any]], part: Callable[[], Closure]) -> Closure:
        first = part()
        rest: list[tuple[Callable[[Any, Any], Any], Closure]] = []
        while sign := self._take(*signs):
            rest.append((signs[sign], part()))
        return _fold(first, rest) if rest else first

    def _factor(self) -> Closure:
        flips = False
        while self._take("-"):
            flips = not flips
        if self._take("("):
            found = self._or()
            self._close()
        else:
            found = self._atom()
        return (lambda values: -_numeric(found(values))) if flips else found

    def _atom(self) -> Closure:
        if self._next >= len(self._tokens):
            self._fail("the end is missing")
        kind, token = self._tokens[self._next]
        self._next += 1
        constant: Any
        match kind:
            case "number":
                constant = float(token) if "." in token else parse_size(token)
            case "quantity":
                constant = _quantity(token)
            case "text":
                constant = token[1:-1]
            case "name":
                return self._name(token)
            case _:
                self._fail(f"{token!r} is unexpected")
        return lambda values: constant

    def _name(self, token: str) -> Closure:
        if token == UNLIMITED:
            return lambda values: math.inf
        name = token if token in self._names else self._short.get(token, token)
        if name not in self._names:
            self._fail(unknown("name", token, (*self._names, *self._short)))
        self.used.add(name)
        if name in PARAMETERS and PARAMETERS[name].may_be_unlimited:
            return lambda values: math.inf if values[name] == 0 else values[name]
        return lambda values: values[name]


def _quantity(token: str) -> float:
    match = _QUANTITY.fullmatch(token)
    assert match is not None
    return float(match[1]) * _UNITS[match[2]]


def _fold(first: Closure, rest: list[tuple[Callable[[Any, Any], Any], Closure]]) -> Closure:
    def fold(values: Values) -> Any:
        result = _numeric(first(values))
        for operation, part in rest:
            result = operation(result, _numeric(part(values)))
        return result

    return fold


def _numeric(value: Any) -> Any:
    """The value, which must be a number: Python would also multiply text."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value


def _apply(operation: Callable[[Any, Any], Any], left: Closure, right: Closure) -> Closure:
    return lambda values: operation(left(values), right(values))


def _among(left: Closure, items: list[Closure]) -> Closure:
    def among(values: Values) -> bool:
        sought = left(values)
        return any(sought == item(values) for item in items)

    return among
