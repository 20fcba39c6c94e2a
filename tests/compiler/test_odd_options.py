"""Options that networks seldom have, from the file to the DLA's result, against TensorFlow."""

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import GraphBuilder, random_scale, random_values, random_zero_point
from tests.oracle import run_litert_reference, run_tflite_micro

SHAPE = (1, 4, 5, 3)
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
POOL = {"stride_h": 2, "stride_w": 2, "filter_height": 3, "filter_width": 3, "padding": "SAME"}
# Shapes of two inputs that are broadcast.
PAIRS = [
    (SHAPE, (3,)),
    ((3,), SHAPE),
    (SHAPE, ()),
    ((1, 4, 1, 3), (1, 1, 5, 3)),
    ((1, 4, 5, 1), SHAPE),
    (SHAPE, (1, 4, 1, 1)),
    ((2, 4, 5, 3), SHAPE),
    ((2, 3, 4, 5, 3), (5, 3)),
    ((1, 1, 1, 3), (1, 4, 5, 1)),
    ((), ()),
]

MEANS = [
    (SHAPE, [1, 2]),
    (SHAPE, [-3, -2]),
    (SHAPE, [3]),
    (SHAPE, [0, 1, 2, 3]),
    (SHAPE, [1, 1, 2]),
    ((4, 5), [-1]),
    ((2, 3, 4, 5, 2), [1, 3]),
    ((6,), [0]),
    ((2, 1, 1, 84), [1, 2]),
    ((2, 1, 3, 5), [1, 2]),
    ((2, 3, 1, 5), [1, 2]),
    ((3, 1, 1, 1), [1, 2]),
    ((1, 1, 1, 7), [1, 2]),
]
PADDINGS = [
    (SHAPE, [(0, 0), (1, 2), (0, 3), (0, 0)]),
    (SHAPE, [(0, 0), (0, 0), (0, 0), (2, 1)]),
    ((2, 4), [(1, 0), (0, 2)]),
    ((5,), [(2, 3)]),
    ((2, 3, 4), [(0, 1), (1, 0), (1, 1)]),
]


def reduced(shape, axes, keep):
    gone = {axis % len(shape) for axis in axes}
    return tuple(1 if axis in gone else n for axis, n in enumerate(shape) if keep or axis not in gone)


def cases():
    """Kind, shapes of inputs and values of constants, output shapes, whether all have one scale, options."""
    for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        for pair in PAIRS:
            yield kind, [*pair], [np.broadcast_shapes(*pair)], kind in ("MAXIMUM", "MINIMUM"), {}
    for activation in ACTIVATIONS:
        fused = {"fused_activation_function": activation}
        for kind in ("ADD", "SUB", "MUL"):
            yield kind, [SHAPE, SHAPE], [SHAPE], False, fused
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            yield kind, [(2, 7, 6, 5)], [(2, 4, 3, 5)], True, POOL | fused
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        larger = POOL | {"filter_height": 5, "filter_width": 4}
        yield kind, [(1, 3, 3, 2)], [(1, 2, 2, 2)], True, larger
        apart = POOL | {"stride_h": 3, "stride_w": 4, "filter_height": 2, "filter_width": 1}
        yield kind, [(1, 9, 9, 2)], [(1, 3, 3, 2)], True, apart | {"padding": "VALID"}
        single = {"stride_h": 3, "stride_w": 3, "filter_height": 1, "filter_width": 1, "padding": "VALID"}
        yield kind, [(3, 8, 1, 1)], [(3, 3, 1, 1)], True, single
        yield kind, [(3, 8, 4, 1)], [(3, 3, 1, 1)], True, single | {"filter_width": 4}
        yield kind, [(3, 8, 4, 1)], [(3, 8, 1, 1)], True, single | {"filter_width": 4, "stride_h": 1}
        yield kind, [(2, 4, 5, 1)], [(2, 2, 2, 1)], True, single | {"stride_h": 2, "padding": "SAME"}
    for keep in (True, False):
        for shape, axes in MEANS:
            yield "MEAN", [shape, np.array(axes)], [reduced(shape, axes, keep)], False, {"keep_dims": keep}
    for shape, paddings in PADDINGS:
        padded = tuple(size + sum(pair) for size, pair in zip(shape, paddings, strict=True))
        yield "PAD", [shape, np.array(paddings)], [padded], True, {}
    for axis in (0, 2, -1, -4):
        shape, other, whole = list(SHAPE), list(SHAPE), list(SHAPE)
        other[axis], whole[axis] = 2, whole[axis] + 2
        yield "CONCATENATION", [tuple(shape), tuple(other)], [tuple(whole)], True, {"axis": axis}
        packed = list(SHAPE[1:])
        packed.insert(axis % 4, 3)
        yield "PACK", [SHAPE[1:]] * 3, [tuple(packed)], True, {"axis": axis, "values_count": 3}
        count, rest = SHAPE[axis], tuple(n for number, n in enumerate(SHAPE) if number != axis % 4)
        yield "UNPACK", [SHAPE], [rest] * count, True, {"axis": axis, "num": count}
        expanded = list(SHAPE[1:])
        expanded.insert(axis % 4, 1)
        yield "EXPAND_DIMS", [SHAPE[1:], np.int32(axis)], [tuple(expanded)], True, {}
    for axis in (1, -1):
        parts = [(2, 1, 6, 2), (2, 3, 6, 2)] if axis == 1 else [(2, 4, 6, 1)] * 2
        yield "SPLIT_V", [(2, 4, 6, 2), np.array([1, -1]), np.int32(axis)], parts, True, {"num_splits": 2}
        half = (2, 2, 6, 2) if axis == 1 else (2, 4, 6, 1)
        yield "SPLIT", [np.int32(axis), (2, 4, 6, 2)], [half] * 2, True, {"num_splits": 2}
    for chosen in ((), (0,), (-1,), (-4, -2)):
        left = reduced((1, 4, 1, 1), chosen or (0, 2, 3), keep=False)
        yield "SQUEEZE", [(1, 4, 1, 1)], [left], True, {"squeeze_dims": chosen}
    for size in ((8, 10), (1, 1), (13, 3)):
        for options in ({}, {"half_pixel_centers": True}, {"align_corners": True}):
            for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
                yield kind, [(2, 4, 5, 3), np.array(size)], [(2, *size, 3)], True, options
    yield "SLICE", [SHAPE, np.array([0, 1, 1, 0]), np.array([-1, 2, -1, -1])], [(1, 2, 4, 3)], True, {}
    for order in ([3, 2, 1, 0], [0, -1, 1, 2], [0, 3, 1, 2]):
        permuted = tuple(SHAPE[axis] for axis in order)
        yield "TRANSPOSE", [SHAPE, np.array(order)], [permuted], True, {}


def name_of(case):
    kind, inputs, _, _, options = case
    return f"{kind}-{[item if isinstance(item, tuple) else item.tolist() for item in inputs]}-{options}"


@pytest.mark.parametrize("place", ["dla", "cpu"])
@pytest.mark.parametrize("case", list(cases()), ids=name_of)
def test_an_odd_option_is_computed_as_tensorflow_does(case, place, tmp_path):
    kind, inputs, outputs, one_scale, options = case
    rng, builder = np.random.default_rng(len(outputs)), GraphBuilder()
    scales = ((random_scale(rng), random_zero_point(rng)) for _ in range(9))
    first = next(scales)

    def add(item, is_input):
        if isinstance(item, tuple):
            return builder.add(item, "int8", *(first if one_scale else next(scales)), is_input=is_input)
        return builder.add(item.shape, "int32", data=item)

    numbers = [add(item, True) for item in inputs]
    results = [add(shape, False) for shape in outputs]
    graph = builder.graph(kind, numbers, results, **options)
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    values = [random_values(rng, graph.tensors[number]) for number in graph.inputs]
    found = api.run(path, inputs=values, place=place).outputs
    try:
        expected = run_tflite_micro(path, values)
    except RuntimeError:  # not an operator, a rank or an axis of TFLite Micro's
        expected = run_litert_reference(path, values)
    for number, result in zip(results, found, strict=True):
        np.testing.assert_array_equal(result, expected[number].reshape(result.shape))
