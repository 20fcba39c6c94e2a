"""How long host calls take on a plain in-order CPU: an estimate, for when no CPU is simulated.

Cycles for each of what a kernel of the virtual prototype's firmware loops over, fitted to its instructions on
a core that executes one a cycle (`benchmarks/cpu_estimate.py`); the virtual prototype measures instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import SimpleNamespace

from dlasim.dataclass import dataclass
from dlasim.isa import host_ops
from dlasim.isa.host_attributes import decode_attributes
from dlasim.isa.host_op_rows import BinaryFunction, ReduceFunction, UnaryFunction
from dlasim.isa.program import HostCall, Program, TensorDescriptor
from dlasim.sim.host_time import host_loops as loops
from dlasim.sim.host_time.host_work import Shape, Work, row_length

DOORBELL_CYCLES = 40


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


@dataclass(frozen=True, slots=True)
class Rates:
    """Cycles of a call, and for each of what it works on; `more` are those of loops of another kind."""

    call: float = 300
    mac: float = 0
    read: float = 0  # element of the first input
    written: float = 0  # element of the outputs
    more: Callable[[Work], float] | None = None


RATES = {
    "CONV_2D": Rates(mac=2.9, written=29, more=loops.convolution),
    "TRANSPOSE_CONV": Rates(written=27, more=loops.transposed),
    "DEPTHWISE_CONV_2D": Rates(mac=4.1, written=34, more=loops.depthwise),
    "FULLY_CONNECTED": Rates(written=30, more=loops.matrix),
    "ADD": Rates(more=loops.sums(32.6)),
    "SUB": Rates(more=loops.sums(32.6)),
    "MUL": Rates(written=33, more=loops.rows(110)),
    "DIV": Rates(more=loops.quotients),
    "MUL_LUT": Rates(written=34, more=loops.rows(112)),
    "PRODUCT": Rates(more=loops.products),
    "SQUARED_DIFFERENCE": Rates(more=loops.sums(35)),
    "BATCH_MATMUL": Rates(written=28, more=loops.matrices(10)),
    "REQUANT": Rates(written=25.5, more=loops.requantized),
    "PRELU": Rates(written=38, more=loops.rows(110)),
    "LUT": Rates(call=210, written=4.5, more=loops.long_entries),
    "AVERAGE_POOL_2D": Rates(written=38, more=loops.window_elements(2.6)),
    "MAX_POOL_2D": Rates(written=34, more=loops.window_elements(2.6)),
    "MEAN": Rates(read=18, written=80),
    "SOFTMAX": Rates(call=260, more=loops.softmax),
    "PAD": Rates(more=loops.padding),
    "CONCATENATION": Rates(call=150, more=loops.concatenation),
    "STRIDED_COPY": Rates(more=loops.strided),
    "GATHER": Rates(more=loops.picked(32, loops.behind_axis)),
    "GATHER_ND": Rates(more=loops.picked(46, loops.behind_indices)),
    "UPDATE_SLICE": Rates(call=300, more=loops.updates),
    "PLACE_CURSOR": Rates(call=185, read=19),
    "RESIZE_NEAREST": Rates(more=loops.picked(33, lambda work: (1, *work.output)[-1])),
    "RESIZE_BILINEAR": Rates(written=29.7, more=loops.pixels(48)),
    "RESIZE_FLOAT": Rates(more=resizing),
    "QUANTIZE": Rates(call=250, written=19.3, more=loops.narrow_halves),
    "QUANTIZE_TABLE": Rates(call=420, written=9.8),
    "RESCALE": Rates(call=190, written=41),
    "SVDF": Rates(more=loops.filters),
    "MATRIX_SUMS": Rates(written=15, more=loops.sums_of_products),
    "LSTM_CELL": Rates(call=630, written=184),
    "CONV_2D_16": Rates(mac=7.8, written=158, more=loops.int16_windows),
    "FULLY_CONNECTED_16": Rates(mac=7.8, written=100),
    "BATCH_MATMUL_16": Rates(written=63, more=loops.matrices(13)),
    "TRANSPOSE_CONV_16": Rates(written=130, more=loops.int16_transposed),
    "ARITHMETIC_16": Rates(call=210, more=loops.int16_arithmetic),
    "POOL_16": Rates(written=35, more=loops.window_elements(9.2)),
    "MEAN_16": Rates(read=20.5, written=80),
    "SOFTMAX_16": Rates(written=60, more=loops.pixels(110)),
    "SOFTMAX_FLOAT": Rates(written=432),
    "LUT_16": Rates(call=200, written=22),
    "SIGMOID_16": Rates(call=220, written=35.5),
    "LEAKY_16": Rates(call=170, written=40),
    "DECODE_BOXES": Rates(written=940),
    "SUPPRESS_BOXES": Rates(more=loops.detections),
    "DEQUANTIZE": Rates(call=210, written=98.5),
    "CAST": Rates(more=conversions),
    "BINARY": Rates(more=unquantized_binary),
    "UNARY": Rates(more=unquantized_unary),
    "ARG_MAX": Rates(more=search),
    "REDUCE": Rates(more=reduction),
    "CUMULATIVE_SUM": Rates(more=running_sums),
    "TOP_K": Rates(call=290, more=loops.greatest),
    "NORMALIZE": Rates(call=200, written=38.8, more=loops.pixels(570)),
    "L2_NORMALIZATION": Rates(read=30, more=loops.pixels(400)),
    "COMPARE": Rates(more=comparison),
    "SELECT": Rates(written=51),
}
OTHERS = Rates(read=16, written=16)  # the firmware has no kernel to measure
_MEASURED = {operator.name for operator in host_ops.HOST_OPERATORS if operator.firmware}
assert RATES.keys() >= _MEASURED, f"no rates for {_MEASURED - RATES.keys()}"
assert RATES.keys() <= host_ops.BY_NAME.keys(), "rates of no host operator"


def call_cycles(program: Program, call: HostCall) -> int:
    """Estimated CPU cycles of a host call of a program."""
    return estimate_call(program.tensors, program.layers[call.layer].macs, call)


def estimate_call(tensors: Sequence[TensorDescriptor], macs: int, call: HostCall) -> int:
    """The same, given descriptors of tensors and the products of the call's layer."""
    shapes = [[tensors[n].shape for n in numbers if n >= 0] for numbers in (call.inputs, call.outputs)]
    read, written = (
        [tensors[n].type.name for n in numbers[:1] if n >= 0] for numbers in (call.inputs, call.outputs)
    )
    types = (*read, "int8")[0], (*written, "int8")[0]
    in_place = _shares_bytes(tensors, call)
    return operator_cycles(shapes[0], shapes[1], call.code, macs, call.attributes, types, in_place)


def _shares_bytes(tensors: Sequence[TensorDescriptor], call: HostCall) -> bool:
    """Whether the first output has the bytes of the first input."""
    if not call.inputs or call.inputs[0] < 0:
        return False
    one, other = tensors[call.inputs[0]], tensors[call.outputs[0]]
    return (one.region, one.offset) == (other.region, other.offset)


def operator_cycles(
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    code: int,
    macs: int,
    words: Sequence[int] = (),
    types: tuple[str, str] = ("int8", "int8"),
    is_in_place: bool = False,
) -> int:
    """Estimated CPU cycles of a host operator on tensors of these shapes; `words` are its attributes, `types`
    those of its first input and output."""
    operator = host_ops.BY_CODE[code]
    rates = RATES.get(operator.name, OTHERS)
    attributes: SimpleNamespace | None = None
    if len(words) == operator.words:
        attributes = decode_attributes(operator, words)
    work = Work(inputs, outputs, macs, attributes, *types, is_in_place)
    cycles = rates.call + rates.mac * macs + rates.written * work.written + rates.read * prod(work.input(0))
    return round(cycles + (rates.more(work) if rates.more else 0))
