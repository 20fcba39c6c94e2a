"""DMA: boxes of bytes between SRAM and a region."""

from __future__ import annotations

from dlasim.isa.instruction_rows import PACKED_BYTES
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, Pointer, routine
from dlasim.sim.fast_engine.memory_access import copy_bytes, get8, pointer_at, put8
from dlasim.sim.fast_engine.operation_rows import OperationRow

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
def dma_read(row: OperationRow, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_READ."""
    source = Side(
        pointer_at(regions[row.dma_in_region]),
        row.dma_in_offset,
        row.dma_in_run_stride,
        row.dma_in_plane_stride,
    )
    target = Side(sram, row.dma_in_sram_addr, row.dma_in_run_sram_stride, row.dma_in_plane_sram_stride)
    copy_box(source, target, row.dma_in_run_bytes, row.dma_in_runs, row.dma_in_planes)
    return 0


@routine
def dma_unpack(row: OperationRow, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_UNPACK."""
    memory, here, there = pointer_at(regions[row.dma_in_region]), row.dma_in_offset, row.dma_in_sram_addr
    packed = row.packed * PACKED_BYTES
    for i in range(packed):
        numbers = get8(memory, here + i)
        put8(sram, there + 2 * i, (numbers & 15 ^ 8) - 8)
        put8(sram, there + 2 * i + 1, numbers >> 4)
    copy_bytes(sram, there + 2 * packed, memory, here + packed, row.dma_in_run_bytes - 2 * packed)
    return 0


@routine
def dma_write(row: OperationRow, sram: Pointer, regions: Pointer) -> Number:
    """OP_DMA_WRITE."""
    source = Side(sram, row.dma_out_sram_addr, row.dma_out_run_sram_stride, row.dma_out_plane_sram_stride)
    target = Side(
        pointer_at(regions[row.dma_out_region]),
        row.dma_out_offset,
        row.dma_out_run_stride,
        row.dma_out_plane_stride,
    )
    copy_box(source, target, row.dma_out_run_bytes, row.dma_out_runs, row.dma_out_planes)
    return 0
