"""The memories behind the DMA: how fast each one is, the bus that it is on, and which regions lie in it.

Memory `system` is always there: the parameters `dma_…` describe it, and it holds every region that no named
memory does. Rates count in thousandths of a byte per cycle, so that all of time is whole numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.isa.registers import HOMES, Region
from dlasim.sim.configuration.memory_tables import SYSTEM, parse_table, scaled

if TYPE_CHECKING:
    from dlasim.sim.configuration.config import DlaConfig


@dataclass(frozen=True, slots=True)
class MemoryTiming:
    """A memory.

    `bandwidth`: what it moves for the DMA, and `bus_bandwidth`: what its bus moves in both directions
    together, in thousandths of a byte per cycle, 0 for no limit. `outstanding`: transfers of a DMA unit that
    may overlap: the latency of the next passes while others move their bytes.
    """

    name: str
    regions: tuple[str, ...]
    bandwidth: int = 0
    latency: int = 0
    outstanding: int = 1
    burst_bytes: int = 64
    burst_overhead: int = 0
    bus: str = SYSTEM
    bus_bandwidth: int = 0
    fetch_wait: int = 0  # cycles that the board's CPU waits for each word of code
    energy: str = ""  # a memory of the technology; "": where the technology places the region


def memories_of(config: DlaConfig) -> tuple[MemoryTiming, ...]:
    """All memories, `system` first."""
    return _memories(
        config.memories, config.buses, config.dma_latency, config.dma_burst_bytes, config.dma_burst_overhead,
        config.dma_shared_bandwidth,
    )  # fmt: skip


def memory_numbers(config: DlaConfig) -> tuple[int, ...]:
    """The number of the memory in which each region lies, by the region."""
    return _numbers(memories_of(config))


def fetch_wait_cycles(config: DlaConfig) -> int:
    """For how long the board's CPU waits for each word of its code, which lies where the commands do."""
    return memories_of(config)[memory_numbers(config)[Region.COMMANDS]].fetch_wait


@lru_cache(maxsize=64)
def _numbers(memories: tuple[MemoryTiming, ...]) -> tuple[int, ...]:
    of = {region: number for number, memory in enumerate(memories) for region in memory.regions}
    return tuple(of[region.home.name] for region in Region)


@lru_cache(maxsize=64)
def _memories(
    text: str, buses: str, latency: int, burst_bytes: int, burst_overhead: int, shared_bandwidth: int
) -> tuple[MemoryTiming, ...]:
    rates = {name: scaled(rate) for name, rate in parse_table("buses", buses).items()}
    rates[SYSTEM] = scaled(shared_bandwidth)
    named = [
        MemoryTiming(
            name,
            tuple(table.get("regions", ())),
            scaled(table.get("bandwidth", 0)) - scaled(table.get("cpu_bandwidth", 0)),
            table.get("latency", latency),
            table.get("outstanding", 1),
            table.get("burst_bytes", burst_bytes),
            table.get("burst_overhead", burst_overhead),
            bus := table.get("bus", SYSTEM),
            rates.get(bus, 0),
            table.get("fetch_wait", 0),
            table.get("energy", ""),
        )
        for name, table in parse_table("memories", text).items()
    ]
    taken = {region for memory in named for region in memory.regions}
    rest = tuple(region.name for region in HOMES if region.name not in taken)
    system = MemoryTiming(
        SYSTEM, rest, 0, latency, 1, burst_bytes, burst_overhead, SYSTEM, scaled(shared_bandwidth)
    )
    return (system, *named)
