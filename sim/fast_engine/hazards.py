"""Which operations the kernels leave to the readable engine: those whose output lies upon their inputs.

The meaning of an instruction is to read everything before it writes. The kernels read as they go, which is
the same where the output is apart from what is read, or is exactly the operand it is computed from element
by element.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import Elements, Extent
from dlasim.sim.programs.footprint import Box, Count, Footprint, all_footprints
from dlasim.sim.programs.operation import Batch

MAX_TAPS = 1 << 20
MAX_STAGED = 1 << 31  # offsets into the staged input are int32


def needs_reference(batch: Batch) -> NDArray[np.bool_]:
    """For each operation whether the kernels must not run it."""
    clash = np.zeros(len(batch.positions), bool)
    if not batch.instruction.is_compute:
        return clash
    *inputs, output = all_footprints(batch)
    for source in inputs:
        meets = source.present & _meet(source.box, output.box)
        if meets.any():
            clash |= meets & ~_interleaves(source.box, output.box) & ~_is_same(source, output)
    if batch.instruction.needs_int16:
        clash |= True
    if "elements" in batch.fields:  # the kernels know elements of int8 and int32
        clash |= batch.fields["elements"] == Elements.INT16
    return clash | _is_extreme(batch)


def _meet(a: Box, b: Box) -> NDArray[np.bool_]:
    """Whether the ranges from the first byte to the last have bytes in common."""
    hulls: NDArray[np.bool_] = np.less(a.address, b.end) & np.less(b.address, a.end)
    return hulls


def _interleaves(a: Box, b: Box) -> NDArray[np.bool_]:
    """Whether all runs start at the same two places modulo a common stride, clear of each other."""
    period: Count = np.gcd(_step(a), _step(b))
    safe = np.maximum(period, 1)
    distance = np.mod(np.subtract(b.address, a.address), safe)
    clear: NDArray[np.bool_] = (period > 0) & (distance >= a.run_bytes) & (distance + b.run_bytes <= safe)
    return clear


def _step(box: Box) -> Count:
    """The greatest distance that divides all between starts of runs; 0 for a single run."""
    return np.gcd(
        np.where(np.greater(box.runs, 1), box.run_stride, 0),
        np.where(np.greater(box.planes, 1), box.plane_stride, 0),
    )


def _is_same(source: Footprint, output: Footprint) -> NDArray[np.bool_]:
    """Whether an element of the input is exactly where the element computed from it goes."""
    a, b = source.box, output.box
    equal = [
        np.equal(getattr(a, name), getattr(b, name)) for name in ("address", "planes", "runs", "run_bytes")
    ]
    equal.append(np.equal(a.runs, 1) | np.equal(a.run_stride, b.run_stride))
    equal.append(np.equal(a.planes, 1) | np.equal(a.plane_stride, b.plane_stride))
    equal.append(np.equal(source.element_bytes, output.element_bytes))
    equal.append(np.bool_(source.operand.extent is Extent.OUTPUT))
    same: NDArray[np.bool_] = np.logical_and.reduce(np.broadcast_arrays(*equal))
    return same


def _is_extreme(batch: Batch) -> NDArray[np.bool_]:
    """Windows of more taps, or padded inputs of more elements, than the kernels make room for.

    In doubles, which do not wrap.
    """
    if not batch.instruction.has_window:
        return np.zeros(len(batch.positions), bool)
    taps, padded = np.ones(1), np.maximum(batch.value("IN_CHANNELS"), batch.value("OUT_CHANNELS")) + 16.0
    for axis in (0, 1):
        outputs, stride, kernel, dilation = (
            batch.pair(name)[axis].astype(np.float64) for name in ("OUT_SIZE", "STRIDE", "KERNEL", "DILATION")
        )
        taps = taps * kernel
        padded = padded * (outputs * stride + kernel * dilation)
    extreme: NDArray[np.bool_] = taps > MAX_TAPS
    if batch.instruction.reads_weights:  # pooling stages nothing
        extreme = extreme | (padded > MAX_STAGED)
    return extreme
