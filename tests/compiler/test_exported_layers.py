"""Layers that exporters use: bit-exact on both hosts in little and much SRAM, and all of them on the DLA."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim import api
from dlasim.checking.tensorflow_reference import reference_model
from dlasim.checking.verification import Comparison
from dlasim.compiler_shim.compile import load_graph, load_tflite
from dlasim.compiler_shim.network.float_tables import find_float_tables
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation
from tests.compiler.test_transformers import SIZES, check
from tests.keras_networks import keras_network, random_ids

EXPORTS = (
    "mlp_mixer",
    "prelu_detector",
    "bilinear_segmenter",
    "channel_gather",
    "keypoint_head",
    pytest.param("bidirectional_lstm", marks=pytest.mark.slow),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("swin_block", "conformer", "channel_shuffle")),
)
MOST_ON_CPU = 0.05  # of the cycles of the default machine


@pytest.fixture(scope="module")
def keras_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    return tmp_path_factory.mktemp("keras")


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize(
    "has_float_edges", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["int8", "float32"]
)
def test_exported_networks(name: str, has_float_edges: bool, keras_folder: Path) -> None:
    """With inputs and outputs of int8, and of float32, as TensorFlow leaves them by default."""
    path = keras_network(name, keras_folder, has_float_edges)
    check(path)
    cycles = api.run(path, timing_only=True).report["cycles"]
    assert cycles["cpu"] <= MOST_ON_CPU * cycles["total"]


def _bytes_as_floats() -> Graph:
    """How a network of images as bytes begins: CAST, QUANTIZE; what follows must be int8."""
    tensors = (
        Tensor("image", (1, 8, 8, 3), "uint8", None),
        Tensor("real", (1, 8, 8, 3), "float32", None),
        Tensor("quantized", (1, 8, 8, 3), "int8", Quantization((1.7,), (-100,))),
        Tensor("limited", (1, 8, 8, 3), "int8", Quantization((1.7,), (-100,))),
    )
    options = {"in_data_type": "uint8", "out_data_type": "float32"}
    operators = (
        Operator("CAST", (0,), (1,), options, "operator 0"),
        Operator("QUANTIZE", (1,), (2,), {}, "operator 1"),
        Operator("RELU", (2,), (3,), {}, "operator 2"),
    )
    return Graph("bytes", tensors, operators, (0,), (3,))


def test_bytes_as_floats_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(_bytes_as_floats()))
    assert len(find_float_tables(load_graph(path))) == 1
    lowered = api.compile(path, place="dla")
    assert [layer.operator for layer in lowered.network.layers] == ["QUANTIZE", "RELU"]
    assert not lowered.program.host_calls
    assert api.verify(path, place="dla").passed


def _searches(shape: tuple[int, ...], axis: int, dtype: str) -> Graph:
    tensors = (
        Tensor("values", shape, "int8", Quantization((0.1,), (3,))),
        Tensor("axis", (), "int32", None, np.array(axis, np.int32)),
        Tensor("found", (*shape[:axis], *shape[axis + 1 :]), dtype, None),
    )
    operator = Operator("ARG_MAX", (0, 1), (2,), {"output_type": dtype}, "operator 0")
    return Graph("searches", tensors, (operator,), (0,), (2,))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1, 6, 5, 19), 3), ((1, 2304, 17), 1), ((3, 255, 2), 1), ((2, 256), 1), ((1, 4, 1), 2)],
)
def test_first_of_the_greatest(shape: tuple[int, ...], axis: int, dtype: str, tmp_path: Path) -> None:
    """Of elements that are equal, which a few different values ensure, the first; 64 bits on the CPU."""
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(_searches(shape, axis, dtype)))
    layers = api.compile(path, place="dla").network.layers
    assert [layer.target for layer in layers] == ["dla", "cpu"][: 1 + (dtype == "int64")]
    rng = np.random.default_rng(axis)
    for low, high in ((-128, 128), (125, 128), (-128, -126), (127, 128)):
        values = rng.integers(low, high, shape, dtype=np.int8)
        for host in ("none", "riscv"):
            found = api.run(path, inputs=values, place="dla", host=host).outputs[0]
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, values.argmax(axis))
    assert api.verify(path, place="dla").passed


def _outer(kind: str, one: tuple[int, ...], other: tuple[int, ...], is_constant: bool) -> Graph:
    """Two tensors, neither of which has the output's shape; the first may be a constant."""
    data = np.random.default_rng(0).integers(-128, 128, one).astype(np.int8) if is_constant else None
    same = kind in ("MAXIMUM", "MINIMUM")
    scales = ((0.1, 3),) * 3 if same else ((0.1, 3), (0.05, -9), (0.2, 5))
    one_scale, other_scale, result = (Quantization((scale,), (zero,)) for scale, zero in scales)
    tensors = (
        Tensor("one", one, "int8", one_scale, data),
        Tensor("other", other, "int8", other_scale),
        Tensor("result", np.broadcast_shapes(one, other), "int8", result),
    )
    inputs = (1,) if is_constant else (0, 1)
    return Graph("outer", tensors, (Operator(kind, (0, 1), (2,), {}, "operator 0"),), inputs, (2,))


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("MUL", (4, 1, 16), (1, 32, 1)),
        ("ADD", (1, 5, 1, 8), (1, 1, 7, 1)),
        ("SUB", (9,), (6, 1)),
        ("MAXIMUM", (1, 1, 3, 1), (1, 4, 1, 5)),
        ("SQUARED_DIFFERENCE", (3, 1, 1), (1, 4, 1)),
    ],
)
def test_both_inputs_are_spread(
    kind: str, one: tuple[int, ...], other: tuple[int, ...], is_constant: bool, tmp_path: Path
) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(_outer(kind, one, other, is_constant)))
    assert not api.compile(path, place="dla").program.host_calls
    assert api.verify(path, place="dla").passed
    assert api.verify(path, place="dla", sram="4KiB").passed


def _of_truths(
    kind: str, shapes: Sequence[tuple[int, ...]], output: tuple[int, ...], **options: Any
) -> Graph:
    """An operator on tensors of bool, and one on the DLA that reads its result."""
    tensors = (
        *(Tensor(f"input {place}", shape, "bool", None) for place, shape in enumerate(shapes)),
        Tensor("result", output, "bool", None),
    )
    inputs = tuple(range(len(shapes)))
    return Graph(
        "truths",
        tensors,
        (Operator(kind, inputs, (len(shapes),), options, "operator 0"),),
        inputs,
        (len(shapes),),
    )


TRUTHS = {
    "and": ("LOGICAL_AND", [(1, 5, 7, 3)] * 2, (1, 5, 7, 3)),
    "or": ("LOGICAL_OR", [(1, 5, 7, 3), (3,)], (1, 5, 7, 3)),
    "and of a mask": ("LOGICAL_AND", [(1, 1, 1, 32), (1, 2, 32, 1)], (1, 2, 32, 32)),
    "not": ("LOGICAL_NOT", [(4, 9)], (4, 9)),
    "joined": ("CONCATENATION", [(1, 4, 9), (1, 2, 9)], (1, 6, 9)),
}


@pytest.mark.parametrize("case", TRUTHS)
def test_truths_stay_on_the_dla(case: str, tmp_path: Path) -> None:
    """Over all pairs of values, which noise draws."""
    kind, shapes, output = TRUTHS[case]
    options = {"axis": 1} if kind == "CONCATENATION" else {}
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(_of_truths(kind, shapes, output, **options)))
    for sram in ("512KiB", "1KiB"):
        assert not api.compile(path, place="dla", sram=sram).program.host_calls
        assert api.verify(path, place="dla", sram=sram, runs=3).passed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sram_bytes", SIZES)
def test_encoder_of_token_ids(sram_bytes: int, keras_folder: Path) -> None:
    """Ids that the network knows, with padding behind them; noise would be ids that it does not."""
    path = keras_network("token_encoder", keras_folder)
    config = DlaConfig(sram_bytes=sram_bytes)
    lowered = api.compile(path, config)
    rng = np.random.default_rng(sram_bytes)
    with reference_model(load_tflite(path), lowered.network.tensor_count) as reference:
        comparison = Comparison(
            lowered, Simulation(lowered.program, config, make_executor("auto")), reference
        )
        for _ in range(3):
            ids = random_ids(rng, (1, 64))
            assert comparison.infer("ids", [ids]), comparison.finish().mismatch
        assert comparison.finish().passed
    alone, board = (api.run(path, config, inputs=[ids], host=host) for host in ("none", "riscv"))
    np.testing.assert_array_equal(alone.outputs[0], board.outputs[0])
    cycles = alone.report["cycles"]
    assert cycles["dla"] == board.report["cycles"]["dla"]
    assert cycles["cpu"] <= MOST_ON_CPU * cycles["total"]
