"""How long an inference of a program takes, and nothing else: what the compiler compares plans by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.file_records import StepKind
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program, Step
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.host_time.host_estimate import DOORBELL_CYCLES, call_cycles
from dlasim.sim.timing.issue import WAIT
from dlasim.sim.timing.stream_columns import StreamColumns
from dlasim.sim.timing.stream_timer import StreamTimer


def program_cycles(program: Program, config: DlaConfig) -> int:
    """The total of `dlasim run --timing-only` for a program that the compiler has made: its streams are legal
    and write every register they use. A preload has been done before."""
    places = [(each.first_word, each.words) for each in program.streams[program.preloads :]]
    cycles = StreamTimer(config).cycles(program.commands, places)
    calls = [call_cycles(program, call) for call in program.host_calls]
    return inference_cycles(program.steps, doorbell_cycles(config, bool(calls)), cycles, calls)


def inference_cycles(
    steps: Sequence[Step], doorbell: int, streams: Sequence[int], calls: Sequence[int]
) -> int:
    """The total of an inference after a preload; its streams, and calls of the CPU, take so many cycles."""
    now = preloads = 0
    ends = [0]  # of the streams so far; they run one at a time
    for step in steps:
        if step.kind is StepKind.PRELOAD:
            ends.append(0)
            preloads += 1
        elif step.kind is StepKind.STREAM:
            now += doorbell
            ends.append(max(now, ends[-1]) + streams[step.index - preloads])
        else:
            now = max(now, ends[step.after_streams]) + calls[step.index]
    return max(now, ends[-1])


def doorbell_cycles(config: DlaConfig, has_calls: bool) -> int:
    """What the CPU takes to start a stream, where a program has any work for it."""
    return DOORBELL_CYCLES if config.timing == "full" and has_calls else 0


def computation_ends(
    timer: StreamTimer,
    words: NDArray[np.uint64],
    streams: Sequence[tuple[int, int]],
    spans: NDArray[np.void],
    layers: int,
) -> NDArray[np.int64]:
    """By layer the cycle in which its last computation ends, in its own stream; 0 where there is none."""
    ends = np.zeros(layers, np.int64)
    for begin, count in streams:
        walked = timer.walk(words[begin : begin + count])
        first = walked.columns.first[Unit.MAC]  # transfers come before
        computations = begin + _operation_words(walked.columns)[first:]
        of = spans["layer"][np.searchsorted(spans["first_word"], computations, "right") - 1]
        np.maximum.at(ends, of, walked.ends[first:])
    return ends


def _operation_words(columns: StreamColumns) -> NDArray[np.int64]:
    """By place the word of an operation."""
    found = np.empty(len(columns.totals), np.int64)
    is_operation = columns.kinds < WAIT
    found[columns.arguments[is_operation]] = columns.reached[is_operation] - 1
    return found
