"""Figures, axes and legends of matplotlib, and labels that keep clear of each other."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
from matplotlib.transforms import Bbox, ScaledTranslation

from dlasim.errors import InputError, one_of
from dlasim.sweeps.charts.measures import BINARY, DECIMAL, Write
from dlasim.sweeps.charts.palette import GREY, KINDS, OTHER, text_color
from dlasim.sweeps.charts.style import inches, letters, scale
from dlasim.sweeps.definition.study import FORMATS
from dlasim.system.fileio import atomic_write

Side = tuple[float, float, str, str]  # offset in points, and how the text lies to it

_NOT_IN_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # as names of models may have them
_KIB = 1024
_NARROW = 12.0  # from end to end: a logarithmic axis this short needs more ticks than 1, 2 and 5
MAP, SEQUENCE = "cividis", "viridis"


def look(kind: str) -> dict[str, Any]:
    """How bars of a kind are filled."""
    color, hatch, _ = KINDS.get(kind, OTHER)
    return {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}


def dots(kind: str) -> dict[str, Any]:
    """How points of a kind are drawn."""
    color, _, marker = KINDS.get(kind, OTHER)
    return {"color": color, "marker": marker, "edgecolor": "white", "linewidth": 0.4}


def grid(
    width: float, height: float, rows: int = 1, columns: int = 1, *,
    sharex: bool | str = False, sharey: bool | str = False, heights: Sequence[float] | None = None,
) -> tuple[Any, list[list[Any]]]:  # fmt: skip
    """A figure with rows of axes: of that many inches, or as wide as is asked for."""
    figure = Figure(figsize=(inches(width), height))
    FigureCanvasAgg(figure)
    share: Any = {"sharex": sharex, "sharey": sharey}
    axes = figure.subplots(
        rows, columns, squeeze=False, height_ratios=list(heights) if heights else None, **share
    )
    return figure, [list(row) for row in axes]


def new(width: float, height: float) -> tuple[Any, Any]:
    """A figure with one pair of axes."""
    figure, ((axes,),) = grid(width, height)
    return figure, axes


def head(figure: Any, title: str, note: str = "") -> None:
    """The title above everything, and below it in small letters what a reader must know."""
    width = int(figure.get_figwidth() * 17 / scale())
    lines = [*wrap(title, int(width * 0.85)), *wrap(note, width)]
    if lines:
        figure.suptitle("\n".join(lines), fontsize=letters(8 if note else 9), linespacing=1.4)


def add_to_title(figure: Any, text: str) -> None:
    """A further line of the title."""
    lines = [line for line in (figure.get_suptitle(), text) if line]
    figure.suptitle("\n".join(lines), fontsize=letters(8), linespacing=1.4)


def title(axes: Any, text: str, width: float) -> None:
    """The title of a panel of so many inches, on several lines if it is long."""
    axes.set_title("\n".join(wrap(text, max(int(width * 13 / scale()), 8))))


def draw_axis_break(axes: Any, x: float, y: float, height: float) -> None:
    """The mark of a bar that goes on beyond the axis."""
    for points in (-9, -6):
        shifted = axes.transData + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
        axes.plot([x, x], [y - height, y + height], color="white", linewidth=1.4, zorder=4, transform=shifted)


def save(figure: Any, path: Path) -> None:
    """Write the figure; the name's ending says how. The same figure gives the same bytes."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InputError(f"{path}: a chart's file must end in {one_of('.' + name for name in FORMATS)}")
    atomic_write(path, encode(figure, kind))


def encode(figure: Any, kind: str) -> bytes:
    """The figure as a file of that kind."""
    data = io.BytesIO()
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
    figure.savefig(data, format=kind, metadata=metadata)
    return _NOT_IN_XML.sub(b"", data.getvalue()) if kind == "svg" else data.getvalue()


def sequence(count: int) -> list[Any]:
    """So many colours from dark to light, whose order shows in grey, too."""
    return [matplotlib.colormaps[SEQUENCE](0.05 + 0.85 * place / max(count - 1, 1)) for place in range(count)]


def log_norm(low: float, high: float) -> Any:
    """Colours by magnitude."""
    return LogNorm(low, high) if 0 < low < high else Normalize(low, max(high, low + 1))


def log_bar(bar: Any, text: Write) -> None:
    """Numbers next to a colour bar."""
    if isinstance(bar.norm, LogNorm):
        bar.ax.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0), numticks=15))
    _format_each(bar.ax.yaxis, text)


class _Ticks(ScalarFormatter):
    """Numbers of an axis, all in one unit and with the same decimals."""

    def __init__(self, prefixes: Sequence[tuple[float, str]]) -> None:
        super().__init__()
        self._prefixes = prefixes

    def format_ticks(self, values: Any) -> list[str]:
        sizes = [float(value) for value in values]
        most = max((abs(size) for size in sizes), default=0.0)
        step, letter = next((pair for pair in self._prefixes if most >= pair[0]), (1.0, ""))
        parts = [size / step for size in sizes]
        exact = (n for n in range(4) if all(abs(round(part, n) - part) < 1e-6 for part in parts))
        decimals = next(exact, 4)
        return [f"{size / step:.{decimals}f}{letter}" if size else "0" for size in sizes]


class _BinaryLocator(Locator):
    """At most so many ticks, at multiples of a power of two: 32K, 64K, 96K."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __call__(self) -> Any:
        assert self.axis is not None
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The multiples between the ends."""
        step = 2.0 ** math.ceil(math.log2(max((vmax - vmin) / self._most, 1.0)))
        return [step * number for number in range(math.ceil(vmin / step), math.floor(vmax / step) + 1)]


def format_axis(axis: Any, prefixes: Sequence[tuple[float, str]] = DECIMAL, most: int = 0) -> None:
    """Write an axis' numbers in one unit, at most so many of them."""
    axis.set_major_formatter(_Ticks(prefixes))
    axis.set_minor_formatter(NullFormatter())
    if most and prefixes is BINARY:
        _widen(axis)
        axis.set_major_locator(_BinaryLocator(most))
    elif most:
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))


def include(axis: Any, value: float) -> None:
    """Have an axis reach to a value, if it can show it."""
    low, high = axis.get_view_interval()
    if value > 0 or axis.get_scale() != "log":
        axis._set_lim(min(low, value), max(high, value), auto=None)


def _widen(axis: Any) -> None:
    """Show some KiB around sizes that differ by less, so that there are round numbers among them."""
    low, high = axis.get_view_interval()
    if high > 8 * _KIB and high - low < 4 * _KIB:
        middle = (low + high) / 2
        axis._set_lim(middle - 2 * _KIB, middle + 2 * _KIB, auto=None)


def _format_each(axis: Any, text: Write) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def log_axis(axis: Any, base: int, text: Write) -> None:
    """A logarithmic axis whose ticks are powers of the base, or a few steps between where there are none."""
    axis._set_axes_scale("log", base=base)
    low, high = axis.get_view_interval()
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if high < _NARROW * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(base, subs=(1.0,) if base == 2 else steps, numticks=9))
    _format_each(axis, text)


def legend(figure: Any, handles: Sequence[Any]) -> None:
    """The legend below the axes, where no data are."""
    if handles:
        columns = _columns([len(handle.get_label()) for handle in handles], figure.get_figwidth())
        figure.legend(handles=list(handles), loc="outside lower center", ncols=columns, handlelength=1.4)


def _columns(lengths: Sequence[int], width: float) -> int:
    """The most columns in which labels of so many letters fit; each is as wide as its longest."""
    for columns in range(len(lengths), 1, -1):
        parts = np.array_split(np.array(lengths), columns)  # as matplotlib fills them
        if sum(0.42 + 0.056 * float(part.max()) for part in parts) * scale() <= width:
            return columns
    return 1


def handles(axes: Iterable[Any]) -> dict[str, Any]:
    """What legends of these axes would show, each label once."""
    found: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found


def lay_out(figure: Any) -> None:
    """Find out where everything lies; drawing it would take twice as long."""
    figure.draw_without_rendering()


def thin_ticks(figure: Any, axes: Iterable[Any]) -> None:
    """Drop tick labels of crowded axes until none touches the next; the figure is laid out then."""
    lay_out(figure)
    for axis in axes:
        if _drop_labels(figure, axis):
            lay_out(figure)


def _drop_labels(figure: Any, axis: Any) -> bool:
    """Whether labels had to go from an axis."""
    ticks = [tick for tick in axis.get_major_ticks() if _in_view(axis, tick)]
    both = (label for tick in ticks for label in (tick.label1, tick.label2))
    labels = [label for label in both if label.get_visible() and label.get_text()]
    boxes = [_box(figure, label) for label in labels]
    step = 1
    while any(_overlap(one, other) for one, other in pairwise(boxes[::step])):
        step += 1
    for number, label in enumerate(labels):
        label.set_visible(number % step == 0)
    return step > 1


def rotate_crowded_labels(figure: Any, axes: Iterable[Any]) -> None:
    """Write the tick labels of horizontal axes upright if any of them touch."""
    lay_out(figure)
    found = list(axes)
    texts = [[tick.label1 for tick in axis.get_major_ticks() if _in_view(axis, tick)] for axis in found]
    boxes = ([_box(figure, text) for text in some if text.get_text()] for some in texts)
    if any(_overlap(one, other) for some in boxes for one, other in pairwise(some)):
        for axis in found:
            axis.set_tick_params(rotation=90)


def place_labels(
    figure: Any, axes: Any, points: Sequence[tuple[float, float, str]], sides: Sequence[Side] | None = None,
    avoid: Sequence[tuple[float, float]] = (), line: Sequence[tuple[float, float]] = (),
) -> None:  # fmt: skip
    """Write a label next to each point, where it covers no point, no other text, no point to avoid and no
    part of a line of steps. A label that is too long breaks at its commas. Labels that do not fit are left
    out, so the most important come first. The figure must be laid out, and stays so."""
    taken = [_box(figure, text) for text in visible_texts(figure)]
    dots = [_dot(axes.transData.transform((x, y))) for x, y, _ in points]
    dots += [_dot(axes.transData.transform(point), 1) for point in avoid]
    corners = [axes.transData.transform(corner) for corner in line]
    dots += [Bbox.union([_dot(one, 1), _dot(other, 1)]) for one, other in pairwise(corners)]
    inside = axes.get_window_extent().padded(1)
    for x, y, words in points:
        forms = dict.fromkeys((words, words.replace(", ", ",\n")))
        for form, (dx, dy, across, up) in product(forms, sides or AROUND):
            leader = {"arrowstyle": "-", "color": GREY, "linewidth": 0.4} if abs(dx) + abs(dy) > 18 else None
            text = axes.annotate(form, (x, y), (dx, dy), textcoords="offset points", ha=across, va=up,
                                 fontsize=letters(6.5), arrowprops=leader)  # fmt: skip
            box = _box(figure, text)
            apart = not any(_overlap(box, other) for other in (*taken, *(() if sides is ON else dots)))
            if apart and inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1):
                text.set_in_layout(False)
                taken.append(box)
                break
            text.remove()


def write_within(
    figure: Any, axes: Any, words: str, across: tuple[float, float], y: float, color: str
) -> bool:
    """Write a text on a bar of that colour, if it has room there. The figure must be laid out."""
    left, right = axes.transData.transform([(across[0], y), (across[1], y)])[:, 0]
    shade = text_color(color)
    text = axes.text(sum(across) / 2, y, words, ha="center", va="center", fontsize=letters(6), color=shade)
    box = _box(figure, text)
    fits = bool(box.x1 - box.x0 < right - left - 4)
    if fits:
        text.set_in_layout(False)
    else:
        text.remove()
    return fits


def visible_texts(figure: Any) -> list[Any]:
    """Every text that is seen; matplotlib keeps labels of ticks outside an axis' range, and draws none."""
    unseen = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
        if not _in_view(axis, tick)
    }
    texts = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip())
    return [text for text in texts if id(text) not in unseen]


def overlaps(figure: Any) -> list[tuple[str, str]]:
    """Pairs of texts that touch each other; a figure that is fit to be printed has none."""
    lay_out(figure)
    texts = [(text.get_text(), _box(figure, text)) for text in visible_texts(figure)]
    return [
        (one, other)
        for number, (one, box) in enumerate(texts)
        for other, second in texts[number + 1 :]
        if _overlap(box, second)
    ]


AROUND: tuple[Side, ...] = (
    (4, 0, "left", "center"), (0, 4, "center", "bottom"), (-4, 0, "right", "center"),
    (0, -4, "center", "top"), (4, 4, "left", "bottom"), (-4, 4, "right", "bottom"),
    (4, -4, "left", "top"), (-4, -4, "right", "top"), (0, 11, "center", "bottom"),
    (0, -11, "center", "top"), (10, 8, "left", "bottom"), (-10, 8, "right", "bottom"),
)  # fmt: skip
BELOW: tuple[Side, ...] = (
    (-3, -3, "right", "top"), (0, -5, "center", "top"), (-5, 0, "right", "center"), (2, -5, "left", "top"),
    (3, 3, "left", "bottom"),
)  # fmt: skip
ABOVE: tuple[Side, ...] = (
    (-3, 3, "right", "bottom"), (0, 5, "center", "bottom"), (-5, 0, "right", "center"),
    (2, 5, "left", "bottom"), (3, -3, "left", "top"),
)  # fmt: skip
FAR: tuple[Side, ...] = AROUND + tuple(
    (dx * far, dy * far, "left" if dx > 0 else "right", "bottom" if dy > 0 else "top")
    for far in (1.0, 1.7, 2.6, 3.6)
    for dx, dy in ((10, 10), (-10, 10), (10, -10), (-10, -10), (4, 14), (4, -14))
)  # fmt: skip
ON: tuple[Side, ...] = ((0, 0, "center", "center"), (0, 8.5, "center", "center"))


def _in_view(axis: Any, tick: Any) -> bool:
    low, high = sorted(axis.get_view_interval())
    margin = 1e-9 * (high - low)
    return bool(low - margin <= tick.get_loc() <= high + margin)


def _box(figure: Any, text: Any) -> Any:
    """Where a text lies, without the line to what it names."""
    renderer = figure.canvas.get_renderer()
    if isinstance(text, Annotation):
        text.update_positions(renderer)
    return Text.get_window_extent(text, renderer)


def _dot(point: Any, radius: float = 3) -> Any:
    x, y = point
    return Bbox([[x - radius, y - radius], [x + radius, y + radius]])


def _overlap(one: Any, other: Any) -> bool:
    return bool(one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)
