"""The layers of one point, for charts that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sweeps.charts.data import Row, Table, best_point, chosen_rows, point_title, shorten
from dlasim.sweeps.charts.repeated_layers import grouped

_LAYER_FIGURES = ("kind", "unit", "macs", "cycles", "busy_cycles", "utilization", "dma_read_bytes")
_NEEDED = ("label", "pes", "cycles_total", "dma_bandwidth", "dma_shared_bandwidth")
MAX_LAYERS = 32  # in the network's order, each of its own; of more those that are equal become one


@dataclass(frozen=True, slots=True)
class ChosenPoint:
    """A point, the title that says which it is, and its layers."""

    row: Row
    title: str
    layers: list[Row]

    def costly(self) -> ChosenPoint:
        """The same point with the layers that a chart can show: of many those that are equal as one, those
        with the most cycles first."""
        if len(self.layers) <= MAX_LAYERS:
            return self
        rows = sorted(grouped(self.layers), key=lambda row: -row["cycles"])
        return ChosenPoint(self.row, self.title, rows)

    @property
    def _full(self) -> list[str]:
        return [str(layer["name"]) for layer in self.layers]

    def names(self, width: int) -> list[str]:
        """The layers' names; where two are alike their numbers tell them apart."""
        return distinct_names(self._full, width, shortest=False)

    def short_names(self, width: int) -> list[str]:
        """The last parts of the names, where these tell layers apart and no layer stands for several."""
        several = any("members" in layer for layer in self.layers)
        return self.names(width) if several else distinct_names(self._full, width)


def distinct_names(full: Sequence[str], width: int, shortest: bool = True) -> list[str]:
    """Names of at most about that many letters, all different: the last parts where these suffice, and with
    the layers' numbers where nothing else tells them apart."""
    last = [name.rsplit("/", 1)[-1] for name in full]
    counts = Counter(last)
    known = [part if shortest and counts[part] == 1 else name for part, name in zip(last, full, strict=True)]
    texts = [shorten(text, width) for text in known]
    counts = Counter(texts)
    return [text if counts[text] == 1 else f"{text} ({number})" for number, text in enumerate(texts)]


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
