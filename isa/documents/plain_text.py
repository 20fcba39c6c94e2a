"""Sheets as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from dlasim.isa.documents.catalogue import Topic
from dlasim.isa.documents.sheets import (
    Block,
    CodeBlock,
    Prose,
    References,
    Sheet,
    SheetTable,
    cell_text,
    sheet,
)

WIDTH = 100
_INDENT = "  "
_MIN_COLUMN = 24  # the last column never gets narrower, however wide the others are


def render(shown: Sheet) -> str:
    """One entry."""
    lines = [f"{shown.name}: {shown.summary}"]
    for block in shown.blocks:
        lines += ["", *_block_lines(block)]
    return "\n".join(lines) + "\n"


def overview(topics: Iterable[Topic]) -> str:
    """Every entry, by topic: with a line where that helps, by name only where there are very many."""
    lines: list[str] = []
    for topic in topics:
        lines += [f"{topic.name}: {topic.doc}"]
        if topic.name in ("registers", "host"):
            lines += _wrap(", ".join(topic.entries), _INDENT)
        else:
            lines += _columns(tuple((name, sheet(entry).summary) for name, entry in topic.entries.items()))
        lines += [""]
    return "\n".join([*lines, "Look one up with `dlasim isa NAME`."]) + "\n"


def _block_lines(block: Block) -> Iterator[str]:
    if isinstance(block, Prose):
        yield from _wrap(block.text, "")
    elif isinstance(block, CodeBlock):
        yield from (f"{_INDENT}{_INDENT}{line}" for line in block.lines)
    elif isinstance(block, SheetTable):
        yield block.title
        rows = tuple(tuple(cell_text(cell) for cell in row) for row in block.rows)
        yield from _columns((block.columns, *rows))
    else:
        yield from _reference_lines(block)


def _reference_lines(block: References) -> Iterator[str]:
    yield block.title
    yield from _columns(tuple((link.text, doc) for link, doc in block.items))


def _columns(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    left = sum(widths) + 2 * len(widths) + len(_INDENT)
    for row in rows:
        start = _INDENT + "".join(cell.ljust(width + 2) for cell, width in zip(row[:-1], widths, strict=True))
        wrapped = textwrap.wrap(row[-1], max(_MIN_COLUMN, WIDTH - left)) or [""]
        yield (start + wrapped[0]).rstrip()
        yield from (" " * left + line for line in wrapped[1:])


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
