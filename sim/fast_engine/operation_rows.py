"""The row of numbers that the compiled kernels read for one operation: opcode, fields, registers.

A row is the operand registers as the operation saw them, with packed pairs taken apart, so that making rows
for a whole stream is a handful of array copies and no kernel decodes anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import registers
from dlasim.isa.instruction_rows import Instruction, Out
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.native.record import Record
from dlasim.native.routine import inlined
from dlasim.sim.programs.operation import Batch, Operation

Rows = NDArray[np.int64]

FIELDS = ("init", "out", "quant", "mode", "packed", "words", "steps", "copied", "sum")
# What a field is for instructions that have none: OP_CONV_RELU always gives int8.
_FIELD_DEFAULTS = dict.fromkeys(FIELDS, 0) | {"out": int(Out.INT8)}
_SOURCES: tuple[tuple[str, int, bool], ...] = tuple(
    (register.name, half, register.is_plain)
    for register in registers.OPERANDS
    for half in range(1 if register.is_plain else 2)
)


def _field_name(register: str, half: int, is_plain: bool) -> str:
    """`out_channels`, `out_addr`; of a packed register `out_height`, `kernel_width`, `pad_top`."""
    if is_plain:
        return register.lower()
    return f"{register.removesuffix('_SIZE')}_{registers.BY_NAME[register].fields[half].name}".lower()


KEPT = "kept"  # whether packed weights are kept for the next operation, or taken from the one before
_NAMES = ("opcode", *FIELDS, *(_field_name(*source) for source in _SOURCES), KEPT)
ROW_LENGTH = len(_NAMES)

if TYPE_CHECKING:
    OperationRow: TypeAlias = Any  # mypy does not know the fields, which follow from the registers
else:
    _fields = {"__annotations__": dict.fromkeys(_NAMES, "int"), **dict.fromkeys(_NAMES, 0)}
    OperationRow = type(Record)("OperationRow", (Record,), _fields)


def column(name: str) -> int:
    """Where a row holds a field."""
    return _NAMES.index(name)


def opcode(mnemonic: str) -> int:
    """The opcode of an instruction, which selects the kernel."""
    return next(row.opcode for row in INSTRUCTIONS if row.mnemonic == mnemonic)


MAT_MUL = opcode("OP_MAT_MUL")


@inlined
def geometry(row: OperationRow) -> tuple[int, int, int, int, int, int, int, int]:
    """(kernel, stride, dilation, pad) by height and width; a matrix product is a 1x1 convolution."""
    if row.opcode == MAT_MUL:
        return (1, 1, 1, 1, 1, 1, 0, 0)
    return (
        row.kernel_height, row.kernel_width, row.stride_height, row.stride_width,
        row.dilation_height, row.dilation_width, row.pad_top, row.pad_left,
    )  # fmt: skip


def batch_rows(batch: Batch) -> Rows:
    """The rows of many operations of one instruction."""
    rows = np.empty((len(batch.positions), ROW_LENGTH), np.int64)
    rows[:, 0], rows[:, column(KEPT)] = batch.instruction.opcode, 0
    for place, name in enumerate(FIELDS, 1):
        rows[:, place] = batch.fields.get(name, _FIELD_DEFAULTS[name])
    for place, (name, half, plain) in enumerate(_SOURCES, 1 + len(FIELDS)):
        rows[:, place] = batch.value(name) if plain else batch.pair(name)[half]
    return rows


def operation_batch(instruction: Instruction, operations: Sequence[Operation]) -> Batch:
    """Single operations of one instruction as a batch."""
    columns = [
        [o.value(r.name) if r.is_plain else o.pattern(r.name) for o in operations] for r in registers.OPERANDS
    ]
    positions = np.array([o.position for o in operations], np.int64)
    fields = {
        field.name: np.array([o.fields[field.name] for o in operations], np.int64)
        for field in instruction.fields
    }
    return Batch(instruction, positions, fields, np.array(columns, np.int64))
