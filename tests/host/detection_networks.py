"""Detection networks that are nothing but their end: random encodings, scores and anchors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Option, Quantization, Tensor

Array = np.ndarray
FAST, SEVERAL, REGULAR = "fast", "several classes", "regular"


@dataclass(frozen=True)
class Head:
    """A network whose two inputs are bytes, and the number of its results that count."""

    graph: Graph

    @property
    def options(self) -> Mapping[str, Option]:
        """Those of DETECTION_POSTPROCESS."""
        return self.graph.operators[-1].options

    def counted(self, tensors: Mapping[int, Array]) -> list[Array]:
        """Boxes, classes, scores and number; TensorFlow leaves the others unwritten."""
        *results, number = (np.asarray(tensors[index]) for index in self.graph.outputs)
        found = int(number.ravel()[0])
        if not self.options["use_regular_nms"]:
            found *= int(self.options["max_classes_per_detection"])
        return [*(values[0][:found] for values in results), number]


def scale(value: float, zero_point: int) -> Quantization:
    return Quantization((float(np.float32(value)),), (zero_point,))


def head(seed: int, dtype: str, mode: str) -> Head:
    """uint8 goes into the operator as it is, int8 through DEQUANTIZE: as TensorFlow writes them."""
    rng = np.random.default_rng(seed)
    boxes, classes, background = int(rng.integers(1, 80)), int(rng.integers(3, 12)), int(rng.integers(2))
    offset = 128 if dtype == "uint8" else 0
    shapes = ((1, boxes, int(rng.integers(4, 7))), (1, boxes, classes + background))
    tensors = [
        Tensor("encodings", shapes[0], dtype, scale(0.05, offset + 3)),
        Tensor("predictions", shapes[1], dtype, scale(1 / 256, offset - 128)),
    ]
    operators: list[Operator] = []
    inputs: Sequence[int] = (0, 1, 2)
    if dtype == "uint8":
        data: Any = rng.integers(10, 200, (boxes, 4)).astype(np.uint8)
        tensors.append(Tensor("anchors", (boxes, 4), "uint8", scale(0.005, 5), data))
    else:
        data = rng.uniform(0.05, 0.9, (boxes, 4)).astype(np.float32)
        tensors.append(Tensor("anchors", (boxes, 4), "float32", None, data))
        tensors += [Tensor(f"real{number}", shapes[number], "float32") for number in (0, 1)]
        operators = [
            Operator("DEQUANTIZE", (number,), (3 + number,), {}, f"operator {number}") for number in (0, 1)
        ]
        inputs = (3, 4, 2)
    most, several = int(rng.integers(1, 15)), 3 if mode == SEVERAL else 1
    outputs = tuple(range(len(tensors), len(tensors) + 4))
    for name, shape in (("boxes", (4,)), ("classes", ()), ("scores", ())):
        tensors.append(Tensor(name, (1, most * several, *shape), "float32"))
    tensors.append(Tensor("number", (1,), "float32"))
    options: dict[str, Option] = {
        "max_detections": most, "max_classes_per_detection": several, "num_classes": classes,
        "detections_per_class": int(rng.integers(1, 20)), "use_regular_nms": mode == REGULAR,
        "nms_score_threshold": float(np.float32(rng.choice([1e-8, 0.3, 0.7]))),
        "nms_iou_threshold": float(np.float32(rng.choice([0.2, 0.6, 1.0]))),
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": float(rng.integers(3, 8)),
    }  # fmt: skip
    operators.append(
        Operator("DETECTION_POSTPROCESS", tuple(inputs), outputs, options, f"operator {len(operators)}")
    )
    return Head(Graph("head", tuple(tensors), tuple(operators), (0, 1), outputs))


def head_inputs(made: Head, seed: int, distinct: bool) -> list[Array]:
    """Noise; `distinct` scores of a box have no equals, whose order LiteRT leaves to its sorting routine."""
    rng = np.random.default_rng(seed)
    encodings, predictions = (made.graph.tensors[index] for index in made.graph.inputs)
    limits = np.iinfo(encodings.dtype)
    values = rng.integers(limits.min, limits.max, encodings.shape, encodings.dtype, endpoint=True)
    scores = rng.integers(limits.min, limits.max, predictions.shape, encodings.dtype, endpoint=True)
    if distinct:
        rows = [
            rng.permutation(256)[: predictions.shape[2]] + limits.min for _ in range(predictions.shape[1])
        ]
        scores = np.array([rows]).astype(encodings.dtype)
    return [values, scores]
