"""What the operations of a stream do that takes energy, beyond the MACs and bytes of `sim/cost.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import Out, PoolMode, Unit
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import unit_costs
from dlasim.sim.footprint import Count, dma_prefix, product
from dlasim.sim.operation import Batch
from dlasim.sim.sram_traffic import moved_bytes
from dlasim.sim.stream import Batches

NO_REGION = -1


@dataclass(frozen=True, slots=True)
class Activity:
    """Of each operation of a stream."""

    requantizations: NDArray[np.int64]  # int32 multiplications; a division counts as one
    elements: NDArray[np.int64]  # steps of the vector lanes
    sram_bytes: NDArray[np.int64]  # that cross the ports, read or written
    regions: NDArray[np.int64]  # of system memory that a transfer reads or writes, else NO_REGION


def stream_activity(config: DlaConfig, operations: int, batches: Batches) -> Activity:
    """The activity of operations in order."""
    requantizations, elements, sram_bytes = np.zeros((3, operations), np.int64)
    regions = np.full(operations, NO_REGION, np.int64)
    for chosen, batch in batches:
        instruction = batch.instruction
        if instruction.is_transfer:
            regions[chosen] = batch.value(f"{dma_prefix(instruction)}_REGION")
        else:
            results = product(*batch.pair("OUT_SIZE"), batch.value("OUT_CHANNELS"))
            requantizations[chosen] = results * _requantizations(batch)
            if instruction.unit is Unit.VECTOR:
                elements[chosen] = product(results, *(batch.pair("KERNEL") if instruction.has_window else ()))
        sram_bytes[chosen] = moved_bytes(unit_costs(config, instruction.mnemonic), batch)
    return Activity(requantizations, elements, sram_bytes, regions)


def _requantizations(batch: Batch) -> Count:
    """Of each result. A sum rescales both inputs and then its output."""
    instruction = batch.instruction
    if "OUT_MULT" not in instruction.parameters:
        return 0
    if instruction.unit is Unit.MAC:
        return _field(batch, "out") == Out.INT8
    if instruction.mnemonic == "OP_POOL":
        return batch.fields["mode"] != PoolMode.MAX  # a mean is rescaled, an average divided
    return 3 if "IN2_MULT" in instruction.parameters else 1


def _field(batch: Batch, name: str) -> Any:
    """A field of the words, or 0 for an instruction without it."""
    return batch.fields.get(name, 0)
