"""Constants that import computes, against what LiteRT computes from the same file."""

from dataclasses import replace

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.oracle import run_litert_reference
from tests.tflite.one_operator import random_graph

ARITHMETIC = ("ADD", "FLOOR_DIV", "MAXIMUM", "MINIMUM", "MUL", "SUB")
MOVES = (
    "CONCATENATION",
    "GATHER",
    "PACK",
    "SLICE",
    "SPLIT",
    "SPLIT_V",
    "STRIDED_SLICE",
    "TRANSPOSE",
    "UNPACK",
)
RESHAPES = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")


def with_constant_integers(graph, seed):
    """The graph with int32 constants in the place of its int8 inputs, and int32 results."""
    rng = np.random.default_rng(seed)
    tensors = []
    for index, tensor in enumerate(graph.tensors):
        if tensor.dtype == "int8":
            data = None if index in graph.outputs else rng.integers(1, 2**31, tensor.shape).astype(np.int32)
            tensor = replace(tensor, dtype="int32", quantization=None, data=data)
        tensors.append(tensor)
    options = dict(graph.operators[0].options)
    if "fused_activation_function" in options:
        options["fused_activation_function"] = "NONE"
    return replace(
        graph,
        tensors=tuple(tensors),
        inputs=(),
        operators=(replace(graph.operators[0], options=options),),
    )


@pytest.mark.parametrize("kind", [*ARITHMETIC, *MOVES, *RESHAPES])
def test_integer_operators_on_constants_fold_to_tensorflows_result(kind):
    for seed in range(4):
        model = write_tflite(with_constant_integers(random_graph(kind, seed), seed))
        graph = prepare(read_model(model), "model")
        assert graph.operators == ()
        expected = run_litert_reference(model, [])
        for index in graph.outputs:
            np.testing.assert_array_equal(graph.tensors[index].data, expected[index])


@pytest.mark.parametrize(
    ("source", "target"), [("float32", "int32"), ("int32", "float32"), ("int64", "int32")]
)
def test_casts_fold_to_tensorflows_result(source, target):
    data = np.array([-3, 0, 7, 2**30], dtype=source) * np.array(
        0.7 if source == "float32" else 1, dtype=source
    )
    tensors = (Tensor("x", (4,), source, None, data), Tensor("y", (4,), target))
    operator = Operator("CAST", (0,), (1,), {"in_data_type": source, "out_data_type": target})
    model = write_tflite(Graph("cast", tensors, (operator,), (), (1,)))
    graph = prepare(read_model(model), "model")
    np.testing.assert_array_equal(graph.tensors[1].data, run_litert_reference(model, [])[1])


def test_a_small_file_cannot_ask_for_gigabytes():
    wide = np.ones((1, 40_000), np.int32)
    tensors = (
        Tensor("x", wide.shape, "int32", None, wide),
        Tensor("y", wide.T.shape, "int32", None, np.ascontiguousarray(wide.T)),
        Tensor("z", (40_000, 40_000), "int32"),
    )
    graph = Graph("outer", tensors, (Operator("ADD", (0, 1), (2,)),), (), (2,))
    model = write_tflite(replace(graph, tensors=(*tensors[:2], replace(tensors[2], shape=(20_000, 20_000)))))
    with pytest.raises(Exception, match="its output is declared"):
        prepare(read_model(model), "model")
    small = np.ones((1, 20_000), np.int32)
    tensors = (
        replace(tensors[0], shape=small.shape, data=small),
        replace(tensors[1], shape=small.T.shape, data=np.ascontiguousarray(small.T)),
        replace(tensors[2], shape=(20_000, 20_000)),
    )
    imported = prepare(read_model(write_tflite(replace(graph, tensors=tensors))), "model")
    assert [operator.kind for operator in imported.operators] == ["ADD"]


def test_the_arithmetic_of_an_open_batch_disappears(tmp_path):
    """SHAPE, STRIDED_SLICE, PACK, RESHAPE: what the converter makes of a layer that flattens."""
    quantization = Quantization((0.5,), (0,))
    numbers = {"b": [0], "e": [1], "s": [1], "three": 3, "five": 5}
    constants = [
        Tensor(name, np.shape(value), "int32", None, np.array(value, np.int32))
        for name, value in numbers.items()
    ]
    tensors = (
        Tensor("x", (2, 5, 3), "int8", quantization),
        *constants,
        Tensor("shape", (3,), "int32"),
        Tensor("batch", (), "int32"),
        Tensor("wanted", (3,), "int32"),
        Tensor("y", (2, 3, 5), "int8", quantization),
    )
    operators = (
        Operator("SHAPE", (0,), (6,), {"out_type": "int32"}),
        Operator("STRIDED_SLICE", (6, 1, 2, 3), (7,), {"shrink_axis_mask": 1}),
        Operator("PACK", (7, 4, 5), (8,), {"values_count": 3, "axis": 0}),
        Operator("RESHAPE", (0, 8), (9,)),
    )
    path = tmp_path / "open.tflite"
    path.write_bytes(write_tflite(Graph("open", tensors, operators, (0,), (9,))))
    graph = load_graph(path)
    assert [operator.kind for operator in graph.operators] == ["RESHAPE"]
    assert graph.tensors[8].data.tolist() == [2, 3, 5]
