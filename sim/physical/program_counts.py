"""What an inference of a program does that takes energy: what the compiler compares plans by."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.host_time.host_estimate import call_cycles
from dlasim.sim.physical.activity import EnergyCounts, count_operations, grouped
from dlasim.sim.physical.energy import EnergyModel
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.timing.duration import doorbell_cycles, inference_cycles
from dlasim.sim.timing.stream_timer import StreamTimer


@dataclass(frozen=True, slots=True)
class ProgramCounts:
    """The operations of an inference by unit and region, its cycles, those of its streams, and instructions
    of the CPU. Machines that differ in their SRAM have the same."""

    operations: EnergyCounts | None  # None without a stream
    cycles: int
    dla_cycles: int
    instructions: int

    def energy_nj(self, model: EnergyModel) -> float:
        """The energy of the inference, as a report has it."""
        operations = [model.operations(self.operations)] if self.operations is not None else []
        return sum(model.inference(operations, self.cycles, self.dla_cycles, self.instructions).values())


def count_program(program: Program, config: DlaConfig) -> ProgramCounts:
    """The counts of a program that the compiler has made: its streams are legal and write every register they
    use. The estimated CPU executes an instruction a cycle. A preload has been done before."""
    counts, stream_cycles, timer = list[EnergyCounts](), list[int](), StreamTimer(config)
    for place in program.streams[program.preloads :]:
        words = program.commands[place.first_word : place.first_word + place.words]
        stream = decode_stream(words, reset_file(), config.fingerprint, is_legal=True)
        walked = timer.walk(words)
        timeline = walked.timeline()
        counts.append(count_operations(config, stream, walked.columns.costs(), timeline, len(stream)))
        stream_cycles.append(timeline.total)
    calls = [call_cycles(program, call) for call in program.host_calls]
    doorbell = doorbell_cycles(config, bool(calls))
    return ProgramCounts(
        grouped(counts) if counts else None,
        inference_cycles(program.steps, doorbell, stream_cycles, calls),
        sum(stream_cycles),
        sum(calls) + doorbell * len(counts),
    )
