"""The only file that knows matplotlib: figures in one style, and labels that keep clear of each other."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from dlasim.errors import InputError
from dlasim.fileio import atomic_write
from dlasim.sweeps.study import FORMATS

Side = tuple[float, float, str, str]  # offset in points, and how the text lies to it

_NOT_IN_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # as names of models may have them
# Okabe and Ito's colours: apart for every kind of colour vision, and in grey by their order here.
BLUE, ORANGE, GREEN, YELLOW = "#0072B2", "#E69F00", "#009E73", "#F0E442"
SKY, RED, PURPLE, GREY, DARK = "#56B4E9", "#D55E00", "#CC79A7", "#BBBBBB", "#333333"
MARKERS = "osD^vPX*"
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "++", "oo", "--")
MAP = "cividis"
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "font.size": 8, "axes.titlesize": 9, "axes.labelsize": 8,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True,
    "grid.color": "#DDDDDD", "grid.linewidth": 0.5, "axes.linewidth": 0.6, "hatch.linewidth": 0.4,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 200, "figure.dpi": 100,
    "svg.hashsalt": "dlasim", "pdf.fonttype": 42, "figure.constrained_layout.use": True,
    "text.parse_math": False,
}  # fmt: skip


@contextmanager
def style() -> Iterator[None]:
    """Everything is drawn within this."""
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")  # names in letters that the font lacks show as boxes
        yield


def new(width: float, height: float, columns: int = 1, sharey: bool = False) -> tuple[Any, list[Any]]:
    """A figure of that many inches, with axes side by side."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, columns, squeeze=False, sharey=sharey)[0])


def save(figure: Any, path: Path) -> None:
    """Write the figure; the name's ending says how. The same figure gives the same bytes."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InputError(f"{path}: a chart ends in {', '.join('.' + name for name in FORMATS)}")
    data = io.BytesIO()
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})
    figure.savefig(data, format=kind, metadata=metadata)
    atomic_write(path, _NOT_IN_XML.sub(b"", data.getvalue()) if kind == "svg" else data.getvalue())


def log_norm(low: float, high: float) -> Any:
    """Colours by magnitude."""
    return LogNorm(low, high) if 0 < low < high else Normalize(low, max(high, low + 1))


def log_bar(bar: Any, text: Callable[[float], str]) -> None:
    """Numbers beside a colour bar."""
    if isinstance(bar.norm, LogNorm):
        bar.ax.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0), numticks=15))
    format_axis(bar.ax.yaxis, text)


def format_axis(axis: Any, text: Callable[[float], str], most: int = 0) -> None:
    """Write an axis' numbers this way, at most so many of them."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
    if most:
        axis.set_major_locator(MaxNLocator(most))


def log_axis(axis: Any, base: int, text: Callable[[float], str]) -> None:
    """A logarithmic axis whose ticks are powers of the base, or a few steps between where there are none."""
    axis._set_axes_scale("log", base=base)
    axis.set_major_locator(LogLocator(base, subs=(1.0,) if base == 2 else (1.0, 2.0, 5.0), numticks=9))
    format_axis(axis, text)


def legend(figure: Any, axes: Any, handles: Sequence[Any] | None = None) -> None:
    """The legend outside the axes, where no data are: above them, below where a common title is above."""
    if handles is None:
        handles = axes.get_legend_handles_labels()[0]
    if handles:
        columns = min(len(handles), max(int(figure.get_figwidth() / 1.1), 2))
        where = "outside lower center" if figure.get_suptitle() else "outside upper center"
        figure.legend(handles=handles, loc=where, ncols=columns, handlelength=1.4)


def thin_ticks(figure: Any, axis: Any) -> None:
    """Drop tick labels of a crowded axis until none touches the next."""
    figure.canvas.draw()
    ticks = [tick for tick in axis.get_major_ticks() if _in_view(axis, tick)]
    both = (label for tick in ticks for label in (tick.label1, tick.label2))
    labels = [label for label in both if label.get_visible() and label.get_text()]
    boxes = [_box(figure, label) for label in labels]
    step = 1
    while any(_meet(one, other) for one, other in pairwise(boxes[::step])):
        step += 1
    for number, label in enumerate(labels):
        label.set_visible(number % step == 0)


def place_labels(
    figure: Any, axes: Any, spots: Sequence[tuple[float, float, str]], sides: Sequence[Side] | None = None
) -> None:
    """Write a label beside each spot, where it covers no spot and no other text; those without room are
    left out, so the most important come first."""
    figure.canvas.draw()
    taken = [_box(figure, text) for text in visible_texts(figure)]
    dots = [_dot(*axes.transData.transform((x, y))) for x, y, _ in spots]
    inside = axes.get_window_extent().padded(1)
    for x, y, words in spots:
        for dx, dy, across, up in sides or AROUND:
            text = axes.annotate(
                words, (x, y), (dx, dy), textcoords="offset points", ha=across, va=up, fontsize=6.5
            )
            box = _box(figure, text)
            apart = not any(_meet(box, other) for other in (*taken, *(() if sides is ON else dots)))
            if apart and inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1):
                text.set_in_layout(False)
                taken.append(box)
                break
            text.remove()


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
    figure.canvas.draw()
    texts = [(text.get_text(), _box(figure, text)) for text in visible_texts(figure)]
    return [
        (one, other)
        for number, (one, box) in enumerate(texts)
        for other, second in texts[number + 1 :]
        if _meet(box, second)
    ]


AROUND: tuple[Side, ...] = (
    (4, 0, "left", "center"), (0, 4, "center", "bottom"), (-4, 0, "right", "center"),
    (0, -4, "center", "top"), (4, 4, "left", "bottom"), (-4, 4, "right", "bottom"),
    (4, -4, "left", "top"), (-4, -4, "right", "top"), (0, 11, "center", "bottom"),
    (0, -11, "center", "top"), (10, 8, "left", "bottom"), (-10, 8, "right", "bottom"),
)  # fmt: skip
BELOW: tuple[Side, ...] = (
    (-3, -3, "right", "top"), (0, -5, "center", "top"), (-5, 0, "right", "center"), (2, -5, "left", "top"),
)  # fmt: skip
ON: tuple[Side, ...] = ((0, 0, "center", "center"),)


def _in_view(axis: Any, tick: Any) -> bool:
    low, high = sorted(axis.get_view_interval())
    margin = 1e-9 * (high - low)
    return bool(low - margin <= tick.get_loc() <= high + margin)


def _box(figure: Any, text: Any) -> Any:
    return text.get_window_extent(figure.canvas.get_renderer())


def _dot(x: float, y: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox([[x - 3, y - 3], [x + 3, y + 3]])


def _meet(one: Any, other: Any) -> bool:
    return bool(one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)
