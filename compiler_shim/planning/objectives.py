"""What plans are compared by: cycles, energy, their product, or the most SRAM in use; all as in reports."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.tiles.tile_costs import PRICE_UNIT
from dlasim.compiler_shim.placement import CostWeights
from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.energy import EnergyModel
from dlasim.sim.physical.program_counts import ProgramCounts
from dlasim.sim.physical.technology import technology

_MOST_PRICE = 1 << 20  # of a byte, 1,024 cycles of the MAC unit: beyond that, bytes decide alone


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """What was found of a plan: it holds for machines that differ only in their SRAM."""

    cycles: int
    counts: ProgramCounts | None = None  # where energy matters


class Objective:
    """What plans cost on a machine. Energies depend on the size of its SRAM, so each machine has its own."""

    def __init__(self, name: str, machine: DlaConfig) -> None:
        self.name = name
        self.model = EnergyModel(technology(machine.technology), machine) if self.counts_energy else None

    @property
    def counts_energy(self) -> bool:
        """Whether energy is a part of the cost."""
        return self.name in ("energy", "edp")

    def byte_prices(self) -> set[int]:
        """What a byte of each memory takes in energy, in 1/1024 of what a cycle of the MAC unit takes."""
        assert self.model is not None
        each = self.model.computing_pj()
        return {min(round(PRICE_UNIT * byte / each), _MOST_PRICE) for byte in self.model.byte_pj()}

    def weights(self) -> CostWeights:
        """What placements are compared by."""
        assert self.model is not None
        each = self.model.computing_pj()
        return CostWeights(self.model.cpu_cycle_pj() / each, each / 1000)

    def cost(self, figures: PlanFigures, plan: SramPlan) -> float:
        """Cycles, nanojoules, their product, or bytes."""
        if self.name == "sram":
            return plan.peak_bytes
        if figures.counts is None or self.model is None:
            return figures.cycles
        energy_nj = figures.counts.energy_nj(self.model)
        return energy_nj * figures.cycles if self.name == "edp" else energy_nj
