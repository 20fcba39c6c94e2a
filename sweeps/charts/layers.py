"""The layers of one point, for charts that show them; equal ones that repeat become one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sweeps.charts.data import Row, Table, best_point, chosen_rows, point_title, shorten

_LAYER_FIGURES = ("kind", "unit", "macs", "cycles", "busy_cycles", "utilization", "dma_read_bytes")
_NEEDED = ("label", "pes", "cycles_total", "dma_bandwidth", "dma_shared_bandwidth")
MAX_LAYERS = 32  # in the network's order, each of its own; of more those that are equal become one
_NUMBER = re.compile(r"\d+")
_ALIKE = 0.1  # busy cycles of equal layers differ by no more than this: by what else uses the bus
_MAX_RANGES = 3
_SUMMED = ("cycles", "busy_cycles", "macs", "dma_read_bytes", "dma_write_bytes", "tiles")


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


def grouped(layers: Sequence[Row]) -> list[Row]:
    """The layers, those that are equal but for numbers in their names as one row with the sums of their
    figures, where the first of them is. `members` are the layers of a row.

    Twelve blocks of a transformer have twelve layers mlp/expand that cost the same.
    """
    groups: list[list[Row]] = []
    known: dict[tuple[object, ...], list[list[Row]]] = {}
    for layer in layers:
        key = (_NUMBER.sub("#", str(layer["name"])), layer["kind"], layer["unit"], layer["macs"])
        alike = (group for group in known.get(key, ()) if _costs_as_much(group[0], layer))
        group = next(alike, None)
        if group is None:
            group = []
            groups.append(group)
            known.setdefault(key, []).append(group)
        group.append(layer)
    return [_as_one(group) for group in groups]


def _costs_as_much(one: Row, other: Row) -> bool:
    least, most = sorted((one["busy_cycles"], other["busy_cycles"]))
    return bool(most - least <= _ALIKE * most)


def _as_one(group: list[Row]) -> Row:
    sums = {name: sum(layer[name] for layer in group) for name in _SUMMED}
    possible = group[0]["pes"] * sums["busy_cycles"] if group[0]["unit"] == "dla" else 0
    name = common_name([str(layer["name"]) for layer in group])
    used = sums["macs"] / possible if possible else 0.0
    return {**group[0], **sums, "utilization": used, "name": name, "members": len(group)}


def common_name(names: Sequence[str]) -> str:
    """What names that differ in their numbers are called: `4 x mlp/expand`, `6 x pointwise_4,6…10`. A folder
    at the start that only numbers the blocks is left out."""
    if len(names) == 1:
        return names[0]
    parts = [name.split("/") for name in names]
    if len(parts[0]) > 1 and len({first for first, *_ in parts}) > 1:
        parts = [rest for _, *rest in parts]
    shown = ["/".join(rest) for rest in parts]
    texts = _NUMBER.split(shown[0])
    columns = list(zip(*(map(int, _NUMBER.findall(text)) for text in shown), strict=True))
    differing = [column for column in columns if len(set(column)) > 1]
    written = [
        str(column[0]) if len(set(column)) == 1 else _ranges(column) if len(differing) == 1 else "*"
        for column in columns
    ]
    middle = "".join(number + text for number, text in zip(written, texts[1:], strict=True))
    return f"{len(names)} x {texts[0]}{middle}"


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as a reader lists them: 4,6…10; a star where that would be long."""
    rows: list[list[int]] = []
    for number in sorted(set(numbers)):
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    texts = [str(row[0]) if len(row) == 1 else f"{row[0]}…{row[-1]}" for row in rows]
    return ",".join(texts) if len(texts) <= _MAX_RANGES else "*"
