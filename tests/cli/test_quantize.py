"""`dlasim quantize`: what it makes runs, is near the float network, and mistakes are one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner

import dlasim
from dlasim.cli import main
from dlasim.errors import InputError
from dlasim.quantization.quantizing import quantize
from tests.onnx.float_networks import NETWORKS

RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("float") / "resnet.onnx"
    onnx.save(NETWORKS["resnet"](), path)
    return path


def samples(path: Path, count: int = 6) -> Any:
    port = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()[0]
    return RNG.normal(size=(count, *port.shape[1:])).astype(np.float32)


def run_dlasim(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """In a process, whose output has what C code prints, too."""
    command = [sys.executable, "-P", "-m", "dlasim", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(main, ["quantize", *map(str, arguments)])


def test_an_onnx_network(resnet: Path, tmp_path: Path) -> None:
    data = samples(resnet)
    session = onnxruntime.InferenceSession(resnet, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    classes = [int(np.argmax(session.run(None, {name: row[None]})[0])) for row in data]
    np.savez(tmp_path / "data.npz", **{name: data})
    np.save(tmp_path / "labels.npy", np.array(classes))
    made = tmp_path / "int8.onnx"
    files = ["--calibrate", tmp_path / "data.npz", "--labels", tmp_path / "labels.npy", "-o", made]
    result = call(resnet, *files, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["samples"], found["float_accuracy"]) == (6, 1.0)
    assert found["in_float32"] == []
    assert len(found["layers"]) > 5
    assert all(layer["noise"] < 0.15 for layer in (*found["layers"], *found["outputs"]))
    assert dlasim.verify(made, runs=1).passed


def test_the_text_names_what_stays_float(tmp_path: Path) -> None:
    path = tmp_path / "vit.onnx"
    onnx.save(NETWORKS["vit"](), path)
    np.save(tmp_path / "data.npy", samples(path, 2))
    result = call(path, "--calibrate", tmp_path / "data.npy", "-o", tmp_path / "int8.onnx")
    assert result.exit_code == 0, result.output
    assert "int8, calibrated with 2 samples" in result.output
    assert "noise" in result.output


def test_a_keras_network(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to quantize with")
    layers = tf.keras.layers
    image = layers.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, activation="relu")(image)
    model = tf.keras.Model(image, layers.Dense(5)(layers.Flatten()(x)))
    model.save(tmp_path / "m.keras")
    data = RNG.normal(size=(5, 8, 8, 3)).astype(np.float32)
    found = quantize(tmp_path / "m.keras", {"": data}, tmp_path / "m.tflite", np.argmax(model(data), axis=1))
    assert found.float_accuracy == 1.0
    assert found.outputs[0].noise < 0.1
    assert dlasim.verify(tmp_path / "m.tflite").passed
    with pytest.raises(InputError, match=r"must have shape \[8, 8, 3\] \(got \[3, 8, 8\]\)"):
        quantize(tmp_path / "m.keras", {"": data.reshape(5, 3, 8, 8)}, tmp_path / "no.tflite")
    np.save(tmp_path / "data.npy", data)
    files = ["--calibrate", tmp_path / "data.npy", "-o", tmp_path / "m.tflite"]
    done = run_dlasim("quantize", tmp_path / "m.keras", *files, "--json")
    assert (json.loads(done.stdout)["samples"], done.stderr) == (5, "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.zeros((2, 3), np.float32)}, "a sample of input must have shape"),
        (
            {"data": np.zeros((2, 32, 32, 3), np.float32)},
            r"a sample of input must have shape \[3, 32, 32\] \(got \[32, 32, 3\]\)",
        ),
        ({"data": np.full((2, 3, 32, 32), np.nan)}, "must have finite numbers"),
        ({"data": np.zeros((0, 3, 32, 32), np.float32)}, "as many samples of each input"),
        ({"labels": np.array([1, 2, 3])}, "there must be 6 labels"),
        ({"out": "int8.tflite"}, "the result of a .onnx file is a .onnx file"),
        ({"model": "m.bin"}, "must be a .onnx, .keras, .h5 or .pt2 file"),
    ],
)
def test_mistakes(resnet: Path, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    data = {"input": change.get("data", samples(resnet))}
    model = tmp_path / change["model"] if "model" in change else resnet
    with pytest.raises(InputError, match=message):
        quantize(model, data, tmp_path / change.get("out", "int8.onnx"), change.get("labels"))
    assert not list(tmp_path.glob("int8*"))


def test_a_network_that_onnxruntime_cannot_optimize_is_one_line(resnet: Path, tmp_path: Path) -> None:
    network = onnx.load(resnet)
    del network.graph.node[-1].attribute[:], network.graph.node[-1].input[1:]
    onnx.save(network, tmp_path / "broken.onnx")
    np.save(tmp_path / "data.npy", samples(resnet, 1))
    files = ["--calibrate", tmp_path / "data.npy", "-o", tmp_path / "int8.onnx"]
    done = run_dlasim("quantize", tmp_path / "broken.onnx", *files)
    assert done.returncode == 2
    assert done.stderr.startswith("dlasim: ")
    assert done.stderr.count("\n") == 1


def test_damaged_data_and_quantized_networks(resnet: Path, tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"PK\x03\x04" + bytes(50))
    result = call(resnet, "--calibrate", tmp_path / "data.npz", "-o", tmp_path / "int8.onnx")
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    np.save(tmp_path / "data.npy", samples(resnet, 1))
    assert call(resnet, "--calibrate", tmp_path / "data.npy", "-o", tmp_path / "a.onnx").exit_code == 0
    again = call(tmp_path / "a.onnx", "--calibrate", tmp_path / "data.npy", "-o", tmp_path / "b.onnx")
    assert "is quantized already" in again.output
    (tmp_path / "c.onnx").write_bytes(b"\x08\x07garbage")
    broken = call(tmp_path / "c.onnx", "--calibrate", tmp_path / "data.npy", "-o", tmp_path / "b.onnx")
    assert broken.output.count("\n") == 1
    assert not (tmp_path / "b.onnx").exists()
