"""Random networks that onnxruntime quantized; `tools/random_onnx.py` tries thousands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import dlasim
from tests.onnx.random_networks import try_network
from tests.onnx.single_operators import compared, node, quantized, saved
from tests.onnx.test_networks import between_scales

# Found a difference once: constants rounded to 8 bits (82, 122, 153, 231), Softplus in float32 (11).
KNOWN = (11, 82, 122, 153, 231)


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
