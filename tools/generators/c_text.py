"""Pieces of C that every generated header is put together from."""

from __future__ import annotations

import enum
import textwrap
from collections.abc import Iterable, Iterator

from dlasim.isa.bits import Field
from dlasim.isa.documents.catalogue import snake

WIDTH = 110


def header(file_name: str, doc: str, source: str, lines: Iterable[str]) -> str:
    """A whole header file, guarded; needs nothing but <stdint.h>."""
    guard = file_name.upper().replace(".", "_")
    notice = f"{doc} Generated from {source}; edit that, not this."
    return "\n".join(
        [
            *comment(notice),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdint.h>",
            "",
            *lines,
            "#endif",
            "",
        ]
    )


def comment(text: str) -> Iterator[str]:
    """Text as a comment, wrapped; the lines of formulas stay as they are."""
    lines: list[str] = []
    for line in text.replace("*/", "* /").splitlines():
        is_formula = line.startswith("    ")
        lines += [line] if is_formula else textwrap.wrap(line, WIDTH - 6) or [""]
    for number, line in enumerate(lines):
        start = "/* " if number == 0 else "   "
        end = " */" if number == len(lines) - 1 else ""
        yield (start + line + end).rstrip()


def code(line: str, depth: int) -> Iterator[str]:
    """A statement at a depth of blocks, over as many lines as it takes; what it returns stays on one."""
    if line.startswith("return"):
        yield "    " * depth + line
        return
    indents = ("    " * depth, "    " * (depth + 2))
    yield from textwrap.wrap(
        line, WIDTH, initial_indent=indents[0], subsequent_indent=indents[1], break_on_hyphens=False
    )


def define(name: str, value: str) -> str:
    """A constant."""
    return f"#define {name} {value}"


def enumeration(prefix: str, members: Iterable[tuple[str, int, str]], digits: int = 0) -> Iterator[str]:
    """An enumeration; each member comes with its documentation, which may be empty."""
    yield f"enum {prefix.lower()} {{"
    for name, value, doc in members:
        number = f"0x{value:0{digits}x}" if digits else str(value)
        note = f" /* {doc} */" if doc and len(doc) < WIDTH - 50 else ""
        if doc and not note:
            yield from (f"    {line}" for line in comment(doc))
        yield f"    {prefix}_{name.upper()} = {number},{note}"
    yield "};"
    yield ""


def packed_struct(name: str, members: Iterable[tuple[str, str, int, str]], size: str) -> Iterator[str]:
    """A structure as it lies in a file, of members with type, name, count and documentation.

    The alignment keeps the compiler from reading it byte by byte.
    """
    yield f"struct {name} {{"
    for type_name, member, count, doc in members:
        array = f"[{count}]" if count > 1 else ""
        yield f"    {type_name} {member}{array}; /* {doc} */"
    yield "} __attribute__((packed, aligned(4)));"
    yield f'_Static_assert(sizeof(struct {name}) == {size}, "size");'


def plain_enumeration(kind: type[enum.IntEnum], doc: str) -> Iterator[str]:
    """An enumeration of the tables under its own name."""
    yield from comment(doc)
    yield from enumeration(f"DLA_{snake(kind.__name__).upper()}", ((m.name, int(m), "") for m in kind))


def field_constants(prefix: str, field: Field, literal: str) -> Iterator[str]:
    """Shift, mask and the names of a field's values; `literal` formats a number of the word's type."""
    name = f"{prefix}_{field.name.upper()}"
    yield define(f"{name}_SHIFT", str(field.low))
    yield define(f"{name}_MASK", literal.format(f"0x{field.mask:x}"))
    for value, text in enumerate(field.names):
        yield define(f"{name}_{text.upper()}", f"{value}u")
