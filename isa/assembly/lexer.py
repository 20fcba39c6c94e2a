"""Lines to tokens."""

from __future__ import annotations

import enum
from functools import cache
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.isa.assembly.source import Refused, SourceText, TextPosition, joined

if TYPE_CHECKING:
    import re

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPED = {character: f"\\{letter}" for letter, character in _ESCAPES.items()}


class Kind(enum.Enum):
    """What a token is, as errors name it."""

    NAME = "a name"
    NUMBER = "a number"
    STRING = "a string"
    DIRECTIVE = "a directive"
    SIGN = "a sign"
    END = "the end of the line"
    WRONG = "no token"  # its text is the error


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text. For a string, `text` is what it means; otherwise, what is written."""

    kind: Kind
    text: str
    place: TextPosition

    def __str__(self) -> str:
        """The token as errors show it."""
        if self.kind is Kind.END:
            return str(self.kind.value)
        shown = quote(self.text) if self.kind is Kind.STRING else self.text
        return shown if len(shown) <= 40 else f"{shown[:37]}..."


@cache
def _pattern() -> re.Pattern[str]:
    import re

    return re.compile(
        r"(?P<BLANK>[ \t\r\f]+|[;#].*)"
        # A number runs on over letters, so that `1x8x8x3` and `64KiB` are one token each.
        r"|(?P<NUMBER>0[xX][0-9A-Fa-f_]+(?![0-9A-Za-z_.])|[0-9]+(?:\.[0-9]*)?[eE][+-][0-9]+|[0-9][0-9A-Za-z_.]*)"
        r"|(?P<NAME>[A-Za-z_][0-9A-Za-z_]*)"
        r'|(?P<STRING>"(?:[^"\\]|\\.)*")'
        r"|(?P<DIRECTIVE>\.[A-Za-z_][0-9A-Za-z_]*)"
        r"|(?P<SIGN>[,:=+*()-])"
    )


def tokenize(source: SourceText, line: int) -> list[Token]:
    """The tokens of a line, by its number; the last is always END, or WRONG where the line cannot be read on.

    An error is raised only when the parser reaches it, so the tokens before it are still parsed.
    """
    text = source.lines[line - 1]
    match = _pattern().match
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = match(text, position)
        place = TextPosition(line, position + 1)
        if found is None:
            return [*tokens, _wrong(text, place)]
        kind, position = found.lastgroup, found.end()
        assert kind is not None
        if kind == "STRING":
            tokens.append(_string(source, found.group(), place))
            if tokens[-1].kind is Kind.WRONG:
                return tokens
        elif kind != "BLANK":
            tokens.append(Token(Kind[kind], found.group(), place))
    return [*tokens, Token(Kind.END, "", TextPosition(line, len(text.rstrip("\r")) + 1))]


def _wrong(text: str, place: TextPosition) -> Token:
    if text[place.column - 1] == '"':
        return Token(Kind.WRONG, 'this string does not end; close it with "', place)
    if text[place.column - 1] == "\\":
        name = text[place.column - 1 :].split(maxsplit=1)[0][:40]
        return Token(Kind.WRONG, f"{name} is no parameter of a macro here", place)
    return Token(Kind.WRONG, f"unexpected character {text[place.column - 1]!r}", place)


def _string(source: SourceText, text: str, place: TextPosition) -> Token:
    try:
        return Token(Kind.STRING, _unquote(source, text, place), place)
    except Refused as refused:
        return Token(Kind.WRONG, refused.what, refused.place or place)


def _unquote(source: SourceText, text: str, place: TextPosition) -> str:
    """What a string in quotes means."""
    if "\\" not in text and text.isprintable():
        return text[1:-1]
    parts = []
    position, end = 1, len(text) - 1
    while position < end:
        if text[position] != "\\":
            parts.append(text[position])
            position += 1
            continue
        letter = text[position + 1]
        position += 2
        if letter == "u":
            close = text.find("}", position)
            parts.append(_character(source, text[position : close + 1], place, position - 2))
            position = close + 1
        elif letter in _ESCAPES:
            parts.append(_ESCAPES[letter])
        else:
            known = joined([*(f"\\{known}" for known in _ESCAPES), "\\u{hexadecimal}"])
            at = TextPosition(place.line, place.column + position - 2)
            source.fail(at, f"unknown escape \\{letter}; write {known}")
    return _storable(source, "".join(parts), place)


def _character(source: SourceText, braces: str, place: TextPosition, position: int) -> str:
    digits = braces[1:-1]
    legal = braces[:1] == "{" and 0 < len(digits) <= 6 and all(d in "0123456789abcdefABCDEF" for d in digits)
    code = int(digits, 16) if legal else -1
    if not 0 < code < 0x110000 or 0xD800 <= code < 0xE000:
        at = TextPosition(place.line, place.column + position)
        source.fail(at, "this is not a character; write \\u{1} to \\u{10ffff} without surrogates")
    return chr(code)


def _storable(source: SourceText, text: str, place: TextPosition) -> str:
    """The text, if a file can hold it: UTF-8 that a zero byte ends."""
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        source.fail(place, "a string cannot hold a zero character or half a surrogate pair")
    return text


def quote(text: str) -> str:
    """`text` as a string of the language; one line whatever it holds."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"
