"""Layers under the roofs of computing and of memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlasim.errors import InputError
from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import Table
from dlasim.sweeps.charts.layers import chosen_point
from dlasim.sweeps.charts.measures import count_text
from dlasim.sweeps.charts.roofs import bytes_per_cycle, roofline_point
from dlasim.sweeps.charts.style import ink, letters

_WIDEST_NAME = 30
MAX_NAMED = 14
_SAME = 0.03  # points that lie closer than this cover each other
Point = tuple[float, float]


def draw(result: Table, where: str | None = None, title: str = "", point: int | None = None) -> Any:
    """MACs per cycle over MACs per byte. Bytes are those of the direction that takes longer, time is
    computing (busy cycles) or moving, whichever takes longer, so the roof holds for every layer."""
    chosen = chosen_point(result, where, point).costly()
    points = [
        (*roofline_point(layer, layer), layer, name)
        for layer, name in zip(chosen.layers, chosen.short_names(_WIDEST_NAME), strict=True)
        if layer["macs"] and layer["unit"] == "dla"
    ]
    if not points:
        raise InputError(f"point {chosen.row['point']} has no layer with MACs on the DLA")
    figure, axes = canvas.new(7, 4.6)
    pes, rate = chosen.row["pes"], bytes_per_cycle(chosen.row)
    known = [x for x, *_ in points if x is not None] + ([pes / rate] if rate else []) or [1.0]
    left, right = min(known) / 3, max(known) * 4
    still = right / 1.4  # where layers stand that move nothing
    for kind in dict.fromkeys(layer["kind"] for _, _, layer, _ in points):
        mine = [(x or still, y) for x, y, layer, _ in points if layer["kind"] == kind]
        axes.scatter(*zip(*mine, strict=True), s=22, zorder=3, label=kind, **canvas.dots(kind))
    axes.set_xlim(left, right)
    axes.set_ylim(min(y for _, y, *_ in points) / 2, pes * 2.2)
    canvas.log_axis(axes.xaxis, 10, count_text)
    canvas.log_axis(axes.yaxis, 10, count_text)
    axes.set_xlabel(
        "MACs per byte moved" + (" (right edge: nothing moved)" if None in (x for x, *_ in points) else "")
    )
    axes.set_ylabel("MACs per cycle")
    canvas.legend(figure, axes.get_legend_handles_labels()[0])
    costly = sorted(points, key=lambda point: -point[2]["cycles"])
    canvas.head(
        figure,
        title or chosen.title,
        f"names: up to {MAX_NAMED} layers, those with the most cycles first"
        + ("; equal layers are one point" if any("members" in layer for layer in chosen.layers) else ""),
    )
    roof = _draw_roofs(figure, axes, pes, rate, (left, right))
    named = _together([(x or still, y, name) for x, y, _, name in costly[:MAX_NAMED]])
    others = [(x or still, y) for x, y, *_ in costly[MAX_NAMED:]]
    canvas.thin_ticks(figure, [axes.xaxis, axes.yaxis])
    canvas.place_labels(figure, axes, named, canvas.FAR, avoid=[*roof, *others])
    return figure


def _together(points: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Points that lie on each other as one, with a line for each name."""
    found: list[tuple[float, float, list[str]]] = []
    for x, y, name in points:
        near = (names for a, b, names in found if abs(x / a - 1) < _SAME and abs(y / b - 1) < _SAME)
        names = next(near, None)
        if names is None:
            found.append((x, y, [name]))
        else:
            names.append(name)
    return [(x, y, "\n".join(names)) for x, y, names in found]


def _draw_roofs(figure: Any, axes: Any, pes: int, rate: int, view: tuple[float, float]) -> list[Point]:
    """The roofs, each with its name along it; points on them, which other names keep clear of."""
    left, right = view
    ridge = pes / rate if rate else left
    axes.plot([left, ridge, right], [left * rate if rate else pes, pes, pes], color=ink(), linewidth=1)
    style = {"textcoords": "offset points", "fontsize": letters(7), "color": ink(), "va": "bottom"}
    axes.annotate(f"computing: {pes} MACs per cycle", (right, pes), (-2, 3), ha="right", **style)
    across = np.geomspace(left, right, 150)
    roof = [(float(x), float(min(x * rate, pes) if rate else pes)) for x in across]
    if not rate:
        return roof
    low = max(left, axes.get_ylim()[0] / rate)
    middle = math.sqrt(low * ridge)
    canvas.lay_out(figure)
    (x0, y0), (x1, y1) = axes.transData.transform([(low, low * rate), (ridge, pes)])
    turn = math.degrees(math.atan2(y1 - y0, x1 - x0))
    style |= {"ha": "center", "rotation": turn, "rotation_mode": "anchor"}
    axes.annotate(f"DMA: {rate} bytes per cycle", (middle, middle * rate), (-4, 3), **style)
    return roof
