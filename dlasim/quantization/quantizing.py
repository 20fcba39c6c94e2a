"""`dlasim quantize`: an int8 network of a float one, by its framework's quantizer, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.arguments import checked
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.files.input_file import InputFile, InputKind
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, RunError, printable
from dlasim.inputs import load_arrays
from dlasim.system.fileio import atomic_write, read_file
from dlasim.system.quiet import quiet

Array = NDArray[Any]
Samples = Mapping[str, Array]  # of each input, one after another along the first dimension
KERAS = (".keras", ".h5", ".hdf5")
_MOST_SAMPLES = 1 << 16


@dataclass(slots=True)
class LayerDifference:
    """How far a tensor of the int8 network is from that of the float one.

    `noise` is the root of the mean square of the differences, over that of the float numbers.
    """

    name: str
    noise: float


@dataclass(slots=True)
class Quantized:
    """What was made: the file, each layer's difference to float, what stayed float, and the shares of labels
    that the float and the int8 network name first; None without labels."""

    path: str
    samples: int
    layers: list[LayerDifference] = field(default_factory=list)
    outputs: list[LayerDifference] = field(default_factory=list)
    in_float32: list[str] = field(default_factory=list)
    float_accuracy: float | None = None
    int8_accuracy: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@checked()
def quantize(
    model: str | Path,
    calibration: str | Path | Samples,
    out: str | Path,
    labels: str | Path | Array | None = None,
) -> Quantized:
    """Quantize a float `.onnx`, `.keras` or `.pt2` network to int8.

    `calibration` has samples of each input, one after another along the first dimension: a `.npz` file with
    an array for each input by name, a `.npy` file for a network with one, or arrays. `labels` are the numbers
    of the right classes, one for each sample.
    """
    suffix = Path(model).suffix.lower()
    wanted = ".tflite" if suffix in KERAS else ".onnx"
    if suffix not in (*KERAS, ".onnx", ".pt2"):
        raise InputError(f"{model} must be a .onnx, .keras, .h5 or .pt2 file")
    if Path(out).suffix.lower() != wanted:
        raise InputError(f"the result of a {suffix} file is a {wanted} file (got {out})")
    samples = read_samples(calibration)
    count = len(next(iter(samples.values())))
    right = None if labels is None else read_labels(labels, count)
    read_file(model)  # one that cannot be read is one clear line
    with quiet():
        if suffix in KERAS:
            return quantize_keras(model, samples, out, right)
        from dlasim.quantization.onnx_quantizer import quantize_onnx

        if suffix == ".pt2":
            from dlasim.quantization.torch_export import exported_program

            return quantize_onnx(exported_program(model), samples, out, right)
        return quantize_onnx(model, samples, out, right)


def read_samples(given: str | Path | Samples) -> Samples:
    """The calibration set, checked: as many samples of each input."""
    if isinstance(given, str | Path):
        given = load_arrays(given)
    if not given or any(array.ndim < 1 or array.dtype.kind not in "iufb" for array in given.values()):
        raise InputError("the calibration set must have an array of numbers for each input")
    if not all(np.isfinite(array).all() for array in given.values()):
        raise InputError("the calibration set must have finite numbers (got NaN or infinity)")
    counts = {len(array) for array in given.values()}
    if len(counts) > 1 or not 1 <= min(counts) <= _MOST_SAMPLES:
        raise InputError(
            f"the calibration set must have as many samples of each input (got {sorted(counts)})"
        )
    return given


def read_labels(given: str | Path | Array, count: int) -> Array:
    """The numbers of the right classes."""
    labels = next(iter(read_samples(given).values())) if isinstance(given, str | Path) else np.asarray(given)
    labels = labels.ravel()
    if labels.dtype.kind not in "iu" or len(labels) != count:
        raise InputError(
            f"there must be {count} labels, one whole number for each sample (got {len(labels)})"
        )
    return labels


def by_input(samples: Samples, names: Sequence[str]) -> Samples:
    """The samples by the names of the network's inputs."""
    if len(names) == 1 and len(samples) == 1:
        return {names[0]: next(iter(samples.values()))}
    missing = [name for name in names if name not in samples]
    if missing:
        raise InputError(
            f"the calibration set has no array {printable(missing[0])} (it has {', '.join(samples)})"
        )
    return {name: samples[name] for name in names}


def shaped(name: str, sample: Array, shape: Sequence[int]) -> Array:
    """A sample in the shape of an input, from which only ones may be missing."""
    if [n for n in sample.shape if n != 1] != [n for n in shape if n != 1]:
        raise InputError(
            f"a sample of {printable(name)} must have shape {list(shape[1:])} (got {list(sample.shape)})"
        )
    return sample.reshape(shape)


def noise(expected: Array, actual: Array) -> float:
    """The root of the mean square of the differences, over that of the expected numbers."""
    real = expected.astype(np.float64)
    power = float(np.sqrt(np.mean(real**2))) or 1.0
    return float(np.sqrt(np.mean((actual.astype(np.float64) - real) ** 2)) / power)


def need(package: str) -> RunError:
    """The error where a package is missing."""
    from dlasim.installation import extra_command

    return RunError(f"{package} is not installed; run {extra_command('quantize')}")


def quantize_keras(model: str | Path, samples: Samples, out: str | Path, labels: Array | None) -> Quantized:
    """Quantize, check that dlasim takes the result, and compare its outputs with those in float."""
    try:
        tf: Any = import_module("tensorflow")
    except ImportError:
        raise RunError("tensorflow is not installed; run pip install tensorflow") from None
    try:
        network = tf.keras.models.load_model(model, compile=False)
        names = [tensor.name.split(":")[0] for tensor in network.inputs]
        given = list(by_input(samples, names).values())
        shapes = [
            (1, *(array.shape[1:] if None in tensor.shape[1:] else tensor.shape[1:]))
            for tensor, array in zip(network.inputs, given, strict=True)
        ]
        ports = list(zip(names, given, shapes, strict=True))
        rows = [[shaped(name, array[n], shape).astype(np.float32) for name, array, shape in ports]
                for n in range(len(given[0]))]  # fmt: skip
        content = _converted(tf, network, rows)
    except InputError:
        raise
    except Exception as error:  # its errors have no common class
        text = printable(" ".join(str(error).split()))[:200]
        raise InputError(f"{model}: TensorFlow cannot quantize it: {text}") from None
    load_graph(InputFile(str(out), InputKind.TFLITE, content))
    atomic_write(out, content)
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
