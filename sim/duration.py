"""How long an inference of a program takes, and nothing else: what the compiler compares plans by."""

from __future__ import annotations

from dlasim.isa.file_records import StepKind
from dlasim.isa.program import Program
from dlasim.native.backend import Backend
from dlasim.native.shipped import SHIPPED
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import stream_costs
from dlasim.sim.host_estimate import DOORBELL_CYCLES, call_cycles
from dlasim.sim.operation import reset_file
from dlasim.sim.stream import decode_stream
from dlasim.sim.timeline import total_cycles


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


def _stream_cycles(program: Program, number: int, config: DlaConfig, backend: Backend) -> int:
    place = program.streams[number]
    words = program.commands[place.first_word : place.first_word + place.words]
    stream = decode_stream(words, reset_file(), config.fingerprint, is_legal=True)
    costs = stream_costs(config, stream, len(stream), stream.batches(), backend)
    return total_cycles(config, stream, costs, backend)
