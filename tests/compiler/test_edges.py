"""`io="int8"`: inputs and outputs are the tensors behind the conversions at the network's edges."""

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim import api
from dlasim.cli import main
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.keras_networks import keras_network

SCALE = Quantization((0.5,), (3,))
FLOAT, INT8 = ("float32", None), ("int8", SCALE)
SHAPE = (1, 4, 4, 8)


def _model(
    folder: Path,
    kinds: list[tuple[str, tuple[int, ...], int]],
    types: list[tuple[str, Quantization | None]],
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
) -> Path:
    """A network of operators without options, all of whose tensors have one shape."""
    tensors = tuple(
        Tensor(f"t{number}", SHAPE, dtype, quantization) for number, (dtype, quantization) in enumerate(types)
    )
    operators = tuple(
        Operator(kind, read, (written,), {}, f"operator {number}")
        for number, (kind, read, written) in enumerate(kinds)
    )
    path = folder / "model.tflite"
    path.write_bytes(write_tflite(Graph("edges", tensors, operators, inputs, outputs)))
    return path


def _types(path: Path) -> tuple[list[str], list[str]]:
    program = api.compile(path, io="int8").program
    return [tensor.type.name for tensor in program.inputs], [tensor.type.name for tensor in program.outputs]


@pytest.fixture
def simple(tmp_path: Path) -> Path:
    kinds = [("QUANTIZE", (0,), 1), ("RELU", (1,), 2), ("DEQUANTIZE", (2,), 3)]
    return _model(tmp_path, kinds, [FLOAT, INT8, INT8, FLOAT], (0,), (3,))


def test_results_are_those_of_the_whole_network(simple: Path) -> None:
    """The int8 tensors between the conversions, which TensorFlow defines, are the same numbers."""
    values = np.random.default_rng(1).integers(-128, 128, SHAPE, dtype=np.int8)
    real = (np.float32(0.5) * (values.astype(np.float32) - 3)).astype(np.float32)
    whole = api.run(simple, inputs=real).outputs[0]
    between = api.run(simple, inputs=values, io="int8")
    assert between.outputs[0].dtype == np.int8
    np.testing.assert_array_equal(np.float32(0.5) * (between.outputs[0].astype(np.float32) - 3), whole)
    assert {layer["operator"] for layer in between.report["layers"]} == {"RELU"}
    assert [text.split()[0] for text in between.report["left_out"]] == ["QUANTIZE", "DEQUANTIZE"]
    assert api.run(simple).report["left_out"] == []


def test_commands_name_what_is_left_out(simple: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    for name, *more in (("run", "--timing-only"), ("explain",), ("compile", "-o", str(tmp_path / "p.bin"))):
        found = runner.invoke(main, [name, str(simple), "--io", "int8", *more])
        assert found.exit_code == 0, found.output
        assert "--io int8 leaves out QUANTIZE" in " ".join(found.output.split())


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_verification_gives_the_reference_what_the_numbers_stand_for(simple: Path, host: str) -> None:
    found = api.verify(simple, io="int8", host=host)
    assert found.passed, found.mismatch
    assert found.tensors >= 1


def test_an_input_with_two_readers_stays(tmp_path: Path) -> None:
    kinds = [("QUANTIZE", (0,), 1), ("QUANTIZE", (0,), 2), ("ADD", (1, 2), 3)]
    other = ("int8", Quantization((0.25,), (-7,)))
    path = _model(tmp_path, kinds, [FLOAT, INT8, other, INT8], (0,), (3,))
    assert _types(path) == (["float32"], ["int8"])


def test_a_tensor_is_one_output_only(tmp_path: Path) -> None:
    kinds = [("RELU", (0,), 1), ("DEQUANTIZE", (1,), 2), ("DEQUANTIZE", (1,), 3)]
    path = _model(tmp_path, kinds, [INT8, INT8, FLOAT, FLOAT], (0,), (2, 3))
    assert _types(path) == (["int8"], ["int8", "float32"])


def test_an_operator_is_left(tmp_path: Path) -> None:
    """Where conversions are all there is, one of them stays."""
    kinds = [("QUANTIZE", (0,), 1), ("DEQUANTIZE", (1,), 2)]
    path = _model(tmp_path, kinds, [FLOAT, INT8, FLOAT], (0,), (2,))
    assert _types(path) == (["int8"], ["float32"])
    assert api.verify(path, io="int8").passed


def test_an_output_behind_a_reshape(tmp_path: Path) -> None:
    """The view that RESHAPE makes becomes the output."""
    shape = Tensor("shape", (2,), "int32", None, np.array([4, 32], np.int32))
    tensors = (
        Tensor("input", SHAPE, "int8", SCALE), Tensor("relu", SHAPE, "int8", SCALE), shape,
        Tensor("reshaped", (4, 32), "int8", SCALE), Tensor("output", (4, 32), "float32", None),
    )  # fmt: skip
    operators = (
        Operator("RELU", (0,), (1,), {}, "operator 0"),
        Operator("RESHAPE", (1, 2), (3,), {}, "operator 1"),
        Operator("DEQUANTIZE", (3,), (4,), {}, "operator 2"),
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(Graph("edges", tensors, operators, (0,), (4,))))
    assert api.compile(path, io="int8").program.outputs[0].shape == (4, 32)
    found = api.verify(path, io="int8")
    assert found.passed, found.mismatch


def test_only_known_types(simple: Path) -> None:
    with pytest.raises(InputError, match=r"io must be model or int8 \(got 'int4'\)"):
        api.compile(simple, io="int4")


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
def test_an_exported_network(tmp_path: Path) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    path = keras_network("small_cnn", tmp_path, has_float_edges=True)
    report = api.run(path, io="int8", timing_only=True).report
    assert report["cycles"]["cpu"] == 0
    assert len(report["left_out"]) == 2
    assert api.verify(path, io="int8").passed
