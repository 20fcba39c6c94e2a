"""Which operations share the weights that the first of them packs: those that follow each other with the same
weights, as tiles of a layer do, and nothing between them that writes to these or works in the arena."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import RECORD_BYTES
from dlasim.sim.fast_engine.operation_rows import FIELDS, KEPT, MAT_MUL, Rows, column, opcode

PACK, KEEP, REUSE = range(3)  # pack each block of channels when it is needed; keep all; use those kept before
_CONVOLUTIONS = [opcode("OP_CONV"), opcode("OP_CONV_RELU"), MAT_MUL]
_READ, _WRITE = opcode("OP_DMA_READ"), opcode("OP_DMA_WRITE")
# What packed weights, their constants and their place in the arena follow from, besides bytes in SRAM
_KEY = [
    column(name)
    for name in (
        "opcode", *FIELDS, "weight_addr", "weight_zp", "param_addr", "in_zp", "out_mult", "out_shift",
        "in_channels", "out_channels", "out_height", "out_width", "kernel_height", "kernel_width",
        "stride_height", "stride_width", "dilation_height", "dilation_width",
    )
]  # fmt: skip


def mark_kept(rows: Rows) -> None:
    """Write into each row whether its operation packs, keeps or reuses."""
    codes, kept = rows[:, 0], rows[:, column(KEPT)]
    kept[:] = PACK
    places = np.flatnonzero(np.isin(codes, _CONVOLUTIONS))
    if len(places) < 2:
        return
    key = rows[places][:, _KEY]
    shared = (key[1:] == key[:-1]).all(axis=1)
    span = rows[places[0] : places[-1]]
    following = np.searchsorted(places, np.arange(places[0], places[-1]), side="right")
    disturbed = _disturbs(span, rows[places[following]])
    shared &= np.bincount(following[disturbed] - 1, minlength=len(shared)) == 0
    kept[places[:-1][shared]] = KEEP
    kept[places[1:][shared]] = REUSE


def _disturbs(rows: Rows, users: Rows) -> NDArray[np.bool_]:
    """Whether each may write to the weights or the records that its user takes, or works in the arena."""
    codes = rows[:, 0]
    reads, convolves = codes == _READ, np.isin(codes, _CONVOLUTIONS)
    first = np.where(reads, _of(rows, "dma_in_sram_addr"), _of(rows, "out_addr"))
    read = (_of(rows, "dma_in_runs") - 1) * _of(rows, "dma_in_run_sram_stride")
    read += (_of(rows, "dma_in_planes") - 1) * _of(rows, "dma_in_plane_sram_stride")
    read += _of(rows, "dma_in_run_bytes")
    made = (_of(rows, "out_height") - 1) * _of(rows, "out_row_stride")
    made += (_of(rows, "out_width") - 1) * _of(rows, "out_pixel_stride")
    made += 4 * _of(rows, "out_channels")
    end = first + np.where(reads, read, made)
    outputs = _of(users, "out_channels")
    weights = outputs * _of(users, "in_channels") * _of(users, "kernel_height") * _of(users, "kernel_width")
    writes = np.zeros(len(rows), bool)
    for name, size in (("weight_addr", weights), ("param_addr", RECORD_BYTES * outputs)):
        address = _of(users, name)
        writes |= (first < address + size) & (address < end)
    disturbs: NDArray[np.bool_] = (codes != _WRITE) & (writes | ~(reads | convolves))
    return disturbs


def _of(rows: Rows, name: str) -> NDArray[np.int64]:
    return rows[:, column(name)]
