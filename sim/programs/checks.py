"""The operand checks of every operation: the faults that a unit would raise before it starts.

What `legality` is sure of is not examined here; it has to know every rule, or to leave an operation in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import (
    INT8_BYTES,
    Channels,
    Elements,
    Extent,
    Unit,
    Weights,
    adds_tensor,
    has_channel_scales,
    is_one_pass,
)
from dlasim.isa.registers import Region
from dlasim.isa.weight_code import STEP_WEIGHTS
from dlasim.sim.programs import fault_text
from dlasim.sim.programs.footprint import (
    Count,
    Footprint,
    Truth,
    all_footprints,
    decoded_bytes,
    dma_prefix,
    packed_bytes,
    product,
    system_box,
)
from dlasim.sim.programs.legality import MAX_STEPS, find_doubtful
from dlasim.sim.programs.operation import Batch
from dlasim.sim.programs.overlaps import overlaps_output
from dlasim.sim.programs.stream import DecodedStream, FaultAt

Why = Callable[[int], str]  # what is wrong with an operation, by its number in the batch
READ_ONLY_REGIONS = (Region.CONSTANTS, Region.COMMANDS)
_CHANNEL_RULES: dict[Channels, tuple[str, Callable[[Count, Count], Truth]]] = {
    Channels.GROUPED: ("be a multiple of", lambda out, deep: out % deep == 0),
    Channels.EQUAL: ("equal", lambda out, deep: out == deep),
}
_NO_INT16 = "this machine has no elements of int16"
_ONE_PASS = "out=int8 and init=zero or bias"
_DECODABLE = (
    "it must be one run, not shorter than 4 * copied, and no longer than that and 64 * steps; words <= steps"
)
_IS_READ_ONLY = np.array([number in READ_ONLY_REGIONS for number in Region])


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
    found = stream.fault
    doubtful = find_doubtful(stream, sram_bytes, region_bytes, _IS_READ_ONLY, has_sums)
    for numbers, batch in stream.batches() if doubtful.any() else ():
        if not doubtful[numbers].any():
            continue
        report = check_batch(batch, sram_bytes, region_bytes, has_int16, has_sums)
        faulty = np.flatnonzero(report.codes)
        if len(faulty):
            first = int(faulty[0])
            position = int(batch.positions[first])
            if found is None or position < found.position:
                found = report.fault(first, position)
    return found


def check_batch(
    batch: Batch,
    sram_bytes: int,
    region_bytes: Mapping[int, int] | None,
    has_int16: bool = True,
    has_sums: bool = True,
) -> FaultReport:
    """For each operation the code of its fault, the address at fault and why."""
    report = FaultReport(len(batch.positions))
    if batch.instruction.is_transfer:
        _check_system(report, batch, region_bytes)
    footprints = all_footprints(batch)
    for footprint in footprints:
        _check_operand(report, footprint, sram_bytes)
    if batch.instruction.is_compute:
        *sources, output = footprints
        for source in sources:
            _check_output(report, batch, source, output)
    _check_shapes(report, batch)
    if batch.instruction.needs_int16 and not has_int16:
        report.note(Fault.BAD_OPERANDS, np.ones(len(batch.positions), bool), 0, lambda _: _NO_INT16)
    if "elements" in batch.fields:
        _check_int16(report, batch, has_int16)
    if "sum" in batch.fields:
        _check_sum(report, batch, has_sums)
    return report


class FaultReport:
    """Keeps the lowest fault code of each operation, and the address that belongs to it."""

    def __init__(self, count: int) -> None:
        self.codes = np.zeros(count, np.int64)
        self.addresses = np.zeros(count, np.int64)
        self._whys: list[tuple[NDArray[np.bool_], Why]] = []

    def fault(self, number: int, position: int) -> FaultAt:
        """The fault of one operation."""
        code = Fault(int(self.codes[number]))
        why = [why for worse, why in self._whys if worse[number]][-1]  # a lower code came later
        return FaultAt(code, position, int(self.addresses[number]), why(number))

    def note(self, code: Fault, fails: NDArray[np.bool_] | np.bool_, address: Count, why: Why) -> None:
        """Note that these operations fail; `why` gives the reason for one of them."""
        if not fails.any():
            return
        worse = fails & ((self.codes == 0) | (self.codes > code))
        self.codes = np.where(worse, int(code), self.codes)
        self.addresses = np.where(worse, address, self.addresses)
        self._whys.append((worse, why))


def _check_operand(report: FaultReport, footprint: Footprint, sram_bytes: int) -> None:
    box, operand, present = footprint.box, footprint.operand, footprint.present
    if present is not True and not present.any():
        return
    element = footprint.element_bytes
    if np.any(np.greater(element, INT8_BYTES)):
        alignment = box.address | box.plane_stride | box.run_stride
        fails = present & (alignment % element != 0)
        report.note(Fault.MISALIGNED, fails, box.address, partial(fault_text.misaligned, footprint))
    report.note(
        Fault.SRAM_RANGE,
        present & np.greater(box.end, sram_bytes),
        box.address,
        lambda number: fault_text.beyond_sram(footprint, number, sram_bytes),
    )
    if operand.writes or operand.extent is Extent.INPUT:
        what = f"operand {operand.register}"
        why = partial(fault_text.overlapping, what, box)
        report.note(Fault.OVERLAP, present & ~box.is_disjoint, box.address, why)


def _check_output(report: FaultReport, batch: Batch, source: Footprint, output: Footprint) -> None:
    fails = overlaps_output(source, output, batch.instruction.unit)
    report.note(
        Fault.OVERLAP, fails, source.box.address, partial(fault_text.overlapping_output, source, output)
    )


def _check_system(report: FaultReport, batch: Batch, region_bytes: Mapping[int, int] | None) -> None:
    box = system_box(batch)
    region = batch.value(f"{dma_prefix(batch.instruction)}_REGION")
    if region_bytes is not None:
        sizes = np.array([region_bytes.get(number, 0) for number in Region], np.int64)
        report.note(
            Fault.REGION_RANGE,
            box.end > sizes[region],
            box.address,
            lambda i: fault_text.beyond_region(box, i, int(region[i]), int(sizes[region[i]])),
        )
    if batch.instruction.unit is Unit.DMA_OUT:
        report.note(
            Fault.REGION_READ_ONLY,
            _IS_READ_ONLY[region],
            box.address,
            lambda i: f"region {Region(int(region[i])).name} cannot be written",
        )
        why = partial(fault_text.overlapping, "what it writes to system memory", box)
        report.note(Fault.OVERLAP, ~box.is_disjoint, box.address, why)


def _check_shapes(report: FaultReport, batch: Batch) -> None:
    instruction, value = batch.instruction, batch.value

    def bad(fails: NDArray[np.bool_], why: Why) -> None:
        report.note(Fault.BAD_OPERANDS, fails, 0, why)

    if instruction.clamps:
        low, high = value("ACT_MIN"), value("ACT_MAX")
        bad(low > high, lambda i: f"ACT_MIN = {low[i]} is above ACT_MAX = {high[i]}")
    if "packed" in batch.fields:
        bad(~_is_unpackable(batch), lambda _: "it must be one run, not shorter than 4 * packed")
    if "copied" in batch.fields:
        bad(~_is_decodable(batch), lambda _: _DECODABLE)
    if instruction.channels in _CHANNEL_RULES:
        out, deep = value("OUT_CHANNELS"), value("IN_CHANNELS")
        relation, holds = _CHANNEL_RULES[instruction.channels]
        bad(~holds(out, deep), partial(_channels_text, relation, out, deep))
    if instruction.has_window and not instruction.pads_window:
        for axis in (0, 1):
            bad(_has_empty_window(batch, axis), partial(_empty_window_text, axis))
    steps = _steps(batch)
    bad(
        np.greater(steps, MAX_STEPS),
        lambda i: f"it has {fault_text.one(steps, i)} steps, more than {MAX_STEPS}",
    )


def _check_int16(report: FaultReport, batch: Batch, has_int16: bool) -> None:
    """A machine may lack int16; a product of it has no int32 results."""
    is_int16 = batch.fields["elements"] == Elements.INT16
    if not has_int16:
        report.note(Fault.BAD_OPERANDS, is_int16, 0, lambda _: _NO_INT16)
    if batch.instruction.unit is Unit.MAC:
        why = f"elements of int16 need {_ONE_PASS}"
        report.note(Fault.BAD_OPERANDS, is_int16 & ~is_one_pass(batch.fields), 0, lambda _: why)
    if "weights" in batch.fields:
        is_narrow = ~is_int16 & (batch.fields["weights"] == Weights.INT16)
        report.note(Fault.BAD_OPERANDS, is_narrow, 0, lambda _: "weights=int16 needs elements=int16")


def _check_sum(report: FaultReport, batch: Batch, has_sums: bool) -> None:
    """A machine may lack sums in the output stage, which take results of int8 that are complete."""
    adds = adds_tensor(batch.fields)
    if not has_sums:
        why = "this machine's MAC unit adds no tensor to its results"
        report.note(Fault.BAD_OPERANDS, adds, 0, lambda _: why)
    is_int8 = batch.fields["elements"] == Elements.INT8
    why_not = f"sum=tensor needs elements=int8, quant=channel, {_ONE_PASS}"
    fits = is_int8 & is_one_pass(batch.fields) & has_channel_scales(batch.fields)
    report.note(Fault.BAD_OPERANDS, adds & ~fits, 0, lambda _: why_not)
    low, high = batch.value("SUM_MIN"), batch.value("SUM_MAX")
    report.note(
        Fault.BAD_OPERANDS,
        adds & (low > high),
        0,
        lambda i: f"SUM_MIN = {low[i]} is above SUM_MAX = {high[i]}",
    )


def _is_unpackable(batch: Batch) -> NDArray[np.bool_]:
    """Whether a transfer is one run that has as many bytes as are to be unpacked."""
    fits = 2 * packed_bytes(batch) <= batch.value("DMA_IN_RUN_BYTES")
    return np.asarray(fits & _is_one_run(batch))


def _is_decodable(batch: Batch) -> NDArray[np.bool_]:
    """Whether a transfer is one run that its steps can write, each of a word at most."""
    decoded, steps = decoded_bytes(batch), batch.fields["steps"]
    fits = (decoded >= 0) & (decoded <= steps * STEP_WEIGHTS) & (batch.fields["words"] <= steps)
    return np.asarray(fits & _is_one_run(batch))


def _is_one_run(batch: Batch) -> Truth:
    return (batch.value("DMA_IN_RUNS") == 1) & (batch.value("DMA_IN_PLANES") == 1)


def _channels_text(relation: str, out: NDArray[np.int64], deep: NDArray[np.int64], number: int) -> str:
    return f"OUT_CHANNELS = {out[number]} must {relation} IN_CHANNELS = {deep[number]}"


def _empty_window_text(axis: int, number: int) -> str:
    side = ("height", "width")[axis]
    return f"a window lies wholly outside the input in {side}; see IN_SIZE, OUT_SIZE, KERNEL, STRIDE and PAD"


def _steps(batch: Batch) -> Count:
    """Products, window taps or elements that a compute operation goes through; 0 for a transfer."""
    instruction = batch.instruction
    if not instruction.is_compute:
        return 0
    kernel = batch.pair("KERNEL") if instruction.has_window else (1, 1)
    deep = batch.value("IN_CHANNELS") if instruction.reduces_channels else 1
    return product(*kernel, *batch.pair("OUT_SIZE"), batch.value("OUT_CHANNELS"), deep)


def _has_empty_window(batch: Batch, axis: int) -> NDArray[np.bool_]:
    """Whether some window along an axis has no tap inside the input."""
    size, outputs = batch.pair("IN_SIZE")[axis], batch.pair("OUT_SIZE")[axis]
    kernel, stride = batch.pair("KERNEL")[axis], batch.pair("STRIDE")[axis]
    dilation, pad = batch.pair("DILATION")[axis], batch.pair("PAD")[axis]
    reach = (kernel - 1) * dilation
    first_is_empty = reach < pad
    last_is_empty = (outputs - 1) * stride - pad >= size
    # With dilation the taps of a window can straddle a small input and miss it.
    straddles = (dilation > size) & (kernel > 1)
    for i in np.flatnonzero(straddles):
        straddles[i] = _misses(int(outputs[i]), int(stride[i]), int(dilation[i]), int(pad[i]), int(size[i]))
    return first_is_empty | last_is_empty | straddles


def _misses(outputs: int, stride: int, dilation: int, pad: int, size: int) -> bool:
    """Whether a window that starts before the input has no tap in it; exact, window by window."""
    starts = np.arange(outputs) * stride - pad
    before = starts[starts < 0]
    return bool(((before % dilation) >= size).any())
