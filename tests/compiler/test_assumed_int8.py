"""Float networks as if they were int8: timing that is marked as an estimate, and no outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

import dlasim
from dlasim.cli import main
from dlasim.errors import InputError
from tests.onnx.float_networks import NETWORKS, quantize

MARK = "(int8 assumed)"
COMPARED, NEAR = ("resnet", "shufflenet", "vit"), 0.15  # as docs/how-to/get-an-int8-network.md says


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assumed")


def float_file(folder: Path, name: str) -> Path:
    path = folder / f"{name}.onnx"
    if not path.exists():
        onnx.save(NETWORKS[name](), path)
    return path


def keras_file(folder: Path) -> Path:
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")
    layers = tf.keras.layers
    image = layers.Input((16, 16, 3), batch_size=1)
    x = layers.Conv2D(8, 3, activation="relu")(image)
    x = layers.Multiply()([x, layers.Activation("sigmoid")(x)])
    x = layers.Add()([layers.DepthwiseConv2D(3, padding="same")(x), x])
    model = tf.keras.Model(image, layers.Dense(10, activation="softmax")(layers.Flatten()(x)))
    path = folder / "keras.tflite"
    path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    return path


@pytest.mark.parametrize("name", COMPARED)
def test_the_estimate_is_near_the_quantized_network(folder: Path, name: str) -> None:
    """The scales do not matter, but onnxruntime's quantizer may place conversions elsewhere."""
    path = float_file(folder, name)
    kinds = sorted({node.op_type for node in NETWORKS[name]().graph.node})
    quantize(NETWORKS[name](), folder / f"{name}-q.onnx", "qdq", "int8", True, op_types_to_quantize=kinds)
    estimate: Any = dlasim.run(path, timing_only=True, assume_int8=True).report
    real: Any = dlasim.run(folder / f"{name}-q.onnx", timing_only=True).report
    assert estimate["cycles"]["total"] == pytest.approx(real["cycles"]["total"], rel=NEAR)
    assert "an estimate" in estimate["warnings"][0]


def test_a_float_tflite(folder: Path) -> None:
    path = keras_file(folder)
    with pytest.raises(InputError, match="computes in float32"):
        dlasim.run(path, timing_only=True)
    rows = dlasim.explain(path, assume_int8=True)
    assert {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "SOFTMAX"} <= {row["operator"] for row in rows}
    assert all(row["unit"] == "dla" for row in rows if "CONV" in row["operator"])


def test_outputs_are_refused(folder: Path) -> None:
    path = float_file(folder, "resnet")
    with pytest.raises(InputError, match="needs timing_only"):
        dlasim.run(path, assume_int8=True)
    result = CliRunner().invoke(main, ["run", str(path), "--assume-int8"])
    assert result.exit_code == 2
    assert "--assume-int8 needs --timing-only" in result.output


@pytest.mark.parametrize("command", ["run", "explain"])
def test_the_mark_is_in_every_output(folder: Path, tmp_path: Path, command: str) -> None:
    path = float_file(folder, "resnet")
    files = ["--timing-only", "--report", str(tmp_path / "r.json"), "--html", str(tmp_path / "p.html")]
    files = files if command == "run" else []
    result = CliRunner().invoke(main, [command, str(path), "--assume-int8", *files])
    assert result.exit_code == 0, result.output
    assert "warning: an estimate" in result.output
    if command == "run":
        assert MARK in result.output
        assert MARK in (tmp_path / "r.json").read_text()
        assert MARK in (tmp_path / "p.html").read_text()


def test_a_sweep_says_so_in_each_row(folder: Path) -> None:
    found = dlasim.sweep(float_file(folder, "resnet"), pes=[64, 128], jobs=1, assume_int8=True)
    assert [row["model"] for row in found] == [f"resnet {MARK}"] * 2


def test_a_quantized_network_is_refused(folder: Path, tmp_path: Path) -> None:
    quantize(NETWORKS["resnet"](), tmp_path / "q.onnx", "qdq", "int8", True)
    for path in (tmp_path / "q.onnx", dlasim.model("mnist", tmp_path / "m.tflite")):
        with pytest.raises(InputError, match="is quantized; --assume-int8 is for float networks"):
            dlasim.explain(path, assume_int8=True)


def test_the_report_is_json(folder: Path) -> None:
    path = float_file(folder, "resnet")
    result = CliRunner().invoke(main, ["run", str(path), "--assume-int8", "--timing-only", "--json"])
    report = json.loads(result.stdout)
    assert np.isfinite(report["cycles"]["total"])
    assert MARK in json.dumps(report)
