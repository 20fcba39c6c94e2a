"""The table of host operators as an ABI: names for C, words there and back, calls that are refused."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlasim.errors import InputError, RunError
from dlasim.isa import host_ops
from dlasim.isa.file_records import DataType
from dlasim.isa.host_attributes import decode_attributes, encode_attributes
from dlasim.isa.host_op_rows import Word
from dlasim.isa.host_ops import HOST_OPERATORS
from dlasim.sim.host import TensorSpec, run_host_op
from dlasim.sim.host.host_operation import KERNELS

C_KEYWORDS = {"int", "float", "bool", "double", "case", "default", "register", "switch", "union", "static"}
# What program files in the world rely on: a code never changes its meaning.
CODES = {
    1: "CONV_2D",
    2: "DEPTHWISE_CONV_2D",
    3: "FULLY_CONNECTED",
    4: "TRANSPOSE_CONV",
    5: "LUT",
    6: "ADD",
    7: "SUB",
    8: "MUL",
    9: "PRELU",
    10: "AVERAGE_POOL_2D",
    11: "MAX_POOL_2D",
    12: "MEAN",
    13: "SOFTMAX",
    14: "PAD",
    15: "CONCATENATION",
    16: "STRIDED_COPY",
    17: "RESIZE_NEAREST",
    18: "RESIZE_BILINEAR",
    19: "QUANTIZE",
    20: "DEQUANTIZE",
    21: "CAST",
    22: "BINARY",
    23: "UNARY",
    24: "ARG_MAX",
    25: "GATHER",
    26: "GATHER_ND",
    27: "SVDF",
    28: "SQUARED_DIFFERENCE",
    29: "BATCH_MATMUL",
    30: "REQUANT",
    31: "REDUCE",
    32: "CUMULATIVE_SUM",
    33: "TOP_K",
    34: "L2_NORMALIZATION",
    35: "COMPARE",
    36: "SELECT",
    63: "NORMALIZE",
    40: "DIV",
    41: "PRODUCT",
    44: "RESCALE",
    45: "MATRIX_SUMS",
    46: "LSTM_CELL",
    47: "CONV_2D_16",
    48: "FULLY_CONNECTED_16",
    49: "TRANSPOSE_CONV_16",
    50: "ARITHMETIC_16",
    51: "POOL_16",
    52: "MEAN_16",
    53: "SOFTMAX_16",
    54: "SIGMOID_16",
    55: "LEAKY_16",
    56: "QUANTIZE_TABLE",
    57: "DECODE_BOXES",
    58: "SUPPRESS_BOXES",
    59: "LUT_16",
    60: "SOFTMAX_FLOAT",
    61: "RESIZE_FLOAT",
    62: "UPDATE_SLICE",
    65: "BATCH_MATMUL_16",
    64: "MUL_LUT",
    66: "PLACE_CURSOR",
}


def test_codes_are_stable():
    assert {operator.code: operator.name for operator in HOST_OPERATORS} == CODES


@pytest.mark.parametrize("operator", HOST_OPERATORS, ids=lambda operator: operator.name)
def test_names_are_c_identifiers(operator):
    names = [attribute.name for attribute in operator.attributes]
    assert len(set(names)) == len(names)
    assert re.fullmatch("[A-Z][A-Z0-9_]*", operator.name)
    for name in names:
        assert re.fullmatch("[a-z][a-z0-9_]*", name)
        assert name not in C_KEYWORDS


def test_every_operator_has_one_kernel():
    assert KERNELS.keys() == host_ops.BY_NAME.keys()


def test_types_are_those_of_the_program_file():
    for operator in HOST_OPERATORS:
        for operand in (*operator.inputs, *operator.outputs):
            assert set(operand.types) <= set(DataType.__members__)


@given(st.data())
@settings(deadline=None)
def test_attributes_come_back(data):
    operator = data.draw(st.sampled_from(HOST_OPERATORS))
    values = {attribute.name: data.draw(attribute_values(attribute)) for attribute in operator.attributes}
    words = encode_attributes(operator.name, **values)
    assert len(words) == operator.words
    assert all(-(1 << 31) <= word < 1 << 31 for word in words)
    assert vars(decode_attributes(operator, words)) == values


def attribute_values(attribute):
    one = st.integers(-(1 << 31), (1 << 31) - 1)
    if attribute.word is Word.FLOAT32:
        one = st.floats(width=32, allow_nan=False)
    return one if attribute.count == 1 else st.tuples(*[one] * attribute.count)


def spec(*shape, dtype="int8"):
    return TensorSpec(shape, dtype)


IMAGE = np.zeros((1, 4, 4, 2), np.int8)
POOL_WORDS = (1, 1, 0, 0, 2, 2, -128, 127, 0)


@pytest.mark.parametrize(
    ("code", "words", "inputs", "outputs", "message"),
    [
        (99, (), [IMAGE], [spec(1)], "unknown host operator 99"),
        (10, (1, 2), [IMAGE], [spec(1)], "AVERAGE_POOL_2D takes 9 attribute words (got 2)"),
        (10, POOL_WORDS, [], [spec(1)], "AVERAGE_POOL_2D takes 1 input (got 0)"),
        (10, POOL_WORDS, [IMAGE.astype(np.int32)], [spec(1)], "input must be int8 (got int32)"),
        (10, POOL_WORDS, [IMAGE], [spec(1, 9, 9, 9)], "must have the same channels"),
        (
            10,
            (1, 1, 0, 0, 0, 0, -128, 127, 0),
            [IMAGE],
            [spec(1, 4, 4, 2)],
            "filter_height must be 1 to 1073741824 (got 0)",
        ),
        (
            16,
            (0, *(1,) * 5, 33, *(1,) * 6),
            [IMAGE],
            [spec(33)],
            "the last element read must lie inside the input",
        ),
        (
            16,
            (-1, *(1,) * 6, *(1,) * 6),
            [IMAGE],
            [spec(1)],
            "the first element read must lie inside the input",
        ),
        (22, (10, 0, 0), [IMAGE, IMAGE], [spec(*IMAGE.shape)], "function must be 0 to 9 (got 10)"),
        (14, (3, 0, 0, 0, 0, 0, 0), [IMAGE], [spec(*IMAGE.shape)], "the input must lie inside the output"),
        (15, (9,), [IMAGE], [spec(1, 2)], "axis must be 0 to 5 (got 9)"),
        (24, (7,), [IMAGE], [spec(1, dtype="int32")], "axis must be 0 to 5 (got 7)"),
    ],
)
def test_calls_that_do_not_fit_are_refused_in_one_line(code, words, inputs, outputs, message):
    with pytest.raises((RunError, InputError), match=re.escape(message)) as error:
        run_host_op(code, words, inputs, outputs)
    assert "\n" not in str(error.value)


@given(st.data())
@settings(deadline=None, max_examples=600)
def test_no_call_ends_in_a_traceback(data):
    """Calls of noise give a result of the declared shape and type, or break a rule."""
    operator = data.draw(st.sampled_from(HOST_OPERATORS))
    words = data.draw(st.lists(st.integers(-2, 6), min_size=operator.words, max_size=operator.words))
    shapes = st.lists(st.integers(0, 5), max_size=5).map(tuple)
    inputs = []
    for operand in operator.inputs:
        shape, dtype = data.draw(shapes), data.draw(st.sampled_from(operand.types))
        inputs.append(np.full(shape, data.draw(st.integers(0, 9))).astype(dtype))
    outputs = [TensorSpec(data.draw(shapes), data.draw(st.sampled_from(o.types))) for o in operator.outputs]
    try:
        results = run_host_op(operator.code, words, inputs, outputs)
    except RunError as error:
        # The rules are complete: what they let through, the kernel computes.
        assert "do not fit attributes" not in str(error)  # noqa: PT017
        return
    assert [TensorSpec(result.shape, result.dtype.name) for result in results] == outputs
