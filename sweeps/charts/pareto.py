"""Which machines are worth building: two or three figures, with the points that nothing beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sim.configuration.parameter_names import ALIASES
from dlasim.sweeps.charts import canvas, palette
from dlasim.sweeps.charts.data import (
    ChartError,
    Row,
    Table,
    chosen_rows,
    hidden_text,
    labels,
    long_text,
    shared_text,
    split,
    varying,
)
from dlasim.sweeps.charts.measures import SHORT, Measure, describe, measure
from dlasim.sweeps.charts.style import inches, ink
from dlasim.sweeps.definition.axes import is_parameter
from dlasim.sweeps.definition.goals import Limit, joined, read_goals
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.results.decision import broken_limits, columns_of, goals_of, machines_of, with_limits
from dlasim.sweeps.results.fronts import front

MAX_MODELS = 6
MAX_COLORS = 8
COSTS = ("sram_bytes", "pes")
_WHOLE = 200  # letters: labels of a front are not cut
_MANY = 300  # points: more are drawn smaller
_FAR = 4.0  # an axis whose values lie further apart than this is logarithmic


def draw(
    result: Table, where: str | None = None, title: str = "", value: str = "cycles_total",
    figures: list[str] | None = None, x: str | None = None, y: str | None = None,
    color: str | None = None, limit: str | None = None, limits: Sequence[str] = (),
) -> Any:  # fmt: skip
    """`figures` are two or three, or `y` against `x`; without them `value`, SRAM and PEs. Each of the others
    is drawn against the first. Dots: every point, grey or by the value of the parameter `color`; line: the
    front within the panel; large dots: also in the front of all figures. `limit`, such as milliseconds=10, is
    a line where a figure has this value. `limits`, and those of the study, are lines, too; machines outside
    them are crosses and on no front. The study's objectives are the figures unless others are given."""
    goals = joined(goals_of(result), read_goals(limits, (), "limits"))
    if not (figures or x or y) and len(goals.objectives) > 1:
        figures = [one.name for one in reversed(goals.objectives[:3])]
    if x or y:
        if figures:
            raise InputError("figures excludes x and y; give only one of them")
        figures = [y or value, x or COSTS[0]]
    chosen = [measure(name, result.columns) for name in figures or (value, *COSTS)]
    if not 2 <= len({figure.name for figure in chosen}) == len(chosen) <= 3:
        raise InputError(
            f"a front needs two or three different figures (got {', '.join(figures or [value])})"
        )
    names = [figure.name for figure in chosen]
    lines = _limits(limit, chosen, result.columns)
    shade = SHORT.get(color, ALIASES.get(color, color)) if color else None
    rows = chosen_rows(
        result, where, [*names, *([shade] if shade else []), *columns_of(goals, result.columns)]
    )
    rows = [row for row in rows if all(row[name] is not None for name in names)]
    with_limits(rows, goals)
    if "model" not in (where or ""):
        rows = machines_of(rows)  # of a workload, all networks together
    if not rows:
        raise ChartError(f"{result.path}: no row has {', '.join(names)}")
    parts = split(rows, "model")
    if len(parts) > MAX_MODELS:
        raise ChartError(f"{len(parts)} models, but a chart shows at most {MAX_MODELS}: use --where")
    goal, *costs = chosen
    costs = [cost for cost in costs if len(split(rows, cost.name)) > 1]
    if not costs:
        raise ChartError(
            f"{' and '.join(figure.text for figure in chosen[1:])} do not vary, so there is no front; "
            f"name two or three figures with --set figures=cycles,dma; the points differ in "
            f"{hidden_text(rows) or 'nothing'}"
        )
    title = title or shared_text(rows, "model", *(cost.name for cost in costs))
    return _draw(parts, goal, costs, title, _Marks(_shades(rows, shade), shade, lines, goals.limits))


@dataclass(frozen=True, slots=True)
class _Marks:
    """What a front shows besides its points: the colour of each value of a parameter, and lines by figure."""

    shades: Mapping[Any, Any]
    parameter: str | None
    lines: Mapping[str, float]
    limits: Sequence[Limit] = ()

    def edges(self, model: str, is_alone: bool) -> dict[str, float]:
        """Where lines are drawn in a panel, by figure: a limit on all networks is none on one of them."""
        of_all = is_alone or model == WORKLOAD
        found = [limit.edge for limit in self.limits if limit.model == model or (of_all and not limit.model)]
        return {**self.lines, **{edge[0]: describe(edge[0]).shown(edge[2]) for edge in found if edge}}

    def groups(self, rows: list[Row]) -> dict[str, tuple[Any, list[Row]]]:
        """The rows of each colour, with its text in the legend."""
        if self.parameter is None:
            return {"points": (palette.GREY, rows)}
        parts = split(rows, self.parameter)
        name = self.parameter
        return {
            long_text(name, value): (self.shades[value], parts[value])
            for value in self.shades
            if value in parts
        }


def _shades(rows: list[Row], name: str | None) -> dict[Any, Any]:
    """A colour for each value, from dark to light."""
    if name is None:
        return {}
    values = sorted(split(rows, name), key=lambda value: (isinstance(value, str), value))
    if len(values) > MAX_COLORS:
        raise ChartError(f"{name} has {len(values)} values, but a chart has at most {MAX_COLORS} colours")
    return dict(zip(values, canvas.sequence(len(values)), strict=True))


def _limits(text: str | None, figures: list[Measure], columns: list[str]) -> dict[str, float]:
    """Where lines are drawn, by figure."""
    if text is None:
        return {}
    name, _, value = text.partition("=")
    figure = measure(name.strip(), columns)
    if figure not in figures:
        raise InputError(f"limit {name.strip()} is not a figure of the chart; it has "
                         f"{', '.join(one.name for one in figures)}")  # fmt: skip
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"limit must be FIGURE=NUMBER, such as milliseconds=10 (got {text!r})")
    return {figure.name: figure.shown(number)}


def _draw(parts: dict[Any, list[Row]], goal: Measure, costs: list[Measure], title: str, marks: _Marks) -> Any:
    high = 2.5 if len(parts) > 1 or len(costs) > 1 else 3.4
    wide = inches(3.7 * max(len(costs), 1.6))
    figure, grid = canvas.grid(wide, 0.9 + high * len(parts), len(parts), len(costs), sharey="row")
    fronts = []
    for (model, rows), line in zip(parts.items(), grid, strict=True):
        overall = {id(row) for row in _front(rows, goal, *costs)}
        for axes, cost in zip(line, costs, strict=True):
            fronts.append((axes, cost, _panel(axes, rows, cost, goal, overall, len(costs) > 1, marks), rows))
            canvas.title(axes, f"{model}: {goal.text} against {cost.text}", min(3.4, wide / len(costs) - 0.3))
        line[0].set_ylabel(goal.axis)
        _scale(line[0].yaxis, [goal.shown(row[goal.name]) for row in rows], goal, 10)
    named = list({id(row): row for *_, best, _ in fronts for row in best}.values())
    common = named if len(parts) == 1 and len(named) > 1 else []  # what these share is said once
    for (first, *_), rows in zip(grid, parts.values(), strict=True):
        _make_room(first, 0.3 if any(", " in text for text in labels(common or rows)) else 0.12)
    for axes, cost, _, rows in fronts:
        _draw_limits(axes, cost, goal, marks.edges(str(rows[0].get("model", "")), len(parts) == 1))
    canvas.head(figure, title, _note(goal, costs, len(parts), _shared(next(iter(parts.values())), common)))
    canvas.legend(figure, list(canvas.handles(axes for line in grid for axes in line).values()))
    for axes, cost in zip(grid[-1], costs, strict=True):
        axes.set_xlabel(cost.axis)
    canvas.thin_ticks(figure, [axis for axes, *_ in fronts for axis in (axes.xaxis, axes.yaxis)])
    for axes, cost, best, rows in fronts:
        texts = labels(common or rows, width=_WHOLE)  # place_labels breaks what is long
        names = dict(zip(map(id, common or rows), texts, strict=True))
        points = [
            (cost.shown(row[cost.name]), goal.shown(row[goal.name]), names[id(row)] or str(row["label"]))
            for row in best
        ]
        sides = canvas.ABOVE if goal.more_is_better else canvas.BELOW
        canvas.place_labels(figure, axes, points, sides, line=_steps([point[:2] for point in points], cost))
    return figure


def _make_room(axes: Any, share: float) -> None:
    """Extend the axis downwards, for labels below the front."""
    low, high = axes.get_ylim()
    is_log = axes.get_yscale() == "log"
    axes.set_ylim(low / (high / low) ** share if is_log else low - share * (high - low), high)


def _shared(rows: list[Row], named: list[Row]) -> str:
    """The parameters that tell points apart, but not those that have a label."""
    if not named:
        return ""
    apart = varying(named)
    return ", ".join(long_text(name, named[0][name]) for name in varying(rows) if name not in apart)


def _note(goal: Measure, costs: list[Measure], models: int, shared: str) -> str:
    better = ", ".join(
        f"{figure.text}: {'more' if figure.more_is_better else 'less'} is better" for figure in (goal, *costs)
    )
    notes = [better]
    notes += ["each model has a front of its own"] if models > 1 else []
    notes += [f"the points with labels have {shared}"] if shared else []
    return "; ".join(notes)


def _panel(
    axes: Any, rows: list[Row], cost: Measure, goal: Measure, overall: set[int], several: bool,
    marks: _Marks,
) -> list[Row]:  # fmt: skip
    many = len(rows) > _MANY
    look = {
        "s": 4 if many else 9,
        "alpha": 0.6 if many else 1.0,
        "linewidth": 0,
        "rasterized": len(rows) > 2000,
    }
    outside = [row for row in rows if broken_limits(row)]
    if outside:
        dots = sorted({(cost.shown(row[cost.name]), goal.shown(row[goal.name])) for row in outside})
        axes.scatter(
            *zip(*dots, strict=True),
            color=palette.GREY,
            label="outside a limit",
            marker="x",
            s=look["s"],
            linewidth=0.6,
            zorder=0.9,
        )
    within = [row for row in rows if not broken_limits(row)]
    for text, (shade, some) in marks.groups(within).items() if within else ():
        dots = sorted({(cost.shown(row[cost.name]), goal.shown(row[goal.name])) for row in some})
        axes.scatter(*zip(*dots, strict=True), color=shade, label=text, **look)
    best = _front(rows, goal, cost)
    line = [(cost.shown(row[cost.name]), goal.shown(row[goal.name])) for row in best]
    if line:
        axes.plot(*zip(*_steps(line, cost), strict=True), color=palette.BLUE, linewidth=1,
                  label="front of the two figures")  # fmt: skip
    both = [point for point, row in zip(line, best, strict=True) if id(row) in overall]
    if both:
        text = "no point is better in all figures" if several else "no point is better in both"
        edge = {"edgecolor": "white", "linewidth": 0.4}
        axes.scatter(*zip(*both, strict=True), s=18, color=palette.RED, zorder=3, label=text, **edge)
    values = [cost.shown(row[cost.name]) for row in rows]
    _scale(axes.xaxis, values, cost, 2 if is_parameter(cost.name) else 10)
    return best


def _front(rows: list[Row], *objectives: Measure) -> list[Row]:
    """The front of the machines that keep to all limits."""
    within = [row for row in rows if not broken_limits(row)]
    return front(within, *objectives) if within else []


def _draw_limits(axes: Any, cost: Measure, goal: Measure, edges: Mapping[str, float]) -> None:
    """A line at the value that a figure should keep to."""
    style = {"color": ink(), "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 2.5}
    for figure, axis, draw_line in ((goal, axes.yaxis, axes.axhline), (cost, axes.xaxis, axes.axvline)):
        if figure.name in edges:
            value = edges[figure.name]
            canvas.include(axis, value)
            unit = "" if figure.axis == figure.text else f" {figure.unit}"
            draw_line(value, label=f"limit: {figure.tick(value)}{unit}", **style)


def _steps(front: list[tuple[float, float]], cost: Measure) -> list[tuple[float, float]]:
    """The corners of the line between what nothing beats and what some point of the front beats."""
    corners = front[:1]
    for x, y in front[1:]:
        before_x, before_y = corners[-1]
        corners += [(before_x, y) if cost.more_is_better else (x, before_y), (x, y)]
    return corners


def _scale(axis: Any, values: list[float], figure: Measure, base: int) -> None:
    if min(values) > 0 and max(values) > _FAR * min(values):
        canvas.log_axis(axis, base, figure.tick)
    else:
        canvas.format_axis(axis, figure.prefixes, most=7)
