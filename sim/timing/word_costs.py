"""What an operation costs, from its command word and the operand registers, by one routine."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import OPERAND_COLUMN
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.native.record import Record, Records, member, pointer
from dlasim.native.routine import Numbers, routine
from dlasim.sim.programs.footprint import STEP_LIMIT
from dlasim.sim.timing.formulas import (
    BusCosts,
    UnitCosts,
    decode_beats,
    placed_beats,
    transfer_beats,
    unpack_beats,
)
from dlasim.sim.timing.operation_costs import (
    OperationKind,
    OperationSizes,
    mac_costs,
    read_sizes,
    vector_costs,
)

MAX_STEPS = 1 << 37  # about the multiplications of an operation that 64 bits are sure to suffice for
MAX_TRANSFERRED = 1 << 40  # bytes, and runs, of a transfer, likewise
MAX_CYCLES = 1 << 20  # of the machine for each step, result or byte, likewise
# The registers of a transfer, counted from that of its region.
_RUN_BYTES, _RUNS, _PLANES, _RUN_STRIDE, _PLANE_STRIDE, _RUN_SRAM_STRIDE, _PLANE_SRAM_STRIDE = (
    OPERAND_COLUMN[f"DMA_IN_{name}"] - OPERAND_COLUMN["DMA_IN_REGION"]
    for name in (
        "RUN_BYTES", "RUNS", "PLANES", "RUN_STRIDE", "PLANE_STRIDE", "RUN_SRAM_STRIDE", "PLANE_SRAM_STRIDE",
    )
)  # fmt: skip
_MAC = int(Unit.MAC)
_MAX_LINES = 1 << 17  # of an input, under a window


class WordCosts(Record):
    """What a command word costs: its unit, and for a transfer the register of its region, the bytes of
    system memory that it unpacks, or whether it decodes, the bytes of code, its steps and the bytes that are
    copied after it."""

    number: int = 0
    region: int = 0
    packed: int = 0
    decodes: int = 0
    coded: int = 0
    steps: int = 0
    copied: int = 0
    unit: UnitCosts = member(UnitCosts)
    kind: OperationKind = member(OperationKind)


class OperationTerms(Record):
    """An operation, and the terms of its costs. `memory_of` is by region, `buses` by memory. With
    `is_any_size` it may need more than 64 bits, as objects made by `plain` have them: then terms are cut at
    STEP_LIMIT. A transfer moves so many bytes to or from the SRAM, and `dma_bytes` on the bus."""

    is_any_size: int = 0
    file: Numbers = pointer(int)
    memory_of: Numbers = pointer(int)
    buses: Records[BusCosts] = pointer(BusCosts)
    sizes: OperationSizes = member(OperationSizes)
    work: int = 0
    output_stall: int = 0
    sram_stall: int = 0
    macs: int = 0
    moved_bytes: int = 0
    dma_bytes: int = 0
    memory: int = 0


@routine
def cost_operation(terms: OperationTerms, word: WordCosts) -> bool:
    """Whether the numbers of an operation may have the size that they need; if so, find the terms."""
    if word.number < _MAC:
        if not _cost_transfer(terms, word):
            return False
    elif not _cost_computation(terms, word):
        return False
    if terms.is_any_size:
        terms.work, terms.macs = min(terms.work, STEP_LIMIT), min(terms.macs, STEP_LIMIT)
        terms.output_stall = min(terms.output_stall, STEP_LIMIT)
        terms.sram_stall = min(terms.sram_stall, STEP_LIMIT)
        terms.moved_bytes = min(terms.moved_bytes, STEP_LIMIT)
        terms.dma_bytes = min(terms.dma_bytes, STEP_LIMIT)
    return True


@routine
def _cost_computation(terms: OperationTerms, word: WordCosts) -> bool:
    sizes = terms.sizes
    read_sizes(sizes, terms.file)
    sizes.common_rows = _common_divisor(sizes.stride_rows, sizes.dilation_rows)
    sizes.common_columns = _common_divisor(sizes.stride_columns, sizes.dilation_columns)
    if not (terms.is_any_size or is_moderate(word.unit, word.kind, sizes)):
        return False
    macs = 0
    if word.number == _MAC:
        work, output, stall, moved, macs = mac_costs(word.unit, word.kind, sizes)
    else:
        work, output, stall, moved = vector_costs(word.unit, word.kind, sizes)
    terms.work, terms.output_stall, terms.sram_stall = work, output, stall
    terms.macs, terms.moved_bytes, terms.dma_bytes, terms.memory = macs, moved, 0, 0
    return True


@routine
def _cost_transfer(terms: OperationTerms, word: WordCosts) -> bool:
    file, first = terms.file, word.region
    run_bytes, runs, planes = file[first + _RUN_BYTES], file[first + _RUNS], file[first + _PLANES]
    if not terms.is_any_size and runs * planes > MAX_TRANSFERRED // run_bytes:
        return False
    memory = terms.memory_of[file[first]]
    moved = runs * planes * run_bytes
    read, bus = moved - word.packed, terms.buses[memory]
    if word.packed:
        work = unpack_beats(bus, run_bytes - word.packed, word.packed)
    elif word.decodes:
        read = word.coded + word.copied
        work = decode_beats(bus, read, word.steps, word.copied)
    else:
        work = placed_beats(
            bus, run_bytes, runs, planes, file[first + _RUN_STRIDE], file[first + _PLANE_STRIDE],
            file[first + _RUN_SRAM_STRIDE], file[first + _PLANE_SRAM_STRIDE],
        )  # fmt: skip
    terms.work, terms.output_stall, terms.sram_stall = work, 0, 0
    terms.macs, terms.moved_bytes, terms.dma_bytes, terms.memory = 0, moved, read, memory
    return True


@routine
def is_moderate(unit: UnitCosts, kind: OperationKind, sizes: OperationSizes) -> bool:
    """Whether 64 bits hold every number that the costs of an operation are made of."""
    most = MAX_STEPS
    most //= sizes.rows * sizes.columns
    most //= sizes.channels + unit.output_lanes
    if kind.has_window:
        most //= sizes.kernel_rows * sizes.kernel_columns + unit.step_group
    if kind.reduces_channels or kind.has_window:
        most //= sizes.in_channels + unit.input_lanes
    return most > 0


@routine
def _common_divisor(one: int, other: int) -> int:
    """The greatest common divisor."""
    while other:
        one, other = other, one % other
    return one


def most_cycles(unit: UnitCosts, result_cycles: int) -> int:
    """More than a step, a result, or a line of an input costs on a unit."""
    cycles = unit.load_cycles + unit.step_group + unit.passes + unit.row_cycles + unit.fill + unit.drain
    return cycles + max(unit.result_cycles, result_cycles) + _MAX_LINES


def is_moderate_machine(words: Sequence[WordCosts], buses: Sequence[BusCosts]) -> bool:
    """Whether costs of a machine for each step, result and byte are so small that `is_moderate` suffices."""
    most = [most_cycles(word.unit, word.kind.result_cycles) for word in words]
    most += [max(bus.rate_cycles, transfer_beats(bus, 1, 1)) for bus in buses]
    most += [unpack_beats(bus, 1, 1) for bus in buses if bus.packed_rate]
    most += [decode_beats(bus, CODE_BYTES, 1, 0) for bus in buses]
    return max(most, default=0) < MAX_CYCLES
