"""Which bytes of SRAM an operation touches, as boxes of strided runs."""

from __future__ import annotations

from dataclasses import dataclass

from dlasim.isa.instructions import RECORD_BYTES, TABLE_BYTES, Extent, Operand, Unit
from dlasim.sim.operation import Operation

WIDE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Box:
    """`planes` x `runs` runs of `run_bytes` contiguous bytes."""

    address: int
    planes: int
    plane_stride: int
    runs: int
    run_stride: int
    run_bytes: int

    @property
    def end(self) -> int:
        """One past the last byte."""
        return (
            self.address
            + (self.planes - 1) * self.plane_stride
            + (self.runs - 1) * self.run_stride
            + self.run_bytes
        )

    @property
    def total_bytes(self) -> int:
        """Bytes moved when each run is touched once."""
        return self.planes * self.runs * self.run_bytes

    @property
    def is_disjoint(self) -> bool:
        """Whether no byte belongs to two runs: the smaller stride clears a run, the larger clears those."""
        span = self.run_bytes
        levels = sorted((stride, count) for stride, count in self._levels() if count > 1)
        for stride, count in levels:
            if stride < span:
                return False
            span = (count - 1) * stride + span
        return True

    def _levels(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.run_stride, self.runs), (self.plane_stride, self.planes)


@dataclass(frozen=True, slots=True)
class Footprint:
    """One operand of one operation, and the bytes it covers."""

    operand: Operand
    box: Box
    element_bytes: int


def footprints(operation: Operation) -> tuple[Footprint, ...]:
    """The SRAM operands of an operation that are present under its field values."""
    return tuple(
        _footprint(operation, operand)
        for operand in operation.instruction.operands
        if _is_present(operation, operand)
    )


def system_box(operation: Operation) -> Box:
    """The bytes of system memory that a transfer touches, as offsets in its region."""
    prefix = "DMA_IN" if operation.instruction.unit is Unit.DMA_IN else "DMA_OUT"
    return _transfer(operation, prefix, f"{prefix}_OFFSET", "STRIDE")


def _is_present(operation: Operation, operand: Operand) -> bool:
    conditions = operand.present_when
    return not conditions or any(operation.fields[c.field] in c.values for c in conditions)


def _footprint(operation: Operation, operand: Operand) -> Footprint:
    wide = operand.wide_when
    element = operand.element_bytes
    if wide is not None and operation.fields[wide.field] in wide.values:
        element = WIDE_BYTES
    if operand.extent is Extent.TRANSFER:
        prefix = operand.register.removesuffix("_SRAM_ADDR")
        return Footprint(operand, _transfer(operation, prefix, operand.register, "SRAM_STRIDE"), element)
    if operand.extent.is_view:
        return Footprint(operand, _view(operation, operand, element), element)
    size = _linear_bytes(operation, operand.extent)
    return Footprint(operand, Box(operation.value(operand.register), 1, 0, 1, 0, size), element)


def _view(operation: Operation, operand: Operand, element: int) -> Box:
    size, channels = {
        Extent.INPUT: ("IN_SIZE", "IN_CHANNELS"),
        Extent.OUTPUT: ("OUT_SIZE", "OUT_CHANNELS"),
        Extent.ROWS_OF_INPUT: ("OUT_SIZE", "IN_CHANNELS"),
    }[operand.extent]
    height, width = operation.pair(size)
    address, pixel_stride, row_stride = (operation.value(name) for name in operand.registers)
    return Box(address, height, row_stride, width, pixel_stride, operation.value(channels) * element)


def _linear_bytes(operation: Operation, extent: Extent) -> int:
    out_channels = operation.value("OUT_CHANNELS")
    taps = operation.pair("KERNEL")[0] * operation.pair("KERNEL")[1]
    match extent:
        case Extent.CONV_WEIGHTS:
            return out_channels * taps * operation.value("IN_CHANNELS")
        case Extent.DEPTH_WEIGHTS:
            return taps * out_channels
        case Extent.MATRIX:
            return out_channels * operation.value("IN_CHANNELS")
        case Extent.RECORDS:
            return out_channels * RECORD_BYTES
        case _:
            return TABLE_BYTES


def _transfer(operation: Operation, prefix: str, address: str, stride: str) -> Box:
    value = operation.value
    return Box(
        value(address),
        value(f"{prefix}_PLANES"),
        value(f"{prefix}_PLANE_{stride}"),
        value(f"{prefix}_RUNS"),
        value(f"{prefix}_RUN_{stride}"),
        value(f"{prefix}_RUN_BYTES"),
    )
