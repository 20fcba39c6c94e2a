"""Quantizes a float ONNX network with onnxruntime: QDQ, int8, weights per channel."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.checking.onnx_edits import extra_outputs
from dlasim.compiler_shim.compile import load_graph
from dlasim.errors import InputError, RunError, printable
from dlasim.quantization.quantizing import (
    Array,
    LayerDifference,
    Quantized,
    Samples,
    by_input,
    need,
    noise,
    shaped,
)
from dlasim.system.fileio import atomic_write

_MEASURED = 16  # samples of which layers are compared
_BEHIND = "_DequantizeLinear_Output"  # what onnxruntime calls a tensor behind its conversions
_TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
          "tensor(bool)": np.bool_, "tensor(double)": np.float64, "tensor(float16)": np.float16}  # fmt: skip


def quantize_onnx(model: str | Path, samples: Samples, out: str | Path, labels: Array | None) -> Quantized:
    """Quantize, check that dlasim takes the result, and compare it with the float network."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise need(str(error.name)) from None
    with tempfile.TemporaryDirectory(prefix="dlasim-quantize-") as folder:
        prepared, made = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        try:
            feeds = _quantize(Path(model), prepared, made, samples)
        except InputError:
            raise
        except Exception as error:  # its errors have no common class
            text = printable(" ".join(str(error).split()))[:200]
            raise InputError(f"{model}: onnxruntime cannot quantize it: {text}") from None
        graph = load_graph(made)
        result = Quantized(str(out), len(feeds))
        computed = (graph.tensors[operator.outputs[0]] for operator in graph.operators)
        names = (tensor.name.removesuffix("/real") for tensor in computed if tensor.dtype == "float32")
        result.in_float32 = list(dict.fromkeys(names))
        _measure(result, prepared, made, feeds, labels)
        atomic_write(out, made.read_bytes())
    return result


def _quantize(model: Path, prepared: Path, made: Path, samples: Samples) -> list[dict[str, Array]]:
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    network = onnx.load(model)
    if any("QuantizeLinear" in node.op_type for node in network.graph.node):
        raise InputError(f"{model} is quantized already")
    constants = {tensor.name for tensor in network.graph.initializer}
    ports = [port for port in network.graph.input if port.name not in constants]
    for port in ports:
        dims = port.type.tensor_type.shape.dim
        if dims and not dims[0].dim_value:
            dims[0].dim_value = 1
    fixed = prepared.with_name("fixed.onnx")
    onnx.save(network, fixed)
    quant_pre_process(fixed, prepared, skip_symbolic_shape=True)
    feeds = _feeds(prepared, by_input(samples, [port.name for port in ports]))

    class Calibration(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds = iter(feeds)

        def get_next(self) -> dict[str, Array] | None:
            return next(self._feeds, None)

    kinds = {node.op_type for node in onnx.load(prepared).graph.node}
    quantize_static(
        prepared, made, Calibration(), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
        op_types_to_quantize=sorted(kinds & _with_integers()),
    )  # fmt: skip
    return feeds


def _with_integers() -> set[str]:
    """The operators that dlasim computes with integers; those that only move elements need no scale."""
    from dlasim.compiler_shim.onnx.onnx_import import HANDLERS

    return HANDLERS.keys() - {
        "Shape",
        "Size",
        "Cast",
        "Identity",
        "Dropout",
        "QuantizeLinear",
        "DequantizeLinear",
    }


def _feeds(path: Path, samples: Samples) -> list[dict[str, Array]]:
    """The inputs of each inference, in the network's shapes and types."""
    session = _session(path.read_bytes(), path)
    shapes = {
        port.name: ([d if isinstance(d, int) else 1 for d in port.shape], port.type)
        for port in session.get_inputs()
    }
    feeds: list[dict[str, Array]] = []
    for number in range(len(next(iter(samples.values())))):
        feed: dict[str, Array] = {}
        for name, (shape, kind) in shapes.items():
            sample = shaped(name, samples[name][number], shape)
            feed[name] = sample.astype(_TYPES.get(kind, np.float32))
        feeds.append(feed)
    return feeds


def _session(content: bytes, path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _measure(
    result: Quantized, prepared: Path, made: Path, feeds: Sequence[dict[str, Array]], labels: Array | None
) -> None:
    """Layers of the first samples, outputs and labels of all."""
    import onnx

    written = [name for node in onnx.load(made).graph.node for name in node.output]
    known = {name for node in onnx.load(prepared).graph.node for name in node.output}
    shared = [
        n.removesuffix(_BEHIND) for n in written if n.endswith(_BEHIND) and n.removesuffix(_BEHIND) in known
    ]
    pairs = [(name, name + _BEHIND) for name in shared]
    found = [_run(prepared, [a for a, _ in pairs], feeds), _run(made, [b for _, b in pairs], feeds)]
    count = len(found[0][0]) - len(pairs)
    outputs = [port.name for port in onnx.load(made).graph.output]
    for place, name in enumerate([*outputs[:count], *shared]):
        rows = [
            np.concatenate([np.asarray(run[place], np.float64).ravel() for run in side]) for side in found
        ]
        target = result.outputs if place < count else result.layers
        target.append(LayerDifference(name, noise(*rows)))
    if labels is not None:
        whole = [_run(path, [], feeds) if len(feeds) > _MEASURED else side for path, side in
                 zip((prepared, made), found, strict=True)]  # fmt: skip
        result.float_accuracy, result.int8_accuracy = (
            float(
                np.mean([int(np.argmax(run[0])) == label for run, label in zip(side, labels, strict=False)])
            )
            for side in whole
        )


def _run(path: Path, extra: Sequence[str], feeds: Sequence[dict[str, Array]]) -> list[list[Array]]:
    """The outputs of some samples, and these tensors; of all samples without them."""
    try:
        session = _session(path.read_bytes() + extra_outputs(extra), path)
    except Exception as error:
        raise RunError(f"onnxruntime rejects its own network: {printable(str(error))[:200]}") from None
    names = [port.name for port in session.get_outputs()]
    return [session.run(names, feed) for feed in (feeds[:_MEASURED] if extra else feeds)]
