"""The report and the timeline of a program that ran on the board: the standalone ones, with the CPU's part
measured instead of estimated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Inference
from dlasim.sim.reports import report as standalone
from dlasim.sim.reports.trace import trace_events
from dlasim.vp.devices.dla_device import RtlFigures
from dlasim.vp.programs.elf import Firmware
from dlasim.vp.system.bare_metal import BareMetal, function_rows
from dlasim.vp.system.board_result import BoardResult
from dlasim.vp.system.host import HostOptions, Prototyped

_CPU_PROCESS = 2
_FUNCTION_TRACK = 2


def report(
    program: Program,
    config: DlaConfig,
    done: Prototyped,
    options: HostOptions,
    wall_seconds: Mapping[str, float],
) -> dict[str, Any]:
    """The figures of the last inference; functions, stack and setup are those of the whole run."""
    cpu = done.cpu
    figures = standalone.report(program, config, done.inference, wall_seconds, cpu.instructions)
    dla_cycles = sum(run.end - run.start for run in done.inference.runs)
    figures["cycles"] |= {"cpu": cpu.cycles, "overlap": max(0, dla_cycles - cpu.idle_cycles)}
    figures["cpu"] = {
        "instructions": cpu.instructions,
        "setup_instructions": done.setup_instructions,
        "idle_cycles": cpu.idle_cycles,
        "estimated": False,
        "model": options.cpu,
        "completion": options.completion.name.lower(),
        "submission": options.submission.name.lower(),
    }
    for call, count in zip(program.host_calls, cpu.call_instructions, strict=True):
        layer = figures["layers"][call.layer]
        layer["instructions"] = layer.get("instructions", 0) + count
    if done.rtl is not None:
        figures["rtl"] = rtl_figures(done.rtl)
    figures["functions"] = function_rows(done.board.profile)
    figures["memory"] |= memory_bytes(program, done.firmware, done.board.stack_peak_bytes or 0)
    return figures


def rtl_figures(rtl: RtlFigures) -> dict[str, Any]:
    """What the RTL took, from reset to exit."""
    return asdict(rtl) | {"seconds": round(rtl.seconds, 6)}


def rtl_warnings(rtl: RtlFigures | None) -> list[str]:
    """That the layers' cycles, which the simulator attributes, are not those of the RTL."""
    if rtl is None or not rtl.different_streams:
        return []
    return [
        f"{rtl.different_streams} of {rtl.streams} streams took a different number of cycles in the RTL "
        f"({rtl.cycles:,} in total) than in the simulator ({rtl.simulator_cycles:,}); the cycles of layers "
        "are the simulator's"
    ]


def memory_bytes(program: Program, firmware: Firmware, stack_peak_bytes: int) -> dict[str, int]:
    """What the program takes of the board's RAM at most, and of its flash."""
    need = program.requirement
    static = firmware.symbols.get("__bss_end", 0) - firmware.symbols.get("__data_start", 0)
    return {
        "stack_peak_bytes": stack_peak_bytes,
        "inputs_bytes": need.inputs_bytes,
        "outputs_bytes": need.outputs_bytes,
        "firmware_ram_bytes": static,
        "firmware_flash_bytes": sum(len(segment.data) for segment in firmware.segments),
        "ram_peak_bytes": stack_peak_bytes
        + static
        + need.arena_bytes
        + need.inputs_bytes
        + need.outputs_bytes,
    }


def trace(program: Program, config: DlaConfig, done: Prototyped) -> dict[str, Any]:
    """The standalone trace, with the firmware's functions on a track of their own; clock: the inference's."""
    events = trace_events(program, config, done.inference)
    last = done.start_cycle + done.inference.total_cycles
    events["traceEvents"] += _function_events(config, done.board, done.start_cycle, last)
    return events


def bare_metal_trace(done: BareMetal) -> dict[str, Any]:
    """The accelerator's streams and the program's functions, from reset to exit."""
    words = max((run.first_word + len(run.plan.stream.words) for run in done.runs), default=0)
    unknown = Program(
        done.firmware.origin, done.config.requirement(), np.zeros(words, np.uint64), streams=(), steps=()
    )
    events = trace_events(unknown, done.config, Inference(runs=list(done.runs)))
    events["traceEvents"] += _function_events(done.config, done.board, 0, done.board.cycles)
    return events


def _function_events(
    config: DlaConfig, board: BoardResult, first: int, last: int
) -> Iterator[dict[str, Any]]:
    yield {
        "ph": "M",
        "name": "thread_name",
        "pid": _CPU_PROCESS,
        "tid": _FUNCTION_TRACK,
        "args": {"name": "firmware functions"},
    }
    for span in board.function_spans:
        start, end = max(span.start_cycles, first), min(span.end_cycles, last)
        if start < end:
            yield {
                "ph": "X",
                "name": span.name,
                "pid": _CPU_PROCESS,
                "tid": _FUNCTION_TRACK,
                "ts": round((start - first) / config.clock_mhz, 6),
                "dur": round((end - start) / config.clock_mhz, 6),
                "args": {"cycles": end - start},
            }
