"""What a run tells: the JSON report that scripts rely on, built from an inference's books."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlasim.isa.instructions import WORD_BYTES, Unit
from dlasim.isa.program import Program
from dlasim.isa.records import LayerKind
from dlasim.sim.accounting import Account, compute_owner
from dlasim.sim.config import DlaConfig
from dlasim.sim.footprint import all_footprints
from dlasim.sim.plan import Plan
from dlasim.sim.runner import Inference

SCHEMA = "dlasim.report/1"
KINDS = tuple(kind.name for kind in LayerKind if kind not in (LayerKind.HOST, LayerKind.OTHER))


@dataclass(slots=True)
class LayerFigures:
    """What one layer cost."""

    name: str
    operator: str
    kind: str
    unit: str
    cycles: int = 0
    busy: int = 0
    macs: int = 0
    tiles: int = 0
    read: int = 0
    written: int = 0


def report(
    program: Program,
    config: DlaConfig,
    inference: Inference,
    wall_seconds: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The report of one inference."""
    layers = layer_figures(program, config, inference)
    books = total_account(inference)
    by_kind = dict.fromkeys(KINDS, 0)
    for figures in layers:
        if figures.unit == "dla":
            by_kind[figures.kind] = by_kind.get(figures.kind, 0) + figures.cycles
    dla = books.total if books else 0
    cpu = sum(end - start for start, end in inference.cpu_spans)
    macs = sum(run.plan.macs for run in inference.runs)
    need = program.requirement
    return {
        "schema": SCHEMA,
        "program": program.name,
        "config": config.as_dict(),
        "outputs": [
            {
                "name": tensor.name,
                "type": tensor.type.name,
                "shape": list(tensor.shape),
                "scale": tensor.scale,
                "zero_point": tensor.zero_point,
            }
            for tensor in program.outputs
        ],
        "cycles": {
            "total": inference.total_cycles,
            "dla": dla,
            "cpu": cpu,
            "by_kind": by_kind,
            "stall": dla - sum(by_kind.values()),
            "dma": books.only_dma + books.both if books else 0,
            "overlap": _overlap(inference),
        },
        "macs": macs,
        "utilization": _ratio(macs, config.pes * dla),
        "dma_bytes": {
            "read": _moved(inference, Unit.DMA_IN),
            "write": _moved(inference, Unit.DMA_OUT),
        },
        "sram_peak_bytes": need.sram_peak_bytes or sram_high_water(inference),
        "cpu": {"instructions": None, "estimated": True},
        "memory": {
            "arena_peak_bytes": need.arena_bytes,
            "constants_bytes": len(program.constants),
            "artifact_bytes": len(program.commands) * WORD_BYTES + len(program.constants),
        },
        "layers": [_layer_row(figures, config) for figures in layers],
        "units": _unit_rows(books) if books else {},
        "wall_seconds": dict(wall_seconds or {}),
    }  # fmt: skip


def layer_figures(program: Program, config: DlaConfig, inference: Inference) -> list[LayerFigures]:
    """Figures of each layer, in the model's order."""
    on_cpu = {call.layer for call in program.host_calls}
    figures = [
        LayerFigures(layer.name, layer.operator, layer.kind.name, "cpu" if i in on_cpu else "dla")
        for i, layer in enumerate(program.layers)
    ]
    layer_of = program.layer_of_words()
    for run in inference.runs:
        _add_run(figures, layer_of[run.first_word :], run.plan)
    for span in inference.host:
        layer = program.host_calls[span.call].layer
        figures[layer].cycles += span.end - span.start
        figures[layer].busy += span.end - span.start
        figures[layer].macs = program.layers[layer].macs
    return figures


def _add_run(figures: list[LayerFigures], layer_of: np.ndarray[Any, Any], plan: Plan) -> None:
    costs, timeline = plan.costs, plan.timeline
    count = plan.operations
    layers = layer_of[plan.stream.positions[:count]]
    numbers, owned = compute_owner(timeline, costs)
    busy = timeline.end - timeline.start

    def add(field: str, where: np.ndarray[Any, Any], amounts: np.ndarray[Any, Any]) -> None:
        sums = np.bincount(where + 1, amounts, len(figures) + 1).tolist()  # the first is of no layer
        for layer, amount in zip(figures, sums[1:], strict=True):
            if amount:
                setattr(layer, field, getattr(layer, field) + int(amount))

    add("cycles", layers[numbers], owned)
    add("busy", layers[numbers], busy[numbers])
    add("macs", layers, costs.macs[:count])
    add("tiles", layers[numbers], np.ones(len(numbers)))
    for field, unit in (("read", Unit.DMA_IN), ("written", Unit.DMA_OUT)):
        chosen = np.flatnonzero(costs.unit[:count] == unit)
        add(field, layers[chosen], costs.dma_bytes[chosen])


def total_account(inference: Inference) -> Account | None:
    """The books of all streams together."""
    books: Account | None = None
    for run in inference.runs:
        books = run.plan.account if books is None else books + run.plan.account
    return books


def sram_high_water(inference: Inference) -> int:
    """One past the highest SRAM byte that any operation touches."""
    peak = 0
    for run in inference.runs:
        for _, batch in run.plan.stream.batches(run.plan.operations):
            for footprint in all_footprints(batch):
                ends = np.where(footprint.present, footprint.box.end, 0)
                peak = max(peak, int(np.max(ends, initial=0)))
    return peak


def _moved(inference: Inference, unit: Unit) -> int:
    """Bytes that a DMA unit moved."""
    return sum(int(run.plan.costs.dma_bytes[run.plan.costs.unit == unit].sum()) for run in inference.runs)


def _overlap(inference: Inference) -> int:
    """Cycles in which CPU and DLA both worked."""
    total = 0
    for start, end in inference.cpu_spans:
        for run in inference.runs:
            total += max(0, min(end, run.end) - max(start, run.start))
    return total


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _layer_row(figures: LayerFigures, config: DlaConfig) -> dict[str, Any]:
    on_dla = figures.unit == "dla"
    return {
        "name": figures.name,
        "operator": figures.operator,
        "kind": figures.kind,
        "unit": figures.unit,
        "cycles": figures.cycles,
        "macs": figures.macs,
        "utilization": _ratio(figures.macs, config.pes * figures.busy) if on_dla else 0.0,
        "tiles": figures.tiles,
        "dma_bytes": {"read": figures.read, "write": figures.written},
    }


def _unit_rows(books: Account) -> dict[str, dict[str, int]]:
    names = (
        "work",
        "fill",
        "drain",
        "latency",
        "sram",
        "contention",
        "idle_issue",
        "idle_wait",
        "idle_queue",
    )
    return {
        unit.name: {name: getattr(account, name) for name in names}
        for unit, account in zip((Unit.DMA_IN, Unit.DMA_OUT, Unit.MAC, Unit.VECTOR), books.units, strict=True)
    }
