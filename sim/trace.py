"""An inference as Chrome trace events, which Perfetto opens: units, layers, host calls, counters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dlasim.isa.instructions import BY_OPCODE, UNITS
from dlasim.isa.program import Program
from dlasim.sim.config import DlaConfig
from dlasim.sim.footprint import all_footprints
from dlasim.sim.machine import Run
from dlasim.sim.runner import Inference

_DLA, _HOST = 1, 2
_LAYER_TRACK = len(UNITS) + 1
Event = dict[str, Any]


def trace_events(program: Program, config: DlaConfig, inference: Inference) -> dict[str, Any]:
    """All events; a microsecond of the viewer is a microsecond at the configured clock."""
    events: list[Event] = [
        _name("process_name", _DLA, 0, "DLA"),
        _name("process_name", _HOST, 0, "CPU"),
        *(_name("thread_name", _DLA, unit + 1, unit.name) for unit in UNITS),
        _name("thread_name", _DLA, _LAYER_TRACK + 1, "layers"),
        _name("thread_name", _HOST, 1, "host calls"),
    ]
    layer_of = program.layer_of_words()
    for run in inference.runs:
        events += _run_events(program, config, run, layer_of[run.first_word :])
    for span in inference.host:
        layer = program.layers[program.host_calls[span.call].layer]
        events.append(_span(config, _HOST, 1, f"{layer.name} ({layer.operator})", span.start, span.end, {}))
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"program": program.name}}


def _name(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _span(
    config: DlaConfig, process: int, thread: int, name: str, start: int, end: int, args: Event
) -> Event:
    scale = 1 / config.clock_mhz
    return {
        "ph": "X",
        "name": name,
        "pid": process,
        "tid": thread,
        "ts": round(start * scale, 6),
        "dur": round((end - start) * scale, 6),
        "args": {"cycles": end - start, **args},
    }


def _run_events(
    program: Program, config: DlaConfig, run: Run, layer_of: np.ndarray[Any, Any]
) -> Iterator[Event]:
    plan = run.plan
    positions = plan.stream.positions[: plan.operations]
    layers = layer_of[positions]
    start, end = plan.timeline.start + run.start, plan.timeline.end + run.start
    opcodes = plan.stream.opcodes[positions]
    for number in range(plan.operations):
        layer = program.layers[layers[number]].name if layers[number] >= 0 else ""
        args = {
            "layer": layer,
            "word": int(run.first_word + positions[number]),
            "macs": int(plan.costs.macs[number]),
            "bytes": int(plan.costs.dma_bytes[number]),
        }
        thread = int(plan.costs.unit[number]) + 1
        mnemonic = BY_OPCODE[int(opcodes[number])].mnemonic
        yield _span(config, _DLA, thread, mnemonic, int(start[number]), int(end[number]), args)
    yield from _layer_events(program, config, layers, start, end)
    yield from _counters(config, run)


def _layer_events(
    program: Program,
    config: DlaConfig,
    layers: np.ndarray[Any, Any],
    start: np.ndarray[Any, Any],
    end: np.ndarray[Any, Any],
) -> Iterator[Event]:
    """From the first operation of a layer to its last; neighbours may overlap, so each has its own span."""
    for layer in np.unique(layers[layers >= 0]):
        mine = layers == layer
        described = program.layers[layer]
        yield {
            **_span(
                config,
                _DLA,
                _LAYER_TRACK + 1,
                described.name,
                int(start[mine].min()),
                int(end[mine].max()),
                {},
            ),
            "cat": described.kind.name,
        }


def _counters(config: DlaConfig, run: Run) -> Iterator[Event]:
    """Bytes per cycle on the bus, and bytes of SRAM that running operations hold."""
    plan = run.plan
    duration = np.maximum(plan.timeline.end - plan.timeline.start, 1)
    yield from _steps(config, run, "DMA bytes per cycle", plan.costs.dma_bytes / duration)
    held = np.zeros(plan.operations)
    for chosen, batch in plan.stream.batches(plan.operations):
        for footprint in all_footprints(batch):
            held[chosen] += np.where(footprint.present, footprint.box.total_bytes, 0)
    yield from _steps(config, run, "SRAM bytes in use", held)


def _steps(config: DlaConfig, run: Run, name: str, amounts: np.ndarray[Any, Any]) -> Iterator[Event]:
    timeline = run.plan.timeline
    times = np.concatenate((timeline.start, timeline.end)) + run.start
    changes = np.concatenate((amounts, -amounts))
    edges, inverse = np.unique(times, return_inverse=True)
    levels = np.cumsum(np.bincount(inverse, weights=changes, minlength=len(edges)))
    for edge, level in zip(edges.tolist(), levels.tolist(), strict=True):
        yield {
            "ph": "C",
            "name": name,
            "pid": _DLA,
            "ts": round(edge / config.clock_mhz, 6),
            "args": {"value": round(max(level, 0.0), 3)},
        }
