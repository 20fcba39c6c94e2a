"""The costs of all operations of a stream by one routine, which follows the writes to the operand registers.

It is what machine code does instead of NumPy: `sim/timing/cost.py` says which of them a stream gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import OPERAND_COLUMN
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.native.record import Record, Records, member, pointer
from dlasim.native.routine import Numbers, Routine, routine
from dlasim.native.storage import filled_memory, pointer_to
from dlasim.sim.programs.register_writes import RegisterWrites, follow_writes, writes_of
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

if TYPE_CHECKING:
    from dlasim.sim.programs.stream import DecodedStream

MAX_STEPS = 1 << 37  # about the multiplications of an operation that 64 bits are sure to suffice for
MAX_TRANSFERRED = 1 << 40  # bytes, and runs, of a transfer, likewise
MAX_CYCLES = 1 << 20  # of the machine for each step, result or byte, likewise
COLUMNS = ("work", "output_stall", "sram_stall", "macs", "moved_bytes", "memory")
_FIRST = {Unit.DMA_IN: "DMA_IN", Unit.DMA_OUT: "DMA_OUT"}
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


class StreamCosts(Record):
    """The operations of a stream, the writes to operand registers between them, and what is found.

    `words` has the different command words, and `word_of` which of them each operation is. `memory_of` is by
    region, `buses` by memory. The other columns have a number for each operation.
    """

    writes: RegisterWrites = member(RegisterWrites)
    file: Numbers = pointer(int)
    word_of: Numbers = pointer(int)
    words: Records[WordCosts] = pointer(WordCosts)
    memory_of: Numbers = pointer(int)
    buses: Records[BusCosts] = pointer(BusCosts)
    work: Numbers = pointer(int)
    output_stall: Numbers = pointer(int)
    sram_stall: Numbers = pointer(int)
    macs: Numbers = pointer(int)
    moved_bytes: Numbers = pointer(int)
    memory: Numbers = pointer(int)
    sizes: OperationSizes = member(OperationSizes)


@routine
def cost_operations(stream: StreamCosts, operations: int) -> int:
    """Fill in the columns; returns how many operations were worked out before one whose numbers 64 bits may
    not hold."""
    for number in range(operations):
        follow_writes(stream.writes, stream.file, number)
        if not cost_operation(stream, stream.words[stream.word_of[number]], number):
            return number
    return operations


@routine
def cost_operation(stream: StreamCosts, word: WordCosts, number: int) -> bool:
    """Whether 64 bits hold the numbers of an operation; if so, fill in its columns."""
    if word.number < _MAC:
        return _cost_transfer(stream, word, number)
    sizes = stream.sizes
    read_sizes(sizes, stream.file)
    sizes.common_rows = _common_divisor(sizes.stride_rows, sizes.dilation_rows)
    sizes.common_columns = _common_divisor(sizes.stride_columns, sizes.dilation_columns)
    if not is_moderate(word.unit, word.kind, sizes):
        return False
    macs = 0
    if word.number == _MAC:
        work, output, stall, moved, macs = mac_costs(word.unit, word.kind, sizes)
    else:
        work, output, stall, moved = vector_costs(word.unit, word.kind, sizes)
    stream.work[number], stream.output_stall[number], stream.sram_stall[number] = work, output, stall
    stream.macs[number], stream.moved_bytes[number] = macs, moved
    return True


COSTS = Routine(cost_operations, "costs")


@routine
def _cost_transfer(stream: StreamCosts, word: WordCosts, number: int) -> bool:
    """Whether 64 bits hold its numbers; if so, fill in the columns."""
    file, first = stream.file, word.region
    run_bytes, runs, planes = file[first + _RUN_BYTES], file[first + _RUNS], file[first + _PLANES]
    if runs * planes > MAX_TRANSFERRED // run_bytes:
        return False
    memory = stream.memory_of[file[first]]
    stream.memory[number], stream.moved_bytes[number] = memory, runs * planes * run_bytes
    if word.packed:
        stream.work[number] = unpack_beats(stream.buses[memory], run_bytes - word.packed, word.packed)
    elif word.decodes:
        bus, size = stream.buses[memory], word.coded + word.copied
        stream.work[number] = decode_beats(bus, size, word.steps, word.copied)
    else:
        stream.work[number] = placed_beats(
            stream.buses[memory], run_bytes, runs, planes, file[first + _RUN_STRIDE],
            file[first + _PLANE_STRIDE], file[first + _RUN_SRAM_STRIDE], file[first + _PLANE_SRAM_STRIDE],
        )  # fmt: skip
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


def find_costs(
    stream: DecodedStream,
    operations: int,
    words: Sequence[WordCosts],
    word_of: NDArray[np.int64],
    memory_of: Sequence[int],
    buses: Sequence[BusCosts],
) -> dict[str, NDArray[np.int64]] | None:
    """COLUMNS of the first operations; None where only more than 64 bits hold their numbers."""
    if not is_moderate_machine(words, buses):
        return None
    costs = StreamCosts(writes_of(stream.files))
    found = {name: np.zeros(operations, np.int64) for name in COLUMNS}
    given = {"file": stream.files.start.copy(), "word_of": word_of, "memory_of": np.array(memory_of), **found}
    for name, column in given.items():
        setattr(costs, name, pointer_to(column))
    costs.words, costs.buses = filled_memory(WordCosts, words).pointer, filled_memory(BusCosts, buses).pointer
    return found if COSTS(costs, operations) == operations else None


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


def region_register(unit: Unit) -> int:
    """The register of the region of a unit's transfers, 0 for a unit that computes."""
    return OPERAND_COLUMN[f"{_FIRST[unit]}_REGION"] if unit in _FIRST else 0
