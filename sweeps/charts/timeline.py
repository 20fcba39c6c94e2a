"""What every unit does when, for one point: its machine is simulated once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.errors import InputError
from dlasim.isa.instructions import UNITS
from dlasim.isa.program import Program
from dlasim.sim.runner import Inference, Simulation
from dlasim.sweeps.charts import canvas
from dlasim.sweeps.charts.data import Row, best_point, count_text, parameters, shorten
from dlasim.sweeps.conditions import Condition
from dlasim.sweeps.models import Source, blueprint
from dlasim.sweeps.parameters import catalogue, resolve
from dlasim.sweeps.result import SweepResult

LANES = ("CPU", *(unit.name for unit in reversed(UNITS)))
MAX_NAMED = 60


def draw(
    result: SweepResult, where: str | None = None, title: str = "", point: int | None = None,
    begin: int = 0, end: int | None = None,
) -> Any:  # fmt: skip
    """Lanes of the CPU and of each unit between two cycles; colours change from layer to layer."""
    test = Condition(where, result.columns, "where") if where else None
    rows = (row for row in result.rows(*parameters(result), "status", "cycles_total")
            if row["status"] == "ok" and (test is None or test.holds(row)))  # fmt: skip
    row = best_point(rows, point)
    program, inference = _simulate(result, row)
    until = inference.total_cycles if end is None else min(end, inference.total_cycles)
    if not 0 <= begin < until:
        raise InputError(f"cycles {begin} to {until} are no part of a run of {inference.total_cycles}")
    figure, (axes,) = canvas.new(7.2, 2.6)
    spans = _spans(program, inference)
    named = _draw_lanes(axes, spans, begin, until)
    axes.set_xlim(begin, until)
    axes.set_ylim(-0.6, len(LANES) - 0.1)
    axes.set_yticks(range(len(LANES)), LANES)
    axes.grid(False, axis="y")
    axes.set_xlabel("cycle")
    canvas.format_axis(axes.xaxis, count_text, most=8)
    axes.set_title(title or f"{row['model']} on {row['label']}")
    canvas.thin_ticks(figure, axes.xaxis)
    canvas.place_labels(figure, axes, [
        (middle, len(LANES) - 0.55, shorten(program.layers[layer].name.rsplit("/", 1)[-1], 18))
        for middle, layer in named[:MAX_NAMED]
    ], canvas.ON)  # fmt: skip
    return figure


def _simulate(result: SweepResult, row: Row) -> tuple[Program, Inference]:
    about = result.path.with_name("sweep.json")
    try:
        told = json.loads(about.read_text(encoding="utf-8"))["models"][row["model"]]
        source = Source(told["label"], told["path"], told["topology"], tuple(map(tuple, told["arguments"])))
        content = told["content"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{about} does not say what model {row['model']} is: sweep again") from None
    if source.path and not Path(source.path).exists():
        raise InputError(f"{source.path} is gone: a timeline simulates the model again")
    if blueprint(source).content != content:
        raise InputError(f"{source.file()} has changed since the sweep: sweep again")
    values = {name: row[name] for name in catalogue() if name != "preset"}
    config, options = resolve(values)
    program = lower_for(load_model(source.file()), config, options, with_constants=False).program
    return program, Simulation(program, config, None).run()


def _spans(program: Program, inference: Inference) -> dict[str, list[np.ndarray[Any, Any]]]:
    """For each lane rows of start, end and layer."""
    layer_of = program.layer_of_words()
    lanes: dict[str, list[np.ndarray[Any, Any]]] = {lane: [] for lane in LANES}
    for span in inference.host:
        lanes["CPU"].append(np.array([[span.start, span.end, program.host_calls[span.call].layer]]))
    for run in inference.runs:
        plan = run.plan
        layers = layer_of[run.first_word :][plan.stream.positions[: plan.operations]]
        units = plan.costs.unit[: plan.operations]
        for unit in UNITS:
            mine = units == unit
            rows = (plan.timeline.start[mine] + run.start, plan.timeline.end[mine] + run.start, layers[mine])
            lanes[unit.name].append(np.stack(rows, axis=1))
    return lanes


def _draw_lanes(
    axes: Any, lanes: dict[str, list[np.ndarray[Any, Any]]], begin: int, until: int
) -> list[tuple[float, int]]:
    """Draws the spans; returns where the computing of each layer is in the middle, long ones first."""
    least = (until - begin) / 4000  # shorter is less than a dot of the picture
    colors = (canvas.BLUE, canvas.ORANGE)
    named: dict[int, tuple[float, float]] = {}
    for height, lane in enumerate(LANES):
        for start, end, layer in _merged(np.concatenate(lanes[lane] or [np.zeros((0, 3), np.int64)]), least):
            start, end = max(start, begin), min(end, until)
            if start >= end:
                continue
            axes.broken_barh([(start, max(end - start, least))], (height - 0.35, 0.7), linewidth=0,
                             color=canvas.GREY if layer < 0 else colors[layer % 2])  # fmt: skip
            if lane not in ("DMA_IN", "DMA_OUT") and layer >= 0:
                first, last = named.get(layer, (start, end))
                named[layer] = (min(first, start), max(last, end))
    order = sorted(named, key=lambda layer: named[layer][0] - named[layer][1])
    return [((named[layer][0] + named[layer][1]) / 2, layer) for layer in order]


def _merged(spans: np.ndarray[Any, Any], gap: float) -> list[tuple[float, float, int]]:
    """Spans of one layer whose gaps cannot be seen, as one."""
    found: list[tuple[float, float, int]] = []
    for start, end, layer in spans[np.argsort(spans[:, 0], kind="stable")].tolist():
        if found and found[-1][2] == layer and start - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(end, found[-1][1]), layer)
        else:
            found.append((start, end, layer))
    return found
