"""Binds the semantics to the instruction table, by mnemonic, and executes one operation of any unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import COPIED_BYTES, Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.sim.programs.footprint import all_footprints, dma_prefix, packed_bytes, system_box
from dlasim.sim.programs.operation import Operation
from dlasim.sim.readable_engine import mac, vector
from dlasim.sim.readable_engine.box_copy import copy_box, decode_box, unpack_box
from dlasim.sim.readable_engine.operands import Context, Integers

Bytes = NDArray[np.uint8]
Body = Callable[[Context], Integers]

SEMANTICS: Mapping[str, Body] = {
    "OP_FILL": vector.fill,
    "OP_E16_ADD": vector.add16,
    "OP_E16_MUL": vector.multiply16,
    "OP_E16_SIGMOID": vector.sigmoid16,
    "OP_E16_SOFTMAX": vector.normalize_rows16,
    "OP_E16_LUT": vector.lookup16,
    "OP_CONV": mac.conv,
    "OP_CONV_RELU": mac.conv_relu,
    "OP_DEPTH_CONV": mac.depth_conv,
    "OP_MAT_MUL": mac.mat_mul,
    "OP_REQUANT": vector.requantize,
    "OP_E32_SHIFT": vector.shift32,
    "OP_E32_ADD": vector.add32,
    "OP_POOL": vector.pool,
    "OP_ACT_RELU": vector.relu,
    "OP_ACT_LRELU": vector.leaky_relu,
    "OP_ACT_LUT": vector.lut,
    "OP_E_ADD": vector.add,
    "OP_E_SUB": vector.subtract,
    "OP_E_SQDIFF": vector.squared_difference,
    "OP_E_MUL": vector.multiply,
    "OP_E_ABS": vector.absolute,
    "OP_C_MIN": vector.minimum,
    "OP_C_MAX": vector.maximum,
    "OP_SOFTMAX": vector.normalize_rows,
}

COMPUTED = tuple(row.mnemonic for row in INSTRUCTIONS if row.is_compute)
assert sorted(SEMANTICS) == sorted(COMPUTED), "each instruction of the table has one meaning, and no other"


def execute(operation: Operation, sram: Bytes) -> None:
    """Compute a MAC or VECTOR operation whose operands have been checked.

    A body returns its result, so everything is read before anything is written.
    """
    context = Context(operation, sram)
    context.store(SEMANTICS[operation.instruction.mnemonic](context))


def execute_operation(operation: Operation, sram: Bytes, regions: Sequence[Bytes]) -> None:
    """Execute an operation of any unit whose operands have been checked."""
    if not operation.instruction.is_transfer:
        execute(operation, sram)
        return
    (inside,) = all_footprints(operation)
    region = regions[operation.value(f"{dma_prefix(operation.instruction)}_REGION")]
    if operation.instruction.mnemonic == "OP_DMA_UNPACK":
        unpack_box(region, system_box(operation), sram, inside.box, packed_bytes(operation))
    elif operation.instruction.mnemonic == "OP_DMA_DECODE":
        steps, copied = operation.fields["steps"], operation.fields["copied"] * COPIED_BYTES
        decode_box(region, system_box(operation), sram, inside.box, steps, copied)
    elif operation.instruction.unit is Unit.DMA_IN:
        copy_box(region, system_box(operation), sram, inside.box)
    else:
        copy_box(sram, inside.box, region, system_box(operation))
