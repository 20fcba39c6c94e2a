"""Random calls of host operators on float32, and of BINARY on int64: what a core without an FPU lacks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dlasim.isa.host_attributes import float_word
from dlasim.isa.host_op_rows import BinaryFunction, CompareFunction, ReduceFunction, UnaryFunction
from dlasim.sim.host import TensorSpec
from tests.firmware.kernel_calls import TYPES, Array, Call, Random, broadcast_shapes, call, elements

MAX_FLOAT, MIN_NORMAL, MIN_FLOAT = 3.4028235e38, 1.17549435e-38, 1e-45
SPECIALS = np.array(
    [
        0, np.inf, np.nan, MIN_FLOAT, 1e-40, MIN_NORMAL, MAX_FLOAT, 1, 0.5, 0.49999997, 1.5, 2.5, 8388607.5,
        8388608, 16777215, 1e10, 2.0**62, 2.0**63,
    ],
    np.float32,
)  # fmt: skip
SPECIALS = np.concatenate([SPECIALS, -SPECIALS])
ENDS = ((-np.inf, np.inf), (-MAX_FLOAT, MAX_FLOAT), (0, 6), (-1, 1), (np.nan, 0.5))


def floats(rng: Random, count: int) -> Array:
    """Any bits, usual numbers, halves and quarters, and what lies near powers of two, mixed."""
    part = count // 4
    bits = rng.integers(0, 1 << 32, part, dtype=np.uint32).view(np.float32)
    usual = rng.normal(0, 10, part)
    quarters = rng.integers(-40, 40, part) / 4
    near = 2.0 ** rng.integers(-3, 26, count - 3 * part) * rng.uniform(0.9, 1.1, count - 3 * part)
    return rng.permutation(np.concatenate([bits, usual, quarters, near]).astype(np.float32))


def operands(rng: Random, count: int) -> tuple[Array, Array]:
    """Two numbers each; some are neighbours, and some are subnormal."""
    one, other = floats(rng, count), floats(rng, count)
    few = count // 10
    one[:few] = np.nextafter(other[:few], np.float32(rng.choice([np.inf, -np.inf])))
    for array in (one[few : 3 * few], other[2 * few : 4 * few]):
        array[:] = rng.integers(0, 1 << 24, len(array)).astype(np.uint32).view(np.float32)
    return one, other


def float_binary(rng: Random) -> Iterator[Call]:
    """All pairs of special numbers, and many others."""
    for function in BinaryFunction:
        if function == BinaryFunction.POW:
            continue
        least, greatest = ENDS[int(rng.integers(len(ENDS)))]
        words = {
            "function": int(function), "clamp_min": float_word(least), "clamp_max": float_word(greatest),
        }  # fmt: skip
        size = len(SPECIALS)
        yield call("BINARY", [SPECIALS[:, None], SPECIALS], (size, size), "float32", **words)
        one, other = operands(rng, 1000)
        yield call("BINARY", [one, other], (1000,), "float32", **words)
        shapes, result = broadcast_shapes(rng)
        values = [elements(rng, "float32", shape) for shape in shapes]
        yield call("BINARY", values, result, "float32", **words)


def int64_binary(rng: Random) -> Iterator[Call]:
    """Divisors of every size, among them 0 and -1."""
    for function in BinaryFunction:
        if function == BinaryFunction.POW:
            continue
        one, other = (elements(rng, "int64", 100) >> rng.integers(0, 64, 100) for _ in range(2))
        one[:3], other[:3] = -(1 << 63), (-1, 0, 1)
        words = {"function": int(function), "clamp_min": 0, "clamp_max": 0}
        yield call("BINARY", [one, other], (100,), "int64", **words)


def float_unary(rng: Random) -> Iterator[Call]:
    for function in UnaryFunction:
        values = np.concatenate([SPECIALS, floats(rng, 1000)])
        yield call("UNARY", [values], values.shape, "float32", function=int(function))


def float_conversion(rng: Random) -> Iterator[Call]:
    """Around the ends of each integer type, too."""
    ends = np.array([127.9, 128, 255.9, 256, 32767.5, 32768, 2.0**31, 2.0**31 - 128, 2.0**63], np.float32)
    values = np.concatenate([SPECIALS, ends, -ends, np.nextafter(ends, np.float32(0)), floats(rng, 1000)])
    for dtype in TYPES:
        yield call("CAST", [values], values.shape, dtype)
        if dtype != "float32":
            integers = elements(rng, dtype, 500)
            if dtype in ("int32", "int64"):
                integers >>= rng.integers(0, np.iinfo(dtype).bits, 500).astype(dtype)
            yield call("CAST", [integers], (500,), "float32")


def float_comparison(rng: Random) -> Iterator[Call]:
    unused = [f"input{number}_{name}" for number in (1, 2) for name in ("zero_point", "multiplier", "shift")]
    for function in CompareFunction:
        words = {**dict.fromkeys(unused, 0), "function": int(function)}
        size = len(SPECIALS)
        yield call("COMPARE", [SPECIALS[:, None], SPECIALS], (size, size), "bool", **words)
        one, other = operands(rng, 200)
        yield call("COMPARE", [one, other], (200,), "bool", **words)


def some(rng: Random, shape: tuple[int, ...]) -> Array:
    """Numbers of which many are special."""
    values = floats(rng, int(np.prod(shape))).reshape(shape)
    return np.where(rng.integers(4, size=shape) == 0, rng.choice(SPECIALS, shape), values)


def float_along_dimensions(rng: Random) -> Iterator[Call]:
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 5))))
    mask = int(rng.integers(1 << len(shape)))
    kept = [size for axis, size in enumerate(shape) if not mask >> axis & 1]
    for function in list(ReduceFunction)[:4]:
        words = {"function": int(function), "axis_mask": mask}
        yield call("REDUCE", [some(rng, shape)], kept, "float32", **words)
    axis = int(rng.integers(len(shape)))
    names = ("input_zero_point", "output_zero_point", "output_multiplier", "output_shift")
    for exclusive, reverse in itertools.product((0, 1), (0, 1)):
        words = {**dict.fromkeys(names, 0), "axis": axis, "exclusive": exclusive, "reverse": reverse}
        yield call("CUMULATIVE_SUM", [some(rng, shape)], shape, "float32", **words)
    less = (*shape[:axis], *shape[axis + 1 :])
    yield call("ARG_MAX", [some(rng, shape)], less, "int32", axis=axis)
    found = (*shape[:-1], int(rng.integers(1, shape[-1] + 1)))
    values = TensorSpec(found, "float32")
    yield Call("TOP_K", [some(rng, shape)], values, {}, (TensorSpec(found, "int32"),))


def detection(rng: Random) -> Iterator[Call]:
    """Encodings of every size, scores with and without equals."""
    boxes, classes, background = (int(n) for n in rng.integers(1, (60, 8, 2), endpoint=True))
    background -= 1
    encodings = rng.normal(0, rng.choice([0.5, 3, 40]), (1, boxes, int(rng.integers(4, 7)))).astype(
        np.float32
    )
    for place in rng.integers(0, encodings.size, 1 + encodings.size // 4):
        encodings.flat[place] = rng.choice([0.0, *SPECIALS])
    anchors = rng.uniform(0, 1, (boxes, 4)).astype(np.float32)
    scales = {f"{side}_scale": float(np.float32(rng.uniform(1, 12))) for side in "yxhw"}
    yield call("DECODE_BOXES", [encodings, anchors], (boxes, 4), "float32", **scales)
    corners = rng.uniform(0, 1, (boxes, 4)).astype(np.float32)
    corners[:, 2:] += corners[:, :2] * np.float32(rng.choice([0.1, 1]))
    scores = rng.uniform(0, 1, (1, boxes, classes + background)).astype(np.float32)
    if rng.integers(2):
        scores = np.round(scores * 8) / np.float32(8)
    scores.flat[0] = rng.choice(SPECIALS)
    most, several = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    outputs = [(1, most * several, 4), (1, most * several), (1, most * several), (1,)]
    workspace = TensorSpec((3 * boxes + 2 * most,), "int32")
    for regular in (0, 1):
        words = {
            "max_detections": most, "max_classes": several, "classes": classes, "regular": regular,
            "detections_per_class": int(rng.integers(1, 10)),
            "score_threshold": float_word(float(rng.choice([0, 0.3, 0.6]))),
            "iou_threshold": float(np.float32(rng.choice([0.1, 0.5, 1.0]))),
        }  # fmt: skip
        specs = [TensorSpec(shape, "float32") for shape in outputs]
        yield Call("SUPPRESS_BOXES", [corners, scores], specs[0], words, (*specs[1:], workspace))


def exponentials(rng: Random) -> Iterator[Call]:
    """Over all that e^x is not infinite or 0 for, near 0, and beyond."""
    values = np.concatenate(
        [
            rng.uniform(-110, 95, 400),
            rng.normal(0, 1, 300),
            np.ldexp(rng.uniform(-1, 1, 300), rng.integers(-60, 8, 300)),
        ]
    ).astype(np.float32)
    for function in (UnaryFunction.EXP, UnaryFunction.LOGISTIC, UnaryFunction.ELU):
        yield call("UNARY", [values], values.shape, "float32", function=int(function))
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 40)))
    for rows in (rng.normal(0, 8, shape).astype(np.float32), some(rng, shape)):
        yield call("SOFTMAX_FLOAT", [rows], shape, "float32", beta=float(np.float32(rng.uniform(0.1, 3))))


def resized(rng: Random) -> Iterator[Call]:
    """Tables may point outside of the image; fractions are of any size, where results are bytes."""
    shape, (height, width) = tuple(int(n) for n in rng.integers(1, 5, 4)), rng.integers(1, 7, 2)
    whole = (shape[0], int(height), int(width), shape[3])
    for dtype, most in (("int8", 0), ("int8", 127), ("float32", 0)):
        tables = []
        for count in (height, width):
            places = rng.integers(-1, 6, (count, 2)).astype(np.int32)
            fractions = np.ldexp(rng.uniform(-0.5, 1, count), rng.integers(0, most + 1, count))
            words = fractions.astype(np.float32).view(np.int32)
            tables.append(np.concatenate([places, words[:, None]], axis=1))
        image = elements(rng, dtype, shape) if dtype == "int8" else some(rng, shape)
        yield call("RESIZE_FLOAT", [image, *tables], whole, dtype)
