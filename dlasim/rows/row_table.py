"""A table in memory: a list of dictionaries that prints as text or HTML and converts to a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dlasim.errors import InputError, unknown
from dlasim.rows import frames
from dlasim.rows.tables import table

if TYPE_CHECKING:
    import pandas
    import polars

Row = Mapping[str, Any]
R = TypeVar("R", bound=Mapping[str, Any])
_NAMED = 6  # columns in a repr


class RowTable(list[R]):
    """A list with a dictionary for each row; all rows have the same keys.

    >>> from dlasim.rows.row_table import RowTable
    >>> rows = RowTable([{"layer": "conv", "cycles": 1200}, {"layer": "softmax", "cycles": 34}])
    >>> rows
    <2 rows: layer, cycles>
    >>> print(rows)
    layer    cycles
    ───────  ──────
    conv      1,200
    softmax      34
    >>> rows[0]["cycles"], rows.column("layer")
    (1200, ['conv', 'softmax'])
    """

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self[0]) if self else []

    def rows(self) -> Iterator[R]:
        """Iterate over the rows."""
        return iter(self)

    def column(self, name: str) -> list[Any]:
        """The cells of one column."""
        if self and name not in self[0]:
            raise InputError(unknown("column", name, self.columns))
        return [row[name] for row in self]

    def frame(self) -> pandas.DataFrame | polars.DataFrame:
        """A pandas data frame, or a polars one if pandas is not installed."""
        return frames.frame({name: self.column(name) for name in self.columns})

    def __repr__(self) -> str:
        if not self:
            return "<no rows>"
        names = ", ".join(self.columns[:_NAMED]) + (", …" if len(self.columns) > _NAMED else "")
        return f"<{len(self):,} {'row' if len(self) == 1 else 'rows'}: {names}>"

    def __str__(self) -> str:
        cells = [[_text(cell) for cell in row.values()] for row in self]
        return table([self.columns, *cells], _alignment(self)) if self else ""

    def _repr_html_(self) -> str:
        return html_table(self)


def html_table(rows: Sequence[Row]) -> str:
    """RowTable as a table in HTML; numbers are aligned right."""
    from html import escape  # few commands need it

    if not rows:
        return "<table></table>"
    sides = ["right" if side == "r" else "left" for side in _alignment(rows)]
    head = "".join(
        f'<th style="text-align:{side}">{escape(name)}</th>'
        for name, side in zip(rows[0], sides, strict=True)
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side}">{escape(_text(cell))}</td>'
            for cell, side in zip(row.values(), sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _alignment(rows: Sequence[Row]) -> str:
    """`l` for each column of text, `r` for each of numbers."""
    return "".join("l" if any(isinstance(row[name], str) for row in rows) else "r" for name in rows[0])


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool | str):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
