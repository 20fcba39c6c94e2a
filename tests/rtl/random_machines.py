"""`python -m tests.rtl.random_machines [COUNT]`: networks on machines drawn by chance, RTL beside simulator.

Each number is the seed of a machine. The row of a network goes to benchmarks/compared/rtl_random.csv as soon
as it is there; an interrupted run goes on. `python tools/generate.py` puts the table into docs/rtl.md.
"""

import argparse
import csv
import math
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.memory_timing import memories_of
from dlasim.vp.system.rtl_library import refusal
from tests.rtl.builder import ROOT
from tests.rtl.drawn_networks import networks, write_network
from tests.rtl.machines import IDEAL
from tests.rtl.networks import Outcome, lowered, run_on_both

KEPT = ROOT / "benchmarks" / "compared" / "rtl_random.csv"
COLUMNS = ("seed", "machine", "network", "rtl_cycles", "simulator_cycles")
COUNT = 110
IDEAL_STEP = 5  # one machine with ideal ports among so many
FIRST_WITH_MEMORIES = 18  # machines of earlier seeds ran on an RTL with one memory
FIRST_WITH_PIXELS = 100  # from here on arrays compute several pixels at once
MOST_LANES = 48  # of an array of one row or column; a build takes longer with each

Row = dict[str, str]


def _one_of(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def drawn(seed: int) -> DlaConfig:
    """The machine of a seed: every parameter that changes the RTL's cycles is drawn, each value as likely as
    another."""
    rng = np.random.default_rng([35, seed])
    one_of = partial(_one_of, rng)
    values = {
        "parallel": f"{rng.integers(1, 14)}x{rng.integers(1, 14)}",
        "sram_bytes": int(rng.integers(24, 256)) * 1024,
        "sram_bandwidth": one_of(4, 8, 16, 32, 64),
        "sram_ports": int(rng.integers(1, 9)),
        "sram_dma_ports": one_of(0, 0, 1),
        "sram_banks": one_of(1, 2, 3, 4, 5, 8, 12, 16),
        "line_buffer_bytes": one_of(256, 1000, 2048, 4096, 16384, "unlimited"),
        "weight_buffer_bytes": one_of(256, 1024, 3000, 8192, 16384, "unlimited"),
        "accumulators": one_of(1, 2, 3, 4, 8, 13, 16, 32, 64),
        "mac_step_group": one_of(1, 1, 2, 3, 4, 8),
        "mac_weights": one_of(*["unlimited"] * 3, 1, 2, 4, 7, 8, 16, 32),
        "mac_results": one_of("unlimited", 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8),
        "mac_sums": one_of(0, 1),
        "vector_requantizations": one_of("unlimited", 0.5, 0.75, 1, 2, 3, 4, 8),
        "vector_divisions": one_of("unlimited", 0.1, 0.3, 0.5, 1, 2),
        "vector_lanes": int(rng.integers(1, 17)),
        "dma_bandwidth": one_of(1, 2, 3, 4, 5, 8, 16, 32),
        "dma_shared_bandwidth": one_of(*["unlimited"] * 3, 2, 5, 8, 11),
        "dma_latency": int(rng.integers(0, 200)),
        "dma_burst_bytes": one_of(8, 10, 16, 32, 64, 256),
        "dma_burst_overhead": one_of(0, 0, 1, 3, 8),
        "dma_unpacking": one_of(0, 3, 4, 8),
        "dma_decoding": one_of(0, 4, 7, 16),
        "int16": one_of(0, 0, 1),
        "issue_cycles": one_of(1, 1, 2, 5),
        "check_cycles": one_of(16, 16, 20, 40),
        "queue_depth": one_of(1, 2, 3, 4, 8),
        "compute_overlap": one_of(1, 1, 0),
        "mac_fill": int(rng.integers(4, 12)),
        "mac_drain": int(rng.integers(6, 16)),
        "vector_fill": int(rng.integers(2, 8)),
        "vector_drain": int(rng.integers(8, 16)),
    }
    if rng.random() < 0.25:
        values |= {"parallel": one_of("input", "output"), "pes": int(rng.integers(1, MOST_LANES))}
    if seed % IDEAL_STEP == 0:
        values |= IDEAL
    if seed >= FIRST_WITH_MEMORIES:
        values |= _drawn_memories(seed)
    if seed >= FIRST_WITH_PIXELS:
        values |= _drawn_pixels(seed)
    config = DlaConfig(name=f"random-{seed}").replace(**values)
    assert not refusal(config)
    return config


def _drawn_memories(seed: int) -> dict[str, Any]:
    """A second memory, and a third one where constants lie in one of their own, or none."""
    rng = np.random.default_rng([35, seed, 1])
    regions = _one_of(rng, [], ["constants"], ["constants", "arena"], ["inputs", "outputs"])
    memories = {"flash": _drawn_memory(rng, regions)} if regions else {}
    if regions == ["constants"] and _one_of(rng, False, True):
        memories["psram"] = _drawn_memory(rng, ["arena"])
    return {"memories": memories, "buses": {"axi": _one_of(rng, 1.5, 4, 6.25, "unlimited")}}


def _drawn_pixels(seed: int) -> dict[str, Any]:
    """An array for several pixels, in place of one for a single one."""
    rng = np.random.default_rng([35, seed, 2])
    grid = rng.integers(1, 9), rng.integers(1, 9), _one_of(rng, 2, 3, 4, 6, 8)
    handover = _one_of(rng, "results", "results", "blocks")
    return {"parallel": "x".join(map(str, grid)), "pes": int(np.prod(grid)), "mac_handover": handover}


def _drawn_memory(rng: np.random.Generator, regions: list[str]) -> dict[str, Any]:
    return {
        "regions": regions,
        "bandwidth": _one_of(rng, "unlimited", 0.5, 0.7, 1, 2.5, 4, 8),
        "latency": int(rng.integers(0, 100)),
        "outstanding": _one_of(rng, 1, 1, 2, 3, 8),
        "burst_bytes": _one_of(rng, 8, 10, 32, 128),
        "burst_overhead": _one_of(rng, 0, 0, 1, 4),
        "bus": _one_of(rng, "system", "axi"),
    }


def described(config: DlaConfig) -> str:
    """What of a machine counts most, for a table."""
    lanes = "x".join(map(str, config.lanes))
    if (pixels := math.prod(config.pixel_tile)) > 1:
        lanes += f"x{pixels}"
    if (count := len(memories_of(config))) > 1:
        lanes += f", {count} memories"
    if not config.sram_bandwidth:
        return f"{lanes}, ideal ports"
    ports = f"{config.sram_ports} of {config.sram_bandwidth} B, {config.sram_banks} banks"
    buffers = "/".join(_limit(size) for size in (config.line_buffer_bytes, config.weight_buffer_bytes))
    return f"{lanes}, {ports}, {buffers} B, {config.accumulators} sums, {_limit(config.mac_results)} results"


def _limit(value: float) -> str:
    return f"{value:g}" if value else "∞"


def run_network(name: str, config: DlaConfig) -> Outcome:
    """A network on both sides."""
    with tempfile.TemporaryDirectory() as folder:
        return run_on_both(lowered(write_network(name, Path(folder)), config), config)


def main() -> int:
    """Measure the rows that the file lacks; 1 where a result differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("count", nargs="?", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    wrong = 0
    for seed in range(arguments.first, arguments.count):
        config = drawn(seed)
        place = {"seed": str(seed), "machine": described(config)}
        known = {row["network"] for row in kept() if place.items() <= row.items()}
        for name in networks(bool(config.int16)):
            if name not in known:
                wrong += not _measure(name, config, place)
    return 1 if wrong else 0


def _measure(name: str, config: DlaConfig, place: Row) -> bool:
    """Keep the network's row, if both sides have the same results."""
    try:
        outcome = run_network(name, config)
        differences = outcome.wrong_results if config.sram_bandwidth else outcome.differences
    except AssertionError as error:  # `crossing.sv` stopped it
        differences = [str(error)]
    if differences:
        print(config.name, name, *differences[:2], sep="; ", flush=True)
        return False
    cycles = {"rtl_cycles": outcome.rtl_cycles, "simulator_cycles": outcome.simulator_cycles}
    row = {**place, "network": name, **{side: str(count) for side, count in cycles.items()}}
    print(*row.values(), f"{outcome.rtl_seconds:.1f} s", sep="; ", flush=True)
    keep(row)
    return True


def kept() -> list[Row]:
    """The rows of the file."""
    if not KEPT.exists():
        return []
    with KEPT.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keep(row: Row) -> None:
    """Add a row to the file."""
    is_new = not KEPT.exists()
    with KEPT.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    sys.exit(main())
