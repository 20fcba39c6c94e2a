"""Operators between conversions that have no exact form of integers, and data that move: as onnxruntime's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

import dlasim
from dlasim.compiler_shim.compile import load_graph
from tests.onnx.single_operators import compared, node, quantized, saved

RNG = np.random.default_rng(3)
MAX_SHARE = 0.005


def weights(*shape: int) -> Any:
    return RNG.normal(0, 0.4, shape).astype(np.float32)


def integers(*values: Any) -> Any:
    return np.array(values, np.int64)


ROWS, IMAGE = (2, 6, 16), (1, 8, 6, 10)
# Kind, shape of x, attributes, opset, and constants by name, which the node reads behind x.
CASES: dict[str, tuple[Any, Any, dict[str, Any], int, dict[str, Any]]] = {
    "layer-norm": ("LayerNormalization", ROWS, {"axis": -1}, 17, {"g": weights(16), "b": weights(16)}),
    "layer-norm-of-two": (
        "LayerNormalization",
        ROWS,
        {"axis": 1},
        17,
        {"g": weights(6, 16), "b": weights(6, 16)},
    ),
    "rms-norm": ("RMSNormalization", ROWS, {}, 23, {"g": weights(16)}),
    "instance-norm": ("InstanceNormalization", IMAGE, {}, 17, {"g": weights(8), "b": weights(8)}),
    "group-norm-18": ("GroupNormalization", IMAGE, {"num_groups": 4}, 18, {"g": weights(4), "b": weights(4)}),
    "group-norm-21": ("GroupNormalization", IMAGE, {"num_groups": 4}, 21, {"g": weights(8), "b": weights(8)}),
    "lp-norm": ("LpNormalization", ROWS, {"axis": 1}, 17, {}),
    "log-softmax": ("LogSoftmax", (4, 300), {}, 17, {}),
    "resize-linear": (
        "Resize",
        IMAGE,
        {"mode": "linear"},
        17,
        {"-": None, "f": np.array([1, 1, 1.7, 2.3], np.float32)},
    ),
    "resize-corners": (
        "Resize",
        IMAGE,
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        17,
        {"-": None, "- ": None, "s": integers(1, 8, 11, 13)},
    ),
    "resize-nearest": ("Resize", IMAGE, {}, 17, {"-": None, "- ": None, "s": integers(1, 8, 7, 13)}),
    "lstm": (
        "LSTM",
        (5, 2, 8),
        {"hidden_size": 6},
        17,
        {"w": weights(1, 24, 8), "u": weights(1, 24, 6), "b": weights(1, 48)},
    ),
    "lstm-both-ways": (
        "LSTM",
        (5, 1, 8),
        {"hidden_size": 6, "direction": "bidirectional"},
        17,
        {"w": weights(2, 24, 8), "u": weights(2, 24, 6), "b": weights(2, 48)},
    ),
    "gru": (
        "GRU",
        (5, 2, 8),
        {"hidden_size": 6, "linear_before_reset": 1},
        17,
        {"w": weights(1, 18, 8), "u": weights(1, 18, 6), "b": weights(1, 36)},
    ),
    "gru-reset-first": (
        "GRU",
        (5, 1, 8),
        {"hidden_size": 6, "direction": "reverse"},
        17,
        {"w": weights(1, 18, 8), "u": weights(1, 18, 6), "b": weights(1, 36)},
    ),
    "rnn": ("RNN", (5, 1, 8), {"hidden_size": 6}, 17, {"w": weights(1, 6, 8), "u": weights(1, 6, 6)}),
    "matmul-real-weights": ("MatMul", ROWS, {}, 17, {"w": weights(16, 12)}),
    "gemm-real-weights": (
        "Gemm",
        (4, 16),
        {"transB": 1, "alpha": 0.5},
        17,
        {"w": weights(12, 16), "b": weights(12)},
    ),
    "reduce-l2": ("ReduceL2", ROWS, {"axes": [-1]}, 17, {}),
    "expand": ("Expand", (2, 1, 16), {}, 17, {"s": integers(3, 1, 4, 16)}),
    "tile": ("Tile", ROWS, {}, 17, {"n": integers(2, 1, 3)}),
    "depth-to-space": ("DepthToSpace", IMAGE, {"blocksize": 2}, 17, {}),
    "depth-to-space-crd": ("DepthToSpace", IMAGE, {"blocksize": 2, "mode": "CRD"}, 17, {}),
    "space-to-depth": ("SpaceToDepth", IMAGE, {"blocksize": 2}, 17, {}),
    "gather-many": ("Gather", ROWS, {"axis": 1}, 17, {"i": integers([3, -1], [0, 0])}),
    "gather-elements": ("GatherElements", (3, 4), {"axis": 1}, 17, {"i": integers([3, 0], [1, 1], [-1, 2])}),
    "gather-nd": ("GatherND", ROWS, {}, 17, {"i": integers([0, 2], [1, 5])}),
    "scatter-nd": ("ScatterND", (4, 6), {}, 17, {"i": integers([1], [3]), "u": weights(2, 6)}),
    "slice-backwards": (
        "Slice",
        ROWS,
        {},
        17,
        {"b": integers(-1), "e": integers(-99), "a": integers(1), "t": integers(-2)},
    ),
    "pad-edge": ("Pad", IMAGE, {"mode": "edge"}, 17, {"p": integers(0, 0, 1, 2, 0, 0, 3, 1)}),
    "conv-real-weights": (
        "Conv",
        IMAGE,
        {"strides": [2, 1], "pads": [1, 0, 1, 2]},
        17,
        {"w": weights(5, 8, 3, 3), "b": weights(5)},
    ),
    "conv-groups": ("Conv", IMAGE, {"group": 2, "dilations": [2, 2]}, 17, {"w": weights(6, 4, 2, 2)}),
    "conv-depthwise": ("Conv", (2, 8, 20), {"group": 8}, 17, {"w": weights(8, 1, 3), "b": weights(8)}),
    "deconvolution-real-weights": (
        "ConvTranspose",
        IMAGE,
        {"strides": [2, 3], "pads": [1, 1, 1, 0], "output_padding": [1, 0], "dilations": [1, 2]},
        17,
        {"w": weights(8, 5, 3, 3), "b": weights(5)},
    ),
    "average-of-parts": (
        "AveragePool",
        IMAGE,
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]},
        17,
        {},
    ),
    "dilated-pool": (
        "MaxPool",
        IMAGE,
        {"kernel_shape": [2, 2], "dilations": [2, 2], "pads": [1, 1, 0, 0]},
        17,
        {},
    ),
    "deconvolution": (
        "ConvTranspose",
        IMAGE,
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        17,
        {"w": weights(8, 5, 3, 3), "b": weights(5)},
    ),
}


def network(path: Path, case: str) -> Path:
    kind, shape, attributes, opset, constants = CASES[case]
    names = " ".join(name.strip() for name in constants)
    weights_too = quantized("w", 0.011, 0) if case == "deconvolution" else []
    made = node(kind, f"x_d {names.replace('w', 'w_d') if weights_too else names}", "r", **attributes)
    nodes = [*quantized("x"), *weights_too, made, *quantized("r", 0.0287, -2)]
    known = {name: data for name, data in constants.items() if data is not None}
    return saved(path, nodes, {"x": (shape, np.float32)}, ["r_d"], known, opset)


@pytest.mark.parametrize("case", CASES)
def test_an_operator_is_within_a_step(tmp_path: Path, case: str) -> None:
    found, _ = compared(network(tmp_path / "m.onnx", case))
    assert found.layers[0].differing == 0
    for result in (*found.layers[1:], *found.outputs):
        assert result.elements > 0
        assert result.steps <= 1
        assert result.differing <= MAX_SHARE * result.elements


NORMALIZED = [case for case in CASES if "-norm" in case and case != "lp-norm"]


@pytest.mark.parametrize("case", NORMALIZED)
def test_normalizations_are_computed_by_integers(tmp_path: Path, case: str) -> None:
    """With 21 bits below the point: onnxruntime's numbers but for halves."""
    path = network(tmp_path / "m.onnx", case)
    kinds = {operator.kind for operator in load_graph(path).operators}
    assert "NORMALIZATION" in kinds
    assert kinds <= {"NORMALIZATION", "RESHAPE", "TRANSPOSE"}
    found, _ = compared(path)
    assert sum(result.differing for result in found.layers) <= 1


FUNCTIONS = ["Abs", "Ceil", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",
             "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Softsign", "Sqrt", "Tanh"]  # fmt: skip


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_of_sums(tmp_path: Path, kind: str) -> None:
    """Of a tensor that no conversion follows, so that no table of 256 can hold it."""
    sums = (
        [node("Add", "x_d y_d", "t"), node("Abs", "t", "s")]
        if kind == "Sqrt"
        else [node("Add", "x_d y_d", "s")]
    )
    made = [*sums, node(kind, "s", "r")]
    nodes = [*quantized("x"), *quantized("y", 0.031, -4), *made, *quantized("r", 0.0287, -2)]
    shape = ((4, 50), np.float32)
    path = saved(tmp_path / "m.onnx", nodes, {"x": shape, "y": shape}, ["r_d"], opset=18)
    found, graph = compared(path)
    assert kind == "Relu" or any(
        graph.tensors[operator.outputs[0]].dtype == "float32" for operator in graph.operators
    )
    result = found.layers[-1]
    assert (result.steps <= 1, result.elements) == (True, 600)
    assert result.differing <= MAX_SHARE * result.elements


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
def test_two_tensors_without_a_scale_between(tmp_path: Path, kind: str) -> None:
    """Broadcast, images beside rows."""
    made = [node(kind, "x_d y_d", "s"), node("Mul", "s x_d", "r")]
    nodes = [*quantized("x"), *quantized("y", 0.031, -4), *made, *quantized("r", 0.0287, -2)]
    inputs = {"x": ((2, 3, 5, 4), np.float32), "y": ((3, 1, 4), np.float32)}
    found, _ = compared(saved(tmp_path / "m.onnx", nodes, inputs, ["r_d"]))
    assert found.layers[-1].differing <= MAX_SHARE * found.layers[-1].elements


def test_quantization_moves_across_movement(tmp_path: Path) -> None:
    """Float data may move before they are quantized, and after an operator: no float32 is left."""
    made = [
        node("Reshape", "x shape", "a"),
        node("Transpose", "a", "b", perm=[0, 2, 1]),
        node("Slice", "b begin end", "c"),
        *quantized("c"),
        node("MatMul", "c_d w_d", "d"),
        node("Squeeze", "d axis", "e"),
        node("Transpose", "e", "r"),
        *quantized("r", 0.05, 1),
    ]
    constants = {
        "shape": integers(1, 6, 8), "begin": integers(0, 2), "end": integers(1, 7), "axis": integers(0),
        "w": weights(6, 4),
    }  # fmt: skip
    nodes = [*quantized("w", 0.01, 0), *made]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((1, 48), np.float32)}, ["r_d"], constants)
    found, graph = compared(path)
    assert {graph.tensors[n].dtype for o in graph.operators for n in o.outputs} == {"int8"}
    assert [layer.differing for layer in found.layers] == [0] * len(found.layers)
    assert dlasim.verify(path, runs=1).passed


def test_tokens_look_up_an_embedding(tmp_path: Path) -> None:
    """Of int64, in a table that the file quantizes: the rows are int8 from the start."""
    nodes = [*quantized("t", 0.01, 0), node("Gather", "t_d x", "g"), *quantized("g", 0.01, 0),
             node("LayerNormalization", "g_d w", "r"), *quantized("r")]  # fmt: skip
    constants = {"t": weights(5, 16), "w": weights(16)}
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((1, 7), np.int64)}, ["r_d"], constants)
    found, graph = compared(path)
    gather = next(operator for operator in graph.operators if operator.kind == "GATHER")
    assert graph.tensors[gather.outputs[0]].dtype == "int8"
    assert all(layer.differing == 0 for layer in found.layers)
    assert dlasim.verify(path, runs=1).passed
    data = np.array([[-1, 4, -5, 0, 2, -2, 1]], np.int64)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": data})
    (real,) = dlasim.run(path, inputs=data).real_outputs
    np.testing.assert_allclose(real, expected, atol=0.021)


def test_a_mask_chooses(tmp_path: Path) -> None:
    """Where and comparisons of what the network computes."""
    made = [node("Greater", "x_d y_d", "c"), node("Not", "c", "n"), node("Where", "n x_d low", "r")]
    nodes = [*quantized("x"), *quantized("y", 0.031, -4), *made, *quantized("r", 0.0287, -2)]
    inputs = {"x": ((2, 9), np.float32), "y": ((9,), np.float32)}
    path = saved(tmp_path / "m.onnx", nodes, inputs, ["r_d"], {"low": np.float32(-1)})
    found, _ = compared(path)
    assert found.layers[-1].differing == 0


def test_bytes_become_real_numbers(tmp_path: Path) -> None:
    """An image of uint8 that the network itself scales: one table."""
    made = [node("Cast", "x", "f", to=1), node("Div", "f c", "a"), *quantized("a", 1 / 255, -128),
            node("MaxPool", "a_d", "r", kernel_shape=[2, 2], strides=[2, 2])]  # fmt: skip
    path = saved(tmp_path / "m.onnx", made, {"x": ((1, 3, 8, 8), np.uint8)}, ["r"], {"c": np.float32(255)})
    found, _ = compared(path)
    assert [layer.differing for layer in found.layers] == [0]


@pytest.mark.parametrize("opset", [10, 11, 12])
def test_older_opsets(tmp_path: Path, opset: int) -> None:
    """Attributes that are inputs now, and Softmax of all dimensions from one on."""
    pads = {"pads": [0, 0, 1, 1, 0, 0, 1, 1]} if opset == 10 else {}
    limits = {"min": -0.5, "max": 1.0} if opset == 10 else {}
    made = [
        node("Pad", "x_d" if opset == 10 else "x_d pads", "a", **pads),
        node("Clip", "a" if opset == 10 else "a low high", "b", **limits),
        *quantized("b"),
        node("Squeeze", "b_d", "c", axes=[0]),
        node("Split", "c", "d e", axis=0, split=[2, 1]),
        node("Unsqueeze", "d", "f", axes=[0]),
        *quantized("f"),
        node("Softmax", "f_d", "r"),
        *quantized("r", 1 / 256, -128),
    ]
    constants = {} if opset == 10 else {
        "pads": integers(0, 0, 1, 1, 0, 0, 1, 1), "low": np.float32(-0.5), "high": np.float32(1)
    }  # fmt: skip
    path = saved(tmp_path / "m.onnx", [*quantized("x"), *made], {"x": ((1, 3, 4, 4), np.float32)}, ["r_d"],
                 constants, opset)  # fmt: skip
    found, _ = compared(path)
    assert all(layer.steps <= 1 for layer in found.layers)
    assert all(layer.differing == 0 for layer in found.layers[:-1])


def test_constant_subgraphs_are_computed_first(tmp_path: Path) -> None:
    """A scale that Pow, Sqrt, Div, Where and Trilu of constants give."""
    made = [
        node("Pow", "c two", "p"), node("Sqrt", "p", "s"), node("Div", "one s", "k"),
        node("Trilu", "ones", "t"), node("Equal", "t ones", "m"), node("Where", "m k one", "w"),
        node("Mul", "x_d w", "r"),
    ]  # fmt: skip
    constants = {
        "c": np.float32(3),
        "two": np.float32(2),
        "one": np.float32(1),
        "ones": np.ones((4, 4), np.float32),
    }
    nodes = [*quantized("x"), *made, *quantized("r")]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((4, 4), np.float32)}, ["r_d"], constants)
    kinds = {operator.kind for operator in load_graph(path).operators}
    assert kinds == {"DEQUANTIZE", "MUL", "QUANTIZE"}  # 1 and 1/3 are not whole numbers of steps
    assert compared(path)[0].layers[-1].differing == 0


@pytest.mark.parametrize("case", ["layer-norm", "log-softmax", "gru", "deconvolution", "scatter-nd"])
def test_the_program_computes_it(tmp_path: Path, case: str) -> None:
    found = dlasim.verify(network(tmp_path / "m.onnx", case), runs=1)
    assert found.program.passed, found.program.mismatch
    assert found.steps <= 1


def test_long_chains_of_limits(tmp_path: Path) -> None:
    """Which become part of the operator before them, however many there are."""
    chain = [node("Relu", f"r{place}", f"r{place + 1}") for place in range(200)]
    made = [node("MatMul", "x_d w_d", "r0"), *chain, *quantized("r200", 0.05, -128)]
    nodes = [*quantized("x"), *quantized("w", 0.01, 0), *made]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((2, 8), np.float32)}, ["r200_d"], {"w": weights(8, 4)})
    assert [operator.kind for operator in load_graph(path).operators] == ["FULLY_CONNECTED"]
    loop = [*quantized("x"), *quantized("w", 0.01, 0), node("MatMul", "x_d w_d", "y"), node("Relu", "y", "y")]
    path = saved(tmp_path / "l.onnx", loop, {"x": ((2, 8), np.float32)}, ["y"], {"w": weights(8, 4)})
    load_graph(path)


@pytest.mark.parametrize("count", [3000])
def test_a_chain_longer_than_python_recurses(tmp_path: Path, count: int) -> None:
    chain = [node("Relu", f"r{place}", f"r{place + 1}") for place in range(count)]
    made = [node("MatMul", "x_d w_d", "r0"), *chain, *quantized(f"r{count}", 0.05, -128)]
    nodes = [*quantized("x"), *quantized("w", 0.01, 0), *made]
    path = saved(
        tmp_path / "m.onnx", nodes, {"x": ((2, 8), np.float32)}, [f"r{count}_d"], {"w": weights(8, 4)}
    )
    assert load_graph(path).operators[-1].kind in ("MAXIMUM", "QUANTIZE")


@pytest.mark.parametrize(("kind", "numbers"), [("INT4", (-8, 8)), ("UINT4", (0, 16))])
@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize("is_raw", [False, True])
def test_weights_of_four_bits(
    tmp_path: Path, kind: str, numbers: tuple[int, int], is_blocked: bool, is_raw: bool
) -> None:
    """As integers with a scale for each channel; in float32 with one for each block of numbers."""
    data, dtype = RNG.integers(*numbers, (17, 5)), getattr(TensorProto, kind)
    packed = np.append(data.ravel() & 15, 0)[: (data.size + 1) // 2 * 2].reshape(-1, 2)
    raw = (packed[:, 0] | packed[:, 1] << 4).astype(np.uint8)
    four = TensorProto(name="w", data_type=dtype, dims=data.shape)
    if is_raw:
        four.raw_data = raw.tobytes()
    else:
        four.int32_data.extend(raw.tolist())
    scales = RNG.uniform(0.01, 0.1, (3, 5) if is_blocked else 5).astype(np.float32)
    blocks = {"axis": 0, "block_size": 8} if is_blocked else {"axis": 1}
    made = [node("DequantizeLinear", "w s", "w_d", **blocks), node("MatMul", "x_d w_d", "r")]
    nodes = [*quantized("x"), *made, *quantized("r", 0.0287, -2)]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((4, 17), np.float32)}, ["r_d"], {"s": scales}, 21)
    model = onnx.load(path)
    model.graph.initializer.append(four)
    onnx.save(model, path)
    found, graph = compared(path)
    assert ("FULLY_CONNECTED" in {operator.kind for operator in graph.operators}) is not is_blocked
    assert found.layers[-1].steps <= 1
    assert found.layers[-1].differing <= MAX_SHARE * found.layers[-1].elements


def test_nothing_divided_by_nothing(tmp_path: Path) -> None:
    """Is not a number, which both engines make the lowest one."""
    nodes = [*quantized("x", 0.5, 0), *quantized("y", 0.5, 0), node("Div", "x_d y_d", "r"),
             *quantized("r", 0.0287, -2)]  # fmt: skip
    shape = ((40, 50), np.float32)
    path = saved(tmp_path / "m.onnx", nodes, {"x": shape, "y": shape}, ["r_d"])
    result = compared(path)[0].layers[-1]
    assert result.steps <= 1
    assert result.differing <= MAX_SHARE * result.elements
