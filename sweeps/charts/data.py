"""Rows of a result as charts need them: chosen, labelled, and with numbers as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dlasim.errors import InputError
from dlasim.sim.config import size_text
from dlasim.sweeps.conditions import Condition
from dlasim.sweeps.parameters import catalogue
from dlasim.sweeps.result import SweepResult

Row = dict[str, Any]
IN_LABEL = frozenset(("pes", "parallel", "sram_bytes", "preset"))
MAX_LABEL = 34


def chosen_rows(result: SweepResult, where: str | None, columns: Sequence[str]) -> list[Row]:
    """Rows with figures for which the condition holds; with them only what is asked for."""
    test = Condition(where, result.columns, "where") if where else None
    missing = [name for name in columns if name not in result.columns]
    if missing:
        raise InputError(f"{result.path} has no column {missing[0]}: this chart needs it")
    status = ["status"] if "status" in result.columns else []
    needed = [*columns, *status, *(test.names if test else ())]
    rows = [
        row
        for row in result.rows(*needed)
        if row.get("status", "ok") == "ok" and (test is None or test.holds(row))
    ]
    if not rows:
        raise InputError(f"{result.path} has no row with figures" + (f" where {where}" if where else ""))
    return rows


def parameters(result: SweepResult) -> list[str]:
    """The columns that tell points apart."""
    return [name for name in ("point", "case", "model", "label", *catalogue()) if name in result.columns]


def labels(rows: Sequence[Row]) -> list[str]:
    """A label for each row: the machine as the paper writes it, and whatever else differs between them."""
    names = [name for name in ("model", "case", *catalogue()) if name in rows[0] and name not in IN_LABEL]
    differing = [name for name in names if len({row[name] for row in rows}) > 1]
    if "case" in differing:  # a case's name stands for the parameters that it sets
        alike = [name for name in differing if name not in ("model", "case") and not _varies(rows, name)]
        differing = [name for name in differing if name not in alike]
    return [
        shorten(" ".join([row["label"], *(_told(name, row[name]) for name in differing)])) for row in rows
    ]


def shorten(text: str, width: int = MAX_LABEL) -> str:
    """A label that leaves room for the chart."""
    return text if len(text) <= width else text[: width - 1] + "…"


def _varies(rows: Sequence[Row], name: str) -> bool:
    """Whether a parameter takes several values within one case."""
    found: dict[Any, Any] = {}
    return any(found.setdefault(row["case"], row[name]) != row[name] for row in rows)


def best_point(rows: Iterable[Row], point: int | None) -> Row:
    """The row of that point, or the one with the fewest cycles."""
    found: Row | None = None
    for row in rows:
        if point is None:
            if found is None or row["cycles_total"] < found["cycles_total"]:
                found = row
        elif row["point"] == point:
            return row
    if found is None:
        raise InputError(f"point {point} is not among the rows with figures")
    return found


def count_text(value: float) -> str:
    """A count as 12.4M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            digits = value / unit
            return f"{digits:.0f}{letter}" if digits >= 100 else f"{digits:.3g}{letter}"
    return f"{value:.3g}"


def bytes_text(value: float) -> str:
    """A size of SRAM as 512K."""
    return size_text(int(value))


def _told(name: str, value: Any) -> str:
    """A value that explains itself alone, or after its parameter's name."""
    return str(value) if isinstance(value, str) else f"{name.replace('_', ' ')} {value}"
