"""Random networks that onnxruntime quantized; `tools/random_onnx.py` tries thousands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import dlasim
from dlasim.checking.onnx_edits import with_unsigned_weights
from dlasim.compiler_shim.files.input_file import open_input
from tests.onnx.random_networks import MOST_SHARE, try_network
from tests.onnx.single_operators import compared, node, quantized, saved
from tests.onnx.test_networks import between_scales

# Found a difference once: constants rounded to 8 bits (82, 122, 153, 231), Softplus in float32 (11),
# a Pad in front of a Resize (9572), Softplus of numbers above 88 (15351).
KNOWN = (11, 82, 122, 153, 231, 9572, 15351)


def test_exact_halves_may_be_on_either_side(tmp_path: Path) -> None:
    """A product in the scale of its operand, by shares some of which are 128 of 256."""
    failure, differing, _ = try_network(1119, tmp_path / "m.onnx")
    assert not failure
    name = "matmul_9_0_quantized"
    before, after = (
        next(layer for layer in compared(tmp_path / "m.onnx", 1, halves)[0].layers if layer.name == name)
        for halves in ((), (name,))
    )
    assert differing >= before.differing > MOST_SHARE * before.elements
    assert after.differing == 0


def test_weights_beside_uint8_are_unsigned_in_the_reference(tmp_path: Path) -> None:
    """Products of 255 and 127, two of which onnxruntime adds in 16 bits on CPUs without VNNI."""
    rng = np.random.default_rng(3)
    weights = rng.choice([-127, 127], (8, 64)).astype(np.int8)
    constants = {
        "w": weights.T.copy(), "ws": np.full(8, 0.01, np.float32), "wz": np.zeros(8, np.int8),
        "s": np.float32(0.02), "z": np.uint8(0), "os": np.float32(20.0), "oz": np.uint8(128),
    }  # fmt: skip
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearMatMul", "q s z w ws wz os oz", "p"),
        node("DequantizeLinear", "p os oz", "y"),
    ]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((32, 64), np.float32)}, ["y"], constants)
    changed = onnx.ModelProto.FromString(with_unsigned_weights(open_input(path)))
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in changed.graph.initializer}
    np.testing.assert_array_equal(stored["w"].astype(int) - stored["wz"], weights.T)
    assert (stored["w"].dtype, stored["wz"].dtype) == (np.uint8, np.uint8)
    assert [len(changed.graph.node), len(stored)] == [3, 7]
    found, _ = compared(path)
    assert [(layer.name, layer.differing) for layer in found.layers] == [("q", 0), ("p", 0)]


@pytest.mark.parametrize("shared", ["output", "reader"])
def test_weights_with_another_reader_stay_signed(shared: str, tmp_path: Path) -> None:
    constants = {
        "w": np.full((4, 4), 3, np.int8), "ws": np.float32(0.01), "wz": np.int8(0),
        "s": np.float32(0.02), "z": np.uint8(0),
    }  # fmt: skip
    nodes = [node("QuantizeLinear", "x s z", "q"), node("QLinearMatMul", "q s z w ws wz s z", "p"),
             node("DequantizeLinear", "p s z", "y")]  # fmt: skip
    if shared == "reader":
        nodes.append(node("DequantizeLinear", "w ws wz", "v"))
    outputs = ["y", "w" if shared == "output" else "v"]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((2, 4), np.float32)}, outputs, constants)
    changed = onnx.ModelProto.FromString(with_unsigned_weights(open_input(path)))
    types = {tensor.name: tensor.data_type for tensor in changed.graph.initializer}
    assert types["w"] == onnx.TensorProto.INT8


@pytest.mark.parametrize("seed", [*KNOWN, *range(300, 312)])
def test_each_layer_is_within_a_step(seed: int, tmp_path: Path) -> None:
    failure, differing, elements = try_network(seed, tmp_path / "m.onnx")
    assert not failure
    assert seed not in KNOWN or differing <= 0.01 * elements


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("shape", "constant"), [((1, 6, 5, 4), (6, 1, 1)), ((2, 7, 12), (12,)), ((2, 7, 12), (7, 12))]
)
def test_constants_in_float_keep_their_precision(kind: str, shape, constant, tmp_path: Path) -> None:
    """One for each channel becomes a convolution; others are computed in float32."""
    numbers = np.random.default_rng(1).uniform(0.3, 2, constant).astype(np.float32)
    nodes = [*quantized("x", 0.03, 3), node(kind, "x_d c", "r"), *quantized("r", 0.041, -5)]
    path = saved(tmp_path / "m.onnx", nodes, {"x": (shape, np.float32)}, ["r_d"], {"c": numbers})
    found, graph = compared(path)
    assert all(layer.differing <= 0.002 * layer.elements and layer.steps <= 1 for layer in found.layers)
    kinds = {operator.kind for operator in graph.operators}
    assert ("DEPTHWISE_CONV_2D" in kinds) == (len(constant) != 2)


def test_softmax_of_three_dimensions_is_coarse(tmp_path: Path) -> None:
    softmax = helper.make_node("Softmax", ["xd"], ["y"], axis=-1)
    path = between_scales(tmp_path / "m.onnx", softmax, [(2, 8, 16), (2, 8, 16)], (0.1, 3), (1 / 255, -128))
    onnx.checker.check_model(onnx.load(path))
    assert dlasim.verify(path).layers[-1].is_coarse


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("behind", ["Reshape", "MaxPool"])
def test_bytes_between_pixels_are_cut_off_wherever_they_go(behind: str, dtype, tmp_path: Path) -> None:
    """A Resize of 8 bits, as QLinear networks have it, whose result is moved before it is dequantized."""
    constants = {"s": np.float32(0.02), "z": np.array(5, dtype), "f": np.array([1, 1, 2, 2], np.float32),
                 "n": np.array([1, 3, 80], np.int64)}  # fmt: skip
    move = node("Reshape", "r n", "m")
    if behind == "MaxPool":
        move = node("MaxPool", "r", "m", kernel_shape=[2, 2])
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("Resize", "q - f", "r", mode="linear"),
        move,
        node("DequantizeLinear", "m s z", "y"),
    ]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((1, 3, 4, 5), np.float32)}, ["y"], constants)
    found, _ = compared(path)
    assert found.outputs[0].differing == 0 < found.outputs[0].elements


def test_an_average_without_a_scale_keeps_its_fractions(tmp_path: Path) -> None:
    """It was rounded to the scale of its input, two steps away."""
    pool, function = node("AveragePool", "x_d", "a", kernel_shape=[2, 2]), node("Abs", "a", "r")
    nodes = [*quantized("x", 0.04), pool, function, *quantized("r", 0.01, -128)]
    path = saved(tmp_path / "m.onnx", nodes, {"x": ((1, 3, 8, 9), np.float32)}, ["r_d"])
    found, _ = compared(path)
    assert (found.steps, found.layers[-1].name) == (0, "r_q")
