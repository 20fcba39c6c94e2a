"""Where a row holds the input view and the window over it."""

from __future__ import annotations

from dlasim.native.routine import Pointer, inlined
from dlasim.sim.kernels.finish import OPCODE
from dlasim.sim.kernels.operation_rows import column, opcode

IN_H, IN_W, IN_CHANNELS = (column(name) for name in ("IN_SIZE.0", "IN_SIZE.1", "IN_CHANNELS"))
IN_ADDR, IN_PIXEL, IN_ROW = (column(f"IN_{part}") for part in ("ADDR", "PIXEL_STRIDE", "ROW_STRIDE"))
KERNEL_H, KERNEL_W = column("KERNEL.0"), column("KERNEL.1")
STRIDE_H, STRIDE_W = column("STRIDE.0"), column("STRIDE.1")
DILATION_H, DILATION_W = column("DILATION.0"), column("DILATION.1")
PAD_TOP, PAD_LEFT = column("PAD.0"), column("PAD.1")
PAD_VALUE, IN_ZP = column("PAD_VALUE"), column("IN_ZP")
WEIGHT_ADDR, WEIGHT_ZP = column("WEIGHT_ADDR"), column("WEIGHT_ZP")
MAT_MUL = opcode("OP_MAT_MUL")


@inlined
def geometry(row: Pointer) -> tuple[int, int, int, int, int, int, int, int]:
    """(kernel, stride, dilation, pad) by height and width; a matrix product is a 1x1 convolution."""
    if row[OPCODE] == MAT_MUL:
        return (1, 1, 1, 1, 1, 1, 0, 0)
    return (
        row[KERNEL_H], row[KERNEL_W], row[STRIDE_H], row[STRIDE_W],
        row[DILATION_H], row[DILATION_W], row[PAD_TOP], row[PAD_LEFT],
    )  # fmt: skip
