"""Charts of one point's layers: utilisation, and the roofline."""

from __future__ import annotations

from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import Row, best_point, chosen_rows, count_text, shorten
from dlasim.sweeps.result import SweepResult

KIND_COLORS = {"CONV": canvas.BLUE, "DEPTH": canvas.GREEN, "FC": canvas.ORANGE, "POOL": canvas.PURPLE,
               "ELTWISE": canvas.SKY, "ACT": canvas.YELLOW, "REQUANT": canvas.RED}  # fmt: skip
MAX_LAYERS = 150


def draw_utilization(
    result: SweepResult, where: str | None = None, title: str = "", point: int | None = None
) -> Any:
    """How much of the PEs each layer with MACs uses, and how many cycles it takes."""
    chosen, layers = _layers(result, where, point)
    layers = [layer for layer in layers if layer["macs"] and layer["unit"] == "dla"][:MAX_LAYERS]
    if not layers:
        raise InputError(f"point {chosen['point']} has no layer with MACs on the DLA")
    figure, (left, right) = canvas.new(7, 1.1 + 0.155 * len(layers), 2, sharey=True)
    places = list(range(len(layers)))
    kinds = list(dict.fromkeys(layer["kind"] for layer in layers))
    for axes, name, factor in ((left, "utilization", 100), (right, "cycles", 1)):
        for number, kind in enumerate(kinds):
            mine = [(y, factor * layer[name]) for y, layer in enumerate(layers) if layer["kind"] == kind]
            look = {"color": KIND_COLORS.get(kind, canvas.DARK), "hatch": canvas.HATCHES[number]}
            axes.barh(*zip(*mine, strict=True), 0.75, label=kind, edgecolor="white", linewidth=0.3, **look)
        axes.grid(False, axis="y")
    left.set_yticks(places, [_layer_name(layer) for layer in layers], fontsize=6)
    left.set_ylim(len(layers) - 0.4, -0.6)
    left.set_xlim(0, 100)
    left.set_xlabel("utilisation of the PEs [%]")
    right.set_xlabel("cycles")
    canvas.format_axis(right.xaxis, count_text, most=5)
    figure.suptitle(title or _title(chosen), fontsize=9)
    canvas.legend(figure, left)
    canvas.thin_ticks(figure, left.yaxis)
    return figure


def draw_roofline(
    result: SweepResult, where: str | None = None, title: str = "", point: int | None = None
) -> Any:
    """MACs per cycle over MACs per byte. Bytes are those of the direction that takes longer, time is
    computing or moving, whichever takes longer, so the roof holds for every layer."""
    chosen, layers = _layers(result, where, point)
    layers = [layer for layer in layers if layer["macs"] and layer["unit"] == "dla"]
    spots = [(*_spot(layer), layer) for layer in layers]
    moved = [(x, y, layer) for x, y, layer in spots if x is not None]
    if not layers:
        raise InputError(f"point {chosen['point']} has no layer with MACs on the DLA")
    figure, (axes,) = canvas.new(5.2, 3.6)
    pes, rate = chosen["pes"], _rate(chosen)
    ridge = pes / rate if rate else None
    known = [x for x, _, _ in moved] + ([ridge] if ridge else []) or [1.0]
    left, right = min(known) / 3, max(known) * 4
    if ridge:
        axes.plot([left, ridge, right], [left * rate, pes, pes], color=canvas.DARK, linewidth=1)
    else:
        axes.plot([left, right], [pes, pes], color=canvas.DARK, linewidth=1)
    for number, kind in enumerate(dict.fromkeys(layer["kind"] for layer in layers)):
        mine = [(x or right / 1.3, y) for x, y, layer in spots if layer["kind"] == kind]
        axes.scatter(*zip(*mine, strict=True), s=20, color=KIND_COLORS.get(kind, canvas.DARK), zorder=3,
                     marker=canvas.MARKERS[number], label=kind, edgecolor="white", linewidth=0.4)  # fmt: skip
    axes.set_xlim(left, right)
    axes.set_ylim(min(y for _, y, _ in spots) / 2, pes * 2)
    canvas.log_axis(axes.xaxis, 10, count_text)
    canvas.log_axis(axes.yaxis, 10, count_text)
    still = len(moved) < len(spots)
    axes.set_xlabel(
        "MACs per byte moved (numbers are layers" + ("; right edge: nothing moved)" if still else ")")
    )
    axes.set_ylabel("MACs per cycle")
    axes.set_title(title or _title(chosen))
    canvas.legend(figure, axes)
    costly = sorted(spots, key=lambda spot: -spot[2]["cycles"])
    canvas.place_labels(figure, axes, [(x or right / 1.3, y, str(layer["layer"])) for x, y, layer in costly])
    return figure


def _layers(result: SweepResult, where: str | None, point: int | None) -> tuple[Row, list[Row]]:
    """The point asked for, or that with the fewest cycles, and its layers."""
    rows = chosen_rows(result, where, ["point", "model", "label", "pes", "cycles_total", "dma_bandwidth",
                                       "dma_shared_bandwidth"])  # fmt: skip
    chosen = best_point(rows, point)
    layers = [row for row in result.layers.rows() if row["point"] == chosen["point"]]
    return chosen, layers


def _rate(row: Row) -> int:
    """Bytes per cycle of one direction alone; 0 for unlimited."""
    return min((rate for rate in (row["dma_bandwidth"], row["dma_shared_bandwidth"]) if rate), default=0)


def _spot(layer: Row) -> tuple[float | None, float]:
    rate, shared = _rate(layer), layer["dma_shared_bandwidth"]
    read, written = layer["dma_read_bytes"], layer["dma_write_bytes"]
    slow = float(max(read, written))  # in bytes of one direction
    if shared and rate:
        slow = max(slow, (read + written) * rate / shared)
    cycles = max(layer["cycles"], slow / rate if rate else 0, 1)
    return (layer["macs"] / slow if slow else None), layer["macs"] / cycles


def _layer_name(layer: Row) -> str:
    name = layer["name"]
    return f"{shorten(name.rsplit('/', 1)[-1], 26)} ({layer['layer']})"


def _title(row: Row) -> str:
    return f"{row['model']} on {row['label']}"
