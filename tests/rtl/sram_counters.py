"""Bytes that cross the SRAM's ports: what the RTL counts and what the simulator does, by operation.

Energy multiplies the simulator's count. `agrees_by_rule` says for which operations both count by the same
rule; docs/rtl.md has the differences.
"""

from collections.abc import Sequence
from math import gcd

import numpy as np

from dlasim.isa.instruction_rows import UNITS, Extent, Unit
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import Operation
from dlasim.sim.timing.cost import unit_costs
from dlasim.sim.timing.plan import Plan
from tests.rtl.machine import Events


def crossed(events: Events, plan: Plan) -> list[int]:
    """The RTL's bytes of each operation, in the order of the stream."""
    return _in_order(events.sram_bytes, plan)


def words(events: Events, plan: Plan) -> list[int]:
    """The RTL's words of each operation."""
    return _in_order(events.sram_words, plan)


def _in_order(by_unit: Sequence[Sequence[int]], plan: Plan) -> list[int]:
    numbers = np.zeros(len(plan.costs.unit), np.int64)
    for unit in UNITS:
        mine = np.flatnonzero(plan.costs.unit == unit)
        numbers[mine[: len(by_unit[unit])]] = by_unit[unit]  # a fault ends the stream before some
    return numbers.tolist()


def agrees_by_rule(operation: Operation, config: DlaConfig) -> bool:
    """Whether the RTL fetches the bytes of this operation that the simulator counts, and no others."""
    instruction = operation.instruction
    if instruction.is_transfer:  # code of random bits may stand for fewer weights than there is room for
        return instruction.mnemonic != "OP_DMA_DECODE"
    windowed = any(operand.extent is Extent.INPUT for operand in instruction.operands)
    if windowed and not (_lines_agree(operation, config) and _columns_agree(operation)):
        return False
    if instruction.mnemonic == "OP_SOFTMAX" and config.line_buffer_bytes:
        # A longer row crosses for each pass in the simulator, once on the RTL.
        return operation.value("OUT_CHANNELS") <= config.line_buffer_bytes
    if instruction.is_depthwise and operation.value("OUT_CHANNELS") != operation.value("IN_CHANNELS"):
        return False  # the simulator divides the input among the outputs, and rounds
    return instruction.unit is not Unit.MAC or _weights_agree(operation, config)


def _axis(operation: Operation, axis: int) -> tuple[int, ...]:
    names = ("IN_SIZE", "OUT_SIZE", "KERNEL", "STRIDE", "DILATION", "PAD")
    return tuple(operation.pair(name)[axis] for name in names)


def _touched(operation: Operation, axis: int) -> set[int]:
    """Rows (axis 0) or columns (axis 1) of the input under some tap."""
    size, outputs, kernel, stride, dilation, pad = _axis(operation, axis)
    places = {stride * i + dilation * t - pad for i in range(outputs) for t in range(kernel)}
    return {place for place in places if 0 <= place < size}


def _simulated(operation: Operation, axis: int) -> int:
    """How many of them the simulator counts: those in the padding too, up to the input's size."""
    size, outputs, kernel, stride, dilation, _ = _axis(operation, axis)
    return min(size, len({stride * i + dilation * t for i in range(outputs) for t in range(kernel)}))


def _columns_agree(operation: Operation) -> bool:
    """The RTL reads each column up to the last, but skips those between windows of a kernel without gaps."""
    _, _, kernel, stride, dilation, _ = _axis(operation, 1)
    touched = _touched(operation, 1)
    read = len(touched) if dilation == 1 and stride > kernel else max(touched, default=-1) + 1
    return read == len(touched) == _simulated(operation, 1)


def _lines_agree(operation: Operation, config: DlaConfig) -> bool:
    """Either each line crosses once, or each for each tap. The RTL keeps all lines under a window or none."""
    _, _, kernel, stride, dilation, _ = _axis(operation, 0)
    if len(_touched(operation, 0)) != _simulated(operation, 0):
        return False
    if kernel == 1:
        return True
    held = operation.value("IN_CHANNELS" if operation.instruction.unit is Unit.MAC else "OUT_CHANNELS")
    if operation.instruction.is_depthwise:
        held = min(held, config.depthwise_lanes)
    line_bytes = len(_touched(operation, 1)) * held * (1 + operation.fields.get("elements", 0))
    span = (kernel - 1) * dilation + 1
    return gcd(stride, dilation) == 1 and span * line_bytes <= (config.line_buffer_bytes or span * line_bytes)


def _weights_agree(operation: Operation, config: DlaConfig) -> bool:
    """What the weight buffer does not hold crosses again: by words in the RTL, by bytes in the simulator."""
    unit = unit_costs(config, operation.instruction.mnemonic)
    pixels = int(np.prod(operation.pair("OUT_SIZE")))
    taps = int(np.prod(operation.pair("KERNEL"))) if operation.instruction.has_window else 1
    depth = operation.value("IN_CHANNELS") if operation.instruction.reduces_channels else 1
    lanes = min(unit.output_lanes, operation.value("OUT_CHANNELS"))
    return pixels <= unit.accumulators or taps * depth * lanes <= unit.weight_buffer
