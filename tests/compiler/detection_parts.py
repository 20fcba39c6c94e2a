"""The end of a detection network as a part of random ones: boxes and scores from bytes of one activation."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import Operator, Option, Tensor
from tests.compiler.network_builder import Activation, MisfitError, RandomNetwork

_MAX_BOXES = 40
_MIN_BOXES = 2
_MAX_SCALE = 0.25  # with it the exponent of a size stays below 16, where dlasim limits it


def detections(net: RandomNetwork) -> None:
    """DETECTION_POSTPROCESS with one class per detection: the order of equals among several is open.

    No operator reads the results, because TensorFlow does not write those behind the detections found.
    """
    source = net.any_activation()
    elements = int(np.prod(source.shape))
    classes, background, extra = net.number(1, 6), net.number(0, 1), net.choice(0, 0, 2)
    widths = (4 + extra, classes + background)
    boxes = min(_MAX_BOXES, elements // sum(widths))
    if boxes < _MIN_BOXES or source.quantization.scale > _MAX_SCALE:
        raise MisfitError
    line = _reshaped(net, source, (1, elements))
    encodings = _floats(net, line, 0, (1, boxes, widths[0]))
    predictions = _floats(net, line, boxes * widths[0], (1, boxes, widths[1]))
    anchors = net.rng.uniform(0.05, 0.9, (boxes, 4)).astype(np.float32)
    net.tensors.append(Tensor(f"c{len(net.tensors)}", anchors.shape, "float32", None, anchors))
    inputs = (encodings, predictions, len(net.tensors) - 1)
    most = net.number(1, 12)
    shapes = ((1, most, 4), (1, most), (1, most), (1,))
    outputs = tuple(net.tensor(shape, None, "float32") for shape in shapes)
    spread = 100 * source.quantization.scale
    options: dict[str, Option] = {
        "max_detections": most, "max_classes_per_detection": 1, "num_classes": classes,
        "detections_per_class": net.number(1, 20), "use_regular_nms": net.chance(0.5),
        "nms_score_threshold": float(np.float32(net.choice(1e-8, 0.2 * spread, 0.6 * spread))),
        "nms_iou_threshold": float(np.float32(net.choice(0.2, 0.6, 1.0))),
        "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": float(net.number(4, 8)),
    }  # fmt: skip
    net.operators.append(
        Operator("DETECTION_POSTPROCESS", inputs, outputs, options, f"operator {len(net.operators)}")
    )


def _reshaped(net: RandomNetwork, source: Activation, shape: tuple[int, ...]) -> Activation:
    target = net.constant(np.array(shape))
    result = net.output("RESHAPE", [source.index, target], shape, source.quantization, {"new_shape": shape})
    net.activations.remove(result)
    return result


def _floats(net: RandomNetwork, line: Activation, begin: int, shape: tuple[int, ...]) -> int:
    """A part of the line as floats of a shape."""
    count = int(np.prod(shape))
    bounds = [net.constant(np.array(bound)) for bound in ((0, begin), (1, begin + count), (1, 1))]
    part = net.output("STRIDED_SLICE", [line.index, *bounds], (1, count), line.quantization, {})
    net.activations.remove(part)
    whole = _reshaped(net, part, shape)
    index = net.tensor(shape, None, "float32")
    net.operators.append(
        Operator("DEQUANTIZE", (whole.index,), (index,), {}, f"operator {len(net.operators)}")
    )
    return index
