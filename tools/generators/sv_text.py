"""Pieces of SystemVerilog that the generated package is put together from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 110
INDENT = "  "


def comment(text: str) -> Iterator[str]:
    """Text as a comment, wrapped."""
    yield from (f"// {line}" for line in textwrap.wrap(text, WIDTH - 3))


def constant(name: str, value: int, bits: int, doc: str = "") -> str:
    """A localparam of so many bits."""
    note = f"  // {doc}" if doc and len(doc) < WIDTH - 50 else ""
    return f"localparam logic [{bits - 1}:0] {name} = {literal(value, bits)};{note}"


def number(name: str, value: int) -> str:
    """A localparam that sizes or counts something."""
    return f"localparam int unsigned {name} = {value};"


def literal(value: int, bits: int) -> str:
    """A number of so many bits, in hexadecimal."""
    return f"{bits}'h{value & ((1 << bits) - 1):0{-(-bits // 4)}x}"


def enumeration(kind: str, bits: int, members: Sequence[tuple[str, int]]) -> Iterator[str]:
    """A typedef of an enumeration."""
    yield f"typedef enum logic [{bits - 1}:0] {{"
    for place, (name, value) in enumerate(members):
        yield f"{INDENT}{name} = {bits}'d{value}{',' if place < len(members) - 1 else ''}"
    yield f"}} {kind};"


def structure(kind: str, members: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A packed struct; members are pairs of type and name, the most significant first."""
    yield "typedef struct packed {"
    yield from (f"{INDENT}{type_} {name};" for type_, name in members)
    yield f"}} {kind};"


def function(result: str, name: str, parameters: str, body: Iterable[str]) -> Iterator[str]:
    """An automatic function."""
    yield f"function automatic {result} {name}({parameters});"
    yield from (INDENT + line for line in body)
    yield "endfunction"


def case_returns(subject: str, rows: Iterable[tuple[Sequence[str], str]], otherwise: str) -> Iterator[str]:
    """A case statement that returns; rows pair the labels that share a result with it."""
    yield f"case ({subject})"
    for labels, result in rows:
        yield from textwrap.wrap(
            f"{', '.join(labels)}: return {result};",
            WIDTH - 4,
            initial_indent=INDENT,
            subsequent_indent=2 * INDENT,
        )
    yield f"{INDENT}default: return {otherwise};"
    yield "endcase"
