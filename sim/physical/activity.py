"""What the operations of a stream do that takes energy, beyond the MACs and bytes of `sim/timing/cost.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instructions import SOFTMAX_PASSES, Unit
from dlasim.sim.programs.footprint import dma_prefix, product
from dlasim.sim.programs.stream import Batches
from dlasim.sim.timing.output_stage import multiplications

NO_REGION = -1
RECIPROCAL_MULTIPLICATIONS = 7  # of OP_SOFTMAX for each pixel


@dataclass(frozen=True, slots=True)
class Activity:
    """Of each operation of a stream."""

    requantizations: NDArray[np.int64]  # int32 multiplications; a division counts as one
    elements: NDArray[np.int64]  # steps of the vector lanes
    pixels: NDArray[np.int64]  # of the output; 0 of transfers
    regions: NDArray[np.int64]  # of system memory that a transfer reads or writes, else NO_REGION


def stream_activity(operations: int, batches: Batches) -> Activity:
    """The activity of operations in order."""
    requantizations, elements, pixels = np.zeros((3, operations), np.int64)
    regions = np.full(operations, NO_REGION, np.int64)
    for chosen, batch in batches:
        instruction = batch.instruction
        if instruction.is_transfer:
            regions[chosen] = batch.value(f"{dma_prefix(instruction)}_REGION")
        else:
            pixels[chosen] = product(*batch.pair("OUT_SIZE"))
            results = product(pixels[chosen], batch.value("OUT_CHANNELS"))
            requantizations[chosen] = results * multiplications(batch)
            if instruction.normalizes_rows:
                requantizations[chosen] += pixels[chosen] * RECIPROCAL_MULTIPLICATIONS
                elements[chosen] = results * SOFTMAX_PASSES
            elif instruction.unit is Unit.VECTOR:
                elements[chosen] = product(results, *(batch.pair("KERNEL") if instruction.has_window else ()))
    return Activity(requantizations, elements, pixels, regions)
