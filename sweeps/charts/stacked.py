"""Cycles per configuration as stacked bars, like figure 4 of Sponner et al., a panel for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, unknown
from dlasim.sweeps.charts import canvas, palette
from dlasim.sweeps.charts.data import (
    ChartError,
    Row,
    Table,
    chosen_rows,
    hidden_text,
    labels,
    panels,
    shared_text,
    split,
    varying,
)
from dlasim.sweeps.charts.measures import writer
from dlasim.sweeps.charts.style import letters, scale
from dlasim.sweeps.definition.conditions import Condition

SEGMENTS = {
    name.lower(): (name, f"cycles_{name.lower()}")
    for name in ("CONV", "REQUANT", "DEPTH", "FC", "POOL", "ELTWISE", "ACT", "OTHER")
} | {"host": (palette.HOST, ""), "stall": (palette.STALL, "cycles_stall")}
MAX_BARS, MAX_IN_PANEL = 72, 40
_FAR = 4.0  # a bar this many times as long as the next shorter one is cut, so that the others can be read
_FEW = 1 / 3  # of the bars: more are not cut
_TOO_SHORT = 0.02  # of the axis: bars this short cannot be seen, and get a panel with a scale of its own
_ROW_INCHES = 0.165


@dataclass(frozen=True, slots=True)
class _Panel:
    """Bars that are drawn into one pair of axes: where each is, its row, and the labels next to them."""

    title: str
    rows: list[Row]
    places: list[float]
    names: list[str]  # written after a bar's figure: which of a pair it is
    ticks: list[tuple[float, str]]

    @property
    def height(self) -> float:
        return self.places[-1] + 1


def draw(
    result: Table,
    where: str | None = None,
    title: str = "",
    segments: list[str] | None = None,
    top: float | None = None,
    panel: str | None = None,
    pair: str | None = None,
    panels: Sequence[Mapping[str, str]] | None = None,
) -> Any:
    """A bar for each point. `host` is what the CPU adds beyond the DLA's cycles; `top` ends the axis, in
    millions; `panel` is a parameter, each value of which gets a panel of its own; bars that differ in `pair`
    only stand together; `panels` are panels with a title and a condition (`where`) each."""
    shown = segments or [name for name in SEGMENTS if name != "other" or "cycles_other" in result.columns]
    for segment in shown:
        if segment not in SEGMENTS:
            raise InputError(unknown("segment", segment, SEGMENTS))
    columns = {SEGMENTS[name][1] for name in shown if SEGMENTS[name][1]} | {"cycles_total", "cycles_dla"}
    rows = chosen_rows(result, where, sorted(columns))
    for name in (panel, pair):
        if name is not None and name not in rows[0]:
            raise InputError(f"{name} is not a parameter of {result.path}")
    parts = _asked(rows, panels, result) if panels else _parts(rows, panel)
    one_scale = bool(panels) or len({row["model"] for _, part in parts for row in part}) == 1
    if not (panels or panel or pair or top):
        lengths = {id(row): sum(_amount(row, name) for name in shown) for row in rows}
        apart = [piece for name, part in parts for piece in _by_length(name, part, lengths)]
        one_scale &= len(apart) == len(parts)
        parts = apart
    shared = shared_text([row for _, part in parts for row in part])
    return _draw(
        [_arranged(name, part, pair) for name, part in parts], shown, (title, shared), top, one_scale
    )


def can_draw(rows: list[Row]) -> bool:
    """Whether so many bars can be read."""
    return len(rows) <= MAX_BARS and all(len(part) <= MAX_IN_PANEL for _, part in panels(rows))


def _asked(
    rows: list[Row], wanted: Sequence[Mapping[str, str]], result: Table
) -> list[tuple[str, list[Row]]]:
    """The panels that a study describes; those without a row are left out."""
    parts = []
    for number, entry in enumerate(wanted, start=1):
        if not isinstance(entry, Mapping) or set(entry) != {"title", "where"}:
            raise InputError(f"panels: panel {number} is a table with title and where, not {entry!r}")
        test = Condition(entry["where"], result.columns, f"panel {number}")
        parts.append((entry["title"], [row for row in rows if test.holds(row)]))
    parts = [(name, part) for name, part in parts if part]
    if not parts:
        raise ChartError(f"{result.path} has no row with figures for any of the {len(wanted)} panels")
    return parts


def _parts(rows: list[Row], panel: str | None) -> list[tuple[str, list[Row]]]:
    """A panel for each model, and for each value of a parameter where a panel would have too many bars."""
    parts = panels(rows, *([panel] if panel else []))
    if panel is None and not can_draw(rows):
        for name in varying(rows, "model") if len(rows) <= MAX_BARS else []:
            parts = panels(rows, name)
            if max(len(part) for _, part in parts) <= MAX_IN_PANEL:
                return parts
    if len(rows) > MAX_BARS or max(len(part) for _, part in parts) > MAX_IN_PANEL:
        raise ChartError(
            f"{len(rows):,} bars are too many to read (at most {MAX_BARS}, and {MAX_IN_PANEL} in a panel): "
            f"choose some with --where, or draw --kind pareto or heatmap; they differ in {hidden_text(rows)}"
        )
    return parts


def _by_length(title: str, rows: list[Row], lengths: Mapping[int, float]) -> list[tuple[str, list[Row]]]:
    """The panel, or two where its shorter bars could not be seen on the scale of the longer ones."""
    ordered = sorted(lengths[id(row)] for row in rows)
    end = _end(ordered)
    gaps = [(more / less, less) for less, more in pairwise(ordered) if 0 < less < _TOO_SHORT * end]
    far, longest = max(gaps, default=(0.0, 0.0))
    if far <= _FAR:
        return [(title, rows)]
    short = [row for row in rows if lengths[id(row)] <= longest]
    write = writer([longest])
    return [
        (f"{title}: more than {write(longest)} cycles", [row for row in rows if lengths[id(row)] > longest]),
        (f"{title}: at most {write(longest)} cycles, on a scale of their own", short),
    ]


def _arranged(title: str, rows: list[Row], pair: str | None) -> _Panel:
    if pair is None or len(split(rows, pair)) < 2:
        places = [float(number) for number in range(len(rows))]
        return _Panel(title, rows, places, [""] * len(rows), list(zip(places, labels(rows), strict=True)))
    groups: dict[str, list[Row]] = {}
    for row, label in zip(rows, _pair_labels(rows, pair), strict=True):
        groups.setdefault(label, []).append(row)
    ordered, places, ticks, place = [], [], [], 0.0
    for label, group in groups.items():
        ticks.append((place + (len(group) - 1) / 2, label))
        for row in group:
            ordered.append(row)
            places.append(place)
            place += 1
        place += 0.5
    return _Panel(title, ordered, places, [str(row[pair]) for row in ordered], ticks)


def _pair_labels(rows: list[Row], pair: str) -> list[str]:
    """The label of the pair that each row belongs to."""
    names = varying(rows, pair)
    keys = [tuple(row[name] for name in names) for row in rows]
    first: dict[tuple[Any, ...], Row] = {}
    for key, row in zip(keys, rows, strict=True):
        first.setdefault(key, row)
    texts = dict(zip(first, labels(list(first.values()), pair), strict=True))
    return [texts[key] for key in keys]


def _draw(
    parts: list[_Panel], shown: list[str], titles: tuple[str, str], top: float | None, one_scale: bool
) -> Any:
    bars = sum(part.height for part in parts)
    height = 1.15 + scale() * (_ROW_INCHES * bars + 0.42 * len(parts))
    figure, grid = canvas.grid(
        7, height, len(parts), 1, sharex=one_scale, heights=[part.height + 0.5 for part in parts]
    )
    lengths = [[sum(_amount(row, name) for name in shown) for row in part.rows] for part in parts]
    together = [length for some in lengths for length in some]
    cut = False
    for (axes,), part, mine in zip(grid, parts, lengths, strict=True):
        shared = together if one_scale else mine
        end = top * 1e6 if top else _end(shared)
        cut |= any(length > end for length in mine)
        _draw_panel(axes, part, shown, mine, end, writer(shared))
        if len(parts) > 1:
            axes.set_title(part.title, loc="left")
        canvas.format_axis(axes.xaxis, most=7)
    title, common = titles
    notes = [common] if title else []
    notes += ["broken bars are longer than the axis; the number next to each gives its length"] if cut else []
    grid[-1][0].set_xlabel("cycles")
    canvas.head(figure, title or common, "; ".join(filter(None, notes)))
    canvas.legend(figure, _legend(grid, shown))
    return figure


def _draw_panel(
    axes: Any, part: _Panel, shown: list[str], lengths: list[float], end: float, write: Any
) -> None:
    lefts = [0.0] * len(part.rows)
    for name in shown:
        label, _ = SEGMENTS[name]
        values = [_amount(row, name) for row in part.rows]
        if any(values):
            ends = [min(left + value, end) for left, value in zip(lefts, values, strict=True)]
            starts = [min(left, end) for left in lefts]
            widths = [last - first for first, last in zip(starts, ends, strict=True)]
            axes.barh(part.places, widths, 0.78, starts, label=label, **canvas.look(label))
            lefts = [left + value for left, value in zip(lefts, values, strict=True)]
    for place, length, name in zip(part.places, lengths, part.names, strict=True):
        if length > end:
            canvas.draw_axis_break(axes, end, place, 0.5)
        style = {"ha": "left", "va": "center", "fontsize": letters(6)}
        text = f"{write(length)}  {name}".strip()
        axes.annotate(text, (min(length, end), place), (2.5, 0), textcoords="offset points", **style)
    axes.set_yticks([place for place, _ in part.ticks], [label for _, label in part.ticks])
    axes.set_ylim(part.places[-1] + 0.7, -0.7)
    axes.set_xlim(0, end * (1.13 + 0.011 * max(map(len, part.names))))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def _end(lengths: Sequence[float]) -> float:
    """Where the axis ends: at the longest bar, but for a few that are much longer than all others."""
    ordered = sorted(length for length in lengths if length)
    for number in range(len(ordered) - 1, 0, -1):
        few = len(ordered) - number <= len(ordered) * _FEW
        if few and ordered[number] > _FAR * ordered[number - 1]:
            return ordered[number - 1] * 1.15
    return max(ordered, default=1.0)


def _legend(grid: list[list[Any]], shown: list[str]) -> list[Any]:
    found = canvas.handles(axes for (axes,) in grid)
    return [found[SEGMENTS[name][0]] for name in shown if SEGMENTS[name][0] in found]


def _amount(row: Row, name: str) -> float:
    if name == "host":
        return max(float(row["cycles_total"] - row["cycles_dla"]), 0.0)
    return float(row[SEGMENTS[name][1]])
