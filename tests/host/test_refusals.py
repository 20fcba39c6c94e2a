"""Operators that host calls cannot compute are refused, naming operator and reason."""

import re

import numpy as np
import pytest

from dlasim.errors import InputError
from tests.host.models import GraphBuilder, lower_operator


def lower(graph):
    return lower_operator(graph.operators[0], graph)


def unary(kind, source=("int8", 0.1, 0), target=("int8", 0.1, 0), **options):
    builder = GraphBuilder()
    numbers = [builder.add((4,), *source, is_input=True), builder.add((4,), *target)]
    return builder.graph(kind, numbers[:1], numbers[1:], **options)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (unary("LSTM"), "(LSTM): the operator is not supported"),
        (unary("RELU", ("float32",), ("float32",)), "t0 must be int8 (got float32)"),
        (unary("RELU", ("int8", None, 0)), "t0 has no scale"),
        (unary("RELU", ("int8", [0.1, 0.2], 0)), "t0 is quantized per channel"),
        (unary("RELU", ("int8", 0.0, 0)), "t0 has a scale that is not above 0"),
        (
            unary("LOGISTIC"),
            "output has scale and zero point (0.10000000149011612, 0), not (0.00390625, -128)",
        ),
        (
            unary("LOGISTIC", ("int16", 1e-15, 0), ("int16", 1 / 32768, 0)),
            "its input scale is too small",
        ),
        (unary("SOFTMAX"), "output has scale and zero point"),
        (unary("HARD_SWISH", target=("int8", 0.0001, 0)), "output scale is less than 1/128"),
        (unary("SQRT", ("int32", 0.1, 0)), "t0 must be int8 or float32 (got int32)"),
        (unary("QUANTIZE", ("int64", 0.1, 0)), "t0 must be float32, int8, uint8, int16 or int32 (got int64)"),
        (unary("CONCATENATION", target=("int8", 0.2, 0)), "t0 must have the scale and zero point of t1"),
        (unary("CONCATENATION", fused_activation_function="TANH"), "fused activation TANH is not supported"),
    ],
)
def test_refusal(graph, message):
    with pytest.raises(InputError, match=re.escape(message)) as error:
        lower(graph)
    assert str(error.value).startswith(f"test: operator 0 ({graph.operators[0].kind}): ")


def test_weights_with_zero_point_are_refused():
    builder = GraphBuilder()
    values = builder.add((1, 3), scale=0.1, is_input=True)
    weights = builder.add((2, 3), scale=0.1, zero_point=5, data=np.ones((2, 3)))
    graph = builder.graph("FULLY_CONNECTED", [values, weights], [builder.add((1, 2), scale=0.1)])
    with pytest.raises(InputError, match="weights t1 have zero points other than 0"):
        lower(graph)


def test_what_must_be_constant_is_named():
    builder = GraphBuilder()
    values = builder.add((1, 3), scale=0.1, is_input=True)
    axes = builder.add((1,), "int32", is_input=True)
    graph = builder.graph("MEAN", [values, axes], [builder.add((1,), scale=0.1)])
    with pytest.raises(InputError, match=re.escape("input 1 (t1) must be constant, but")):
        lower(graph)
