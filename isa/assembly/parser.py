"""A line's tokens, read from left to right; whatever does not fit ends in an error that points at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from dlasim.isa.assembly.lexer import Kind, Token, quote, tokenize
from dlasim.isa.assembly.source import SourceText, joined, suggestion_text
from dlasim.isa.assembly.symbol_expressions import SymbolicExpression, number

T = TypeVar("T")
_RANK = {"+": 1, "-": 1, "*": 2, "~": 3}


class Line:
    """A cursor over the tokens of one line."""

    def __init__(self, source: SourceText, line: int) -> None:
        self.source, self.number = source, line
        self._tokens = tokenize(source, line)
        self._position = 0

    @property
    def next(self) -> Token:
        """The token that comes next; END stays."""
        token = self._tokens[self._position]
        if token.kind is Kind.WRONG:
            self.source.fail(token.place, token.text)
        return token

    @property
    def at_end(self) -> bool:
        """Whether the line is used up."""
        return self.next.kind is Kind.END

    def fail(self, what: str, token: Token | None = None) -> NoReturn:
        """Reject the line for an error at a token, or at the next one."""
        self.source.fail((token or self.next).place, what)

    def take(self) -> Token:
        """The next token, which is then behind the cursor."""
        token = self.next
        if token.kind is not Kind.END:
            self._position += 1
        return token

    def accept(self, sign: str) -> Token | None:
        """The next token if it is this sign, else None and the cursor stays."""
        return self.take() if self.next.kind is Kind.SIGN and self.next.text == sign else None

    def expect(self, sign: str) -> Token:
        """The next token, which must be this sign."""
        return self.accept(sign) or self.fail(f"expected {sign!r}, found {self.next}")

    def expect_kind(self, what: str, *kinds: Kind) -> Token:
        """The next token, which must be of one of these kinds; `what` names it in the error."""
        if self.next.kind not in kinds:
            self.fail(f"expected {what}, found {self.next}")
        return self.take()

    def expect_end(self) -> None:
        """The line must be used up."""
        if not self.at_end:
            self.fail(f"expected the end of the line, found {self.next}")

    def starts_keyword(self) -> bool:
        """Whether `name =` comes next."""
        following = self._tokens[self._position + 1 : self._position + 2]
        return self.next.kind is Kind.NAME and [token.text for token in following] == ["="]

    def starts_label(self) -> bool:
        """Whether `name :` comes next."""
        following = self._tokens[self._position + 1 : self._position + 2]
        return self.next.kind is Kind.NAME and [token.text for token in following] == [":"]

    def choice(self, what: str, names: Sequence[str]) -> int:
        """The position of the next token among `names`; capitals do not matter."""
        token = self.next
        folded = [name.casefold() for name in names]
        if token.kind is not Kind.NAME or token.text.casefold() not in folded:
            hint = suggestion_text(token.text, names) if token.kind is Kind.NAME else ""
            self.fail(f"expected {what} ({joined(names)}), found {token}{hint}")
        return folded.index(self.take().text.casefold())

    def keywords(self, readers: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """The rest of the line as `key=value`, commas between them optional; each key once."""
        found: dict[str, Any] = {}
        while not self.at_end:
            key = self.expect_kind(f"a keyword ({joined(readers)})", Kind.NAME)
            if key.text not in readers:
                self.fail(
                    f"unknown keyword {key}{suggestion_text(key.text, readers, 'the keywords are')}", key
                )
            if key.text in found:
                self.fail(f"{key} is given twice", key)
            self.expect("=")
            found[key.text] = readers[key.text]()
            if self.accept(",") and self.at_end:
                self.fail("expected another keyword after the comma")
        return found

    def items(self, reader: Callable[[], T]) -> tuple[T, ...]:
        """`(a, b, …)`, possibly empty."""
        self.expect("(")
        found: list[T] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(reader())
        return tuple(found)

    def values(self, reader: Callable[[], T]) -> list[T]:
        """The rest of the line as `a, b, …` with at least one value."""
        found = [reader()]
        while self.accept(","):
            found.append(reader())
        self.expect_end()
        return found

    def argument(self) -> str:
        """The tokens up to a comma outside parentheses, or up to the end, as text."""
        found: list[str] = []
        depth = 0
        while not self.at_end:
            is_sign = self.next.kind is Kind.SIGN
            if is_sign and self.next.text == "," and depth <= 0:
                break
            depth += {"(": 1, ")": -1}.get(self.next.text, 0) if is_sign else 0
            token = self.take()
            found.append(quote(token.text) if token.kind is Kind.STRING else token.text)
        return " ".join(found) or self.fail(f"expected a value, found {self.next}")

    def by_x(self, what: str) -> tuple[int, ...]:
        """Numbers joined by x, such as 1x8x8x3."""
        token = self.expect_kind(what, Kind.NUMBER)
        parts = token.text.split("x")
        if not all(part.isdigit() and len(part) <= 10 for part in parts):
            self.fail(f"{token} is not {what}; write decimal numbers joined by x", token)
        return tuple(int(part) for part in parts)

    def expression(self) -> SymbolicExpression:
        """An expression of numbers, names, + - * and parentheses."""
        start = self.next
        output: list[int | Token] = []
        signs: list[Token] = []
        depth = 0
        while True:
            depth += self._operand(output, signs)
            while depth and self.accept(")"):
                _reduce_to_parenthesis(output, signs)
                depth -= 1
            if self.next.kind is not Kind.SIGN or self.next.text not in "+-*":
                break
            _push(output, signs, self.take())
        if depth:
            self.fail(f"expected ')', found {self.next}")
        output += reversed(signs)
        return SymbolicExpression(start, tuple(output))

    def _operand(self, output: list[int | Token], signs: list[Token]) -> int:
        """Read up to and including one number or name; the number of parentheses opened before it."""
        opened = 0
        while self.next.kind is Kind.SIGN and self.next.text in ("(", "+", "-"):
            sign = self.take()
            opened += sign.text == "("
            if sign.text != "+":
                signs.append(sign if sign.text == "(" else Token(Kind.SIGN, "~", sign.place))
        token = self.expect_kind("a value", Kind.NUMBER, Kind.NAME)
        output.append(number(self.source, token) if token.kind is Kind.NUMBER else token)
        return opened


def _push(output: list[int | Token], signs: list[Token], sign: Token) -> None:
    while signs and signs[-1].text != "(" and _RANK[signs[-1].text] >= _RANK[sign.text]:
        output.append(signs.pop())
    signs.append(sign)


def _reduce_to_parenthesis(output: list[int | Token], signs: list[Token]) -> None:
    while signs[-1].text != "(":
        output.append(signs.pop())
    signs.pop()
