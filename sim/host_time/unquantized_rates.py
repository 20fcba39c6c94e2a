"""Cycles of host operators on unquantized numbers of any type: integers, and float32 without an FPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from dlasim.isa.host_op_rows import BinaryFunction, ReduceFunction, UnaryFunction
from dlasim.sim.host_time.host_work import Work, row_length


def _function(work: Work) -> int:
    """The function of a call that has one."""
    return 0 if work.attributes is None else work.attributes.function


_INTEGER_RATES: Mapping[int, float] = {BinaryFunction.DIV: 26, BinaryFunction.FLOOR_DIV: 64}
_FLOAT_RATES: Mapping[int, float] = {
    BinaryFunction.ADD: 101,
    BinaryFunction.SUB: 104,
    BinaryFunction.MUL: 81.5,
    BinaryFunction.DIV: 104.5,
    BinaryFunction.FLOOR_DIV: 450,
    BinaryFunction.MAXIMUM: 45.5,
    BinaryFunction.MINIMUM: 46.5,
    BinaryFunction.FLOOR_MOD: 223,
    BinaryFunction.SQUARED_DIFFERENCE: 160,
}
_FLOAT_UNARY_RATES: Mapping[int, float] = {
    UnaryFunction.ABS: 15,
    UnaryFunction.NEG: 14,
    UnaryFunction.SQRT: 421,
    UnaryFunction.SQUARE: 70,
    UnaryFunction.FLOOR: 32,
    UnaryFunction.CEIL: 34,
    UnaryFunction.ROUND: 35,
    UnaryFunction.RSQRT: 498,
    UnaryFunction.EXP: 138,
    UnaryFunction.LOGISTIC: 264,
    UnaryFunction.ELU: 87,
}
_FLOAT_REDUCE_RATES: Mapping[int, float] = {
    ReduceFunction.SUM: 87,
    ReduceFunction.PROD: 58,
    ReduceFunction.MAX: 30,
    ReduceFunction.MIN: 32,
}


def unquantized_binary(work: Work) -> float:
    """The function's rate for each element, 90 for each row of bytes and 125 for each other row."""
    rates, usual = (_FLOAT_RATES, 0.0) if work.reads_floats else (_INTEGER_RATES, 19.5)
    each, row = (13.0, 90) if work.element_bytes == 1 else (rates.get(_function(work), usual), 125)
    return each * work.written + row * (work.written // row_length(work))


def unquantized_unary(work: Work) -> float:
    """The function's rate for each element."""
    return (_FLOAT_UNARY_RATES.get(_function(work), 0) if work.reads_floats else 13) * work.written


def resizing(work: Work) -> float:
    """376 for each element written, 664 where it stands for a byte; products with 0 take least."""
    return (376 if work.reads_floats else 664) * work.written


def conversions(work: Work) -> float:
    """21 for each element; from and to float32 more."""
    if work.reads_floats:
        return {"float32": 16, "int64": 61, "bool": 36}.get(work.written_type, 94) * work.written
    return (86 if work.written_type == "float32" else 21) * work.written


def search(work: Work) -> float:
    """20 for each element read, 27.5 of float32."""
    return (27.5 if work.reads_floats else 20) * prod(work.input(0))


def reduction(work: Work) -> float:
    """45 for each element, 9 for each of its dimensions, and 20 for each that another is combined with; of
    float32 as many as its function takes."""
    elements = prod(work.input(0))
    each = _FLOAT_REDUCE_RATES.get(_function(work), 0) if work.reads_floats else 20
    return (45 + 9 * len(work.input(0))) * elements + each * (elements - work.written)


def _columns(rate: float) -> Callable[[Work], float]:
    """A rate of cycles for each run along the axis."""

    def cycles(work: Work) -> float:
        axis = 0 if work.attributes is None else work.attributes.axis
        length = dict(enumerate(work.input(0))).get(axis, 1)
        return rate * (work.written // max(length, 1))

    return cycles


def running_sums(work: Work) -> float:
    """13 for each run along the axis; 37 for each element, 63 of int8, 85 of float32."""
    each = {"int8": 63, "float32": 85}.get(work.read_type, 37)
    return _columns(13)(work) + each * work.written


def comparison(work: Work) -> float:
    """42 for each int8, 30 for each float32, 16 for each other element; 125 for each row."""
    each = {"int8": 42, "float32": 30}.get(work.read_type, 16)
    return each * work.written + 125 * (work.written // row_length(work))
