"""The costs of many compute operations of one instruction at once, by NumPy."""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

import numpy as np

from dlasim.isa import registers
from dlasim.native.storage import plain
from dlasim.sim.programs.footprint import STEP_LIMIT, Count
from dlasim.sim.programs.operation import Batch
from dlasim.sim.timing.compiled_costs import MAX_CYCLES, is_moderate, most_cycles
from dlasim.sim.timing.formulas import UnitCosts
from dlasim.sim.timing.operation_costs import (
    OperationKind,
    OperationSizes,
    describe_kind,
    mac_costs,
    read_sizes,
    vector_costs,
)

_Kind = TypeVar("_Kind", OperationKind, OperationSizes)
BATCH_COLUMNS = ("work", "output_stall", "sram_stall", "moved_bytes", "macs")


def batch_costs(unit: UnitCosts, batch: Batch, result_cycles: Count) -> tuple[Count, ...]:
    """BATCH_COLUMNS, cut at STEP_LIMIT, beyond which nothing is legal; the VECTOR unit has no last one."""
    kind = describe_kind(batch.instruction, batch.fields, result_cycles)
    sizes = batch_sizes(batch)
    formula: Any = mac_costs if kind.is_mac else vector_costs
    if _fits_64_bits(unit, kind, sizes):
        exact: tuple[Count, ...] = formula(unit, kind, sizes)
        return exact
    terms = formula(unit, _of_any_size(kind), _of_any_size(sizes))
    return tuple(np.minimum(term, STEP_LIMIT).astype(np.int64) for term in terms)


def batch_sizes(batch: Batch) -> OperationSizes:
    """The sizes of all operations, as arrays."""
    sizes = plain(OperationSizes)
    read_sizes(sizes, _Values(batch))
    sizes.common_rows = np.gcd(sizes.stride_rows, sizes.dilation_rows)
    sizes.common_columns = np.gcd(sizes.stride_columns, sizes.dilation_columns)
    return sizes


class _Values:
    """The values of the operand registers, as arrays, by number."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __getitem__(self, number: int) -> Count:
        return self._batch.value(registers.OPERANDS[number].name)

    def __setitem__(self, number: int, value: int) -> None:
        raise AssertionError("routines on one operation write no register")


def _fits_64_bits(unit: UnitCosts, kind: OperationKind, sizes: OperationSizes) -> bool:
    """Whether 64 bits hold every number that the costs are made of: those of an operation with the largest of
    each size."""
    largest = plain(OperationSizes)
    for name, values in vars(sizes).items():
        setattr(largest, name, int(np.max(values)))
    cycles = most_cycles(unit, int(np.max(kind.result_cycles)))
    return cycles < MAX_CYCLES and is_moderate(unit, kind, largest)


def _of_any_size(record: _Kind) -> _Kind:
    """The same record, its arrays with numbers that have no limit."""
    made = copy(record)
    for name, number in vars(record).items():
        if np.ndim(number):
            setattr(made, name, number.astype(object))
    return made
