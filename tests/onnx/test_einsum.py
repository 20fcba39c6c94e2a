"""Einsum as products, sums and transposes: what onnxruntime computes, as integers where a product is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dlasim.checking.onnx_comparison import OnnxComparison
from dlasim.compiler_shim.compile import load_graph
from dlasim.errors import InputError
from tests.onnx.single_operators import compared, node, quantized, saved

MAX_SHARE = 0.005
SIZES = dict(zip("abcdefg", (2, 3, 4, 5, 6, 7, 8), strict=True))
OF_TWO = (
    "ab,bc->ac",
    "ab,bc",
    "ab,cb->ca",
    "aecd,abcd->acbe",  # scores of Keras' attention
    "acbe,aecd->abcd",  # and what they weigh
    "abc,abd->acd",  # all of it is a batch, or left, or right
    "abcd,cde->abe",
    "ab,cd->acbd",
    "ab,ab->a",
    "abf,bc->ac",
    "ab, ab -> ba",
)


def is_near(found: OnnxComparison) -> bool:
    """Sums round as averages do."""
    return all(
        layer.steps <= 1 and (layer.is_coarse or layer.differing <= MAX_SHARE * layer.elements)
        for layer in found.layers
    )


def sizes(letters: str) -> tuple[int, ...]:
    return tuple(SIZES[letter] for letter in letters)


@pytest.mark.parametrize("equation", OF_TWO)
def test_a_product_of_two_tensors(tmp_path: Path, equation: str) -> None:
    terms = equation.replace(" ", "").split("->")[0].split(",")
    nodes = [*quantized("x"), *quantized("y", 0.017, -5), node("Einsum", "x_d y_d", "r", equation=equation)]
    inputs = {name: (sizes(term), np.float32) for name, term in zip("xy", terms, strict=True)}
    found, graph = compared(saved(tmp_path / "m.onnx", [*nodes, *quantized("r", 0.09, 4)], inputs, ["r_d"]))
    assert is_near(found)
    assert found.layers[-1].elements > 0
    kinds = {operator.kind for operator in graph.operators}
    assert "BATCH_MATMUL" in kinds or "FULLY_CONNECTED" in kinds or "abf" in equation


@pytest.mark.parametrize("equation", ["abc,cde->abde", "abc,dc->abd", "abcd,cde->abe"])
def test_weights_of_a_product_become_a_layer(tmp_path: Path, equation: str) -> None:
    """As Keras' EinsumDense has them."""
    terms = equation.split("->")[0].split(",")
    weights = np.random.default_rng(1).integers(-127, 128, sizes(terms[1])).astype(np.int8)
    nodes = [
        *quantized("x"),
        node("DequantizeLinear", "w s z", "w_d"),
        node("Einsum", "x_d w_d", "r", equation=equation),
        *quantized("r", 0.05, 4),
    ]
    constants = {"w": weights, "s": np.float32(0.011), "z": np.int8(0)}
    inputs = {"x": (sizes(terms[0]), np.float32)}
    path = saved(tmp_path / "m.onnx", nodes, inputs, ["r_d"], constants)
    found, graph = compared(path)
    assert is_near(found)
    assert {operator.kind for operator in graph.operators} <= {"FULLY_CONNECTED", "RESHAPE"}


@pytest.mark.parametrize("equation", ["abc->ca", "abc->b", "abc"])
def test_one_tensor_is_moved_or_summed(tmp_path: Path, equation: str) -> None:
    nodes = [*quantized("x"), node("Einsum", "x_d", "r", equation=equation), *quantized("r", 0.0571, 4)]
    inputs = {"x": (sizes("abc"), np.float32)}
    found, _ = compared(saved(tmp_path / "m.onnx", nodes, inputs, ["r_d"]))
    assert is_near(found)


@pytest.mark.parametrize("equation", ["aab,bc->ac", "...a,ab->...b", "ab,bc,cd->ad", "ab,bc->ax"])
def test_another_equation_is_refused(tmp_path: Path, equation: str) -> None:
    count = equation.count(",") + 1
    names = "xyz"[:count]
    conversions = [each for name in names for each in quantized(name)]
    made = node("Einsum", " ".join(f"{name}_d" for name in names), "r", equation=equation)
    inputs = dict.fromkeys(names, ((2, 2), np.float32))
    path = saved(tmp_path / "m.onnx", [*conversions, made, *quantized("r")], inputs, ["r_d"])
    with pytest.raises(InputError, match=r"Einsum \(Einsum r\): its equation must be of one or two tensors"):
        load_graph(path)
