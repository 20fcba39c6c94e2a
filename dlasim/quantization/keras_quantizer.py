"""Quantizes a Keras network with TensorFlow's converter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.compiler_shim.compile import load_graph
from dlasim.errors import InputError, RunError, printable
from dlasim.quantization.quantizing import Array, LayerDifference, Quantized, Samples, by_input, noise
from dlasim.system.fileio import atomic_write


def quantize_keras(model: str | Path, samples: Samples, out: str | Path, labels: Array | None) -> Quantized:
    """Quantize, check that dlasim takes the result, and compare its outputs with those in float."""
    try:
        tf: Any = import_module("tensorflow")
    except ImportError:
        raise RunError("tensorflow is not installed; run pip install tensorflow") from None
    with warnings.catch_warnings():  # of what the converter does as asked
        warnings.simplefilter("ignore")
        return _quantized(tf, model, samples, out, labels)


def _quantized(
    tf: Any, model: str | Path, samples: Samples, out: str | Path, labels: Array | None
) -> Quantized:
    try:
        network = tf.keras.models.load_model(model, compile=False)
        names = [tensor.name.split(":")[0] for tensor in network.inputs]
        given = list(by_input(samples, names).values())
        rows = [[array[n : n + 1].astype(np.float32) for array in given] for n in range(len(given[0]))]
        content = _converted(tf, network, rows)
    except InputError:
        raise
    except Exception as error:  # its errors have no common class
        text = printable(" ".join(str(error).split()))[:200]
        raise InputError(f"{model}: TensorFlow cannot quantize it: {text}") from None
    atomic_write(out, content)
    load_graph(out)
    result = Quantized(str(out), len(rows))
    expected = [np.asarray(network(row if len(row) > 1 else row[0], training=False)) for row in rows]
    actual = _outputs(tf, content, rows)
    result.outputs = [LayerDifference("output", noise(np.stack(expected), np.stack(actual)))]
    if labels is not None:
        result.float_accuracy, result.int8_accuracy = (
            float(np.mean([int(np.argmax(row)) == label for row, label in zip(side, labels, strict=True)]))
            for side in (expected, actual)
        )
    return result


def _converted(tf: Any, network: Any, rows: list[list[Array]]) -> bytes:
    """The file; a dynamic batch is 1, because the converter may compute shapes at run time otherwise."""
    inputs = [
        tf.keras.layers.Input(batch_shape=(1, *tensor.shape[1:]), dtype=tensor.dtype)
        for tensor in network.inputs
    ]
    fixed = tf.keras.Model(inputs, network(inputs if len(inputs) > 1 else inputs[0], training=False))
    converter = tf.lite.TFLiteConverter.from_keras_model(fixed)

    def calibration() -> Iterator[list[Array]]:
        yield from rows

    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = calibration
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def _outputs(tf: Any, content: bytes, rows: list[list[Array]]) -> list[Array]:
    """The first output of each sample, as real numbers."""
    runner = tf.lite.Interpreter(model_content=content)
    runner.allocate_tensors()
    inputs, output = runner.get_input_details(), runner.get_output_details()[0]
    found = []
    for row in rows:
        for detail, array in zip(inputs, row, strict=True):
            scale, point = detail["quantization"]
            runner.set_tensor(
                detail["index"], np.clip(np.rint(array / scale) + point, -128, 127).astype(np.int8)
            )
        runner.invoke()
        scale, point = output["quantization"]
        found.append((runner.get_tensor(output["index"]).astype(np.float32) - point) * scale)
    return found
