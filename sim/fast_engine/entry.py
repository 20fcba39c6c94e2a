"""The one compiled function: executes rows in order, whatever their instruction."""

from __future__ import annotations

from dlasim.native.routine import Number, Pointer, routine
from dlasim.sim.fast_engine.convolution import convolve_packed
from dlasim.sim.fast_engine.depthwise import depthwise
from dlasim.sim.fast_engine.elementwise import binary8, binary32, fill, requant, unary8
from dlasim.sim.fast_engine.job import Job
from dlasim.sim.fast_engine.memory_access import pointer_at
from dlasim.sim.fast_engine.operation_rows import OperationRow, opcode
from dlasim.sim.fast_engine.pooling import pool
from dlasim.sim.fast_engine.sixteen_bits import binary16, sigmoid16
from dlasim.sim.fast_engine.softmax import softmax
from dlasim.sim.fast_engine.tile_convolution import convolve_tiled
from dlasim.sim.fast_engine.tile_intrinsics import IS_TILED
from dlasim.sim.fast_engine.transfer import dma_read, dma_unpack, dma_write
from dlasim.sim.fast_engine.weight_decoding import dma_decode

_READ, _UNPACK, _DECODE, _WRITE = (opcode(f"OP_DMA_{name}") for name in ("READ", "UNPACK", "DECODE", "WRITE"))
_FILL, _POOL = opcode("OP_FILL"), opcode("OP_POOL")
_CONV, _CONV_RELU, _MAT_MUL, _DEPTH = (
    opcode(f"OP_{name}") for name in ("CONV", "CONV_RELU", "MAT_MUL", "DEPTH_CONV")
)
_REQUANT, _SHIFT32, _ADD32 = (opcode(f"OP_{name}") for name in ("REQUANT", "E32_SHIFT", "E32_ADD"))
_RELU, _LRELU, _LUT, _ABS = (opcode(f"OP_{name}") for name in ("ACT_RELU", "ACT_LRELU", "ACT_LUT", "E_ABS"))
_ADD, _SUB, _SQDIFF, _MUL, _MIN, _MAX = (
    opcode(f"OP_{name}") for name in ("E_ADD", "E_SUB", "E_SQDIFF", "E_MUL", "C_MIN", "C_MAX")
)
_SOFTMAX = opcode("OP_SOFTMAX")
_ADD16, _MUL16, _SIGMOID16 = (opcode(f"OP_E16_{name}") for name in ("ADD", "MUL", "SIGMOID"))
UNKNOWN = -1
convolve = convolve_tiled if IS_TILED else convolve_packed


@routine
def execute(row: OperationRow, sram: Pointer, regions: Pointer, arena: Pointer, capacity: Number) -> Number:
    """One operation. Returns 0, or the bytes of arena that it needs, or UNKNOWN; then nothing was done."""
    which = row.opcode
    if which in (_CONV, _CONV_RELU, _MAT_MUL):
        return convolve(row, sram, arena, capacity)
    if which == _DEPTH:
        return depthwise(row, sram, arena, capacity)
    if which == _READ:
        return dma_read(row, sram, regions)
    if which == _UNPACK:
        return dma_unpack(row, sram, regions)
    if which == _DECODE:
        return dma_decode(row, sram, regions)
    if which == _WRITE:
        return dma_write(row, sram, regions)
    if which in (_ADD, _SUB, _SQDIFF, _MUL, _MIN, _MAX):
        return binary8(row, sram)
    if which == _REQUANT:
        return requant(row, sram, arena, capacity)
    if which == _POOL:
        return pool(row, sram)
    if which in (_RELU, _LRELU, _LUT, _ABS):
        return unary8(row, sram, arena, capacity)
    if which in (_ADD32, _SHIFT32):
        return binary32(row, sram)
    if which in (_ADD16, _MUL16):
        return binary16(row, sram)
    if which == _SIGMOID16:
        return sigmoid16(row, sram)
    if which == _SOFTMAX:
        return softmax(row, sram)
    if which == _FILL:
        return fill(row, sram)
    return UNKNOWN


@routine
def run(job: Job) -> Number:
    """Run a job; returns how far it came."""
    sram, workspace = pointer_at(job.sram), job.workspace[0]
    arena = pointer_at(workspace.arena)
    for number in range(job.first, job.last):
        stopped = execute(job.rows[number], sram, job.regions, arena, workspace.capacity)
        if stopped != 0:
            workspace.stopped = stopped
            return number
    return job.last
