"""The performance counters: what a stream adds to each."""

from __future__ import annotations

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import COUNTERS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.accounting import Account
from dlasim.sim.timing.cost import Costs


def counter_values(config: DlaConfig, costs: Costs, account: Account) -> tuple[int, ...]:
    """What a stream adds to each counter, in table order; `costs` are those of the operations that run."""
    dma_in, dma_out, mac, vector = account.units
    moved = costs.dma_bytes
    values = {
        "CYCLES": account.total,
        "MACS": int(costs.macs.sum()),
        "MACS_POSSIBLE": mac.busy * config.pes,
        "BYTES_READ": int(moved[costs.unit == Unit.DMA_IN].sum()),
        "BYTES_WRITTEN": int(moved[costs.unit == Unit.DMA_OUT].sum()),
        "DMA_IN_BUSY": dma_in.busy,
        "DMA_OUT_BUSY": dma_out.busy,
        "MAC_BUSY": mac.busy,
        "VECTOR_BUSY": vector.busy,
        "ISSUE_BUSY": account.issue_busy,
        "STALL_WAIT": account.stall_wait,
        "STALL_QUEUE": account.stall_queue,
        "STALL_CONTENTION": sum(unit.contention for unit in account.units),
        "STALL_SRAM": mac.sram + vector.sram,
        "ONLY_COMPUTE": account.only_compute,
        "ONLY_DMA": account.only_dma,
        "BOTH": account.both,
        "NEITHER": account.neither,
    }
    assert tuple(values) == tuple(name for name, _ in COUNTERS)
    return tuple(values.values())
