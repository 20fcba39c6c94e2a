"""Every access of a stream's operations to SRAM and to system memory, as one table in program order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import CURSORS, Region
from dlasim.sim.programs.checks import READ_ONLY_REGIONS
from dlasim.sim.programs.footprint import Box, Count, all_footprints, dma_prefix, system_box
from dlasim.sim.programs.operation import Batch
from dlasim.sim.programs.stream import DecodedStream
from dlasim.sim.races.boxes import Boxes, Ints, canonical, stack

SRAM = 0
SPACE_BYTES = 1 << 58  # apart from each other, memories share one line of addresses
_LARGEST = 1 << 40  # size of a region, where none is given
_HOMES = np.array([region.home for region in Region])


@dataclass(frozen=True, slots=True)
class _Part:
    """The accesses of one operand of one instruction."""

    operation: Ints
    operand: str
    writes: bool
    space: Ints
    boxes: Boxes


@dataclass(frozen=True, eq=False)
class AccessTable:
    """Access i belongs to operation `operation[i]`; an operation's reads come before its writes.

    `space` is SRAM or 1 + region, and the boxes' addresses start at space * SPACE_BYTES.
    """

    operation: Ints
    operand: Ints  # index in `operands`
    operands: tuple[str, ...]
    writes: NDArray[np.bool_]
    space: Ints
    boxes: Boxes

    def __len__(self) -> int:
        return len(self.operation)

    @cached_property
    def low(self) -> Ints:
        """First byte of each."""
        return self.boxes.address

    @cached_property
    def high(self) -> Ints:
        """One past the last byte of each."""
        return self.boxes.end

    @cached_property
    def gap(self) -> Ints:
        """The common divisor of the strides of each."""
        return self.boxes.gap

    @cached_property
    def box_number(self) -> Ints:
        """A number for each different box, ascending with its first byte."""
        columns = (*self.boxes.columns[:0:-1], self.boxes.address)
        order = np.lexsort(columns)
        new = np.zeros(len(self), bool)
        for column in columns:
            new[1:] |= np.diff(column[order]) != 0
        numbers = np.empty(len(self), np.int64)
        numbers[order] = np.cumsum(new)
        return numbers


def access_table(
    stream: DecodedStream, operations: int, region_bytes: Mapping[Region, int] | None = None
) -> AccessTable:
    """The accesses of the first `operations`; constants and commands, which nothing writes, left out. One at
    a cursor is to all bytes that it can reach there: without sizes to all that follow."""
    parts: list[_Part] = []
    for numbers, batch in stream.batches(operations):
        for footprint in all_footprints(batch):
            operand = footprint.operand
            present = np.broadcast_to(footprint.present, len(numbers))
            parts.append(_part(numbers, present, operand.register, operand.writes, SRAM, footprint.box))
        if batch.instruction.is_transfer:
            parts.append(_system_part(numbers, batch, region_bytes or {}))
    return _table(parts)


def _system_part(numbers: Ints, batch: Batch, region_bytes: Mapping[Region, int]) -> _Part:
    prefix = dma_prefix(batch.instruction)
    region = batch.value(f"{prefix}_REGION")
    present = ~np.isin(region, READ_ONLY_REGIONS)
    writes = batch.instruction.unit is Unit.DMA_OUT
    box = _reached(system_box(batch), region, region_bytes)
    return _part(numbers, present, f"{prefix}_OFFSET", writes, _HOMES[region] + 1, box)


def _reached(box: Box, region: Ints, region_bytes: Mapping[Region, int]) -> Box:
    """A box where its region is; at a cursor one run of all bytes on which it can come to lie."""
    sizes = [(region_bytes.get(each.home, _LARGEST), region_bytes.get(each, 0)) for each in Region]
    moves = np.array([home - size for home, size in sizes])[region]
    run = box.address, 1, 0, 1, 0, box.end - box.address + moves
    at_cursor = np.isin(region, CURSORS)
    return Box(*(np.where(at_cursor, *parts) for parts in zip(run, box, strict=True)))


def _part(
    numbers: Ints, present: NDArray[np.bool_], operand: str, writes: bool, space: Count, box: Box
) -> _Part:
    spaces = np.broadcast_to(np.asarray(space, np.int64), len(numbers))[present]
    boxes = canonical(box, len(numbers)).take(present)
    np.add(boxes.address, spaces * SPACE_BYTES, out=boxes.address)
    return _Part(numbers[present], operand, writes, spaces, boxes)


def _table(parts: list[_Part]) -> AccessTable:
    operands = tuple(sorted({part.operand for part in parts}))
    if not parts:
        none = np.zeros(0, np.int64)
        return AccessTable(none, none, operands, none.astype(bool), none, Boxes(*[none] * 6))
    sizes = [len(part.operation) for part in parts]
    operation = np.concatenate([part.operation for part in parts])
    writes = np.repeat([part.writes for part in parts], sizes)
    operand = np.repeat([operands.index(part.operand) for part in parts], sizes)
    space = np.concatenate([part.space for part in parts])
    boxes = stack([part.boxes for part in parts])
    order = np.argsort(2 * operation + writes, kind="stable")
    return AccessTable(
        operation[order], operand[order], operands, writes[order], space[order], boxes.take(order)
    )


def memory_name(space: int) -> str:
    """What a memory is called in a report."""
    return "SRAM" if space == SRAM else f"region {Region(space - 1).name}"
