"""Rows as a table in plain text, and numbers as a reader wants them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from dlasim.errors import printable

_GAP, _INDENT = "  ", "    "


def table(rows: Sequence[Sequence[str]], alignment: str) -> str:
    """Format rows as a table whose first row is the head; `alignment` has l or r for each column."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(alignment))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, alignment, strict=True)
        ]
        lines.append(_GAP.join(cells).rstrip())
        if number == 0:
            lines.append(_GAP.join("─" * width for width in widths))
    return "\n".join(lines)


def fitted_table(rows: Sequence[Sequence[str]], alignment: str, width: int | None) -> str:
    """The table in this width: the columns that do not fit follow below each row, as `name value`, wrapped.

    None means no limit.
    """
    shown = len(alignment)
    while shown > 1 and width is not None and _width(rows, shown) > width:
        shown -= 1
    if shown == len(alignment) or width is None:
        return table(rows, alignment)
    head, rule, *lines = table([row[:shown] for row in rows], alignment[:shown]).split("\n")
    found = [head, rule]
    for line, row in zip(lines, rows[1:], strict=True):
        pairs = zip(rows[0][shown:], row[shown:], strict=True)
        rest = "; ".join(f"{name} {printable(cell)}" for name, cell in pairs if cell)
        found += [line, *wrap(rest, width, initial_indent=_INDENT, subsequent_indent=_INDENT)]
    return "\n".join(found)


def wrapped(line: str, width: int | None, indent: int = len(_INDENT)) -> str:
    """A line of text in this width; what does not fit follows, indented."""
    if width is None or len(line) <= width:
        return line
    return "\n".join(wrap(printable(line), width, subsequent_indent=" " * indent, break_on_hyphens=False))


def _width(rows: Sequence[Sequence[str]], columns: int) -> int:
    """The width of a table of the first columns."""
    widths = (max(len(row[column]) for row in rows) for column in range(columns))
    return sum(widths) + len(_GAP) * (columns - 1)


def size(count: int) -> str:
    """A number of bytes with a unit."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} B"


def energy(nanojoules: float) -> str:
    """An energy with a unit."""
    for step, unit in ((1e6, "mJ"), (1e3, "µJ")):
        if nanojoules >= step:
            return f"{nanojoules / step:,.3g} {unit}"
    return f"{nanojoules:.3g} nJ"


def duration(microseconds: float) -> str:
    """A time with a unit."""
    if microseconds < 1000:
        return f"{microseconds:.3f} µs"
    return f"{microseconds / 1000:,.3f} ms"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.1f} %"


def short(name: str, width: int = 32) -> str:
    """The end of a long name: that is where layers differ."""
    return name if len(name) <= width else "…" + name[1 - width :]
