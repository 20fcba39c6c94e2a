"""DETECTION_POSTPROCESS: what ends a detection network of TensorFlow's object detection library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Tensor
from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.isa.host_attributes import float_word

_SIDES = ("y_scale", "x_scale", "h_scale", "w_scale")
_MAX_DETECTIONS = 1 << 16  # detections, and classes of one


def detection_shape(op: BoundOperator) -> list[Shape]:
    """Boxes, classes and scores of so many detections, and their number."""
    boxes, scores, anchors = op.shape(0, 3), op.shape(1, 3), op.shape(2, 2)
    count = boxes[1]
    op.require(boxes[0] == scores[0] == 1, f"it takes one image (got {boxes[0]} and {scores[0]})")
    op.require(boxes[2] >= 4, f"box encodings have {boxes[2]} elements, not 4 or more")
    op.require(
        scores[1] == count and anchors == (count, 4),
        f"scores {list(scores)} and anchors {list(anchors)} do not fit {count} boxes",
    )
    for name in ("max_detections", "max_classes_per_detection", "detections_per_class", "num_classes"):
        value = op.option(name)
        op.require(1 <= value <= _MAX_DETECTIONS, f"{name} must be from 1 to {_MAX_DETECTIONS} (got {value})")
    classes = op.option("num_classes")
    fits = scores[2] - classes in (0, 1)
    op.require(fits, f"num_classes must be {scores[2]}, or one less with a background (got {classes})")
    detections = op.option("max_detections") * op.option("max_classes_per_detection")
    op.require(
        detections <= _MAX_DETECTIONS,
        f"it may give {detections} detections, but at most {_MAX_DETECTIONS} are supported",
    )
    return [(1, detections, 4), (1, detections), (1, detections), (1,)]


def detection(op: BoundOperator) -> list[KernelCall]:
    """Floats, boxes from them, and those of the boxes that are left."""
    for name in _SIDES:
        op.require(op.option(name) > 0, f"{name} must be above 0 (got {op.option(name)})")
    overlap = op.option("nms_iou_threshold")
    op.require(0 < overlap <= 1, f"nms_iou_threshold must be above 0 and at most 1 (got {overlap})")
    for output in op.outputs:
        op.types(output, "float32")
    calls: list[KernelCall] = []
    encodings, scores = (_real(op, position, calls) for position in (0, 1))
    count, limit = op.shape(0)[1], op.option("max_detections")
    boxes = _new(op, "boxes", (count, 4), "float32")
    sides = {name: op.option(name) for name in _SIDES}
    calls.append(op.call("DECODE_BOXES", (encodings, _anchors(op)), (boxes,), **sides))
    workspace = _new(op, "workspace", (3 * count + 2 * limit,), "int32")
    calls.append(
        op.call(
            "SUPPRESS_BOXES",
            (boxes, scores),
            (*op.output_numbers, workspace),
            max_detections=limit,
            max_classes=op.option("max_classes_per_detection"),
            detections_per_class=op.option("detections_per_class"),
            classes=op.option("num_classes"),
            regular=int(op.option("use_regular_nms")),
            score_threshold=float_word(op.option("nms_score_threshold")),
            iou_threshold=overlap,
        )
    )
    return calls


def _new(op: BoundOperator, name: str, shape: Shape, dtype: str) -> Tensor:
    return Tensor(f"{op.output().name}/{name}", shape, dtype)


def _real(op: BoundOperator, position: int, calls: list[KernelCall]) -> int | Tensor:
    """An input as floats; a table makes them of bytes."""
    tensor = op.input(position)
    op.types(tensor, "float32", "int8")
    if tensor.dtype == "float32":
        return op.input_numbers[position]
    numbers = np.arange(-128, 128)
    table = op.new_constant(f"real{position}/table", _dequantized(op, tensor, numbers))
    found = _new(op, f"real{position}", tensor.shape, "float32")
    calls.append(op.call("LUT", (op.input_numbers[position], table), (found,)))
    return found


def _dequantized(op: BoundOperator, tensor: Tensor, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
    return (numbers - op.zero_point(tensor)).astype(np.float32) * np.float32(op.scale(tensor))


def _anchors(op: BoundOperator) -> Tensor:
    """Anchors are constants; none has a size below 0."""
    tensor, data = op.input(2), np.asarray(op.constant(2))
    op.types(tensor, "float32", "int8")
    if tensor.dtype == "int8":
        data = _dequantized(op, tensor, data.astype(np.int64))
    op.require(bool(np.isfinite(data).all()), "an anchor is infinite or NaN")
    least = float(data[:, 2:].min()) if data.size else 0.0
    op.require(least >= 0, f"the size of an anchor must be at least 0 (got {least:g})")
    return op.new_constant("anchors", np.ascontiguousarray(data, np.float32))
