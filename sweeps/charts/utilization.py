"""How much of the PEs each layer uses, and how many cycles it takes: those that count for it, and those in
which it runs."""

from __future__ import annotations

from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.charts import canvas, palette
from dlasim.sweeps.charts.data import Row, Table
from dlasim.sweeps.charts.layers import ChosenPoint, chosen_point
from dlasim.sweeps.charts.measures import writer
from dlasim.sweeps.charts.style import inches, letters, scale

MAX_ROWS = 40
_WIDEST_NAME = 64
_LETTERS = 7  # of a name for each inch of a figure whose width is asked for: as many again are left for bars
_PALE = 0.35


def draw(result: Table, where: str | None = None, title: str = "", point: int | None = None) -> Any:
    """Every layer in the network's order, or where they are many those that cost most: those without MACs and
    those of the CPU have cycles alone. Pale are busy cycles that count for another layer; utilisation is of
    all busy ones."""
    every = chosen_point(result, where, point)
    chosen = every.costly()
    widest = min(_WIDEST_NAME, int(_LETTERS * inches(_WIDEST_NAME) / scale()))
    layers, names = chosen.layers[:MAX_ROWS], chosen.names(widest)[:MAX_ROWS]
    if not layers:
        raise InputError(f"point {chosen.row['point']} has no layer")
    room = 0.055 * max(map(len, names))
    high = 1.3 + 0.155 * len(layers) * scale()
    figure, ((left, right),) = canvas.grid(4.6 + room, high, 1, 2, sharey=True)
    for kind in dict.fromkeys(map(_kind, layers)):
        mine = [(y, layer) for y, layer in enumerate(layers) if _kind(layer) == kind]
        places = [y for y, _ in mine]
        used = [100 * layer["utilization"] if _uses_pes(layer) else 0 for _, layer in mine]
        left.barh(places, used, 0.75, label=kind, **canvas.look(kind))
        busy = [layer["busy_cycles"] for _, layer in mine]
        right.barh(places, busy, 0.75, **canvas.look(kind) | {"alpha": _PALE})
        right.barh(places, [layer["cycles"] for _, layer in mine], 0.75, **canvas.look(kind))
    _write(left, right, layers)
    left.set_yticks(range(len(layers)), names, fontsize=letters(6))
    left.set_ylim(len(layers) - 0.4, -0.6)
    left.set_xlim(0, 115)
    left.set_xticks(range(0, 101, 25))
    left.set_xlabel("utilisation of the PEs [%]")
    right.set_xlabel("cycles")
    wordy = any(_is_paler(layer) for layer in layers)
    right.set_xlim(0, right.get_xlim()[1] * (1.35 if wordy else 1.12))  # room for what is written behind bars
    canvas.format_axis(right.xaxis, most=5)
    for axes in (left, right):
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
    canvas.head(figure, title or chosen.title, _note(every, chosen))
    canvas.legend(figure, left.get_legend_handles_labels()[0])
    canvas.thin_ticks(figure, [left.xaxis, right.xaxis])
    return figure


def _note(every: ChosenPoint, chosen: ChosenPoint) -> str:
    """What a reader must know: which layers are shown, and what pale bars are."""
    shown = chosen.layers[:MAX_ROWS]
    notes = []
    if chosen is not every:
        notes.append(f"{len(every.layers)} layers, equal ones together, most cycles first")
    if left_out := chosen.layers[MAX_ROWS:]:
        whole = sum(layer["cycles"] for layer in chosen.layers) or 1
        share = 100 * sum(layer["cycles"] for layer in left_out) / whole
        notes.append(f"those not shown take {share:.1f} % of the cycles")
    if any(_is_paler(layer) for layer in shown):
        notes.append("pale: busy, but counted for an older layer that runs as well")
    return "; ".join(notes)


def _write(left: Any, right: Any, layers: list[Row]) -> None:
    """Figures next to the bars."""
    cycles = writer([layer["cycles"] for layer in layers])
    style = {"textcoords": "offset points", "ha": "left", "va": "center", "fontsize": letters(5)}
    for y, layer in enumerate(layers):
        text, x = (f"{100 * layer['utilization']:.1f}", 100 * layer["utilization"]) if _uses_pes(layer) else (
            "on the CPU" if layer["unit"] != "dla" else "no MACs", 0)  # fmt: skip
        left.annotate(text, (x, y), (2, 0), **style)
        counted = cycles(layer["cycles"])
        both = f"{counted}, busy {cycles(layer['busy_cycles'])}" if _is_paler(layer) else counted
        right.annotate(both, (layer["busy_cycles"], y), (2, 0), **style)


def _is_paler(layer: Row) -> bool:
    """Whether it is busy for noticeably more cycles than count for it."""
    return bool(layer["busy_cycles"] > 1.01 * layer["cycles"])


def _kind(layer: Row) -> str:
    return str(layer["kind"]) if layer["unit"] == "dla" else palette.HOST


def _uses_pes(layer: Row) -> bool:
    return bool(layer["macs"]) and layer["unit"] == "dla"
