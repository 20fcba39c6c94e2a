"""The compiler's plans: how close to the bound, and where a better machine or `auto` loses.

`python benchmarks/plans.py [MODEL.tflite ...]` prints, for the built-in networks or these files, cycles over
the bound, in parentheses over the bound with weights that do not fit into the SRAM; the worst pairs of
machines of which one is better in a single number, and slower; and the worst losses of `auto` against
placement, fusion and tiling that are forced. Fails where one is above the limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from compared.common import Networks

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.options import COMPILER_OPTIONS, CompileOptions
from dlasim.compiler_shim.planning.plan_maker import PlanMemory
from dlasim.compiler_shim.topologies import topology_names
from dlasim.errors import InputError
from dlasim.isa.file_records import StepKind
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import Program
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.timing.lower_bound import find_bound, program_bound

Timed = tuple[int, int, int] | None  # cycles, their bound, and that with this SRAM
LIMIT = 1.005
AUTO = CompileOptions()
SHOWN = 12
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
    {"sram_bandwidth": 64},
    {"sram_bandwidth": 0},
    {"sram_ports": 8},
    {"line_buffer_bytes": 64 * KIB, "weight_buffer_bytes": 64 * KIB},
    {"mac_results": 16.0, "vector_requantizations": 16.0, "vector_divisions": 16.0},
)
# What a user may force; `auto` with full fusion may lose to none of them.
FORCED: tuple[CompileOptions, ...] = tuple(
    CompileOptions(place=place, fusion=fusion, tiling=tiling)
    for place, fusion, tiling in product(
        *(COMPILER_OPTIONS[name].choices for name in ("place", "fusion", "tiling"))
    )
    if (place, fusion, tiling) != ("auto", "full", "auto")
)


@dataclass(frozen=True, slots=True)
class Loss:
    """A machine or an option that should not be slower than another, and is."""

    ratio: float
    text: str


class Timer:
    """Times networks on machines, each once."""

    def __init__(self) -> None:
        self._memory: dict[object, PlanMemory] = {}
        self._known: dict[object, Timed] = {}

    def time(
        self, name: str, network: UnplacedNetwork, config: DlaConfig, options: CompileOptions = AUTO
    ) -> Timed:
        """Cycles and their bounds; None where the machine is refused."""
        key = (name, config, options)
        if key not in self._known:
            self._known[key] = self._time(name, network, config, options)
        return self._known[key]

    def _time(self, name: str, network: UnplacedNetwork, config: DlaConfig, options: CompileOptions) -> Timed:
        memory = self._memory.setdefault((name, config.replace(sram_bytes=KIB), options), PlanMemory())
        try:
            program = lower_for(network, config, options, False, memory).program
        except InputError:
            return None
        inference = Simulation(program, config, None).run()
        cpu = {span.call: span.end - span.start for span in inference.host}
        least = program_bound(config, program, cpu).cycles
        return inference.total_cycles, least, max(least, sram_bound(config, program, sum(cpu.values())))


def main(arguments: list[str]) -> int:
    """Print everything; fails where a loss is above the limit."""
    timer = Timer()
    losses: list[Loss] = []
    for name, network in networks(arguments, topology_names()):
        print_bounds(timer, name, network)
        losses += [*machine_losses(timer, name, network), *option_losses(timer, name, network)]
    losses.sort(key=lambda loss: -loss.ratio)
    print(f"\n{sum(loss.ratio > LIMIT for loss in losses)} losses above {LIMIT}; the worst:")
    for loss in losses[:SHOWN]:
        print(f"  {loss.ratio:.4f}  {loss.text}")
    return int(bool(losses) and losses[0].ratio > LIMIT)


def networks(files: list[str], names: Sequence[str]) -> Iterator[tuple[str, UnplacedNetwork]]:
    """The models in files, or the built-in networks of these names."""
    for file in files:
        yield Path(file).stem, load_model(file)
    if not files:
        with TemporaryDirectory() as folder:
            built_in = Networks(Path(folder))
            for name in names:
                yield name, load_model(built_in.path(name))


def machines() -> Iterator[DlaConfig]:
    """Every base with every size of SRAM."""
    for base in BASES:
        for size in SIZES_KIB:
            yield DlaConfig().replace(**base, sram_bytes=size * KIB)


def print_bounds(timer: Timer, name: str, network: UnplacedNetwork) -> None:
    """Cycles over the bound, by machine and size of SRAM."""
    print(f"\n{name:<28}" + "".join(f"{size:>13}K" for size in SIZES_KIB))
    for base in BASES:
        cells = []
        for size in SIZES_KIB:
            found = timer.time(name, network, DlaConfig().replace(**base, sram_bytes=size * KIB))
            cells.append("refused" if found is None else ratios(*found))
        text = ", ".join(str(value) for value in base.values()) or "default"
        print(f"{text[:28]:<28}" + "".join(f"{cell:>14}" for cell in cells))


def ratios(cycles: int, least: int, with_sram: int) -> str:
    """Cycles over the bound; and over that with this SRAM, where it is more."""
    text = f"{cycles / least:.3f}"
    return text if with_sram == least else f"{text} ({cycles / with_sram:.3f})"


def sram_bound(config: DlaConfig, program: Program, cpu_cycles: int) -> int:
    """The least for plans that compute layers in the model's order, or in chains that keep their constants:
    not for those with a chain in groups of channels.

    When MAC is done with all layers before one, the constants from that layer on that have been loaded are
    all in the SRAM; the others take their time on the bus. Operators on the CPU count if all come last.
    """
    work = program.work
    reads = work["opcode"] == BY_MNEMONIC["OP_DMA_READ"].opcode
    constants = reads & (work["taps"] == Region.CONSTANTS)
    cycles, sizes, done = [], [], 0
    for layer in range(len(program.layers)):
        until = find_bound(config, work[work["layer"] <= layer]).units.get("MAC", 0)
        cycles.append(until - done)
        sizes.append(int(work["count"][constants & (work["layer"] == layer)].sum()))
        done = until
    most = in_order_cycles(cycles, sizes, config.sram_bytes, config.dma_bandwidth)
    is_last = len(program.streams) == 1 and program.steps[0].kind is StepKind.STREAM
    return most + cpu_cycles * is_last


def in_order_cycles(cycles: Sequence[int], sizes: Sequence[int], sram_bytes: int, bandwidth: int) -> int:
    """The least for layers in order, whose work in MAC and constants these are."""
    before, most, left = 0, 0, sum(sizes)
    for work, size in zip(cycles, sizes, strict=True):
        rest = max(left - sram_bytes, 0)
        most = max(most, before + (rest // bandwidth if bandwidth else 0))
        before, left = before + work, left - size
    return most


def machine_losses(timer: Timer, name: str, network: UnplacedNetwork) -> Iterator[Loss]:
    """Pairs of machines that differ in one number, of which the better is slower."""
    for config in machines():
        before = timer.time(name, network, config)
        better = [{"sram_bytes": 2 * config.sram_bytes}, *BETTER]
        for change in better:
            changed = config.replace(**change)
            after = timer.time(name, network, changed)
            if before and after and changed != config and after[0] > before[0]:
                yield Loss(after[0] / before[0], f"{name} on {config.label}, better by {change}")


def option_losses(timer: Timer, name: str, network: UnplacedNetwork) -> Iterator[Loss]:
    """Machines on which a forced placement, fusion or tiling is faster than `auto`."""
    for config in machines():
        auto = timer.time(name, network, config)
        for options in FORCED:
            forced = timer.time(name, network, config, options)
            if auto and forced and auto[0] > forced[0]:
                yield Loss(auto[0] / forced[0], f"{name} on {config.label}, {flags(options)}")


def flags(options: CompileOptions) -> str:
    """As a user writes them."""
    return f"--place {options.place} --fusion {options.fusion} --tiling {options.tiling}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
