"""Sheets as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dlasim.isa.documents.sheets import Block, Cell, CodeBlock, Link, Prose, Sheet, SheetTable


def render(shown: Sheet, level: int = 2, page: str = "") -> str:
    """One entry as a section; links within `page` lose its name."""
    lines = [
        f"{'#' * level} {shown.name}",
        "",
        f"{escape(shown.summary[0].upper() + shown.summary[1:])}.",
        "",
    ]
    for block in shown.blocks:
        lines += [*_block_lines(block, page), ""]
    return "\n".join(lines)


def table(columns: Iterable[str], rows: Iterable[Iterable[Cell]], page: str = "") -> list[str]:
    """The lines of a table."""
    heads = list(columns)
    lines = [_row(heads), _row(["---"] * len(heads))]
    return lines + [_row([_cell(cell, page) for cell in row]) for row in rows]


def escape(text: str) -> str:
    """Text that Markdown shows as it is; backticks mark names, as in the source."""
    for character in "\\*<[|":
        text = text.replace(character, f"\\{character}")
    return text


def link(target: Link, page: str = "") -> str:
    """A link; to a place in `page` itself by anchor alone."""
    return f"[{target.text}]({target.target.removeprefix(page) if page else target.target})"


def _block_lines(block: Block, page: str) -> Iterator[str]:
    if isinstance(block, Prose):
        yield escape(block.text)
    elif isinstance(block, CodeBlock):
        yield from ("```", *block.lines, "```")
    elif isinstance(block, SheetTable):
        yield from (f"**{block.title}**", "", *table(block.columns, block.rows, page))
    else:
        yield f"**{block.title}:** " + ", ".join(link(target, page) for target, _ in block.items)


def _cell(cell: Cell, page: str) -> str:
    return link(cell, page) if isinstance(cell, Link) else escape(cell)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
