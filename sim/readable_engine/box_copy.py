"""Copies between boxes of bytes: what the DMA units do."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dlasim.isa.weight_code import CODE_BYTES
from dlasim.sim.programs.footprint import Box
from dlasim.sim.readable_engine.weight_decoder import decode_words


def window(memory: NDArray[np.uint8], box: Box, writeable: bool = False) -> NDArray[np.uint8]:
    """The box as an array [plane, run, byte] that shares `memory`; the caller has checked the range."""
    assert 0 <= box.address <= box.end <= len(memory), "a box outside its memory is a fault, found before"
    shape = (box.planes, box.runs, box.run_bytes)
    strides = (box.plane_stride, box.run_stride, 1)
    return as_strided(memory[box.address :], shape, strides, writeable=writeable)


def copy_box(source: NDArray[np.uint8], source_box: Box, target: NDArray[np.uint8], target_box: Box) -> None:
    """Copy the bytes of one box into another of the same shape, in a memory of its own."""
    np.copyto(window(target, target_box, writeable=True), window(source, source_box))


def unpack_box(
    source: NDArray[np.uint8], source_box: Box, target: NDArray[np.uint8], target_box: Box, packed: int
) -> None:
    """Write two bytes for each packed one, its halves as signed numbers, low ones first; then copy."""
    read, written = window(source, source_box)[0, 0], window(target, target_box, writeable=True)[0, 0]
    numbers = read[:packed].astype(np.int8)
    written[: 2 * packed : 2] = numbers << 4 >> 4
    written[1 : 2 * packed : 2] = numbers >> 4
    written[2 * packed :] = read[packed:]


def decode_box(
    source: NDArray[np.uint8],
    source_box: Box,
    target: NDArray[np.uint8],
    target_box: Box,
    steps: int,
    copied: int,
) -> None:
    """Write the weights that words of code stand for; then copy the last bytes."""
    read, written = window(source, source_box)[0, 0], window(target, target_box, writeable=True)[0, 0]
    code, decoded = read[: len(read) - copied], written[: len(written) - copied]
    weights = decode_words(code.reshape(-1, CODE_BYTES), steps)[: len(decoded)]
    decoded[: len(weights)] = weights
    written[len(decoded) :] = read[len(code) :]
