"""The layers of one point, for charts that show them."""

from __future__ import annotations

from collections import Counter

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sweeps.charts.data import Row, Table, best_point, chosen_rows, point_title, shorten

_LAYER_FIGURES = ("kind", "unit", "macs", "cycles", "busy_cycles", "utilization", "dma_read_bytes")
_NEEDED = ("label", "pes", "cycles_total", "dma_bandwidth", "dma_shared_bandwidth")


@dataclass(frozen=True, slots=True)
class ChosenPoint:
    """A point, the title that says which it is, and its layers."""

    row: Row
    title: str
    layers: list[Row]

    def names(self, width: int) -> list[str]:
        """The layers' names; where two are alike their numbers tell them apart."""
        return _distinct([shorten(str(layer["name"]), width) for layer in self.layers], self.layers)

    def short_names(self, width: int) -> list[str]:
        """The last parts of the names, where these tell layers apart."""
        full = [str(layer["name"]) for layer in self.layers]
        last = [name.rsplit("/", 1)[-1] for name in full]
        counts = Counter(last)
        texts = [part if counts[part] == 1 else name for part, name in zip(last, full, strict=True)]
        return _distinct([shorten(text, width) for text in texts], self.layers)


def _distinct(texts: list[str], layers: list[Row]) -> list[str]:
    counts = Counter(texts)
    return [
        text if counts[text] == 1 else f"{text} ({layer['layer']})"
        for text, layer in zip(texts, layers, strict=True)
    ]


def chosen_point(result: Table, where: str | None, point: int | None) -> ChosenPoint:
    """The point asked for, or that with the fewest cycles."""
    rows = chosen_rows(result, where, _NEEDED)
    row = best_point(rows, point)
    table = result.layers
    missing = [name for name in _LAYER_FIGURES if table.columns and name not in table.columns]
    if missing:
        raise InputError(f"{table.path} has no column {missing[0]}: this chart needs it; run the sweep again")
    layers = [layer for layer in table.rows() if layer["point"] == row["point"]]
    return ChosenPoint(row, point_title(rows, row, point), layers)
