"""Networks that onnxruntime quantized: dlasim computes them within a step of onnxruntime, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType

import dlasim
from dlasim.compiler_shim.compile import load_graph, save_graph
from dlasim.compiler_shim.onnx.onnx_import import convert
from tests.onnx.float_networks import NETWORKS, FloatNetwork, quantize

# Of the elements of all layers but averages and SOFTMAX (two roundings give up to 0.9 %).
MAX_SHARE = 0.0005
MAX_SHARE_OF_ALL = 0.005
FORMS = {
    "qdq-uint8": ("qdq", "uint8", True, {}),
    "qlinear-int8": ("qlinear", "int8", True, {}),
    "qdq-int8-symmetric": ("qdq", "int8", False, {"extra_options": {"ActivationSymmetric": True}}),
    "qlinear-uint8-weights": ("qlinear", "uint8", False, {"weight_type": QuantType.QUInt8}),
}
# The compiler's search, which takes most of the time, sees the same network in each form: once is enough.
FUSION = dict.fromkeys(FORMS, "requant") | {"qdq-uint8": "full"}
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
    found = dlasim.verify(path, runs=2, sram="64KiB", fusion=FUSION[form])
    assert found.program.passed, found.program.mismatch
    assert found.steps <= 1
    assert found.differing <= MAX_SHARE * found.elements
    differing, elements = (
        sum(getattr(layer, name) for layer in found.layers) for name in ("differing", "elements")
    )
    assert differing <= MAX_SHARE_OF_ALL * elements
    assert found.same_top == found.runs == 5
    assert found.elements > 500
    assert found.passed


def between_scales(path: Path, node: Any, shapes: list[Sequence[int]], *scales: tuple[float, int]) -> Path:
    """One operator, from xd to y, quantized by hand: scale and zero point of its input and of its output."""
    constants = [
        numpy_helper.from_array(np.array(value, dtype), f"{name}{place}")
        for place, pair in enumerate(scales)
        for name, value, dtype in zip("sz", pair, (np.float32, np.int8), strict=True)
    ]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s0", "z0"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s0", "z0"], ["xd"]),
        node,
        helper.make_node("QuantizeLinear", ["y", "s1", "z1"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "s1", "z1"], ["out"]),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip(("x", "out"), shapes, strict=True)
    ]
    graph = helper.make_graph(nodes, "one", ports[:1], ports[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9), path)
    return path


@pytest.mark.parametrize(("scale", "dtype"), [(1 / 500, "int8"), (1 / 1000, "int16")])
def test_small_probabilities_take_sixteen_bits(tmp_path: Path, scale: float, dtype: str) -> None:
    """Where two steps or more are 1/256, a SOFTMAX of 8 bits would be two steps off."""
    node = helper.make_node("Softmax", ["xd"], ["y"], axis=-1)
    path = between_scales(tmp_path / "m.onnx", node, [(8, 64), (8, 64)], (0.01, 3), (scale, -128))
    graph = load_graph(path)
    softmax = next(operator for operator in graph.operators if operator.kind == "SOFTMAX")
    assert graph.tensors[softmax.outputs[0]].dtype == dtype
    found = dlasim.verify(path, runs=3)
    assert found.program.passed
    values, shares = found.layers
    assert (values.differing, values.is_coarse, shares.is_coarse, shares.steps) == (0, False, True, 1)
    if dtype == "int16":
        assert shares.differing <= 0.01 * shares.elements


@pytest.mark.parametrize("form", ["qdq", "qlinear"])
def test_a_choice_by_a_mask(tmp_path: Path, form: str) -> None:
    n = FloatNetwork((1, 3, 8, 8), 21)
    mask = n.constant(np.random.default_rng(0).random((1, 1, 8, 8)) < 0.5)
    x = n.node("Where", mask, n.conv("input", 5), n.conv("input", 5, 1))
    n.channels[x] = 5
    options = {
        "extra_options": {"ForceQuantizeNoInputCheck": True}
    }  # else onnxruntime writes no QLinearWhere
    path = quantize(n.model(n.conv(x, 4)), tmp_path / "m.onnx", form, "int8", **options)
    kinds = {node.op_type for node in onnx.load(path).graph.node}
    assert ("QLinearWhere" in kinds) == (form == "qlinear")
    assert dlasim.verify(path).passed


@pytest.mark.parametrize("kind", ["int16", "uint16"])
@pytest.mark.parametrize("name", ["resnet", "vit"])
def test_activations_of_sixteen_bits_are_computed_in_float32(tmp_path: Path, name: str, kind: str) -> None:
    """As onnxruntime does: it has no kernels of 16 bits either."""
    path = quantize(NETWORKS[name](), tmp_path / "m.onnx", "qdq", kind)
    found = dlasim.verify(path, host="riscv" if (name, kind) == ("resnet", "uint16") else "none")
    assert found.program.passed, found.program.mismatch
    assert found.passed
    assert found.elements > 0


def test_weights_of_sixteen_bits(tmp_path: Path) -> None:
    path = quantize(NETWORKS["mlp"](), tmp_path / "m.onnx", "qdq", "int16", weight_type=QuantType.QInt16)
    found = dlasim.verify(path)
    assert found.passed


def test_halves_of_an_average_go_to_even(tmp_path: Path) -> None:
    """Where onnxruntime's float32 is exact, since the scale is a power of two; also at the ends of int8."""
    node = helper.make_node("AveragePool", ["xd"], ["y"], kernel_shape=[1, 2], strides=[1, 2])
    shapes = [(1, 1, 32, 256), (1, 1, 32, 128)]
    path = between_scales(tmp_path / "pool.onnx", node, shapes, (0.5, 7), (0.5, 7))
    steps = np.random.default_rng(0).integers(-128, 128, (1, 32, 256, 1))
    steps[0, 0, :8, 0] = [127, 126, 126, 125, -128, -127, 127, 127]
    image = ((steps - 7) * 0.5).astype(np.float32)
    options = onnxruntime.SessionOptions()  # a fused pool rounds before it takes off the zero point
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": image.transpose(0, 3, 1, 2)})
    result = dlasim.run(path, inputs=image)
    np.testing.assert_array_equal(result.real_outputs[0].transpose(0, 3, 1, 2), expected)


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


@pytest.mark.parametrize("kind", [QuantType.QInt4, QuantType.QUInt4])
@pytest.mark.parametrize("name", ["mlp", "resnet"])
def test_weights_of_four_bits_that_onnxruntime_writes(tmp_path: Path, name: str, kind: QuantType) -> None:
    """Packed on the bus of a machine that unpacks them."""
    path = quantize(NETWORKS[name](), tmp_path / "m.onnx", "qdq", "int8", weight_type=kind)
    types = {tensor.data_type for tensor in onnx.load(path).graph.initializer}
    assert types & {TensorProto.INT4, TensorProto.UINT4}
    found = dlasim.verify(path, runs=2, dma_unpacking=8)
    assert found.program.passed, found.program.mismatch
    assert found.passed
    if kind == QuantType.QInt4:  # the other has zero points, so that bytes of it are not of 4 bits
        bytes_read = [
            dlasim.run(path, timing_only=True, sram="1MiB", **form).report["dma_bytes"]["read"]
            for form in ({}, {"dma_unpacking": 8})
        ]
        assert bytes_read[1] < bytes_read[0]
