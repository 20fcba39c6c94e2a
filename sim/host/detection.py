"""What ends a detection network: boxes relative to anchors, and those that others overlap too much."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from dlasim.isa.host_attributes import word_float
from dlasim.sim.host.call import Array, Call

# The exponential function in fixed point, which needs no FPU and is the same everywhere.
_BITS = 62  # below the point
_LN2 = 3196577161300663915  # ln 2
_TERMS = tuple(((1 << _BITS) + math.factorial(n) // 2) // math.factorial(n) for n in range(16))
_INPUT_BITS = 59  # of the exponent, which stays below 16
_PER_LN2 = 47274  # 2^15 / ln 2


def exponential(value: float) -> float:
    """exp of a value between -16 and 16 with an error of 2^-58, rounded to float64."""
    most = (1 << (_INPUT_BITS + 4)) - 1
    fixed = max(-most, min(most, int(value * (1 << _INPUT_BITS))))
    power = ((fixed >> (_INPUT_BITS - 15)) * _PER_LN2 + (1 << 29)) >> 30
    rest = (fixed << (_BITS - _INPUT_BITS)) - power * _LN2
    result = _TERMS[-1]
    for term in reversed(_TERMS[:-1]):
        part = (abs(rest) * result) >> _BITS
        result = term + part if rest >= 0 else term - part
    return math.ldexp(float(result), power - _BITS)


def decode_boxes(call: Call) -> list[Array]:
    """DECODE_BOXES."""
    at = call.attributes
    encodings, anchors = (np.where(np.isfinite(array), array, 0).astype(np.float64) for array in call.inputs)
    encodings, anchors = encodings.reshape(-1, encodings.shape[-1])[:, :4], anchors.reshape(-1, 4)
    boxes = np.empty((len(anchors), 4), np.float32)
    for axis, centre_scale, size_scale in ((0, at.y_scale, at.h_scale), (1, at.x_scale, at.w_scale)):
        extent = anchors[:, 2 + axis]
        centre = (encodings[:, axis] / centre_scale * extent + anchors[:, axis]).astype(np.float32)
        sizes = [exponential(value) for value in (encodings[:, 2 + axis] / size_scale).tolist()]
        half = (0.5 * np.array(sizes) * extent).astype(np.float32)
        boxes[:, axis], boxes[:, 2 + axis] = centre - half, centre + half
    return [boxes]


def suppress_boxes(call: Call) -> list[Array]:
    """SUPPRESS_BOXES."""
    boxes, scores = call.inputs
    at = call.attributes
    boxes = boxes.reshape(-1, 4)
    scores = np.where(np.isnan(scores), np.float32(-np.inf), scores).reshape(len(boxes), -1)
    scores = scores[:, scores.shape[1] - at.classes :]
    found = _by_class(boxes, scores, at) if at.regular else _by_box(boxes, scores, at)
    results = [np.zeros(output.shape, output.dtype) for output in call.outputs]
    rows = [result.reshape(-1, *last) for result, last in zip(results[:3], ((4,), (), ()), strict=True)]
    count = 0
    for place, box, label in found:
        count += 1
        rows[0][place], rows[1][place], rows[2][place] = boxes[box], label, scores[box, label]
    results[3][...] = count if at.regular else count // min(at.max_classes, at.classes)
    return results


def _by_box(boxes: Array, scores: Array, at: SimpleNamespace) -> Iterator[tuple[int, int, int]]:
    """Each box once, with its best classes: where a result goes, its box and its class."""
    best = scores.max(axis=1)
    for number, box in enumerate(_selected(boxes, best, at, at.max_detections)):
        labels = np.argsort(-scores[box], kind="stable")[: at.max_classes]
        for place, label in enumerate(labels.tolist()):
            yield number * at.max_classes + place, box, label


def _by_class(boxes: Array, scores: Array, at: SimpleNamespace) -> Iterator[tuple[int, int, int]]:
    """Boxes of each class by themselves, and the best of all of them."""
    found: list[tuple[float, int, int]] = []
    for label in range(at.classes):
        chosen = _selected(boxes, scores[:, label], at, at.detections_per_class)
        found += [(float(scores[box, label]), box, label) for box in chosen]
    found.sort(key=lambda item: -item[0])
    for place, (_, box, label) in enumerate(found[: at.max_detections]):
        yield place, box, label


def _selected(boxes: Array, scores: Array, at: SimpleNamespace, most: int) -> list[int]:
    """The boxes that no better one overlaps too much, best first; of equals the first."""
    kept = np.flatnonzero(scores >= np.float32(word_float(at.score_threshold)))
    order = kept[np.argsort(-scores[kept], kind="stable")]
    chosen: list[int] = []
    while len(order) and len(chosen) < most:
        first, order = order[0], order[1:]
        chosen.append(int(first))
        order = order[~(_overlap(boxes[first], boxes[order]) > np.float32(at.iou_threshold))]
    return chosen


def _overlap(box: Array, others: Array) -> Array:
    """Intersection over union, in float32 in TensorFlow's order."""
    own, areas = _area(box), _area(others)
    low = np.where(box[:2] < others[:, :2], others[:, :2], box[:2])
    high = np.where(others[:, 2:] < box[2:], others[:, 2:], box[2:])
    sides = high - low
    sides = np.where(sides < 0, np.float32(0), sides)
    shared = sides[:, 0] * sides[:, 1]
    ratio = shared / (own + areas - shared)
    return np.where((own <= 0) | (areas <= 0), np.float32(0), ratio)


def _area(boxes: Array) -> Array:
    result: Array = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return result


KERNELS = {"decode_boxes": decode_boxes, "suppress_boxes": suppress_boxes}
