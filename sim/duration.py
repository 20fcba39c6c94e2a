"""How long an inference of a program takes, and nothing else: what the compiler compares plans by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.file_records import StepKind
from dlasim.isa.instructions import Unit
from dlasim.isa.program import Program
from dlasim.native.backend import Backend
from dlasim.native.shipped import SHIPPED
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import Costs, stream_costs
from dlasim.sim.host_estimate import DOORBELL_CYCLES, call_cycles
from dlasim.sim.operation import reset_file
from dlasim.sim.stream import DecodedStream, decode_stream
from dlasim.sim.timeline import schedule, total_cycles


def program_cycles(program: Program, config: DlaConfig, backend: Backend = SHIPPED) -> int:
    """The total of `dlasim run --timing-only` for a program that the compiler has made: its streams are legal
    and write every register they use."""
    doorbell = DOORBELL_CYCLES if config.timing == "full" and program.host_calls else 0
    now = 0
    ends = [0]  # of the streams so far; they run one at a time
    for step in program.steps:
        if step.kind is StepKind.STREAM:
            now += doorbell
            ends.append(max(now, ends[-1]) + _stream_cycles(program, step.index, config, backend))
        else:
            now = max(now, ends[step.after_streams]) + call_cycles(program, program.host_calls[step.index])
    return max(now, ends[-1])


def computation_ends(program: Program, config: DlaConfig, backend: Backend = SHIPPED) -> NDArray[np.int64]:
    """By layer the cycle in which its last computation ends, in its own stream; 0 where there is none."""
    ends = np.zeros(len(program.layers), np.int64)
    for layers, _, end in _computations(program, config, backend):
        np.maximum.at(ends, layers, end)
    return ends


def computation_cycles(program: Program, config: DlaConfig, backend: Backend = SHIPPED) -> NDArray[np.int64]:
    """By layer the cycles of its computations, one after the other."""
    cycles = np.zeros(len(program.layers), np.int64)
    for layers, start, end in _computations(program, config, backend):
        np.add.at(cycles, layers, end - start)
    return cycles


def _computations(
    program: Program, config: DlaConfig, backend: Backend
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """By stream the layers, starts and ends of its computations."""
    layer_of_words = program.layer_of_words()
    for number, place in enumerate(program.streams):
        stream, costs = _decoded(program, number, config, backend)
        timeline = schedule(config, stream, costs, backend=backend)
        chosen = np.isin(costs.unit, (Unit.MAC, Unit.VECTOR))
        layers = layer_of_words[place.first_word + stream.positions]
        yield layers[chosen], timeline.start[chosen], timeline.end[chosen]


def _stream_cycles(program: Program, number: int, config: DlaConfig, backend: Backend) -> int:
    return total_cycles(config, *_decoded(program, number, config, backend), backend)


def _decoded(
    program: Program, number: int, config: DlaConfig, backend: Backend
) -> tuple[DecodedStream, Costs]:
    place = program.streams[number]
    words = program.commands[place.first_word : place.first_word + place.words]
    stream = decode_stream(words, reset_file(), config.fingerprint, is_legal=True)
    return stream, stream_costs(config, stream, len(stream), stream.batches(), backend)
