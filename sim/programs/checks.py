"""The operand checks of an operation: the faults that a unit would raise before it starts.

What `legality` is sure of is not examined here; it has to know every rule, or to leave an operation in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import INT8_BYTES, Channels, Extent, Unit, adds_tensor
from dlasim.isa.registers import Region
from dlasim.isa.weight_code import STEP_WEIGHTS
from dlasim.sim.programs import fault_text
from dlasim.sim.programs.footprint import (
    Count,
    Footprint,
    decoded_bytes,
    dma_prefix,
    footprints,
    packed_bytes,
    product,
    system_box,
)
from dlasim.sim.programs.legality import MAX_STEPS, find_doubtful, word_faults
from dlasim.sim.programs.operation import Operation
from dlasim.sim.programs.overlaps import overlaps_output
from dlasim.sim.programs.stream import DecodedStream, FaultAt

READ_ONLY_REGIONS = (Region.CONSTANTS, Region.COMMANDS)
_CHANNEL_RULES: dict[Channels, tuple[str, Callable[[int, int], bool]]] = {
    Channels.GROUPED: ("be a multiple of", lambda out, deep: out % deep == 0),
    Channels.EQUAL: ("equal", lambda out, deep: out == deep),
}
_UNPACKABLE = "it must be one run, not shorter than 4 * packed"
_DECODABLE = (
    "it must be one run, not shorter than 4 * copied, and no longer than that and 64 * steps; words <= steps"
)
_IS_READ_ONLY = np.array([number in READ_ONLY_REGIONS for number in Region])
_Found = tuple[Fault, int, str]  # the address at fault, and what is wrong


def first_fault(
    stream: DecodedStream,
    sram_bytes: int,
    region_bytes: Mapping[int, int] | None,
    has_int16: bool = True,
    has_sums: bool = True,
) -> FaultAt | None:
    """The fault at which a stream stops: what decoding found, or what an operation before that raises.

    Without region sizes the system side is taken as large enough.
    """
    doubtful = find_doubtful(stream, sram_bytes, region_bytes, _IS_READ_ONLY, has_int16, has_sums)
    for number in np.flatnonzero(doubtful).tolist():
        found = operation_fault(stream.operation(number), sram_bytes, region_bytes, has_int16, has_sums)
        if found is not None:
            return found
    return stream.fault


def operation_fault(
    operation: Operation,
    sram_bytes: int,
    region_bytes: Mapping[int, int] | None,
    has_int16: bool = True,
    has_sums: bool = True,
) -> FaultAt | None:
    """The fault that an operation raises: of several, the one with the lowest code."""
    instruction = operation.instruction
    found = list(_operand_faults(operation, sram_bytes))
    if instruction.is_transfer:
        found += _system_faults(operation, region_bytes)
    wrong = list(_shape_mistakes(operation))
    wrong += word_faults(instruction, operation.fields, has_int16, has_sums)
    found += [(Fault.BAD_OPERANDS, 0, why) for why in (*wrong, *_sum_mistakes(operation))]
    if not found:
        return None
    code, address, why = min(found, key=lambda fault: fault[0])
    return FaultAt(code, operation.position, address, why)


def _operand_faults(operation: Operation, sram_bytes: int) -> Iterator[_Found]:
    operands = footprints(operation)
    for footprint in operands:
        yield from _footprint_faults(footprint, sram_bytes)
    *sources, output = operands
    for source in sources if operation.instruction.is_compute else ():
        if overlaps_output(source, output, operation.instruction.unit):
            yield Fault.OVERLAP, source.box.address, fault_text.overlapping_output(source, output)


def _footprint_faults(footprint: Footprint, sram_bytes: int) -> Iterator[_Found]:
    box, operand, element = footprint.box, footprint.operand, footprint.element_bytes
    if element > INT8_BYTES and (box.address | box.plane_stride | box.run_stride) % element:
        yield Fault.MISALIGNED, box.address, fault_text.misaligned(footprint)
    if box.end > sram_bytes:
        yield Fault.SRAM_RANGE, box.address, fault_text.beyond_sram(footprint, sram_bytes)
    if (operand.writes or operand.extent is Extent.INPUT) and not box.is_disjoint:
        yield Fault.OVERLAP, box.address, fault_text.overlapping(f"operand {operand.register}", box)


def _system_faults(operation: Operation, region_bytes: Mapping[int, int] | None) -> Iterator[_Found]:
    box = system_box(operation)
    region = Region(operation.value(f"{dma_prefix(operation.instruction)}_REGION"))
    size = box.end if region_bytes is None else region_bytes.get(region, 0)
    if box.end > size:
        yield Fault.REGION_RANGE, box.address, fault_text.beyond_region(box, region, size)
    if operation.instruction.unit is Unit.DMA_OUT:
        if region in READ_ONLY_REGIONS:
            yield Fault.REGION_READ_ONLY, box.address, f"region {region.name} cannot be written"
        if not box.is_disjoint:
            why = fault_text.overlapping("what it writes to system memory", box)
            yield Fault.OVERLAP, box.address, why


def _shape_mistakes(operation: Operation) -> Iterator[str]:
    instruction, value = operation.instruction, operation.value
    if instruction.clamps and value("ACT_MIN") > value("ACT_MAX"):
        yield f"ACT_MIN = {value('ACT_MIN')} is above ACT_MAX = {value('ACT_MAX')}"
    if "packed" in operation.fields and not _is_unpackable(operation):
        yield _UNPACKABLE
    if "copied" in operation.fields and not _is_decodable(operation):
        yield _DECODABLE
    if instruction.channels in _CHANNEL_RULES:
        out, deep = value("OUT_CHANNELS"), value("IN_CHANNELS")
        relation, holds = _CHANNEL_RULES[instruction.channels]
        if not holds(out, deep):
            yield f"OUT_CHANNELS = {out} must {relation} IN_CHANNELS = {deep}"
    for axis, side in enumerate(("height", "width")):
        if instruction.has_window and not instruction.pads_window and _has_empty_window(operation, axis):
            where = f"a window lies wholly outside the input in {side}"
            yield f"{where}; see IN_SIZE, OUT_SIZE, KERNEL, STRIDE and PAD"
    steps = _steps(operation)
    if steps > MAX_STEPS:
        yield f"it has {steps} steps, more than {MAX_STEPS}"


def _sum_mistakes(operation: Operation) -> Iterator[str]:
    least, most = operation.value("SUM_MIN"), operation.value("SUM_MAX")
    if adds_tensor(operation.fields) and least > most:
        yield f"SUM_MIN = {least} is above SUM_MAX = {most}"


def _is_unpackable(operation: Operation) -> bool:
    """Whether a transfer is one run that has as many bytes as are to be unpacked."""
    fits = 2 * packed_bytes(operation) <= operation.value("DMA_IN_RUN_BYTES")
    return fits and _is_one_run(operation)


def _is_decodable(operation: Operation) -> bool:
    """Whether a transfer is one run that its steps can write, each of a word at most."""
    decoded, steps = decoded_bytes(operation), operation.fields["steps"]
    fits = 0 <= decoded <= steps * STEP_WEIGHTS and operation.fields["words"] <= steps
    return fits and _is_one_run(operation)


def _is_one_run(operation: Operation) -> bool:
    return operation.value("DMA_IN_RUNS") == operation.value("DMA_IN_PLANES") == 1


def _steps(operation: Operation) -> Count:
    """Products, window taps or elements that a compute operation goes through; 0 for a transfer."""
    instruction = operation.instruction
    if not instruction.is_compute:
        return 0
    kernel = operation.pair("KERNEL") if instruction.has_window else (1, 1)
    deep = operation.value("IN_CHANNELS") if instruction.reduces_channels else 1
    return product(*kernel, *operation.pair("OUT_SIZE"), operation.value("OUT_CHANNELS"), deep)


def _has_empty_window(operation: Operation, axis: int) -> bool:
    """Whether some window along an axis has no tap inside the input."""
    size, outputs, kernel, stride, dilation, pad = (
        operation.pair(name)[axis] for name in ("IN_SIZE", "OUT_SIZE", "KERNEL", "STRIDE", "DILATION", "PAD")
    )
    if (kernel - 1) * dilation < pad or (outputs - 1) * stride - pad >= size:
        return True
    # With dilation the taps of a window that starts before a small input can straddle it.
    starts = np.arange(outputs if dilation > size and kernel > 1 else 0) * stride - pad
    return bool((starts[starts < 0] % dilation >= size).any())
