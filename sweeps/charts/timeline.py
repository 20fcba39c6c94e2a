"""What every unit does when, for one point: its machine is simulated once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.errors import InputError
from dlasim.fileio import read_file
from dlasim.isa.file_records import LayerKind
from dlasim.isa.instructions import UNITS
from dlasim.isa.program import Program
from dlasim.sim.lanes import CPU, lane_spans
from dlasim.sim.runner import Inference, Simulation
from dlasim.sweeps.charts import canvas, palette
from dlasim.sweeps.charts.data import Row, Table, best_point, chosen_rows, point_title, shorten
from dlasim.sweeps.charts.report_table import ReportTable
from dlasim.sweeps.models import Source, blueprint
from dlasim.sweeps.parameters import catalogue, resolve
from dlasim.sweeps.result_files import ABOUT

LANES = (CPU, *(unit.name for unit in reversed(UNITS)))
MAX_NAMED = 60
NO_LAYER = "no layer"


def draw(
    result: Table, where: str | None = None, title: str = "", point: int | None = None,
    begin: int = 0, end: int | None = None,
) -> Any:  # fmt: skip
    """Lanes of the CPU and of each unit between two cycles, coloured by the kind of layer; of neighbouring
    layers of one kind every other one is paler."""
    rows = chosen_rows(result, where, ["label", "host", "cycles_total"])
    row = best_point(rows, point)
    program, inference = _inference(result, row)
    until = inference.total_cycles if end is None else min(end, inference.total_cycles)
    if not 0 <= begin < until:
        raise InputError(f"cycles {begin} to {until} are outside a run of {inference.total_cycles} cycles")
    figure, axes = canvas.new(7.2, 2.9)
    kinds = [palette.HOST if layer.kind is LayerKind.HOST else layer.kind.name for layer in program.layers]
    named = _draw_lanes(axes, lane_spans(program, inference), kinds, begin, until)
    axes.set_xlim(begin, until)
    axes.set_ylim(-0.6, len(LANES) + 0.05)
    axes.set_yticks(range(len(LANES)), LANES)
    axes.grid(False, axis="y")
    axes.set_xlabel("cycles")
    canvas.format_axis(axes.xaxis, most=8)
    estimated = "" if row["host"] == "riscv" else "the CPU's time is an estimate; "
    canvas.head(figure, title or point_title(rows, row, point), f"{estimated}colours are kinds of layers")
    canvas.legend(figure, axes.get_legend_handles_labels()[0])
    canvas.thin_ticks(figure, [axes.xaxis])
    canvas.place_labels(figure, axes, [
        (middle, len(LANES) - 0.4, shorten(program.layers[layer].name.rsplit("/", 1)[-1], 18))
        for middle, layer in named[:MAX_NAMED]
    ], canvas.ON)  # fmt: skip
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
    try:
        model = json.loads(read_file(about))["models"][row["model"]]
        source = Source(
            model["label"], model["path"], model["topology"], tuple(map(tuple, model["arguments"]))
        )
        content = model["content"]
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{about} does not describe model {row['model']}; run the sweep again") from None
    if source.path and not Path(source.path).exists():
        raise InputError(f"{source.path} no longer exists; a timeline needs it to simulate the model again")
    if blueprint(source).content != content:
        raise InputError(f"{source.file()} has changed since the sweep; run the sweep again")
    values = {name: row[name] for name in catalogue() if name != "preset"}
    if row["host"] == "riscv":
        from dlasim.sweeps.prototype import prototype_inference  # the emulator takes its time to load

        return prototype_inference(load_model(source.file()), values)
    config, options = resolve(values)
    program = lower_for(load_model(source.file()), config, options, with_constants=False).program
    return program, Simulation(program, config, None).run()


def _draw_lanes(
    axes: Any, lanes: dict[str, np.ndarray[Any, Any]], kinds: list[str], begin: int, until: int
) -> list[tuple[float, int]]:
    """Draws the spans; returns where the computing of each layer is in the middle, long ones first."""
    least = (until - begin) / 4000  # shorter is less than a dot of the picture
    pale = _paler(kinds)
    named: dict[int, tuple[float, float]] = {}
    bars: dict[tuple[str, bool, int], list[tuple[float, float]]] = {}
    for height, lane in enumerate(LANES):
        for start, end, layer in _merged(lanes[lane], least):
            start, end = max(start, begin), min(end, until)
            if start >= end:
                continue
            kind = palette.HOST if lane == CPU else kinds[layer] if layer >= 0 else NO_LAYER
            spans = bars.setdefault((kind, layer >= 0 and pale[layer], height), [])
            spans.append((start, max(end - start, least)))
            if lane not in ("DMA_IN", "DMA_OUT") and layer >= 0:
                first, last = named.get(layer, (start, end))
                named[layer] = (min(first, start), max(last, end))
    labelled: set[str] = set()
    order = [*palette.KINDS, NO_LAYER]
    for kind, is_pale, height in sorted(bars, key=lambda bar: (order.index(bar[0]), *bar[1:])):
        look = {"facecolor": canvas.look(kind)["color"], "alpha": 0.6 if is_pale else 1, "linewidth": 0}
        label = "_" if kind in labelled else kind
        axes.broken_barh(bars[kind, is_pale, height], (height - 0.35, 0.7), label=label, **look)
        labelled.add(kind)
    longest = sorted(named, key=lambda layer: named[layer][0] - named[layer][1])
    return [((named[layer][0] + named[layer][1]) / 2, layer) for layer in longest]


def _paler(kinds: list[str]) -> list[bool]:
    """Every other layer of a kind, the first of each at full strength."""
    seen: dict[str, int] = {}
    pale = []
    for kind in kinds:
        pale.append(seen.get(kind, 0) % 2 == 1)
        seen[kind] = seen.get(kind, 0) + 1
    return pale


def _merged(spans: np.ndarray[Any, Any], gap: float) -> list[tuple[float, float, int]]:
    """Spans of one layer whose gaps cannot be seen, as one."""
    found: list[tuple[float, float, int]] = []
    for start, end, layer in spans.tolist():
        if found and found[-1][2] == layer and start - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(end, found[-1][1]), layer)
        else:
            found.append((start, end, layer))
    return found
