"""Output bytes that an inference never wrote, as a forgotten or too short OP_DMA_WRITE leaves them.

What was written follows from the transfers of the plans and from the host calls, so the check reads no
tensor. It also works where only time is computed; its cost is that of listing the transfers to the outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dlasim.dataclass import dataclass
from dlasim.isa.file_records import Role
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program, TensorDescriptor
from dlasim.isa.registers import Region
from dlasim.sim.execution.runner import Inference
from dlasim.sim.programs.footprint import system_box
from dlasim.sim.races.boxes import Boxes, Ints, canonical, expand

MAX_RUNS = 1 << 24  # of contiguous bytes; a program that writes more single runs is not checked
_FILLED_BEFORE = (Role.INPUT, Role.VARIABLE, Role.CONSTANT)  # before the inference starts
_NO_RANGES = np.zeros((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class UnwrittenOutput:
    """An output tensor of which some bytes were never written; `first_offset` is in its region."""

    name: str
    region: Region
    missing_bytes: int
    size_bytes: int
    first_offset: int

    def __str__(self) -> str:
        """One line that says what is missing and where to look."""
        if self.missing_bytes == self.size_bytes:
            lost = f"nothing wrote its {self.size_bytes:,} bytes"
            advice = f"is an OP_DMA_WRITE to region {self.region.name} missing?"
        else:
            lost = f"nothing wrote {self.missing_bytes:,} of its {self.size_bytes:,} bytes"
            advice = (
                f"the first is at offset {self.first_offset:#x} of region {self.region.name}; check the "
                "size and strides of each OP_DMA_WRITE"
            )
        return f"output {self.name}: {lost}; {advice}"


def unwritten_outputs(program: Program, inference: Inference) -> tuple[UnwrittenOutput, ...]:
    """The outputs that the inference left unwritten, in whole or in part."""
    found = []
    for region in sorted({tensor.region for tensor in program.outputs} - {Region.CONSTANTS}):
        outputs = [tensor for tensor in program.outputs if tensor.region is region and tensor.size_bytes]
        written = _written(program, inference, region)
        if written is not None:
            found += [lack for tensor in outputs if (lack := _missing(tensor, written)) is not None]
    return tuple(found)


def _missing(tensor: TensorDescriptor, written: Ints) -> UnwrittenOutput | None:
    """What `written` (disjoint ascending ranges) leaves out of a tensor."""
    begin, end = tensor.offset, tensor.offset + tensor.size_bytes
    inside = np.clip(written, begin, end)
    inside = inside[inside[:, 0] < inside[:, 1]]
    missing = tensor.size_bytes - int((inside[:, 1] - inside[:, 0]).sum())
    if not missing:
        return None
    gaps_start = np.concatenate(([begin], inside[:, 1]))
    gaps_end = np.concatenate((inside[:, 0], [end]))
    first = int(gaps_start[np.argmax(gaps_start < gaps_end)])
    return UnwrittenOutput(tensor.name, tensor.region, missing, tensor.size_bytes, first)


def _written(program: Program, inference: Inference, region: Region) -> Ints | None:
    """The bytes of a region that hold a value after the inference, as ranges; None if they are too many."""
    numbers = {number for span in inference.host for number in program.host_calls[span.call].outputs}
    filled = [
        tensor
        for number, tensor in enumerate(program.tensors)
        if tensor.region is region and (number in numbers or tensor.role in _FILLED_BEFORE)
    ]
    ranges = [_ranges_of(filled)]
    for boxes in _transfers(inference, region):
        if int((boxes.planes.astype(float) * boxes.runs).sum()) > MAX_RUNS:
            return None
        ranges += _runs_of(boxes)
    return _merged(np.concatenate(ranges))


def _ranges_of(tensors: Sequence[TensorDescriptor]) -> Ints:
    rows = [(tensor.offset, tensor.offset + tensor.size_bytes) for tensor in tensors]
    return np.array(rows, np.int64) if rows else _NO_RANGES


def _transfers(inference: Inference, region: Region) -> Iterable[Boxes]:
    """The boxes that the accelerator wrote to a region, a stream at a time."""
    for run in inference.runs:
        plan = run.plan
        for _, batch in plan.stream.batches(plan.operations, Unit.DMA_OUT):
            chosen = batch.value("DMA_OUT_REGION") == region
            if chosen.any():
                yield canonical(system_box(batch), len(batch.positions)).take(chosen)


def _runs_of(boxes: Boxes) -> Iterable[Ints]:
    """The contiguous runs of boxes, as ranges."""
    for rows, position in expand(boxes.planes * boxes.runs, MAX_RUNS):
        plane, run = position // boxes.runs[rows], position % boxes.runs[rows]
        start = boxes.address[rows] + plane * boxes.plane_stride[rows] + run * boxes.run_stride[rows]
        yield np.column_stack((start, start + boxes.run_bytes[rows]))


def _merged(ranges: Ints) -> Ints:
    """The same bytes as disjoint ranges in ascending order."""
    if not len(ranges):
        return _NO_RANGES
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ranges[:, 1])
    first = np.flatnonzero(np.concatenate(([True], ranges[1:, 0] > ends[:-1])))
    return np.column_stack((ranges[first, 0], ends[np.append(first[1:] - 1, len(ends) - 1)]))
