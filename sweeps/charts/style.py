"""How charts look: one style for all of them, and over it the width and the style that somebody asks for."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import matplotlib
from matplotlib.font_manager import FontProperties, findfont

from dlasim.errors import InputError, one_of, unknown
from dlasim.sweeps.charts.palette import DARK
from dlasim.system.fileio import read_file

Sheet = Mapping[str, Any] | str | Path
_SIZE = 8.0  # of letters, in points; those below are parts of what is asked for instead
_SIZES = {"axes.titlesize": 9 / 8, "axes.labelsize": 1.0} | dict.fromkeys(
    ("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7 / 8
)
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True,
    "grid.color": "#DDDDDD", "grid.linewidth": 0.5, "axes.linewidth": 0.6, "hatch.linewidth": 0.4,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 200, "figure.dpi": 100,
    "svg.hashsalt": "dlasim", "pdf.fonttype": 42,
    "figure.figsize": (0.0, 0.0),  # none: each chart is as wide as suits it
}  # fmt: skip
_KEPT: dict[Any, Any] = {  # labels are kept apart by this layout, and names may have any letters
    "figure.constrained_layout.use": True, "figure.autolayout": False, "savefig.bbox": None,
    "text.parse_math": False,
}  # fmt: skip
_DOTS = (30, 1200)  # per inch: with more, a chart takes gigabytes
_RANGES = {"font.size": (4, 24), "figure.dpi": _DOTS, "savefig.dpi": _DOTS}
_INCHES = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0, "pt": 1 / 72.27}
_LENGTH = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_INCHES)})")
_WIDTHS = (3.0, 40.0)  # inches: in less, two panels have no room for their labels
_LINE = re.compile(r'\s*([\w.]+)\s*:\s*("[^"]*"|(?:"[^"]*"|[^"#])*)')
_GENERIC = ("serif", "sans-serif", "cursive", "fantasy", "monospace")


def read_style(width: str | None = None, style: Sheet | None = None) -> dict[str, Any]:
    """The rcParams of a width, such as 84mm, and of a style: rcParams, a style sheet, or the name of one of
    matplotlib's styles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib's names of earlier releases
        asked: dict[Any, Any] = {} if style is None else _checked(_read_sheet(style))
        if width is not None or "figure.figsize" in asked:
            asked["figure.figsize"] = (_inches(width or f"{asked['figure.figsize'][0]}in"), 0.0)
        with matplotlib.rc_context(asked):
            _check_fonts(asked)
    return asked


@contextmanager
def style(asked: Mapping[Any, Any] | None = None) -> Iterator[None]:
    """Everything is drawn within this; `asked` is what `read_style` has returned."""
    size = (asked or {}).get("font.size", _SIZE)
    sizes: dict[Any, Any] = {"font.size": size} | {name: share * size for name, share in _SIZES.items()}
    with matplotlib.rc_context({**_STYLE, **sizes, **(asked or {}), **_KEPT}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")  # names in letters that the font lacks show as boxes
        if asked:
            warnings.filterwarnings("error", "constrained_layout not applied")  # nothing would be seen
        try:
            yield
        except InputError:
            raise
        except (ValueError, RuntimeError, UserWarning) as error:
            if not asked:
                raise
            text = " ".join(str(error).split())
            raise InputError(f"matplotlib cannot draw this chart in this style: {text}") from None


def scale() -> float:
    """How large letters are, as a part of those of our own style."""
    return float(matplotlib.rcParams["font.size"]) / _SIZE


def letters(size: float) -> float:
    """The size of letters that our own style would draw at so many points."""
    return size * scale()


def ink() -> str:
    """The colour of lines that belong to a text."""
    color = str(matplotlib.rcParams["text.color"])
    return DARK if color == "black" else color


def inches(natural: float) -> float:
    """How wide a figure is that would take so many inches: as wide as is asked for."""
    return float(matplotlib.rcParams["figure.figsize"][0]) or natural


def _inches(width: str) -> float:
    found = _LENGTH.fullmatch(str(width).strip())
    number = float(found[1]) * _INCHES[found[2]] if found else math.nan
    low, high = _WIDTHS
    if not low <= number <= high:
        units = one_of(_INCHES)
        raise InputError(f"width must be {low:.0f}in to {high:.0f}in, in {units} (got {str(width)[:40]!r})")
    return number


def _read_sheet(sheet: Sheet) -> Mapping[str, Any]:
    if isinstance(sheet, Mapping):
        return sheet
    from matplotlib.style import library

    names = [name for name in library if not name.startswith("_")]
    if str(sheet) in names:
        return cast("Mapping[str, Any]", library[str(sheet)])
    if not str(sheet).endswith(".mplstyle"):
        raise InputError(f"style must be FILE.mplstyle or a name: {unknown('style', str(sheet), names)}")
    settings = {}
    for number, line in enumerate(read_file(sheet).decode(errors="replace").splitlines(), start=1):
        if line.split("#")[0].strip():
            found = _LINE.match(line)
            if found is None:
                raise InputError(f"{sheet}: line {number} must be NAME: VALUE (got {line.strip()!r})")
            settings[found[1]] = found[2].strip().strip('"')
    return settings


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in the types that matplotlib has for them."""
    found: dict[Any, Any] = matplotlib.RcParams()
    for name, value in settings.items():
        if name not in matplotlib.rcParams:
            raise InputError(f"style: {unknown('rcParam', name, matplotlib.rcParams)}")
        try:
            found[name] = value
        except (ValueError, TypeError) as error:
            raise InputError(f"style: {name}: {' '.join(str(error).split())}") from None
    for name, (low, high) in _RANGES.items():
        if isinstance(value := found.get(name), int | float) and not low <= value <= high:
            raise InputError(f"style: {name} must be from {low} to {high} (got {value:g})")
    if found.get("text.usetex"):
        raise InputError("style: text.usetex cannot be true: names of layers and parameters are no TeX")
    return dict(found)


def _check_fonts(asked: Mapping[str, Any]) -> None:
    """Refuse a family of which no font is installed: matplotlib would take another one."""
    known: dict[Any, Any] = matplotlib.rcParams
    for family in asked.get("font.family", ()):
        fonts = known[f"font.{family}"] if family in _GENERIC else [family]
        if not any(map(_is_installed, fonts)):
            raise InputError(f"style: none of the fonts of font.family is installed: {', '.join(fonts)}")


def _is_installed(font: str) -> bool:
    try:
        findfont(FontProperties(family=[font]), fallback_to_default=False)
    except ValueError:
        return False
    return True
