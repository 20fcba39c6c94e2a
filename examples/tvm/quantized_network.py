"""A small network with two convolutions, an average and a softmax, quantized by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

SHAPE = (1, 3, 32, 32)


class _Calibration(CalibrationDataReader):
    """Noise; a real network needs inputs that look like what it will meet."""

    def __init__(self) -> None:
        self._samples = iter(np.random.default_rng(0).normal(size=(16, *SHAPE)).astype(np.float32))

    def get_next(self) -> dict[str, Any] | None:
        sample = next(self._samples, None)
        return None if sample is None else {"image": sample}


def write_network(path: Path) -> Path:
    """The network as a QDQ file."""
    rng = np.random.default_rng(0)
    constants = {
        "w1": rng.normal(0, 0.25, (16, 3, 3, 3)), "b1": rng.normal(0, 0.1, 16),
        "w2": rng.normal(0, 0.12, (32, 16, 3, 3)), "b2": rng.normal(0, 0.1, 32),
        "w3": rng.normal(0, 0.6, (10, 32)), "b3": rng.normal(0, 0.1, 10),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["x1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["x1"], ["y1"]),
        helper.make_node("Conv", ["y1", "w2", "b2"], ["x2"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["x2"], ["y2"]),
        helper.make_node("GlobalAveragePool", ["y2"], ["z"]),
        helper.make_node("Flatten", ["z"], ["row"]),
        helper.make_node("Gemm", ["row", "w3", "b3"], ["scores"], transB=1),
        helper.make_node("Softmax", ["scores"], ["classes"]),
    ]
    graph = helper.make_graph(
        nodes, "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, (1, 10))],
        [numpy_helper.from_array(data.astype(np.float32), name) for name, data in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    quantize_static(
        model, path, _Calibration(), quant_format=QuantFormat.QDQ, per_channel=True,
        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
        op_types_to_quantize=["Conv", "Gemm", "GlobalAveragePool"],
    )  # fmt: skip
    return path
