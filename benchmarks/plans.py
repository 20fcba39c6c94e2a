"""The compiler's plans: how close to the bound, and where a better machine or `auto` loses.

`python benchmarks/plans.py [MODEL.tflite ...]` prints, for the built-in networks or these files, cycles over
the bound; the worst pairs of machines of which one is better in a single number, and slower; and the worst
losses of `--place auto` against a placement that is forced. Fails where one is above the limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from compared.common import Networks

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.partition import UnplacedNetwork
from dlasim.compiler_shim.planner import PlanMemory
from dlasim.compiler_shim.topologies import topology_names
from dlasim.errors import InputError
from dlasim.native.backend import PLAIN, Backend
from dlasim.sim.config import DlaConfig
from dlasim.sim.lower_bound import find_bound
from dlasim.sim.runner import Simulation
from dlasim.sweeps.compiled import compile_routines, load

Timed = tuple[int, int] | None
KIB = 1 << 10
LIMIT = 1.005
SHOWN = 8
SIZES_KIB = (32, 64, 128, 256, 512, 1024, 2048)
BASES: tuple[Mapping[str, object], ...] = (
    {},
    {"parallel": "8x8"},
    {"parallel": "4x64", "dma_bandwidth": 4},
    {"parallel": "16x16", "dma_bandwidth": 4, "mac_fill": 16, "mac_drain": 16},
    {"parallel": "32x32", "mac_fill": 16, "mac_drain": 16, "dma_burst_overhead": 8},
    {"parallel": "input", "pes": 32, "sram_bandwidth": 16, "vector_lanes": 4},
)
BETTER: tuple[Mapping[str, object], ...] = (
    {"dma_bandwidth": 16},
    {"dma_latency": 16},
    {"dma_burst_overhead": 0},
    {"mac_fill": 2, "vector_fill": 1},
    {"mac_drain": 2, "vector_drain": 1},
    {"issue_cycles": 0},
    {"vector_lanes": 64},
    {"sram_bandwidth": 0},
)


@dataclass(frozen=True, slots=True)
class Loss:
    """A machine or an option that should not be slower than another, and is."""

    ratio: float
    text: str


class Timer:
    """Times networks on machines, each once."""

    def __init__(self, backend: Backend = PLAIN) -> None:
        self._backend = backend
        self._memory: dict[object, PlanMemory] = {}
        self._known: dict[object, Timed] = {}

    def time(
        self, name: str, network: UnplacedNetwork, config: DlaConfig, place: str
    ) -> tuple[int, int] | None:
        """Cycles and their bound; None where the machine is refused."""
        key = (name, config, place)
        if key not in self._known:
            self._known[key] = self._time(name, network, config, place)
        return self._known[key]

    def _time(
        self, name: str, network: UnplacedNetwork, config: DlaConfig, place: str
    ) -> tuple[int, int] | None:
        memory = self._memory.setdefault((name, config.replace(sram_bytes=KIB), place), PlanMemory())
        options = CompileOptions(place=place)
        try:
            program = lower_for(network, config, options, False, self._backend, memory).program
        except InputError:
            return None
        inference = Simulation(program, config, None, self._backend).run()
        cpu = sum(span.end - span.start for span in inference.host)
        return inference.total_cycles, find_bound(config, program.work, cpu).cycles


def main(arguments: list[str]) -> int:
    """Print everything; fails where a loss is above the limit."""
    timer = Timer(load(compile_routines()))
    losses: list[Loss] = []
    for name, network in networks(arguments):
        print_bounds(timer, name, network)
        losses += [*machine_losses(timer, name, network), *placement_losses(timer, name, network)]
    losses.sort(key=lambda loss: -loss.ratio)
    print(f"\n{sum(loss.ratio > LIMIT for loss in losses)} losses above {LIMIT}; the worst:")
    for loss in losses[:SHOWN]:
        print(f"  {loss.ratio:.4f}  {loss.text}")
    return int(bool(losses) and losses[0].ratio > LIMIT)


def networks(files: list[str]) -> Iterator[tuple[str, UnplacedNetwork]]:
    """The models to plan."""
    for file in files:
        yield Path(file).stem, load_model(file)
    if not files:
        with TemporaryDirectory() as folder:
            built_in = Networks(Path(folder))
            for name in topology_names():
                yield name, load_model(built_in.path(name))


def machines() -> Iterator[DlaConfig]:
    """Every base with every size of SRAM."""
    for base in BASES:
        for size in SIZES_KIB:
            yield DlaConfig().replace(**base, sram_bytes=size * KIB)


def print_bounds(timer: Timer, name: str, network: UnplacedNetwork) -> None:
    """Cycles over the bound, by machine and size of SRAM."""
    print(f"\n{name:<28}" + "".join(f"{size:>7}K" for size in SIZES_KIB))
    for base in BASES:
        cells = []
        for size in SIZES_KIB:
            found = timer.time(name, network, DlaConfig().replace(**base, sram_bytes=size * KIB), "auto")
            cells.append("refused" if found is None else f"{found[0] / found[1]:.3f}")
        text = ", ".join(str(value) for value in base.values()) or "default"
        print(f"{text[:28]:<28}" + "".join(f"{cell:>8}" for cell in cells))


def machine_losses(timer: Timer, name: str, network: UnplacedNetwork) -> Iterator[Loss]:
    """Pairs of machines that differ in one number, of which the better is slower."""
    for config in machines():
        before = timer.time(name, network, config, "auto")
        better = [{"sram_bytes": 2 * config.sram_bytes}, *BETTER]
        for change in better:
            changed = config.replace(**change)
            after = timer.time(name, network, changed, "auto")
            if before and after and changed != config and after[0] > before[0]:
                yield Loss(after[0] / before[0], f"{name} on {config.label}, better by {change}")


def placement_losses(timer: Timer, name: str, network: UnplacedNetwork) -> Iterator[Loss]:
    """Machines on which a forced placement is faster than `auto`."""
    for config in machines():
        auto = timer.time(name, network, config, "auto")
        for place in ("dla", "cpu"):
            forced = timer.time(name, network, config, place)
            if auto and forced and auto[0] > forced[0]:
                yield Loss(auto[0] / forced[0], f"{name} on {config.label}, --place {place}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
