"""Layers of repeated blocks as one: twelve blocks of a transformer have twelve layers mlp/expand that cost
the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dlasim.sweeps.charts.data import Row

_NUMBER = re.compile(r"\d+")
_ALIKE = 0.1  # busy cycles of equal layers differ by no more than this: by what else uses the bus
_MAX_RANGES = 3
_SUMMED = ("cycles", "busy_cycles", "macs", "dma_read_bytes", "dma_write_bytes", "tiles")


def grouped(layers: Sequence[Row]) -> list[Row]:
    """The layers, those that are equal but for numbers in their names as one row with the sums of their
    figures, where the first of them is. `members` are the layers of a row."""
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
