"""What the operations of a stream do that takes energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import SOFTMAX_PASSES, Elements, Unit, Weights
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.memory_macros import port_bytes
from dlasim.sim.programs.footprint import dma_prefix, product
from dlasim.sim.programs.stream import Batches, DecodedStream
from dlasim.sim.timing.output_stage import multiplications
from dlasim.sim.timing.sram_words import stream_accesses
from dlasim.sim.timing.stream_columns import Costs
from dlasim.sim.timing.timeline import Timeline

NO_REGION = -1
_REGIONS = max(Region) + 2  # with none
RECIPROCAL_MULTIPLICATIONS = 7  # of OP_SOFTMAX for each pixel


@dataclass(frozen=True, slots=True)
class Activity:
    """Of each operation of a stream."""

    requantizations: NDArray[np.int64]  # int32 multiplications; a division counts as one
    elements: NDArray[np.int64]  # steps of the vector lanes
    passes: NDArray[np.int64]  # of the MAC unit: multiplications of bytes for a product
    turns: NDArray[np.int64]  # in which MAC takes the pixels of the output; 0 of transfers
    regions: NDArray[np.int64]  # of system memory that a transfer reads or writes, else NO_REGION


def stream_activity(operations: int, batches: Batches, pixel_tile: tuple[int, int] = (1, 1)) -> Activity:
    """The activity of operations in order. MAC takes so many rows and columns of pixels in a turn."""
    requantizations, elements, pixels, turns = np.zeros((4, operations), np.int64)
    passes = np.ones(operations, np.int64)
    regions = np.full(operations, NO_REGION, np.int64)
    for chosen, batch in batches:
        instruction = batch.instruction
        if instruction.is_transfer:
            regions[chosen] = batch.value(f"{dma_prefix(instruction)}_REGION")
        else:
            pixels[chosen] = product(*batch.pair("OUT_SIZE"))
            turns[chosen] = product(
                *(-(-size // each) for size, each in zip(batch.pair("OUT_SIZE"), pixel_tile, strict=True))
            )
            passes[chosen] <<= batch.fields.get("elements", Elements.INT8) == Elements.INT16
            passes[chosen] <<= batch.fields.get("weights", Weights.INT8) == Weights.INT16
            results = product(pixels[chosen], batch.value("OUT_CHANNELS"))
            requantizations[chosen] = results * multiplications(batch)
            if instruction.normalizes_rows:
                of_row = 0 if instruction.needs_int16 else RECIPROCAL_MULTIPLICATIONS
                requantizations[chosen] += pixels[chosen] * of_row
                elements[chosen] = results * SOFTMAX_PASSES
            elif instruction.unit is Unit.VECTOR:
                elements[chosen] = product(results, *(batch.pair("KERNEL") if instruction.has_window else ()))
    return Activity(requantizations, elements, passes, turns, regions)


@dataclass(frozen=True, slots=True)
class EnergyCounts:
    """What takes energy: of each operation, or of each group of operations. It does not depend on the size of
    the SRAM, and the energy of a row is linear in all but its unit and region."""

    unit: NDArray[np.int64]
    region: NDArray[np.int64]
    macs: NDArray[Any]
    requantizations: NDArray[Any]
    elements: NDArray[Any]
    accesses: NDArray[Any]  # in which the bytes cross the SRAM's ports
    work: NDArray[Any]  # cycles
    weights: NDArray[Any]  # that the weight buffer gives: once for the pixels of a block
    dma_bytes: NDArray[Any]
    cycles: NDArray[Any]  # in which the unit runs

    def rows(self) -> list[NDArray[Any]]:
        """All that the energy is linear in."""
        return [getattr(self, field.name) for field in fields(self)[2:]]


def count_operations(
    config: DlaConfig, stream: DecodedStream, costs: Costs, timeline: Timeline, count: int
) -> EnergyCounts:
    """The counts of each of the first `count` operations of a stream."""
    activity = stream_activity(count, stream.batches(count), config.pixel_tile)
    unit, work = costs.unit[:count], costs.work[:count]
    accesses = stream_accesses(config, stream.batches(count), costs.sram_bytes[:count], port_bytes(config))
    block = np.clip(activity.turns, 1, config.accumulators or None)
    return EnergyCounts(
        unit, activity.regions, costs.macs[:count] * activity.passes, activity.requantizations,
        activity.elements, accesses, work, work / block, costs.dma_bytes[:count],
        timeline.end - timeline.start,
    )  # fmt: skip


def grouped(counts: Sequence[EnergyCounts]) -> EnergyCounts:
    """The sums of all operations of one unit and region."""
    keys = np.concatenate([each.unit * _REGIONS + each.region - NO_REGION for each in counts])
    columns = zip(*(each.rows() for each in counts), strict=True)
    known, row_of = np.unique(keys, return_inverse=True)
    sums = [np.bincount(row_of, np.concatenate(column), len(known)) for column in columns]
    return EnergyCounts(known // _REGIONS, known % _REGIONS + NO_REGION, *sums)
