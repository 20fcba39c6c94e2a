"""Directives of the data section, which builds region CONSTANTS byte by byte."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.program_builder import MAX_CONSTANT_BYTES, Builder, Mode
from dlasim.isa.assembly.source import Refused
from dlasim.isa.assembly.symbol_expressions import SymbolicExpression
from dlasim.isa.instruction_rows import RECORD_BYTES

_MAX_ALIGNMENT = 1 << 16
_BYTE = (-(1 << 7), (1 << 8) - 1)
_I32 = (-(1 << 31), (1 << 31) - 1)
Handler = Callable[[Builder, Line, Token], None]


def _begin(builder: Builder, line: Line, directive: Token) -> None:
    builder.close_stream()
    builder.enter(Mode.DATA)
    line.expect_end()


def _values(size: int, lowest: int, highest: int) -> Handler:
    def directive(builder: Builder, line: Line, token: Token) -> None:
        expressions = line.values(line.expression)
        start = builder.reserve(line, token, size * len(expressions))
        _fill(builder, expressions, start, size, lowest, highest)

    return directive


def _fill(
    builder: Builder, expressions: list[SymbolicExpression], start: int, size: int, lowest: int, highest: int
) -> None:
    """Put each value in place as soon as it is known."""

    def put(values: list[int]) -> None:
        mask = (1 << 8 * size) - 1
        raw = bytearray()
        for expression, value in zip(expressions, values, strict=True):
            with builder.source.collect():
                builder.in_range(expression, value, lowest, highest)
            raw += (value & mask).to_bytes(size, "little")
        builder.constants[start : start + len(raw)] = raw

    builder.when_known(expressions, put)


def _space(builder: Builder, line: Line, directive: Token) -> None:
    """`COUNT` or `COUNT, VALUE`: bytes that are all the same."""
    count = builder.now(line, maximum=MAX_CONSTANT_BYTES)
    value = builder.now(line, *_BYTE) if line.accept(",") else 0
    line.expect_end()
    start = builder.reserve(line, directive, count)
    if value:
        builder.constants[start:] = bytes([value & 0xFF]) * count


def _ascii(end: bytes) -> Handler:
    """Strings in UTF-8, each followed by `end`."""

    def directive(builder: Builder, line: Line, token: Token) -> None:
        strings = line.values(lambda: line.expect_kind("a string", Kind.STRING).text)
        raw = b"".join(text.encode() + end for text in strings)
        start = builder.reserve(line, token, len(raw))
        builder.constants[start:] = raw

    return directive


def _align(builder: Builder, line: Line, directive: Token) -> None:
    boundary = builder.now(line, 1, _MAX_ALIGNMENT)
    line.expect_end()
    builder.reserve(line, directive, -len(builder.constants) % boundary)


def _hex(builder: Builder, line: Line, directive: Token) -> None:
    token = line.expect_kind("the bytes", Kind.STRING)
    line.expect_end()
    raw = hex_bytes(token.text)
    if raw is None:
        line.fail('.hex takes pairs of hexadecimal digits, such as "00ff a5"', token)
    start = builder.reserve(line, directive, len(raw))
    builder.constants[start:] = raw


def hex_bytes(text: str) -> bytes | None:
    """The bytes of pairs of hexadecimal digits, or None if the text is anything else."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _record(builder: Builder, line: Line, directive: Token) -> None:
    first = line.next
    expressions = line.values(line.expression)
    if len(expressions) != RECORD_BYTES // 4:
        line.fail(f".record takes 3 values, bias, multiplier and shift (got {len(expressions)})", first)
    start = builder.reserve(line, directive, RECORD_BYTES)
    _fill(builder, expressions, start, 4, *_I32)


def _placed(handler: Handler) -> Handler:
    """After an error that leaves the size of the data unknown, later offsets are unknown too."""

    def directive(builder: Builder, line: Line, token: Token) -> None:
        before = len(builder.constants)
        try:
            handler(builder, line, token)
        except Refused:
            builder.offsets_are_unknown |= len(builder.constants) == before
            raise

    return directive


DIRECTIVES: dict[str, Handler] = {
    ".data": _begin,
    ".i8": _placed(_values(1, *_BYTE)),
    ".byte": _placed(_values(1, *_BYTE)),
    ".i16": _placed(_values(2, -(1 << 15), (1 << 16) - 1)),
    ".half": _placed(_values(2, -(1 << 15), (1 << 16) - 1)),
    ".i32": _placed(_values(4, -(1 << 31), (1 << 32) - 1)),
    ".zero": _placed(_space),
    ".space": _placed(_space),
    ".ascii": _placed(_ascii(b"")),
    ".asciz": _placed(_ascii(b"\0")),
    ".align": _placed(_align),
    ".hex": _placed(_hex),
    ".record": _placed(_record),
}
