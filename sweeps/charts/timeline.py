"""What every unit does when, for one point: its machine is simulated once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.compiler_shim.compile import lower_for
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.file_records import LayerKind
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.program import Program
from dlasim.sim.execution.runner import Inference, first_and_steady
from dlasim.sim.reports.lanes import CPU, lane_spans
from dlasim.sweeps.charts import canvas, palette
from dlasim.sweeps.charts.data import Row, Table, best_point, chosen_rows, point_title
from dlasim.sweeps.charts.layers import distinct_names
from dlasim.sweeps.charts.report_table import ReportTable
from dlasim.sweeps.definition.axes import catalogue, resolve
from dlasim.sweeps.definition.models import Source
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.results.result_files import ABOUT
from dlasim.system.fileio import read_file

LANES = (CPU, *(unit.name for unit in reversed(UNITS)))
MAX_NAMED = 60
NO_LAYER = "no layer"
_WIDEST_NAME = 26
_EDGED = 12  # times the shortest: wider bars get a white edge, which tells a layer from the next
_Stretch = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Bar:
    """A span of the CPU, MAC or VECTOR: from, until, its lane, and what it works on."""

    start: float
    end: float
    height: int
    layer: int
    kind: str


def draw(
    result: Table, where: str | None = None, title: str = "", point: int | None = None,
    begin: int = 0, end: int | None = None,
) -> Any:  # fmt: skip
    """Lanes of the CPU and of each unit between two cycles, coloured by the kind of layer, with the names of
    layers where there is room."""
    rows = chosen_rows(result, where, ["label", "host", "cycles_total"])
    row = best_point(rows, point)
    program, inference = _inference(result, row)
    until = inference.total_cycles if end is None else min(end, inference.total_cycles)
    if not 0 <= begin < until:
        raise InputError(f"cycles {begin} to {until} are outside a run of {inference.total_cycles} cycles")
    figure, axes = canvas.new(7.2, 3.0)
    kinds = [palette.HOST if layer.kind is LayerKind.HOST else layer.kind.name for layer in program.layers]
    bars, stretches = _draw_lanes(axes, lane_spans(program, inference), kinds, begin, until)
    axes.set_xlim(begin, until)
    axes.set_ylim(-0.6, len(LANES) + 0.25)
    axes.set_yticks(range(len(LANES)), LANES)
    axes.grid(False, axis="y")
    axes.set_xlabel("cycles")
    canvas.format_axis(axes.xaxis, most=8)
    estimated = "" if row["host"] == "riscv" else "the CPU's time is an estimate; "
    canvas.head(figure, title or point_title(rows, row, point), f"{estimated}colours are kinds of layers")
    canvas.legend(figure, axes.get_legend_handles_labels()[0])
    canvas.thin_ticks(figure, [axes.xaxis])
    names = distinct_names([layer.name for layer in program.layers], _WIDEST_NAME)
    _name_layers(figure, axes, names, bars, stretches)
    return figure


def _inference(result: Table, row: Row) -> tuple[Program, Inference]:
    """What ran: that of a run in this process, or of a sweep's point, which is simulated once more."""
    if not isinstance(result, ReportTable):
        return _simulate(result, row)
    if result.ran is not None:
        return result.ran
    raise InputError(f"{result.path} is a report, which has no timeline; use `dlasim run --trace FILE.json`, "
                     "or plot a sweep of the model")  # fmt: skip


def _simulate(result: Table, row: Row) -> tuple[Program, Inference]:
    about = result.path.with_name(ABOUT)
    if row["model"] == WORKLOAD:
        raise InputError(
            f"point {row['point']} is all networks together, which have no timeline: choose one of theirs"
        )
    try:
        model = json.loads(read_file(about))["models"][row["model"]]
        source = Source(
            model["label"],
            model["path"],
            model["topology"],
            tuple(map(tuple, model["arguments"])),
            bool(model.get("assumes_int8")),
        )
        content = model["content"]
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{about} does not describe model {row['model']}; run the sweep again") from None
    if source.path and not Path(source.path).exists():
        raise InputError(f"{source.path} no longer exists; a timeline needs it to simulate the model again")
    if source.content() != content:
        raise InputError(f"{source.file()} has changed since the sweep; run the sweep again")
    values = {name: row[name] for name in catalogue() if name != "preset"}
    if row["host"] == "riscv":
        from dlasim.sweeps.evaluation.prototype import (
            prototype_inference,  # the emulator takes its time to load
        )

        return prototype_inference(source.load(values["numerics"]), values)
    config, options = resolve(values)
    program = lower_for(source.load(options.numerics), config, options, with_constants=False).program
    return program, first_and_steady(program, config)[1]


def _draw_lanes(
    axes: Any, lanes: dict[str, np.ndarray[Any, Any]], kinds: list[str], begin: int, until: int
) -> tuple[list[_Bar], dict[int, _Stretch]]:
    """Draws the spans; returns the bars of what computes, and from when to when each layer computes."""
    least = (until - begin) / 4000  # shorter is less than a dot of the picture
    bars: dict[tuple[str, bool, int], list[tuple[float, float]]] = {}
    computing: list[_Bar] = []
    stretches: dict[int, _Stretch] = {}
    for height, lane in enumerate(LANES):
        for start, end, layer in _merged(lanes[lane], least):
            start, end = max(start, begin), min(end, until)
            if start >= end:
                continue
            kind = palette.HOST if lane == CPU else kinds[layer] if layer >= 0 else NO_LAYER
            is_wide = end - start > _EDGED * least
            bars.setdefault((kind, is_wide, height), []).append((start, max(end - start, least)))
            if lane not in ("DMA_IN", "DMA_OUT") and layer >= 0:
                first, last = stretches.get(layer, (start, end))
                stretches[layer] = (min(first, start), max(last, end))
                computing.append(_Bar(start, end, height, layer, kind))
    labelled: set[str] = set()
    order = [*palette.KINDS, NO_LAYER]
    for kind, is_wide, height in sorted(bars, key=lambda bar: (order.index(bar[0]), *bar[1:])):
        look = {"facecolor": canvas.look(kind)["color"], "edgecolor": "white", "linewidth": 0.5 * is_wide}
        label = "_" if kind in labelled else kind
        axes.broken_barh(bars[kind, is_wide, height], (height - 0.35, 0.7), label=label, **look)
        labelled.add(kind)
    return computing, stretches


def _name_layers(
    figure: Any, axes: Any, names: list[str], bars: list[_Bar], stretches: dict[int, _Stretch]
) -> None:
    """Names on the bars that have room for them, and above all lanes those of other layers, long first."""
    named: set[int] = set()
    for bar in sorted(bars, key=lambda bar: bar.start - bar.end)[:MAX_NAMED]:
        if bar.layer not in named and canvas.write_within(
            figure, axes, names[bar.layer], (bar.start, bar.end), bar.height, canvas.look(bar.kind)["color"]
        ):
            named.add(bar.layer)
    longest = sorted(stretches, key=lambda layer: stretches[layer][0] - stretches[layer][1])
    others = [layer for layer in longest[:MAX_NAMED] if layer not in named]
    places = [(sum(stretches[layer]) / 2, len(LANES) - 0.4, names[layer]) for layer in others]
    canvas.place_labels(figure, axes, places, canvas.ON)


def _merged(spans: np.ndarray[Any, Any], gap: float) -> list[tuple[float, float, int]]:
    """Spans of one layer whose gaps cannot be seen, as one."""
    found: list[tuple[float, float, int]] = []
    for start, end, layer in spans.tolist():
        if found and found[-1][2] == layer and start - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(end, found[-1][1]), layer)
        else:
            found.append((start, end, layer))
    return found
