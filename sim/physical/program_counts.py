"""What an inference of a program does that takes energy: what the compiler compares plans by."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.isa.program import Program
from dlasim.sim.physical.activity import EnergyCounts, count_operations, grouped
from dlasim.sim.physical.energy import EnergyModel
from dlasim.sim.timing.duration import schedule_program
from dlasim.sim.timing.plan import plan_program
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


def count_program(program: Program, timer: StreamTimer) -> ProgramCounts:
    """The counts of a program that the compiler has made: its streams are legal and write every register they
    use. The estimated CPU executes an instruction a cycle. A preload has been done before."""
    plans = plan_program(program, timer)
    counts = [count_operations(plan) for plan in plans]
    streams = [plan.timeline.total for plan in plans]
    schedule = schedule_program(program, timer.config, streams)
    return ProgramCounts(
        grouped(counts) if counts else None, schedule.cycles, sum(streams), schedule.cpu_cycles
    )
