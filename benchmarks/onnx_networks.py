"""Networks in ONNX, with seeded weights and quantized by onnxruntime, that benchmarks compare it on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.onnx.float_networks import NETWORKS, FloatNetwork, quantize

_STAGES = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *5 * ((512, 1),), (1024, 2), (1024, 1))


def write_onnx(name: str, path: Path) -> Path:
    """The network of that name as a QDQ file."""
    return quantize(mobilenet_v1() if name == "mobilenet_v1" else NETWORKS[name](), path, kind="int8")


def mobilenet_v1() -> Any:
    """As large as the paper's."""
    n = FloatNetwork((1, 3, 224, 224))
    x = n.conv("input", 32, stride=2, relu="Clip")
    for out, stride in _STAGES:
        x = n.conv(n.depthwise(x, stride), out, 1, relu="Clip")
    return n.model(n.head(x))
