"""The causes on the paper's page: cut layers, busy PEs, the DLA's share of the MACs, cycles of the system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.rows.tables import percent
from dlasim.sweeps.pages.page_text import plain
from dlasim.sweeps.results.sweep_result import SweepResult

Row = dict[str, Any]
_LAYER_COLUMNS = ("case", "model", "depthwise", "label", "name", "kind", "unit", "macs", "busy_cycles", "pes",
                  "tiles")  # fmt: skip
_ROW_COLUMNS = ("case", "model", "depthwise", "label", "status", "cycles_total", "cycles_dla", "cycles_cpu",
                "cycles_requant", "layers_cpu")  # fmt: skip
_MILLION, _THOUSAND = 1_000_000, 1_000


@dataclass(frozen=True, slots=True)
class CycleUnit:
    """The unit in which a page writes cycles."""

    name: str
    cycles: int

    def text(self, cycles: int) -> str:
        """So many cycles in this unit."""
        return f"{cycles / self.cycles:,.2f}"


def fitting_unit(result: SweepResult) -> CycleUnit:
    """Millions, but thousands where a network takes less than one million on the DLA."""
    known = [cycles for cycles in result.column("cycles_dla") if cycles]
    if known and min(known) < _MILLION:
        return CycleUnit("thousands", _THOUSAND)
    return CycleUnit("millions", _MILLION)


def causes(result: SweepResult, model: str, unit: CycleUnit) -> Iterator[str]:
    """The lines about one model, from the points of the paper's own flow."""
    try:
        layers = [row for row in result.layers.rows(*_LAYER_COLUMNS) if _is_of(row, model)]
    except InputError as error:
        yield from ("", f"## {plain(model)}: causes", "", f"Left out: {plain(str(error))}.")
        return
    yield from _tiled(model, layers)
    rows = (row for row in result.rows(*_ROW_COLUMNS) if _is_of(row, model) and row["status"] == "ok")
    yield from _whole_system(model, layers, rows, unit)


def _is_of(row: Row, model: str) -> bool:
    return bool(row["model"] == model and row["case"] == "paper")


def _tiled(model: str, layers: list[Row]) -> Iterator[str]:
    """What tiling does to each machine: the convolutions that are cut, and the PEs that they keep busy."""
    yield from ("", f"## {plain(model)}: tiled convolutions and busy PEs", "")
    yield (
        "A convolution of several tiles (their number in brackets) computes fewer output channels at a time. "
        "Where these are fewer than the PEs, output parallel leaves PEs idle; input parallel does not mind."
    )
    yield from ("", "| machine | PEs busy in convolutions | tiled convolutions |", "| --- | ---: | --- |")
    for label, mine in _by_label(layers, "native"):
        convolutions = [layer for layer in mine if layer["kind"] == "CONV" and layer["unit"] == "dla"]
        cycles = sum(layer["busy_cycles"] for layer in convolutions)
        busy = sum(layer["macs"] for layer in convolutions) / (cycles * mine[0]["pes"]) if cycles else 0.0
        cut = [f"{plain(layer['name'])} ({layer['tiles']})" for layer in convolutions if layer["tiles"] > 1]
        yield f"| {label} | {percent(busy)} | {', '.join(cut) or 'none'} |"


def _whole_system(model: str, layers: list[Row], rows: Iterable[Row], unit: CycleUnit) -> Iterator[str]:
    """What the DLA takes over, and what the whole system needs, the CPU's estimated part included."""
    yield from ("", f"## {plain(model)}: the whole system", "")
    yield f"Cycles in {unit.name}. Those of the CPU are an estimate; REQUANT is a part of the DLA's."
    yield ""
    yield "| depthwise | machine | MACs on the DLA | layers on the CPU | DLA | of it REQUANT | CPU | in all |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    shares = {
        (depthwise, label): _share_on_dla(mine)
        for depthwise in dict.fromkeys(layer["depthwise"] for layer in layers)
        for label, mine in _by_label(layers, depthwise)
    }
    for row in rows:
        cells = [percent(shares[row["depthwise"], row["label"]]), str(row["layers_cpu"])]
        for name in ("cycles_dla", "cycles_requant", "cycles_cpu", "cycles_total"):
            cells.append(unit.text(row[name]))
        yield f"| {row['depthwise']} | {row['label']} | {' | '.join(cells)} |"


def _by_label(layers: Iterable[Row], depthwise: str) -> Iterator[tuple[str, list[Row]]]:
    """The layers of each machine, in the order of the table."""
    found: dict[str, list[Row]] = {}
    for layer in layers:
        if layer["depthwise"] == depthwise:
            found.setdefault(layer["label"], []).append(layer)
    yield from found.items()


def _share_on_dla(layers: Iterable[Row]) -> float:
    macs = {"dla": 0, "cpu": 0}
    for layer in layers:
        macs[layer["unit"]] += layer["macs"]
    return macs["dla"] / (sum(macs.values()) or 1)
