"""Networks that onnxruntime quantized: dlasim computes them within a step of onnxruntime, layer by layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnxruntime.quantization import QuantType

import dlasim
from dlasim.compiler_shim.compile import load_graph, save_graph
from dlasim.compiler_shim.onnx.onnx_import import convert
from dlasim.errors import InputError
from tests.onnx.float_networks import NETWORKS, quantize

# Of the elements of all layers but averages. With one scale for all weights, multipliers are larger, and the
# first of the two roundings of fixed point keeps fewer bits.
MOST_SHARE = {
    "qdq-uint8": 0.005,
    "qlinear-int8": 0.0075,
    "qdq-int8-symmetric": 0.015,
    "qlinear-uint8-weights": 0.015,
}
FORMS = {
    "qdq-uint8": ("qdq", "uint8", True, {}),
    "qlinear-int8": ("qlinear", "int8", True, {}),
    "qdq-int8-symmetric": ("qdq", "int8", False, {"extra_options": {"ActivationSymmetric": True}}),
    "qlinear-uint8-weights": ("qlinear", "uint8", False, {"weight_type": QuantType.QUInt8}),
}
# onnxruntime's QLinear form leaves its HardSwish between layers in float32.
HARD_SWISH = r"cannot place GlobalAveragePool .*: nothing quantizes hardswish"
# And it has no QLinear form of ReduceMean.
REDUCE_MEAN = r"cannot place ReduceMean .*: no QuantizeLinear reads its result"
REFUSED = {
    ("efficientnet", "qlinear-int8"): HARD_SWISH,
    ("efficientnet", "qlinear-uint8-weights"): HARD_SWISH,
    ("vit", "qlinear-int8"): REDUCE_MEAN,
    ("vit", "qlinear-uint8-weights"): REDUCE_MEAN,
}
TRANSPOSES = {"shufflenet": 1, "vit": 5}  # the rest is settled once, at compile time


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


def made(folder: Path, name: str, form: str) -> Path:
    path = folder / f"{name}-{form}.onnx"
    if not path.exists():
        shape, kind, per_channel, options = FORMS[form]
        model = NETWORKS[name]()
        if name in ("vit", "lstm"):  # else operators that onnxruntime leaves out stay in float32
            options = {**options, "op_types_to_quantize": sorted({node.op_type for node in model.graph.node})}
        quantize(model, path, shape, kind, per_channel, **options)
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_within_a_step_of_onnxruntime(folder: Path, name: str, form: str) -> None:
    path = made(folder, name, form)
    if (name, form) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[name, form]):
            load_graph(path)
        return
    found = dlasim.verify(path, runs=2, sram="64KiB")
    assert found.program.passed, found.program.mismatch
    assert found.steps <= 1
    assert found.differing <= MOST_SHARE[form] * found.elements
    assert found.same_top == found.runs == 5
    assert found.elements > 500
    assert found.passed


@pytest.mark.parametrize("name", NETWORKS)
def test_images_need_no_transpose(folder: Path, name: str) -> None:
    """Layout is settled once: a channel shuffle, and the heads of attention, are all that moves."""
    kinds = [operator.kind for operator in load_graph(made(folder, name, "qdq-uint8")).operators]
    assert kinds.count("TRANSPOSE") == TRANSPOSES.get(name, 0)
    assert not {"DEQUANTIZE", "QUANTIZE"} & set(kinds)


def test_a_real_image_gives_what_onnxruntime_gives(folder: Path) -> None:
    """Floats go in as NHWC."""
    path = made(folder, "resnet", "qdq-uint8")
    image = np.random.default_rng(3).normal(0, 1, (1, 3, 32, 32)).astype(np.float32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"input": image})
    result = dlasim.run(path, inputs=image.transpose(0, 2, 3, 1))
    step = convert(path).graph.tensors[convert(path).graph.outputs[0]].quantization.scale
    np.testing.assert_allclose(result.real_outputs[0], expected, atol=2.01 * step)
    assert np.argmax(result.outputs[0]) == np.argmax(expected)


def test_an_output_image_has_its_channels_last(folder: Path) -> None:
    found = dlasim.inspect(made(folder, "unet", "qdq-uint8"))
    shapes = [tensor["shape"] for tensor in (*found["inputs"], *found["outputs"])]
    assert shapes == [[1, 16, 16, 3], [1, 16, 16, 4]]


@pytest.mark.parametrize("name", ["efficientnet", "mlp", "resnet"])
def test_it_can_be_kept_as_a_graph_file(folder: Path, tmp_path: Path, name: str) -> None:
    path = made(folder, name, "qdq-uint8")
    kept = tmp_path / "kept.dlag"
    kept.write_bytes(save_graph(load_graph(path)))
    one, two = dlasim.run(path), dlasim.run(kept)
    np.testing.assert_array_equal(one.outputs[0], two.outputs[0])
    assert one.cycles == two.cycles


def test_both_hosts_compute_the_same(folder: Path) -> None:
    path = made(folder, "efficientnet", "qdq-uint8")
    alone, board = dlasim.run(path), dlasim.run(path, host="riscv")
    np.testing.assert_array_equal(alone.outputs[0], board.outputs[0])
