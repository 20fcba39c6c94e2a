"""Whether OUT lies on bytes that its own operation reads: a unit writes results while it still reads.

The manual's rule, in terms that a circuit can check: ranges from the first byte to the last are apart, or the
operand is in place, or the two are slices of the same pixels or rows.
"""

from __future__ import annotations

from dlasim.isa.instruction_rows import Extent, Unit
from dlasim.native.routine import Number, routine
from dlasim.sim.programs.footprint import Box, Footprint


def overlaps_output(operand: Footprint, output: Footprint, unit: Unit) -> bool:
    """Whether an operand must not lie where it does, given where OUT lies."""
    source, target, extent = operand.box, output.box, operand.operand.extent
    if source.address >= target.end or target.address >= source.end:
        return False
    if extent.is_view and are_slices(source, target):
        return False
    is_like_output = extent is Extent.OUTPUT and operand.element_bytes == output.element_bytes
    return not (is_like_output and is_in_place(source, target, unit is Unit.MAC))


@routine
def is_in_place(source: Box, target: Box, is_mac: int) -> Number:
    """Whether element by element OUT lies on the operand, or, in VECTOR, before it: that unit reads and
    writes in the order of addresses if rows follow each other."""
    same_rows = (source.planes == 1) | (source.plane_stride == target.plane_stride)
    same_form = same_rows & ((source.runs == 1) | (source.run_stride == target.run_stride))
    if is_mac:
        return same_form & (source.address == target.address)
    in_order = (source.planes == 1) | (source.plane_stride >= _row_bytes(source))
    return same_form & ((source.address == target.address) | (in_order & (target.address < source.address)))


@routine
def are_slices(source: Box, target: Box) -> Number:
    """Whether both have bytes of their own of the same pixels, or of the same rows: equal strides, and runs
    apart in a pixel, or columns apart in a row."""
    pixel, row = source.run_stride, source.plane_stride
    same_rows = row == target.plane_stride
    clear_rows = (row >= source.runs * pixel) & (row >= target.runs * pixel)
    same_pixels = same_rows & (pixel == target.run_stride) & clear_rows
    in_pixels = _are_apart_within(pixel, source, source.run_bytes, target, target.run_bytes)
    in_rows = _are_apart_within(row, source, _row_bytes(source), target, _row_bytes(target))
    return (same_pixels & in_pixels) | (same_rows & in_rows)


@routine
def _are_apart_within(stride: Number, source: Box, own: Number, target: Box, other: Number) -> Number:
    """Whether bytes that repeat with a stride, so many from each address on, are apart."""
    first = (source.address + own <= target.address) & (target.address + other <= source.address + stride)
    last = (target.address + other <= source.address) & (source.address + own <= target.address + stride)
    return first | last


@routine
def _row_bytes(box: Box) -> Number:
    """From a row's first byte to its last one."""
    return (box.runs - 1) * box.run_stride + box.run_bytes
