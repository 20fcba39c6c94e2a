"""What an operation costs, from its command word and the operand registers, by one routine."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import OPERAND_COLUMN
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.native.record import Record, Records, array, member, pointer
from dlasim.native.routine import Numbers, inlined, routine
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
    SIZE_REGISTERS,
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
_OF_TRANSFER = (
    "REGION", "RUN_BYTES", "RUNS", "PLANES", "RUN_STRIDE", "PLANE_STRIDE", "RUN_SRAM_STRIDE",
    "PLANE_SRAM_STRIDE",
)  # fmt: skip
_RUN_BYTES, _RUNS, _PLANES, _RUN_STRIDE, _PLANE_STRIDE, _RUN_SRAM_STRIDE, _PLANE_SRAM_STRIDE = (
    OPERAND_COLUMN[f"DMA_IN_{name}"] - OPERAND_COLUMN["DMA_IN_REGION"] for name in _OF_TRANSFER[1:]
)
COST_REGISTERS = len(_OF_TRANSFER)  # that decide about the costs of an operation, at most
KNOWN_OPERATIONS = 1 << 9
NO_OPERATION = 0  # among words: no instruction has opcode 0
# Numbers of 31 bits times this factor fill 64 bits; the middle ones spread best.
_HASH_FACTOR, _HASH_MASK, _HASH_SHIFT = 0x9E3779B1, (1 << 31) - 1, 16
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
    """The terms of an operation's costs. A transfer moves so many bytes to or from the SRAM, and `dma_bytes`
    on the bus."""

    work: int = 0
    output_stall: int = 0
    sram_stall: int = 0
    macs: int = 0
    moved_bytes: int = 0
    dma_bytes: int = 0
    memory: int = 0


class KnownOperation(Record):
    """An operation by its word and the numbers in the registers that its costs depend on, and its terms."""

    word: int = NO_OPERATION
    numbers: list[int] = array(int, COST_REGISTERS)
    terms: OperationTerms = member(OperationTerms)


class OperationCosting(Record):
    """What works out the terms of operations, one at a time. `memory_of` is by region, `buses` by memory, and
    `cost_registers` by unit. `known`: some of those before, each at a place that follows from its numbers;
    `numbers` are those of the one at hand. With `is_any_size` an operation may need more than 64 bits, as
    objects made by `plain` have them: then terms are cut at STEP_LIMIT, and none are known."""

    is_any_size: int = 0
    file: Numbers = pointer(int)
    memory_of: Numbers = pointer(int)
    buses: Records[BusCosts] = pointer(BusCosts)
    cost_registers: Numbers = pointer(int)
    known: Records[KnownOperation] = pointer(KnownOperation)
    numbers: list[int] = array(int, COST_REGISTERS)
    sizes: OperationSizes = member(OperationSizes)
    terms: OperationTerms = member(OperationTerms)


@routine
def cost_operation(costing: OperationCosting, word: int, costs: WordCosts) -> bool:
    """Whether the numbers of an operation may have the size that they need; if so, find the terms. They are
    often known: tiles of a layer are alike, and so are plans."""
    if costing.is_any_size:
        return _find_terms(costing, costs)
    known = costing.known[_read_numbers(costing, word, costs.number * COST_REGISTERS)]
    is_known = known.word == word
    for number in range(COST_REGISTERS):
        is_known = is_known and known.numbers[number] == costing.numbers[number]
    if is_known:
        costing.terms.assign(known.terms)
        return True
    known.word = NO_OPERATION
    if not _find_terms(costing, costs):
        return False
    known.word = word
    for number in range(COST_REGISTERS):
        known.numbers[number] = costing.numbers[number]
    known.terms.assign(costing.terms)
    return True


@inlined
def _read_numbers(costing: OperationCosting, word: int, first: int) -> int:
    """Take the numbers of an operation from its registers; its place, if it is known."""
    place = word & _HASH_MASK
    for number in range(COST_REGISTERS):
        value = costing.numbers[number] = costing.file[costing.cost_registers[first + number]]
        place = (place * _HASH_FACTOR + value) & _HASH_MASK
    return (place >> _HASH_SHIFT) % KNOWN_OPERATIONS


@routine
def _find_terms(costing: OperationCosting, costs: WordCosts) -> bool:
    """Whether the numbers may have the size that they need; if so, work out the terms."""
    if costs.number < _MAC:
        if not _cost_transfer(costing, costs):
            return False
    elif not _cost_computation(costing, costs):
        return False
    if costing.is_any_size:
        terms = costing.terms
        terms.work, terms.macs = min(terms.work, STEP_LIMIT), min(terms.macs, STEP_LIMIT)
        terms.output_stall = min(terms.output_stall, STEP_LIMIT)
        terms.sram_stall = min(terms.sram_stall, STEP_LIMIT)
        terms.moved_bytes = min(terms.moved_bytes, STEP_LIMIT)
        terms.dma_bytes = min(terms.dma_bytes, STEP_LIMIT)
    return True


@routine
def _cost_computation(costing: OperationCosting, costs: WordCosts) -> bool:
    sizes, terms = costing.sizes, costing.terms
    read_sizes(sizes, costing.file)
    if not (costing.is_any_size or is_moderate(costs.unit, costs.kind, sizes)):
        return False
    macs = 0
    if costs.number == _MAC:
        work, output, stall, moved, macs = mac_costs(costs.unit, costs.kind, sizes)
    else:
        work, output, stall, moved = vector_costs(costs.unit, costs.kind, sizes)
    terms.work, terms.output_stall, terms.sram_stall = work, output, stall
    terms.macs, terms.moved_bytes, terms.dma_bytes, terms.memory = macs, moved, 0, 0
    return True


@routine
def _cost_transfer(costing: OperationCosting, costs: WordCosts) -> bool:
    file, terms, first = costing.file, costing.terms, costs.region
    run_bytes, runs, planes = file[first + _RUN_BYTES], file[first + _RUNS], file[first + _PLANES]
    if not costing.is_any_size and runs * planes > MAX_TRANSFERRED // run_bytes:
        return False
    memory = costing.memory_of[file[first]]
    moved = runs * planes * run_bytes
    read, bus = moved - costs.packed, costing.buses[memory]
    if costs.packed:
        work = unpack_beats(bus, run_bytes - costs.packed, costs.packed)
    elif costs.decodes:
        read = costs.coded + costs.copied
        work = decode_beats(bus, read, costs.steps, costs.copied)
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


def cost_registers() -> list[int]:
    """By unit, the places of the registers that decide about costs."""
    transfers = [
        [OPERAND_COLUMN[f"{unit}_{name}"] for name in _OF_TRANSFER] for unit in ("DMA_IN", "DMA_OUT")
    ]
    sizes = [*SIZE_REGISTERS, *SIZE_REGISTERS][:COST_REGISTERS]
    assert len(SIZE_REGISTERS) <= COST_REGISTERS, "a unit has a row of as many registers"
    return [*transfers[0], *transfers[1], *sizes, *sizes]
