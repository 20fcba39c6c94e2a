"""An inference as Chrome trace events, which Perfetto opens: units, layers, host calls, counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import UNITS, Unit
from dlasim.isa.instructions import BY_OPCODE
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.machine import Run
from dlasim.sim.execution.runner import Inference
from dlasim.sim.reports.occupancy import occupancy_changes

_DLA, _HOST = 1, 2
_LAYER_TRACK = len(UNITS) + 1
Event = dict[str, Any]
Integers = NDArray[np.int64]


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
    events += _bandwidth(config, inference.runs, Unit.DMA_IN, "DMA bytes read per cycle")
    events += _bandwidth(config, inference.runs, Unit.DMA_OUT, "DMA bytes written per cycle")
    events += _steps(config, "SRAM bytes occupied", *occupancy_changes(inference.runs))
    for span in inference.host:
        layer = program.layers[program.host_calls[span.call].layer]
        events.append(_span(config, _HOST, 1, f"{layer.name} ({layer.operator})", span.start, span.end, {}))
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"program": program.name}}


def _name(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _span(
    config: DlaConfig, process: int, thread: int, name: str, start: int, end: int, args: Event
) -> Event:
    begin = _microseconds(config, start)
    return {
        "ph": "X",
        "name": name,
        "pid": process,
        "tid": thread,
        "ts": begin,
        "dur": round(_microseconds(config, end) - begin, 6),
        "args": {"cycles": end - start, **args},
    }


def _microseconds(config: DlaConfig, cycle: int) -> float:
    return round(cycle / config.clock_mhz, 6)


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
    for number, first, last in _layer_spans(layers, plan.costs.unit[: plan.operations], start, end):
        described = program.layers[number]
        span = _span(config, _DLA, _LAYER_TRACK + 1, described.name, first, last, {})
        yield {**span, "cat": described.kind.name}


def _layer_spans(
    layers: Integers, units: Integers, start: Integers, end: Integers
) -> Iterator[tuple[int, int, int]]:
    """Which layer the stream is at, from when to when; spans of one track must not overlap.

    A layer's compute operations count (a layer that only moves data: its transfers), not what is fetched for
    it in advance. Layers that are worked on in turns, in stripes, have a span for each turn.
    """
    computes = (units == Unit.MAC) | (units == Unit.VECTOR)
    computing = np.unique(layers[computes])
    counts = np.flatnonzero((layers >= 0) & (computes | ~np.isin(layers, computing)))
    if not len(counts):
        return
    turns = np.split(counts, np.flatnonzero(np.diff(layers[counts])) + 1)
    now = 0
    for turn in turns:
        first, last = max(int(start[turn].min()), now), int(end[turn].max())
        if last > first:
            yield int(layers[turn[0]]), first, last
            now = last


def _bandwidth(config: DlaConfig, runs: Sequence[Run], unit: Unit, name: str) -> Iterator[Event]:
    """Bytes per cycle of one direction; a transfer's bytes spread over all its cycles, latency included."""
    times, amounts = [], []
    for run in runs:
        plan = run.plan
        mine = np.flatnonzero(plan.costs.unit[: plan.operations] == unit)
        start, end = plan.timeline.start[mine], plan.timeline.end[mine]
        rate = plan.costs.dma_bytes[mine] / np.maximum(end - start, 1)
        times += [start + run.start, end + run.start]
        amounts += [rate, -rate]
    if times:
        yield from _steps(config, name, np.concatenate(times), np.concatenate(amounts))


def _steps(config: DlaConfig, name: str, times: Integers, changes: np.ndarray[Any, Any]) -> Iterator[Event]:
    """A counter that changes by so much at each of these cycles."""
    edges, inverse = np.unique(times, return_inverse=True)
    levels = np.cumsum(np.bincount(inverse, weights=changes, minlength=len(edges)))
    for edge, level in zip(edges.tolist(), levels.tolist(), strict=True):
        yield {
            "ph": "C",
            "name": name,
            "pid": _DLA,
            "tid": 0,
            "ts": _microseconds(config, edge),
            "args": {"value": round(max(level, 0.0), 3)},
        }
