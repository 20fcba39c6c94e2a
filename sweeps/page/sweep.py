"""The page of a sweep: its points as columns, and what is known of each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dlasim.errors import InputError
from dlasim.sim.configuration.sizes import size_text
from dlasim.sweeps.charts.data import Table, axis_name, labels, varying, with_full_timing
from dlasim.sweeps.charts.measures import describe
from dlasim.sweeps.definition.axes import find, names_in
from dlasim.sweeps.definition.conditions import Condition
from dlasim.sweeps.definition.goals import DEMAND_COLUMNS, NO_GOALS, Goals
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.evaluation.evaluate import FIGURES
from dlasim.sweeps.page.document import document
from dlasim.sweeps.results.decision import Decision, with_limits
from dlasim.sweeps.results.result_files import PENDING, read_about

MAX_POINTS = 50_000
MAX_REFUSED = 200
_LEFT_OUT = ("key",)  # a hash for the cache; it would be half of the page
_STATUS = ("status", "reason")
Rows = Sequence[Mapping[str, Any]]


def sweep_page(result: Table, where: str | None = None, more: Goals = NO_GOALS) -> str:
    """The HTML page of a sweep, or of those of its points for which the condition holds; with the goals of
    its study, and more."""
    rows = _chosen(result, where)
    decision = Decision(result, more)
    goals = decision.goals
    with_limits([row for row in rows if row["status"] == "ok"], goals)
    ran = [row for row in rows if row["status"] == "ok"]
    columns = [name for name in result.columns if name not in (*_LEFT_OUT, "outside")]
    swept = varying(rows) if rows else []
    study = _about(result)
    data = {
        "page": "sweep",
        "command": study.get("command", ""),
        "where": where or "",
        "study": study,
        "partial": result.partial,
        "count": len(rows),
        "statuses": Counter(str(row["status"]) for row in rows),
        "refused": [
            [row[name] for name in ("point", "model", "label", "status", "reason")]
            for row in rows
            if row["status"] not in ("ok", PENDING)
        ][:MAX_REFUSED],
        "parameters": [_parameter(name, rows) for name in swept],
        "fixed": [[axis_name(name), _text(name, rows[0][name])] for name in names_in(rows[0] if rows else ())
                  if name not in swept and rows[0][name] not in ("", None)],
        "figures": _figures(ran, result.columns),
        "limits": _limits(goals),
        "workload": WORKLOAD if any(row["model"] == WORKLOAD for row in ran) else None,
        "objectives": [one.name for one in goals.objectives],
        "answer": list(decision.sentences()) if goals else [],
        "sensitivity": _sensitivity(decision) if goals else [],
        "machines": _machines(ran, swept),
        "outside": [str(row.get("outside") or "") for row in ran],
        "best": _best(ran),
        "labels": labels(ran, "model") if ran else [],
        "columns": {name: _column([row[name] for row in ran]) for name in columns if name not in _STATUS},
    }  # fmt: skip
    name = study.get("study") or result.path.parent.name or "sweep"
    part = f" ({result.partial})" if result.partial else ""
    return document(f"{name}: {len(rows):,} points{part}", data)


def _limits(goals: Goals) -> list[dict[str, Any]]:
    """The limits, with the line that charts draw for one that is a number."""
    return [
        {"text": limit.text, "model": limit.model, "figure": limit.edge and limit.edge[0],
         "value": limit.edge and limit.edge[2]}
        for limit in goals.limits
    ]  # fmt: skip


def _sensitivity(decision: Decision) -> list[list[Any]]:
    """What one other value of a parameter makes of the winner: both values, the change of each figure that
    the goals are about, and the limits that break."""
    winner = decision.winner
    if winner is None:
        return []
    return [
        [
            axis_name(name),
            decision.parameter(name, winner),
            decision.parameter(name, row),
            *([one.text, winner[one.name], row[one.name]] for one in decision.shown),
            row.get("outside") or "",
        ]
        for name, row in decision.sensitivity()
    ]


def _machines(rows: Rows, swept: Sequence[str]) -> list[int]:
    """For each row the number of its machine: rows that differ only in their model have the same."""
    names = [name for name in swept if name != "model"]
    numbers: dict[tuple[Any, ...], int] = {}
    return [numbers.setdefault(tuple(row[name] for name in names), len(numbers)) for row in rows]


def _chosen(result: Table, where: str | None) -> list[dict[str, Any]]:
    needed = ("point", "model", "label", *_STATUS, "cycles_total")
    missing = [name for name in needed if name not in result.columns]
    if missing:
        raise InputError(f"{result.path} has no column {missing[0]}: expected the results.csv of a sweep")
    test = Condition(where, result.columns, "where") if where else None
    rows = []
    for row in result.rows():
        if test is None or test.holds(row):
            rows.append(row)
        if len(rows) > MAX_POINTS:
            raise InputError(
                f"{result.path} has more than {MAX_POINTS:,} points, the most that a page shows: choose some "
                "with --where"
            )
    if not rows:
        raise InputError(f"{result.path} has no row{f' where {where}' if where else ''}")
    for row in rows:
        if row["status"] == "ok" and not isinstance(row["cycles_total"], (int, float)):
            raise InputError(f"{result.path}: point {row['point']} ran, but its cycles_total is "
                             f"{row['cycles_total']!r}")  # fmt: skip
    return rows


def _about(result: Table) -> dict[str, Any]:
    """Name and title of the study, where the sweep's folder says them."""
    about = read_about(result.path.parent)
    return {name: str(about[name]) for name in ("study", "title", "command") if about.get(name)}


def _parameter(name: str, rows: Rows) -> dict[str, Any]:
    """A parameter with its values in order, each with its text."""
    values = list(dict.fromkeys(row[name] for row in rows))
    if all(isinstance(value, (int, float)) for value in values):
        values.sort()
    return {"name": name, "text": axis_name(name), "values": values,
            "shown": [_text(name, value) for value in values]}  # fmt: skip


def _text(name: str, value: Any) -> str:
    if isinstance(value, int) and name.endswith("_bytes"):
        return size_text(value)
    if value in ("", None):
        return "default" if name != "dla_ops" else "all operators"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _figures(rows: Rows, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The figures that differ between points, as charts know them; numbers of the machine count as well."""
    machine = [name for name in names_in(columns) if find(name, "").kind is not str]
    found = []
    for name in (*FIGURES, *DEMAND_COLUMNS, *machine):
        if name not in columns:
            continue
        values = {row[name] for row in rows}
        if len(values) > 1 and all(isinstance(value, (int, float)) for value in values - {None}):
            measure = describe(name)
            found.append({"name": name, "text": measure.text, "unit": measure.unit,
                          "more": measure.more_is_better, "machine": name in machine,
                          "group": "machine" if name in machine else _group(name)})  # fmt: skip
    return found


# Where a figure stands in the menus of axes: the first of these whose pattern its column has.
_GROUPS = (
    (r"(cycles_total|milliseconds|energy_nj|supply_v|max_clock_hz|area_mm2|area_kge|sram_kib|utilization)$",
     "the run"),
    (r"unit_(dma_in|dma_out|mac|vector)_", "cycles of the unit"),
    (r"cycles_|bound_", "cycles"), (r"energy_", "energy"),
    (r"area_\w+_mm2", "area"), (r"area_", "logic"),
    (r"cpu_|stack_|ram_|simulation_", "CPU and board"), (r".*_(bytes|kib)$", "memory and traffic"),
)  # fmt: skip


def _group(column: str) -> str:
    """The heading below which a figure stands in a menu."""
    for pattern, group in _GROUPS:
        if found := re.match(pattern, column):
            return f"{group} {found[1].upper()}" if column.startswith("unit_") else group
    return "counts"


def _best(rows: Rows) -> dict[str, int]:
    """By figure, the row with the least of it among those in which everything takes time."""
    found = {}
    for name in ("cycles_total", "energy_nj"):
        known = [row for row in with_full_timing(rows) if row.get(name) is not None]
        if known:
            found[name] = rows.index(min(known, key=lambda row: row[name]))
    return found


def _column(values: Sequence[Any]) -> dict[str, Any]:
    """One value where all are the same, texts by their number, else the values themselves."""
    distinct = dict.fromkeys(values)
    if len(distinct) <= 1:
        return {"all": next(iter(distinct), None)}
    if any(isinstance(value, str) for value in distinct):
        numbers = {value: number for number, value in enumerate(distinct)}
        return {"texts": list(distinct), "of": [numbers[value] for value in values]}
    return {"values": list(values)}
