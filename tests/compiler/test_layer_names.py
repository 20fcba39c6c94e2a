"""What reports call the layers: the author's names where the file has them, all different, fit for a line."""

import random
import time

import pytest

from dlasim import api
from dlasim.compiler_shim.files.layer_names import Namer, layer_names
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite


def chain(*names, kinds=()):
    """A line of operators whose results have these names."""
    scale = Quantization((0.1,), (0,))
    tensors = tuple(Tensor(name, (1, 4), "int8", scale) for name in ("input", *names))
    operators = tuple(
        Operator(kinds[number] if kinds else "RELU", (number,), (number + 1,), {}, f"operator {number}")
        for number in range(len(names))
    )
    return Graph("chain", tensors, operators, (0,), (len(names),))


def named(*names, kinds=()):
    return layer_names(chain(*names, kinds=kinds), Namer())


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("CONV_2D", "net/relu/Relu;net/bn/FusedNormV3;net/conv2d_3/BiasAdd;net/conv2d_3/Conv2D1", "conv2d_3"),
        # The converter may merge equal constants, and then names another layer too.
        ("CONV_2D", "net/conv2d/BiasAdd/Read/resource;net/conv2d/BiasAdd;net/other/Conv2D", "conv2d"),
        ("CONV_2D", "net/conv2d_1/Relu6;net/conv2d_1/convolution", "conv2d_1"),
        ("DEPTHWISE_CONV_2D", "net/act/Relu6;net/dw/depthwise;net/pw/Conv2D", "dw"),
        ("FULLY_CONNECTED", "net/dense/MatMul;net/dense/BiasAdd", "dense"),
        ("ADD", "net/activation_2/Relu;net/add_1/add", "add_1"),
        ("AVERAGE_POOL_2D", "net/pool/AvgPool;StatefulPartitionedCall/net/pool/AvgPool", "pool"),
        ("SOFTMAX", "StatefulPartitionedCall:0", "softmax_1"),
        ("SOFTMAX", "StatefulPartitionedCall_1:11", "softmax_1"),
        ("SOFTMAX", "Identity_1_int8", "softmax_1"),
        ("SOFTMAX", "", "softmax_1"),
        ("SOFTMAX", "tensor_7", "softmax_1"),
        ("QUANTIZE", "tfl.quantize", "quantize"),
        ("RELU", "net/block/Relu", "block"),
        ("RELU", 'net/a "b"$c$\u202e\n/Relu', "a__b__c___"),
    ],
)  # fmt: skip
def test_a_converters_name_is_cut_to_the_layers(kind, name, expected):
    found = named("net/first/Relu", name, "net/last/Relu", kinds=("RELU", kind, "RELU"))
    assert found == ["first", expected, "last"]


def test_a_word_stays_where_a_layer_is_of_several_operators():
    assert named("net/decode/Abs", "net/decode/Sqrt", "net/dense/Relu") == [
        "decode/Abs",
        "decode/Sqrt",
        "dense",
    ]


def test_short_names_and_scopes_that_differ_stay():
    names = ["conv_0", "block_0/expand", "block_0/project", "block_1/expand", "block_1/project"]
    assert named(*names) == names


@pytest.mark.parametrize("nameless", [1, 2])
def test_short_names_stay_beside_results_without_any(nameless):
    found = named("conv", "pool", *["Identity"] * nameless)
    assert found == ["conv", "pool", "relu_2", "relu_3"][: 2 + nameless]


def test_equal_names_get_numbers_and_never_meet_another_name():
    found = named("a", "a", "a_2", "a", "b/a_3")
    assert found[:2] == ["a", "a_2"]
    assert len(set(found)) == 5


def test_the_number_is_the_one_that_errors_and_viewers_give():
    graph = chain("", "")
    later = Graph(graph.name, graph.tensors, graph.operators[1:], (1,), (2,))
    assert layer_names(later, Namer()) == ["relu_1"]


def test_hostile_names_are_short_different_and_do_not_take_long():
    rng = random.Random(0)
    letters = "a/;:_0$\n\u202e\x00é\"'\\"
    names = ["".join(rng.choices(letters, k=rng.choice((0, 3, 10_000)))) for _ in range(300)]
    names += ["0" * 100_000 + "x", "/" * 100_000, "a/" * 50_000, ";" * 100_000, *["same"] * 20_000]
    began = time.process_time()
    found = named(*names)
    assert time.process_time() - began < 5
    assert len(set(found)) == len(found)
    assert max(map(len, found)) <= 60
    assert all(name.isprintable() and not set(name) & set("\"'$;\\ ") for name in found)


def test_reports_and_explanations_use_them(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(chain("net/one/Relu", "net/two/Relu", "StatefulPartitionedCall:0")))
    names = ["one", "two", "relu_2"]
    assert [row["name"] for row in api.explain(path)] == names
    assert [layer["name"] for layer in api.run(path).report["layers"]] == names
