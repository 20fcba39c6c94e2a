"""Which bytes an operation touches, as boxes of strided runs; for one operation or for many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import (
    COPIED_BYTES,
    PACKED_BYTES,
    RECORD_BYTES,
    Extent,
    Instruction,
    Operand,
    Unit,
)
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.named_tuple import NamedTuple
from dlasim.native.routine import Number, routine
from dlasim.sim.programs.operation import Batch, Operation

STEP_LIMIT = 1 << 62  # products beyond are cut here; nothing so large is legal
_ONE: NDArray[np.int64] = np.ones(1, np.int64)
_ONE_ABOUT: NDArray[np.float64] = np.ones(1)

Count: TypeAlias = Any  # an int for one operation, an int64 array for a batch
Truth: TypeAlias = Any  # likewise, of truth values


class Box(NamedTuple):
    """`planes` x `runs` runs of `run_bytes` contiguous bytes."""

    address: Number
    planes: Number
    plane_stride: Number
    runs: Number
    run_stride: Number
    run_bytes: Number

    @property
    def end(self) -> Count:
        """One past the last byte."""
        return box_end(self)

    @property
    def is_disjoint(self) -> Truth:
        """Whether no byte belongs to two runs."""
        return are_runs_disjoint(self)


@routine
def box_end(box: Box) -> Number:
    """One past the last byte."""
    return box.address + (box.planes - 1) * box.plane_stride + (box.runs - 1) * box.run_stride + box.run_bytes


@routine
def are_runs_disjoint(box: Box) -> Number:
    """Whether no byte belongs to two runs: one stride clears a run, the other clears all of those."""
    return _are_nested(box.run_bytes, box.runs, box.run_stride, box.planes, box.plane_stride) | _are_nested(
        box.run_bytes, box.planes, box.plane_stride, box.runs, box.run_stride
    )


@routine
def _are_nested(run_bytes: Number, few: Number, small: Number, many: Number, large: Number) -> Number:
    """Whether the inner stride clears a run, and the outer one all inner runs."""
    return ((few == 1) | (small >= run_bytes)) & ((many == 1) | (large >= (few - 1) * small + run_bytes))


@dataclass(frozen=True, slots=True)
class Footprint:
    """One operand, the bytes it covers, and whether the operation's fields call for it."""

    operand: Operand
    box: Box
    element_bytes: Count
    present: Truth


def footprints(operation: Operation) -> tuple[Footprint, ...]:
    """The SRAM operands of one operation, those present under its field values."""
    return tuple(footprint for footprint in all_footprints(operation) if footprint.present)


def all_footprints(operation: Operation | Batch) -> tuple[Footprint, ...]:
    """Every SRAM operand of the instruction, present or not."""
    return tuple(_footprint(operation, operand) for operand in operation.instruction.operands)


def system_box(operation: Operation | Batch) -> Box:
    """The bytes of system memory that a transfer touches, as offsets in its region."""
    prefix = dma_prefix(operation.instruction)
    box = _transfer(operation, prefix, f"{prefix}_OFFSET", "STRIDE")
    return box._replace(run_bytes=box.run_bytes - saved_bytes(operation)) if operation.fields else box


def saved_bytes(operation: Operation | Batch) -> Count:
    """By how many bytes a transfer writes more than it reads; code may be longer than what it stands for."""
    saved = packed_bytes(operation)
    return saved + decoded_bytes(operation) - code_bytes(operation) if "copied" in operation.fields else saved


def code_bytes(operation: Operation | Batch) -> Count:
    """The bytes of system memory that a transfer decodes."""
    return operation.fields.get("words", 0) * CODE_BYTES


def decoded_bytes(operation: Operation | Batch) -> Count:
    """What a transfer that decodes writes besides what it copies; below 0 if the fields do not fit."""
    return operation.value("DMA_IN_RUN_BYTES") - operation.fields["copied"] * COPIED_BYTES


def packed_bytes(operation: Operation | Batch) -> Count:
    """The bytes of system memory from which a transfer unpacks twice as many."""
    return operation.fields.get("packed", 0) * PACKED_BYTES


def dma_prefix(instruction: Instruction) -> str:
    """How the registers of a transfer start."""
    return "DMA_IN" if instruction.unit is Unit.DMA_IN else "DMA_OUT"


def product(*factors: Count) -> Count:
    """The product, cut at STEP_LIMIT."""
    if all(isinstance(factor, int) for factor in factors):
        result = 1
        for factor in factors:
            result *= int(factor)
        return min(result, STEP_LIMIT)
    size, exact = _ONE_ABOUT, _ONE
    for factor in factors:
        size, exact = size * factor, exact * factor
    return exact if size.max(initial=0) < STEP_LIMIT else np.where(size < STEP_LIMIT, exact, STEP_LIMIT)


def is_present(fields: Mapping[str, Count], operand: Operand) -> Truth:
    """Whether the values of an instruction's fields call for an operand."""
    if not operand.present_when:
        return True
    present: Truth = False
    for condition in operand.present_when:
        for value in condition.values:
            present = present | (fields[condition.field] == value)
    return present


def element_bytes(fields: Mapping[str, Count], operand: Operand) -> Count:
    """The bytes of an operand's elements with these values of the instruction's fields."""
    size: Count = operand.element_bytes
    for other, condition in operand.other_widths:
        size = size + (fields[condition.field] == condition.values[0]) * (other - size)
    return size


def _footprint(operation: Operation | Batch, operand: Operand) -> Footprint:
    element = element_bytes(operation.fields, operand)
    present = is_present(operation.fields, operand)
    if operand.extent is Extent.TRANSFER:
        prefix = dma_prefix(operation.instruction)
        box = _transfer(operation, prefix, operand.register, "SRAM_STRIDE")
    elif operand.extent.is_view:
        box = _view(operation, operand, element)
    else:
        size = linear_bytes(operation, operand.extent)
        size = size * element if operand.extent is Extent.MATRIX else size
        box = Box(operation.value(operand.register), 1, 0, 1, 0, size)
    return Footprint(operand, box, element, present)


def _view(operation: Operation | Batch, operand: Operand, element: Count) -> Box:
    size, channels = {
        Extent.INPUT: ("IN_SIZE", "IN_CHANNELS"),
        Extent.OUTPUT: ("OUT_SIZE", "OUT_CHANNELS"),
        Extent.ROWS_OF_INPUT: ("OUT_SIZE", "IN_CHANNELS"),
    }[operand.extent]
    height, width = operation.pair(size)
    address, pixel_stride, row_stride = (operation.value(name) for name in operand.registers)
    return Box(address, height, row_stride, width, pixel_stride, operation.value(channels) * element)


def linear_bytes(operation: Operation | Batch, extent: Extent) -> Count:
    """Length of an operand that is one run: elements of a matrix, bytes of others."""
    out_channels = operation.value("OUT_CHANNELS")
    match extent:
        case Extent.CONV_WEIGHTS:
            return product(out_channels, *operation.pair("KERNEL"), operation.value("IN_CHANNELS"))
        case Extent.DEPTH_WEIGHTS:
            return product(*operation.pair("KERNEL"), out_channels)
        case Extent.MATRIX:
            return product(out_channels, operation.value("IN_CHANNELS"))
        case Extent.RECORDS:
            return out_channels * RECORD_BYTES
        case _:
            return extent.table_bytes


def _transfer(operation: Operation | Batch, prefix: str, address: str, stride: str) -> Box:
    value = operation.value
    return Box(
        value(address),
        value(f"{prefix}_PLANES"),
        value(f"{prefix}_PLANE_{stride}"),
        value(f"{prefix}_RUNS"),
        value(f"{prefix}_RUN_{stride}"),
        value(f"{prefix}_RUN_BYTES"),
    )
