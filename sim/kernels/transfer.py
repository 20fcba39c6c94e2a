"""DMA: boxes of bytes between SRAM and a region."""

from __future__ import annotations

from typing import NamedTuple

from dlasim.native.routine import Number, Pointer, routine
from dlasim.sim.kernels.memory_access import (
    copy_bytes,
    get8,
    pointer_at,
    put8,
)
from dlasim.sim.kernels.operation_rows import column

_PARTS = (
    "REGION", "OFFSET", "SRAM_ADDR", "RUN_BYTES", "RUNS", "RUN_STRIDE", "RUN_SRAM_STRIDE", "PLANES",
    "PLANE_STRIDE", "PLANE_SRAM_STRIDE",
)  # fmt: skip
(
    IN_REGION, IN_OFFSET, IN_SRAM, IN_BYTES, IN_RUNS, IN_RUN, IN_RUN_SRAM, IN_PLANES, IN_PLANE, IN_PLANE_SRAM,
) = (column(f"DMA_IN_{part}") for part in _PARTS)  # fmt: skip
(
    OUT_REGION, OUT_OFFSET, OUT_SRAM, OUT_BYTES, OUT_RUNS, OUT_RUN, OUT_RUN_SRAM, OUT_PLANES, OUT_PLANE,
    OUT_PLANE_SRAM,
) = (column(f"DMA_OUT_{part}") for part in _PARTS)  # fmt: skip
_SHORT = 16  # bytes that are quicker to move one by one than to call memcpy for


class Side(NamedTuple):
    """One side of a box: its memory, where its first run begins, and how far runs and planes are apart."""

    memory: Pointer
    first: Number
    run: Number
    plane: Number


@routine
def copy_box(source: Side, target: Side, size: Number, runs: Number, planes: Number) -> None:
    """`planes` x `runs` runs of `size` bytes; what is dense on both sides moves in one go."""
    if source.run == size and target.run == size:
        size, runs = size * runs, 1
        if source.plane == size and target.plane == size:
            size, planes = size * planes, 1
    for plane in range(planes):
        here, there = source.first + plane * source.plane, target.first + plane * target.plane
        for _ in range(runs):
            if size <= _SHORT:
                for i in range(size):
                    put8(target.memory, there + i, get8(source.memory, here + i))
            else:
                copy_bytes(target.memory, there, source.memory, here, size)
            here += source.run
            there += target.run


@routine
def dma_read(row: Pointer, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_READ."""
    source = Side(pointer_at(regions[row[IN_REGION]]), row[IN_OFFSET], row[IN_RUN], row[IN_PLANE])
    target = Side(sram, row[IN_SRAM], row[IN_RUN_SRAM], row[IN_PLANE_SRAM])
    copy_box(source, target, row[IN_BYTES], row[IN_RUNS], row[IN_PLANES])
    return 0


@routine
def dma_write(row: Pointer, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_WRITE."""
    source = Side(sram, row[OUT_SRAM], row[OUT_RUN_SRAM], row[OUT_PLANE_SRAM])
    target = Side(pointer_at(regions[row[OUT_REGION]]), row[OUT_OFFSET], row[OUT_RUN], row[OUT_PLANE])
    copy_box(source, target, row[OUT_BYTES], row[OUT_RUNS], row[OUT_PLANES])
    return 0
