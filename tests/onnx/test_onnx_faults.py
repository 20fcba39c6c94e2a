"""What an ONNX file may not be: each fault is one line that names it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from dlasim.cli import main
from dlasim.compiler_shim.compile import load_graph
from dlasim.errors import InputError
from tests.onnx.float_networks import FloatNetwork, quantize, vgg

SCALE = numpy_helper.from_array(np.float32(0.1), "scale")
POINT = numpy_helper.from_array(np.uint8(128), "point")


def model(nodes: list[Any], constants: list[Any], shape: Any = (1, 4), opset: int = 17, **inputs: Any) -> Any:
    """A network from `x` to `y`."""
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", inputs.get("dtype", TensorProto.FLOAT), shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", "columns"])],
        [SCALE, POINT, *constants],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def conversions(*middle: Any) -> list[Any]:
    """Nodes between a quantized `q` and a quantized `r`."""
    return [
        helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["i"]),
        helper.make_node("DequantizeLinear", ["i", "scale", "point"], ["q"]),
        *middle,
        helper.make_node("QuantizeLinear", ["r", "scale", "point"], ["o"]),
        helper.make_node("DequantizeLinear", ["o", "scale", "point"], ["y"]),
    ]


def refusal(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "m.onnx"
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    with pytest.raises(InputError) as caught:
        load_graph(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    assert len(message) < 1100
    return message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an ONNX model: it has no graph"),
        (b"\x08", "an unterminated varint"),
        (b"\x3a\xff\x01\x00", "are beyond the"),
        (b"\x0b", "wire type 3"),
        (b"\x00\x00", "has number 0"),
        (b"\x3a\x02\x08\x01", "field node has wire type 0"),
        (b"TFL3" * 9, "damaged ONNX file"),
    ],
)
def test_a_damaged_file(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refusal(tmp_path, content)


def wire(number: int, payload: bytes) -> bytes:
    """A field of protobuf that holds bytes."""
    length, size = b"", len(payload)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


def test_a_list_of_too_many_numbers(tmp_path: Path) -> None:
    """Of a constant in the graph: one more float than the reader takes."""
    content = wire(7, wire(5, wire(4, bytes(4 * 4_000_001))))
    assert "it has more than 4,000,000 fields and numbers" in refusal(tmp_path, content)


def test_graphs_inside_of_graphs(tmp_path: Path) -> None:
    """As the branches of If, 2,000 deep: nothing reads them, so that they cost nothing."""
    content = b""
    for _ in range(2000):
        content = wire(1, wire(5, wire(6, content)))
    assert refusal(tmp_path, wire(7, content)).endswith(
        "its opset must be at least 10 (got 0); convert it with onnx.version_converter, or export it anew"
    )


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 20, 1 << 20], [0, 1 << 40], [-1], [1] * 9])
def test_a_constant_of_too_large_a_shape(tmp_path: Path, dims: list[int]) -> None:
    made = model(conversions(helper.make_node("Relu", ["q"], ["r"])), [])
    tensor = made.graph.initializer.add(name="large", data_type=TensorProto.INT8)
    tensor.dims.extend(dims)
    message = refusal(tmp_path, made)
    assert "constant large: shape" in message


def test_a_float_network_hears_of_the_recipe(tmp_path: Path) -> None:
    message = refusal(tmp_path, vgg())
    assert (
        "computes in float32; dlasim runs int8 networks: quantize it with `dlasim quantize`, as the page"
        in message
    )


def test_dynamic_quantization_hears_of_the_recipe(tmp_path: Path) -> None:
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "b", "c"])]
    message = refusal(tmp_path, model(nodes, []))
    assert "only known at run time (quantize_dynamic); quantize it with `dlasim quantize`" in message


def test_all_unsupported_operators_are_listed_at_once(tmp_path: Path) -> None:
    nodes = conversions(
        helper.make_node("NonZero", ["q"], ["a"], name="first"),
        helper.make_node("Hardmax", ["q"], ["b"], name="second"),
        helper.make_node("Softmax", ["q"], ["c"], name="third", axis=7),
        helper.make_node("Relu", ["q"], ["r"]),
    )
    message = refusal(tmp_path, model(nodes, []))
    assert (
        "unsupported operators: NonZero (first): dlasim does not support this operator; Hardmax (second): "
        in message
    )
    assert "; Softmax (third): its axis must be from -2 to 1 (got 7)" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"opset": 9}, "its opset must be at least 10 (got 9)"),
        ({"shape": (1, "n")}, "dimension 1 of input x is dynamic"),
        ({"shape": (1, -4)}, "up to 8 sizes above 0"),
        ({"dtype": TensorProto.INT64}, "the network's input is int64, not float32"),
        ({"dtype": TensorProto.STRING}, "type string is not supported"),
    ],
)
def test_inputs_and_versions(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    nodes = conversions(helper.make_node("Relu", ["q"], ["r"]))
    assert message in refusal(tmp_path, model(nodes, [], **change))


def test_a_node_without_an_output(tmp_path: Path) -> None:
    made = model(conversions(helper.make_node("Relu", ["q"], ["r"])), [])
    made.graph.node.append(helper.make_node("QLinearAdd", ["i"] * 8, []))
    assert "node 5 (QLinearAdd): it has no output" in refusal(tmp_path, made)


def test_other_integers_are_refused(tmp_path: Path) -> None:
    point = numpy_helper.from_array(np.int32(0), "point")
    made = model(conversions(helper.make_node("Relu", ["q"], ["r"])), [])
    made.graph.initializer[1].CopyFrom(point)
    assert "activations are int32; dlasim takes int8, uint8, int16 and uint16" in refusal(tmp_path, made)


# --- constants in other files ---


def with_external(folder: Path, location: str, **changes: Any) -> bytes:
    """A Gemm whose weights are in another file."""
    weights = numpy_helper.from_array(np.arange(12, dtype=np.int8).reshape(4, 3), "w")
    nodes = conversions(
        helper.make_node("DequantizeLinear", ["w", "scale"], ["v"]),
        helper.make_node("Gemm", ["q", "v"], ["r"]),
    )
    made = model(nodes, [weights])
    tensor = made.graph.initializer[2]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "4", "length": "12", **changes}.items():
        tensor.external_data.add(key=key, value=str(value))
    (folder / "weights.bin").write_bytes(b"abcd" + data)
    return bytes(made.SerializeToString())


def test_constants_from_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(with_external(tmp_path, "weights.bin"))
    graph = load_graph(path)
    weights = next(tensor for tensor in graph.tensors if tensor.shape == (3, 4))
    np.testing.assert_array_equal(weights.data, np.arange(12).reshape(4, 3).T)


@pytest.mark.parametrize(
    ("location", "changes", "message"),
    [
        ("../weights.bin", {}, "external data must be in the model's folder"),
        ("/etc/passwd", {}, "external data must be in the model's folder"),
        ("a/../../weights.bin", {}, "external data must be in the model's folder"),
        ("", {}, "external data must be in the model's folder"),
        ("link", {}, "is a link out of the model's folder"),
        ("folder/passwd", {}, "is a link out of the model's folder"),
        ("none.bin", {}, "none.bin is not a file"),
        ("weights.bin", {"offset": 5}, "end at 17, but the file that holds them has 16 bytes"),
        ("weights.bin", {"offset": -1}, "offset of its external data must be a number"),
        ("weights.bin", {"length": 3}, "takes 12 bytes, but it has 3"),
        ("weights.bin", {"length": 10**30}, "length of its external data must be a number"),
    ],
)
def test_constants_from_elsewhere(
    tmp_path: Path, location: str, changes: dict[str, Any], message: str
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "folder").symlink_to("/etc")
    assert message in refusal(folder, with_external(folder, location, **changes))


# --- commands ---


def call(*arguments: Any) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


def test_every_command_takes_one(tmp_path: Path) -> None:
    network = FloatNetwork((1, 3, 8, 8), 1)
    path = quantize(network.model(network.head(network.conv("input", 8))), tmp_path / "small.onnx")
    for command in (
        ["run"],
        ["inspect"],
        ["explain"],
        ["compile", "-o", tmp_path / "p.bin"],
        ["compile", "-o", tmp_path / "g.dlag"],
        ["sweep", "--jobs", 1, "--out", tmp_path / "s"],
    ):
        result = call(command[0], path, *command[1:])
        assert result.exit_code == 0, result.stderr
    result = call("verify", path)
    assert result.exit_code == 0, result.stderr
    assert "differ from onnxruntime" in result.stdout
    assert call("verify", path, "--json").exit_code == 0


def test_verify_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = FloatNetwork((1, 3, 8, 8), 1)
    path = quantize(network.model(network.head(network.conv("input", 8))), tmp_path / "small.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = call("verify", path)
    assert result.exit_code == 1
    assert "onnxruntime is not installed; run pip install 'dlasim[onnx]'" in result.stderr


def test_onnx_itself_takes_what_these_tests_build(tmp_path: Path) -> None:
    """Else they would test nothing."""
    onnx.checker.check_model(model(conversions(helper.make_node("Relu", ["q"], ["r"])), []))


def conv(**attributes: Any) -> Any:
    """A quantized Conv of a 3x3 window over two channels, with these attributes."""
    weights = numpy_helper.from_array(np.ones((4, 2, 3, 3), np.int8), "weights")
    nodes = conversions(
        helper.make_node("DequantizeLinear", ["weights", "scale"], ["w"]),
        helper.make_node("Conv", ["q", "w"], ["r"], **attributes),
    )
    return model(nodes, [weights], (1, 2, 8, 8))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"kernel_shape": [5, 5]}, "kernel_shape is [5, 5], but its weights are [4, 2, 3, 3]"),
        ({"kernel_shape": [3]}, "kernel_shape is [3], but its weights are"),
        ({"group": 2}, "weights [4, 2, 3, 3] in 2 groups do not fit 2 channels"),
        ({"group": 0}, "in 0 groups"),
        ({"pads": [1, 1]}, "strides, dilations and pads do not fit a window of 2 dimensions"),
        ({"strides": [1]}, "strides, dilations and pads do not fit"),
        ({"dilations": [1, 1, 1]}, "strides, dilations and pads do not fit"),
        ({"dilations": [0, 1]}, "a window, stride, dilation or padding is out of range"),
        ({"dilations": [4, 4]}, "its window is larger than its padded input"),
        ({"auto_pad": "SOME"}, "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER (got SOME)"),
        ({"auto_pad": "VALID", "pads": [1, 1, 1, 1]}, "auto_pad is VALID, but it has pads [1, 1, 1, 1], too"),
    ],
)
def test_attributes_that_contradict_each_other(
    tmp_path: Path, attributes: dict[str, Any], message: str
) -> None:
    assert message in refusal(tmp_path, conv(**attributes))


def test_attributes_that_repeat_what_the_weights_say(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(
        conv(kernel_shape=[3, 3], group=1, auto_pad="NOTSET").SerializeToString()
    )
    assert "CONV_2D" in {operator.kind for operator in load_graph(tmp_path / "m.onnx").operators}


def test_a_pool_with_an_empty_list_of_dilations(tmp_path: Path) -> None:
    node = helper.make_node("MaxPool", ["q"], ["r"], kernel_shape=[2, 2])
    empty = node.attribute.add(name="dilations", type=onnx.AttributeProto.INTS)
    assert not empty.ints
    assert "do not fit a window" in refusal(tmp_path, model(conversions(node), [], (1, 2, 8, 8)))


def test_blocks_of_four_bits_name_what_to_do_instead(tmp_path: Path) -> None:
    """MatMulNBits, as onnxruntime's quantizer of weights alone writes it, in a network that is quantized."""
    attributes = {"K": 4, "N": 8, "bits": 4, "block_size": 32}
    inputs = ["q", "packed", "scales"]
    node = helper.make_node("MatMulNBits", inputs, ["r"], "product", domain="com.microsoft", **attributes)
    packed = numpy_helper.from_array(np.zeros((8, 1, 16), np.uint8), "packed")
    scales = numpy_helper.from_array(np.ones(8, np.float32), "scales")
    network = model(conversions(node), [packed, scales])
    network.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    message = refusal(tmp_path, network)
    assert "MatMulNBits (product): its activations are float32" in message
    assert "quantize_static with weight_type=QuantType.QInt4" in message
