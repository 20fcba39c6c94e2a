"""The pace of steps: what so many took, in time and energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlasim.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dlasim.isa.program import Program
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.sim.execution.runner import Inference


@dataclass(frozen=True, slots=True)
class Pace:
    """So many steps, their cycles and their energy."""

    count: int
    cycles: int
    energy_nj: float
    clock_mhz: float

    @property
    def milliseconds(self) -> float:
        """The time of all steps."""
        return self.cycles / self.clock_mhz / 1000

    @property
    def per_second(self) -> float:
        """Steps that the machine makes in a second."""
        return 1000 * self.count / self.milliseconds if self.cycles else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        names = ("count", "cycles", "milliseconds", "per_second", "energy_nj")
        return {name: getattr(self, name) for name in names}


def pace(program: Program, machine: DlaConfig, ends: Sequence[Inference], count: int, cycles: int) -> Pace:
    """The pace of so many steps from the first and the last one: no step's energy depends on data, but the
    first may load weights that stay in SRAM."""
    from dlasim.sim.reports.figures import energy_digits
    from dlasim.sim.reports.measured import Measured

    measured = (Measured(program, machine, inference, {}) for inference in ends)
    first, later = (energy_digits(each.energy["total"]) for each in measured)
    return Pace(count, cycles, first + (count - 1) * later, machine.clock_mhz)
