"""Rows of a table as charts need them: chosen, put into panels, and labelled by what tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol, TypeVar

from dlasim.errors import InputError, counted
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.sizes import UNLIMITED, size_text
from dlasim.sweeps.charts.measures import in_words
from dlasim.sweeps.definition.axes import names_in
from dlasim.sweeps.definition.conditions import Condition

Row = dict[str, Any]
AnyRow = TypeVar("AnyRow", bound=Mapping[str, Any])
MACHINE = ("sram_bytes", "pes", "parallel")  # in the order in which the paper labels its bars
MAX_LABEL = 44
_SHOWN_VALUES = 4
_SHOWN_WITHOUT_NAME = ("case", "model", "preset", "cpu", "dla_ops")
_SUBSUMING = ("case", "preset")
_NAMES = {"sram_bytes": "SRAM", "pes": "PEs", "cpu": "CPU core", "dla_ops": "operators on the DLA"}
_MODES = {"input": "I", "output": "O"}


class ChartError(InputError):
    """The table has no points for a chart, or not such as it can show."""


class Table(Protocol):
    """What charts are drawn from: the results of a sweep, or the report of one run."""

    path: Any
    columns: list[str]

    @property
    def partial(self) -> str:
        """Says how many points there are, where the sweep is not complete."""

    @property
    def layers(self) -> Table:
        """The rows of each layer."""

    def rows(self, *columns: str) -> Iterator[Row]:
        """Row by row; all columns, or these."""


def chosen_rows(result: Table, where: str | None, columns: Sequence[str]) -> list[Row]:
    """Rows with figures for which the condition holds; with them the parameters and what is asked for.

    `dma_bytes` is what was read and written together.
    """
    test = Condition(where, result.columns, "where") if where else None
    wanted = dict.fromkeys(("point", *columns))
    if "dma_bytes" in wanted and "dma_bytes" not in result.columns:
        del wanted["dma_bytes"]
        wanted |= dict.fromkeys(("dma_read_bytes", "dma_write_bytes"))
    missing = [name for name in wanted if name not in result.columns]
    if missing:
        raise InputError(f"{result.path} has no column {missing[0]}: this chart needs it")
    usual = ("status", "reason", "cycles_total")
    needed = dict.fromkeys(
        (*wanted, *parameters(result), *(name for name in usual if name in result.columns))
    )
    found = [
        row for row in result.rows(*needed, *(test.names if test else ())) if not test or test.holds(row)
    ]
    rows = [row for row in found if row.get("status", "ok") == "ok"]
    if not rows:
        raise ChartError(_nothing(result, where, found))
    for row in rows if "dma_bytes" in columns else ():
        row.setdefault("dma_bytes", (row["dma_read_bytes"] or 0) + (row["dma_write_bytes"] or 0))
    return rows


def _nothing(result: Table, where: str | None, found: list[Row]) -> str:
    condition = f" where {where}" if where else ""
    if not found:
        return f"{result.path} has no row{condition}"
    first = found[0]
    why = f"the first, {first.get('label', '')}, was {first['status']}: {first.get('reason', '')}"
    return (
        f"{result.path} has no figures to draw{condition}: none of {counted(len(found), 'point')} ran; {why}"
    )


def parameters(result: Table) -> list[str]:
    """The columns that tell points apart."""
    return [
        name
        for name in ("point", "case", "model", "label", *names_in(result.columns))
        if name in result.columns
    ]


def varying(rows: Sequence[Row], *shown: str) -> list[str]:
    """The parameters that tell these rows apart, besides those shown. A case, or a preset, stands for the
    parameters that only change with it."""
    names = [name for name in ("model", "case", *MACHINE, *names_in(rows[0])) if name in rows[0]]
    found = [name for name in dict.fromkeys(names) if _differs(rows, name)]
    for name in _SUBSUMING:
        if name in found:
            kept = ("model", name, *shown)
            found = [other for other in found if other in kept or _differs_within(rows, other, name)]
    if has_grids(rows) and "pes" not in shown:
        found = [name for name in found if name != "pes"]
    return [name for name in found if name not in shown]


def has_grids(rows: Sequence[Row]) -> bool:
    """Whether machines are grids of lanes, so that `parallel` also says how many PEs there are."""
    if not {"parallel", "pes"} <= rows[0].keys() or all(row["parallel"] in _MODES for row in rows):
        return False
    return not _differs_within(rows, "pes", "parallel")


def labels(rows: Sequence[Row], *shown: str, width: int = MAX_LABEL) -> list[str]:
    """A label for each row: what tells it apart from the others, and nothing that all of them share."""
    names = varying(rows, *shown)
    machine, others = [name for name in MACHINE if name in names], [n for n in names if n not in MACHINE]
    write = _short_text if len(machine) > 1 else long_text
    texts = []
    for row in rows:
        parts = [" ".join(write(name, row[name]) for name in machine)]
        parts += [long_text(name, row[name]) for name in others]
        texts.append(shorten(", ".join(filter(None, parts)), width))
    counts = Counter(texts)
    return [
        text if counts[text] == 1 else f"{shorten(text, width - 7)} #{row['point']}"
        for text, row in zip(texts, rows, strict=True)
    ]


def shared_text(rows: Sequence[Row], *shown: str) -> str:
    """What all of these rows have in common, for the title."""
    names = [name for name in ("model", "case", *MACHINE) if name in rows[0] and name not in shown]
    parts = [
        long_text(name, rows[0][name]) for name in names if not _differs(rows, name) and rows[0][name] != ""
    ]
    return ", ".join(parts)


def hidden_text(rows: Sequence[Row], *shown: str) -> str:
    """The axes that a chart does not show, with their values."""
    return ", ".join(f"{axis_name(name)} ({values_text(name, rows)})" for name in varying(rows, *shown))


def values_text(name: str, rows: Iterable[Row]) -> str:
    """The values of a parameter, or how many they are."""
    values = sorted({row[name] for row in rows}, key=lambda value: (isinstance(value, str), value))
    if len(values) <= _SHOWN_VALUES:
        return ", ".join(value_text(name, value) for value in values)
    return f"{len(values)} values from {value_text(name, values[0])} to {value_text(name, values[-1])}"


def split(rows: Iterable[Row], name: str) -> dict[Any, list[Row]]:
    """The rows for each value of a parameter, in the order in which they come."""
    parts: dict[Any, list[Row]] = {}
    for row in rows:
        parts.setdefault(row[name], []).append(row)
    return parts


def panels(rows: list[Row], *names: str) -> list[tuple[str, list[Row]]]:
    """Rows apart by these parameters; each panel with its title, which always names the model."""
    parts = [("", rows)]
    for name in dict.fromkeys(("model", *names)):
        if name in rows[0]:
            parts = [
                (", ".join(filter(None, (title, long_text(name, value)))), some)
                for title, part in parts
                for value, some in split(part, name).items()
            ]
    return parts


def best_point(rows: Iterable[Row], point: int | None) -> Row:
    """The row of that point, or the one with the fewest cycles of the whole timing model."""
    if point is None:
        return min(with_full_timing(list(rows)), key=lambda row: row["cycles_total"])
    found = next((row for row in rows if row["point"] == point), None)
    if found is None:
        raise InputError(f"point {point} is not among the rows with figures")
    return found


def with_full_timing(rows: Sequence[AnyRow]) -> Sequence[AnyRow]:
    """The rows in which everything takes time, if there are such; the others are not fast machines."""
    return [row for row in rows if row.get("timing", "full") == "full"] or rows


def point_title(rows: Sequence[Row], chosen: Row, point: int | None) -> str:
    """Which point a chart of one point shows, and why that one."""
    others = [long_text(name, chosen[name]) for name in varying(rows, "model", *MACHINE)]
    text = ", ".join([f"{chosen['model']} on {chosen['label']}", *others])
    if point is not None or len(rows) == 1:
        return text
    models = " and of all models" if _differs(rows, "model") else ""
    timed = with_full_timing(rows)
    which = " with timing full" if len(timed) < len(rows) else ""
    return f"{text} (point {chosen['point']}: the fewest cycles of {len(timed):,} points{which}{models})"


def shorten(text: str, width: int = MAX_LABEL) -> str:
    """A label that leaves room for the chart; the end of a name says more than its middle."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def value_text(name: str, value: Any) -> str:
    """A parameter's value; a table may lack it."""
    if value is None:
        return "unknown"
    if value == 0 and name in PARAMETERS and PARAMETERS[name].may_be_unlimited:
        return UNLIMITED
    if name.endswith("_bytes"):
        return size_text(int(value))
    if name == "preset" and value:
        return PurePath(value).name
    if value == "":
        return {"dla_ops": "all operators", "case": "no case"}.get(name, "default")
    return f"{value:g}" if isinstance(value, float) else str(value)


def long_text(name: str, value: Any) -> str:
    """A value with what it is a value of."""
    text = value_text(name, value)
    if name == "pes":
        return f"{text} PEs"
    if name == "parallel":
        return f"{text} parallel" if value in _MODES else f"grid {text}"
    if name == "sram_bytes":
        return f"{text} SRAM"
    return text if name in _SHOWN_WITHOUT_NAME and value != "" else f"{axis_name(name)} {text}"


def _short_text(name: str, value: Any) -> str:
    """A part of a machine's label, as the paper writes it."""
    return _MODES.get(value, str(value)) if name == "parallel" else value_text(name, value)


def axis_name(name: str) -> str:
    """A parameter in words."""
    known = {"sram_bytes": "SRAM", "pes": "PEs", "cpu": "CPU core"}
    return known.get(name) or in_words(name.removesuffix("_bytes"))


def _differs(rows: Sequence[Row], name: str) -> bool:
    return any(row[name] != rows[0][name] for row in rows)


def _differs_within(rows: Sequence[Row], name: str, group: str) -> bool:
    """Whether a parameter takes several values within one case, or within one preset."""
    found: dict[Any, Any] = {}
    return any(found.setdefault(row[group], row[name]) != row[name] for row in rows)
