"""DMA: boxes of bytes between SRAM and a region."""

from __future__ import annotations

from dlasim.isa.registers import Region
from dlasim.sim.kernels.jit import Number, Pointer, kernel
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
REGIONS = len(Region)


@kernel
def copy_box(
    source: Number,
    source_at: Number,
    source_run: Number,
    source_plane: Number,
    target: Pointer,
    target_at: Number,
    target_run: Number,
    target_plane: Number,
    size: Number,
    runs: Number,
    planes: Number,
) -> None:
    """`planes` x `runs` runs of `size` bytes; what is dense on both sides moves in one go."""
    if source_run == size and target_run == size:
        size, runs = size * runs, 1
        if source_plane == size and target_plane == size:
            size, planes = size * planes, 1
    for plane in range(planes):
        here, there = source_at + plane * source_plane, target_at + plane * target_plane
        for _ in range(runs):
            if size <= _SHORT:
                for i in range(size):
                    put8(target, there + i, get8(source, here + i))
            else:
                copy_bytes(target, there, source, here, size)
            here += source_run
            there += target_run


@kernel
def dma_read(row: Pointer, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_READ."""
    copy_box(
        pointer_at(regions[row[IN_REGION]]), row[IN_OFFSET], row[IN_RUN], row[IN_PLANE],
        sram, row[IN_SRAM], row[IN_RUN_SRAM], row[IN_PLANE_SRAM],
        row[IN_BYTES], row[IN_RUNS], row[IN_PLANES],
    )  # fmt: skip
    return 0


@kernel
def dma_write(row: Pointer, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_WRITE."""
    copy_box(
        sram, row[OUT_SRAM], row[OUT_RUN_SRAM], row[OUT_PLANE_SRAM],
        pointer_at(regions[row[OUT_REGION]]), row[OUT_OFFSET], row[OUT_RUN], row[OUT_PLANE],
        row[OUT_BYTES], row[OUT_RUNS], row[OUT_PLANES],
    )  # fmt: skip
    return 0
