"""Programs on the simulator whose streams run on the RTL too, each from the same state."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dlasim import api
from dlasim.isa.program import Program
from dlasim.isa.registers import REGION_COUNT
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor, FastExecutor, Observer
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.physical.activity import count_operations
from dlasim.sim.timing.plan import Plan, plans_of
from tests.rtl.builder import build
from tests.rtl.comparison import Comparison, compare_stream
from tests.rtl.machine import RtlMachine
from tests.rtl.sram_counters import crossed, words

Array = NDArray[np.uint8]


@dataclass
class Outcome:
    """What a program's streams gave on both sides."""

    comparisons: list[Comparison] = field(default_factory=list)
    simulator_seconds: float = 0.0  # of a run of the simulator alone, after one that compiled what it needs
    cycles_only_seconds: float = 0.0  # of such a run that computes no outputs

    @property
    def differences(self) -> list[str]:
        return [text for comparison in self.comparisons for text in comparison.differences]

    @property
    def wrong_results(self) -> list[str]:
        return [text for comparison in self.comparisons for text in comparison.wrong_results]

    @property
    def rtl_cycles(self) -> int:
        return sum(comparison.events.ends[-1] for comparison in self.comparisons)

    @property
    def simulator_cycles(self) -> int:
        return sum(comparison.plan.timeline.total for comparison in self.comparisons)

    @property
    def sram_bytes(self) -> tuple[int, int]:
        """What crossed the SRAM's ports: RTL, simulator."""
        counted = sum(sum(crossed(found.events, found.plan)) for found in self.comparisons)
        return counted, sum(int(found.plan.costs.sram_bytes.sum()) for found in self.comparisons)

    @property
    def sram_words(self) -> int:
        """The words in which it crossed on the RTL."""
        return sum(sum(words(found.events, found.plan)) for found in self.comparisons)

    @property
    def sram_accesses(self) -> float:
        """What energy counts for them."""
        return sum(float(count_operations(found.plan).accesses.sum()) for found in self.comparisons)

    @property
    def rtl_seconds(self) -> float:
        return sum(comparison.events.seconds for comparison in self.comparisons)


class _Both:
    """An executor: each stream goes through the RTL, is compared, and then done as the simulator does it."""

    def __init__(self, binary: Path, config: DlaConfig) -> None:
        self._binary, self._config = binary, config
        self._fast = FastExecutor()
        self.simulation: Simulation | None = None
        self.outcome = Outcome()

    def run(
        self, plan: Plan, sram: Array, regions: Sequence[Array], observer: Observer | None, first_word: int
    ) -> None:
        """As Executor has it."""
        simulation = self.simulation
        assert simulation is not None
        registers = simulation.dla.registers
        places = [
            (registers[f"REGION{number}_BASE"], registers[f"REGION{number}_SIZE"])
            for number in range(REGION_COUNT)
        ]
        commands = simulation.memory.copy()
        with RtlMachine(self._binary, self._config.sram_bytes, len(simulation.memory)) as rtl:
            rtl.memory[:] = commands
            comparison = compare_stream(
                rtl, self._config, plan.stream.words, simulation.dla.file, sram, places, self._fast
            )
        self.outcome.comparisons.append(comparison)
        self._fast.run(plan, sram, regions, observer, first_word)


def run_on_both(program: Program, config: DlaConfig, seed: int = 0) -> Outcome:
    """One inference of random inputs."""
    both = _Both(build(config), config)
    simulation = Simulation(program, config, both)
    both.simulation = simulation
    rng = np.random.default_rng(seed)
    simulation.run([_random(rng, tensor.shape, tensor.type.name) for tensor in program.inputs])
    both.outcome.simulator_seconds = _seconds(program, config, FastExecutor())
    both.outcome.cycles_only_seconds = _seconds(program, config, None)
    return both.outcome


def lowered(model: str | Path, config: DlaConfig) -> Program:
    """A model's program for a machine."""
    return api.compile(model, config).program


def _random(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> NDArray[np.generic]:
    limits = np.iinfo(kind) if np.issubdtype(np.dtype(kind), np.integer) else None
    if limits is None:
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(kind)


def _seconds(program: Program, config: DlaConfig, executor: Executor | None) -> float:
    inputs = [np.zeros(tensor.shape, tensor.type.name) for tensor in program.inputs]
    Simulation(program, config, executor).run(inputs)
    plans_of.cache_clear()  # so that the streams are timed again
    simulation = Simulation(program, config, executor)
    began = time.perf_counter()
    simulation.run(inputs)
    return time.perf_counter() - began
