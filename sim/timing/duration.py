"""When the parts of an inference take place, from what each takes: what the compiler compares plans by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.file_records import StepKind
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program, Step
from dlasim.named_tuple import NamedTuple
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.host_time.host_estimate import DOORBELL_CYCLES, call_cycles
from dlasim.sim.timing.issue import WAIT
from dlasim.sim.timing.stream_columns import StreamColumns
from dlasim.sim.timing.stream_timer import StreamTimer

Span = tuple[int, int]  # first cycle and end


class Schedule(NamedTuple):
    """The cycles of an inference; when streams begin, in their order; and what the CPU did when: its calls,
    and doorbells where they take time."""

    cycles: int
    streams: list[int]
    calls: list[Span]
    doorbells: list[Span]

    @property
    def cpu_cycles(self) -> int:
        """Those in which the CPU works."""
        return sum(end - start for start, end in self.calls + self.doorbells)


def schedule_program(program: Program, config: DlaConfig, streams: Sequence[int]) -> Schedule:
    """The schedule of a program whose streams take so many cycles. A preload has been done before."""
    calls = [call_cycles(program, call) for call in program.host_calls]
    return schedule_steps(program.steps, doorbell_cycles(config, bool(calls)), streams, calls)


def schedule_steps(
    steps: Sequence[Step], doorbell: int, streams: Sequence[int], calls: Sequence[int]
) -> Schedule:
    """The schedule of an inference after a preload; streams, and calls of the CPU, take so many cycles."""
    found, now, preloads = Schedule(0, [], [], []), 0, 0
    ends = [0]  # of the streams so far; they run one at a time
    for step in steps:
        if step.kind is StepKind.PRELOAD:
            ends.append(0)
            preloads += 1
        elif step.kind is StepKind.STREAM:
            if doorbell:
                found.doorbells.append((now, now + doorbell))
            now += doorbell
            found.streams.append(max(now, ends[-1]))
            ends.append(found.streams[-1] + streams[step.index - preloads])
        else:
            begin = max(now, ends[step.after_streams])
            now = begin + calls[step.index]
            found.calls.append((begin, now))
    return found._replace(cycles=max(now, ends[-1]))


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
