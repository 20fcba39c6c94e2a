"""The elements of a sheet, which documents one entry of the tables; rendered as text or Markdown."""

from __future__ import annotations

from typing import TypeAlias

from dlasim.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """The name of something that has a place of its own in the documents."""

    text: str
    target: str  # relative to docs/


Cell: TypeAlias = str | Link


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines to be shown as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SheetTable:
    """Rows of cells; the last column is the one that wraps."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class References:
    """Names explained elsewhere, with a line each for those who cannot follow a link."""

    title: str
    items: tuple[tuple[Link, str], ...]


Block: TypeAlias = Prose | CodeBlock | SheetTable | References


@dataclass(frozen=True, slots=True)
class Sheet:
    """One entry: its name, what it is in a few words, and the rest."""

    name: str
    summary: str
    blocks: tuple[Block, ...]


def cell_text(cell: Cell) -> str:
    """The words of a cell."""
    return cell.text if isinstance(cell, Link) else cell
