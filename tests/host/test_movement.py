"""Operators that move elements, against TensorFlow."""

import re

import numpy as np
import pytest

from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.operators.slicing import MASKS
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.errors import InputError
from tests.host.models import (
    GraphBuilder,
    check_random,
    lower_operator,
    random_scale,
    random_zero_point,
    run_on_host,
)

TYPES = ("int8", "float32", "int32")


class Mover(GraphBuilder):
    """A builder whose tensors share one type and quantization."""

    def __init__(self, rng, dtype="int8"):
        super().__init__()
        self.dtype = dtype
        self.quantization = (random_scale(rng), random_zero_point(rng)) if dtype == "int8" else (None, 0)

    def move(self, shape, is_input=False, data=None):
        return self.add(shape, self.dtype, *self.quantization, is_input=is_input, data=data)

    def integers(self, values):
        array = np.asarray(values, np.int32)
        return self.add(array.shape, "int32", data=array)


def random_shape(rng, rank):
    return tuple(int(n) for n in rng.integers(1, 7, rank))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["PAD", "PADV2"])
def test_pad(kind, seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 2])
    shape = random_shape(rng, 4)
    paddings = rng.integers(0, 4, (4, 2))
    inputs = [builder.move(shape, is_input=True), builder.integers(paddings)]
    if kind == "PADV2":
        inputs.append(builder.move((1,), data=rng.integers(-128, 128, 1)))
    output = builder.move(tuple(np.array(shape) + paddings.sum(axis=1)))
    check_random(rng, builder.graph(kind, inputs, [output]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["RESHAPE", "SQUEEZE", "EXPAND_DIMS"])
def test_reshape(kind, seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng)
    full, short = (1, 4, 1, 6), (4, 6)
    source, target = (short, (4, 1, 6)) if kind == "EXPAND_DIMS" else (full, short)
    inputs = [builder.move(source, is_input=True)]
    if kind != "SQUEEZE":
        inputs.append(builder.integers(1 if kind == "EXPAND_DIMS" else target))
    check_random(rng, builder.graph(kind, inputs, [builder.move(target)]))


@pytest.mark.parametrize("seed", range(20))
def test_concatenation(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 3])
    rank = int(rng.integers(1, 5))
    axis, shape = int(rng.integers(-rank, rank)), list(random_shape(rng, rank))
    inputs, total = [], 0
    for _ in range(int(rng.integers(1, 5))):
        shape[axis] = int(rng.integers(1, 5))
        total += shape[axis]
        inputs.append(builder.move(tuple(shape), is_input=True))
    shape[axis] = total
    check_random(rng, builder.graph("CONCATENATION", inputs, [builder.move(tuple(shape))], axis=axis))


@pytest.mark.parametrize("seed", range(12))
def test_pack(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 3])
    shape, count = random_shape(rng, 3), int(rng.integers(1, 4))
    axis = int(rng.integers(-4, 4))
    inputs = [builder.move(shape, is_input=True) for _ in range(count)]
    output = list(shape)
    output.insert(axis % 4, count)
    check_random(rng, builder.graph("PACK", inputs, [builder.move(output)], axis=axis, values_count=count))


@pytest.mark.parametrize("seed", range(12))
def test_unpack(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 3])
    shape = random_shape(rng, 4)
    axis = int(rng.integers(-4, 4))
    source = builder.move(shape, is_input=True)
    outputs = [builder.move(np.delete(shape, axis)) for _ in range(shape[axis])]
    check_random(rng, builder.graph("UNPACK", [source], outputs, axis=axis, num=shape[axis]))


@pytest.mark.parametrize("seed", range(12))
def test_split(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng)
    shape, axis, parts = list(random_shape(rng, 4)), int(rng.integers(-4, 4)), int(rng.integers(1, 4))
    part = tuple(shape)
    shape[axis] *= parts
    inputs = [builder.add((), "int32", data=axis), builder.move(tuple(shape), is_input=True)]
    outputs = [builder.move(part) for _ in range(parts)]
    check_random(rng, builder.graph("SPLIT", inputs, outputs, num_splits=parts))


@pytest.mark.parametrize("seed", range(12))
def test_split_v(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 2])
    shape, axis = list(random_shape(rng, 4)), int(rng.integers(-4, 4))
    sizes = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4)))]
    outputs = []
    for size in sizes:
        shape[axis] = size
        outputs.append(builder.move(tuple(shape)))
    shape[axis] = sum(sizes)
    source = builder.move(tuple(shape), is_input=True)
    inputs = [source, builder.integers(sizes), builder.add((), "int32", data=axis)]
    check_random(rng, builder.graph("SPLIT_V", inputs, outputs, num_splits=len(sizes)))


@pytest.mark.parametrize("seed", range(60))
def test_strided_slice(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 3])
    shape = random_shape(rng, 4)
    masks = {name: int(rng.integers(0, 16)) for name in ("begin_mask", "end_mask")}
    masks["shrink_axis_mask"] = int(rng.integers(0, 16)) & int(rng.integers(0, 16))
    chosen = [one_axis(rng, n, axis, masks) for axis, n in enumerate(shape)]
    begin, end, stride, length = (list(column) for column in zip(*chosen, strict=True))
    output = [n for axis, n in enumerate(length) if not masks["shrink_axis_mask"] >> axis & 1]
    inputs = [builder.move(shape, is_input=True), *map(builder.integers, (begin, end, stride))]
    check_random(rng, builder.graph("STRIDED_SLICE", inputs, [builder.move(output)], **masks))


@pytest.mark.parametrize("seed", range(60))
def test_strided_slice_with_an_ellipsis_or_new_axes(seed):
    """As NumPy has them; TFLite Micro does not, LiteRT does."""
    rng = np.random.default_rng(seed)
    builder = Mover(rng)
    shape = random_shape(rng, int(rng.integers(1, 4)))
    masks = dict.fromkeys(MASKS, 0)
    ellipsis = slice(*sorted(rng.choice(len(shape) + 1, 2, replace=False))) if seed % 3 else None
    bounds, index, axis = [], [], 0
    while axis < len(shape):
        bit = 1 << len(bounds)
        if ellipsis is not None and axis == ellipsis.start:
            masks["ellipsis_mask"], axis = bit, int(ellipsis.stop)
            entry = (0, 0, 1), Ellipsis
        elif masks["new_axis_mask"] == 0 and rng.random() < 0.4:
            masks["new_axis_mask"] = bit
            entry = (0, 0, 1), None
        else:
            entry = random_entry(rng, shape[axis], bit, masks)
            axis += 1
        bounds.append(entry[0])
        index.append(entry[1])
    output = np.empty(shape)[tuple(index)].shape
    inputs = [builder.move(shape, is_input=True), *map(builder.integers, zip(*bounds, strict=True))]
    graph = builder.graph("STRIDED_SLICE", inputs, [builder.move(output)], **masks)
    check_random(rng, graph, litert=True)
    assert prepare(ReadModel(graph, frozenset()), "model").tensors[graph.outputs[0]].shape == output


def random_entry(rng, size, bit, masks):
    """One dimension's bounds, and the index that NumPy knows them as."""
    if rng.random() < 0.3:
        masks["shrink_axis_mask"] |= bit
        begin = int(rng.integers(-size, size))
        return (begin, begin + 1, 1), begin
    begin, stride = int(rng.integers(0, size)), int(rng.choice([1, 2, -1]))
    end = begin + stride * int(rng.integers(1, 4))
    if end < 0:  # to the front, which no end counted from the front can say
        return (begin, -size - 1, stride), slice(begin, None, stride)
    return (begin, end, stride), slice(begin, end, stride)


def test_the_end_of_a_strided_slice_may_count_from_its_begin():
    rng = np.random.default_rng(0)
    builder = Mover(rng)
    inputs = [builder.move((6, 5), is_input=True), *map(builder.integers, ([-4, 2], [3, 2], [1, 1]))]
    check_random(
        rng, builder.graph("STRIDED_SLICE", inputs, [builder.move((3, 2))], offset=True), litert=True
    )


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"ellipsis_mask": 3}, "at most 1 ellipses (got 2)"),
        ({"ellipsis_mask": 4}, "at most 0 ellipses (got 1)"),
        ({}, "must name at most 2 dimensions"),
    ],
)
def test_a_strided_slice_that_cannot_be_is_refused(masks, message):
    builder = Mover(np.random.default_rng(0))
    inputs = [builder.move((4, 5), is_input=True), *map(builder.integers, ([0] * 3, [1] * 3, [1] * 3))]
    graph = builder.graph("STRIDED_SLICE", inputs, [builder.move((1, 1))], **masks)
    with pytest.raises(InputError, match=re.escape(message)):
        lower_operator(graph.operators[0], graph)


def one_axis(rng, size, axis, masks):
    """Begin, end, stride and length along one dimension; never empty."""
    if masks["shrink_axis_mask"] >> axis & 1:
        begin = int(rng.integers(-size, size))
        return begin, begin + 1, 1, 1
    while True:
        begin, end = (int(n) for n in rng.integers(-size - 2, size + 3, 2))
        stride = int(rng.choice([1, 1, 2, 3, -1, -2]))
        start = None if masks["begin_mask"] >> axis & 1 else begin
        stop = None if masks["end_mask"] >> axis & 1 else end
        length = len(range(size)[start:stop:stride])
        if length:
            return begin, end, stride, length


@pytest.mark.parametrize("seed", range(20))
def test_slice(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 3])
    shape = random_shape(rng, 4)
    begin = [int(rng.integers(0, n)) for n in shape]
    size = [int(rng.integers(1, n - first + 1)) for n, first in zip(shape, begin, strict=True)]
    whole = [-1 if rng.integers(3) == 0 else n for n in size]
    output = [
        n - first if wanted == -1 else wanted for n, first, wanted in zip(shape, begin, whole, strict=True)
    ]
    inputs = [builder.move(shape, is_input=True), builder.integers(begin), builder.integers(whole)]
    check_random(rng, builder.graph("SLICE", inputs, [builder.move(output)]))


@pytest.mark.parametrize("seed", range(20))
def test_transpose(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 2])
    rank = int(rng.integers(2, 6))
    shape, order = random_shape(rng, rank), rng.permutation(rank)
    inputs = [builder.move(shape, is_input=True), builder.integers(order)]
    check_random(rng, builder.graph("TRANSPOSE", inputs, [builder.move(np.array(shape)[order])]))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resize(kind, seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng)
    shape = random_shape(rng, 4)
    size = [int(n) for n in rng.integers(1, 25, 2)]
    align, half = [(False, False), (True, False), (False, True)][seed % 3]
    inputs = [builder.move(shape, is_input=True), builder.integers(size)]
    output = builder.move((shape[0], *size, shape[3]))
    graph = builder.graph(kind, inputs, [output], align_corners=align, half_pixel_centers=half)
    check_random(rng, graph)


@pytest.mark.parametrize("seed", range(20))
def test_gather(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 2])
    shape = random_shape(rng, 3)
    batch_dims = int(rng.integers(0, 2))
    axis = int(rng.integers(batch_dims, 3))
    index_shape = (*shape[:batch_dims], *random_shape(rng, int(rng.integers(0 if batch_dims == 0 else 1, 3))))
    indices = builder.integers(rng.integers(0, shape[axis], index_shape))
    output = shape[:axis] + index_shape[batch_dims:] + shape[axis + 1 :]
    inputs = [builder.move(shape, is_input=True), indices]
    graph = builder.graph("GATHER", inputs, [builder.move(output)], axis=axis, batch_dims=batch_dims)
    check_random(rng, graph)


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_batch_dims_of_gather_count_from_the_back_of_the_indices(axis):
    rng = np.random.default_rng(0)
    builder = Mover(rng)
    inputs = [builder.move((4, 5, 6), is_input=True), builder.integers(rng.integers(0, 5, (4, 3)))]
    output = (4, 3, 6) if axis == 1 else (4, 5, 3)
    graph = builder.graph("GATHER", inputs, [builder.move(output)], axis=axis, batch_dims=-1)
    check_random(rng, graph)
    assert prepare(ReadModel(graph, frozenset()), "model").tensors[graph.outputs[0]].shape == output


@pytest.mark.parametrize("kind", ["GATHER", "GATHER_ND"])
def test_what_lies_outside_is_zero(kind):
    """TensorFlow refuses such an index when it runs; a device cannot stop there."""
    builder = Mover(np.random.default_rng(0))
    indices = builder.integers([[-1], [0], [2], [3]])
    source = builder.move((3, 2), is_input=True)
    output = builder.move((4, 2) if kind == "GATHER_ND" else (4, 1, 2))
    values = np.arange(1, 7, dtype=np.int8).reshape(3, 2)
    result = run_on_host(builder.graph(kind, [source, indices], [output]), [values])[output]
    assert result.reshape(4, 2).tolist() == [[0, 0], [1, 2], [5, 6], [0, 0]]


@pytest.mark.parametrize("dtype", ["int64"])
@pytest.mark.parametrize("kind", ["GATHER", "GATHER_ND"])
def test_wide_indices(kind, dtype):
    """TFLite Micro has none; LiteRT does."""
    rng = np.random.default_rng(0)
    builder = Mover(rng)
    data = rng.integers(0, 3, (5, 1))
    indices = builder.add(data.shape, dtype, data=data)
    source = builder.move((3, 2), is_input=True)
    output = builder.move((5, 2) if kind == "GATHER_ND" else (5, 1, 2))
    check_random(rng, builder.graph(kind, [source, indices], [output]), litert=True)


@pytest.mark.parametrize("seed", range(20))
def test_gather_nd(seed):
    rng = np.random.default_rng(seed)
    builder = Mover(rng, TYPES[seed % 2])
    shape = random_shape(rng, 4)
    depth = int(rng.integers(1, 5))
    index_shape = (*random_shape(rng, 2), depth)
    indices = builder.integers(rng.integers(0, shape[:depth], index_shape))
    output = (*index_shape[:-1], *shape[depth:])
    inputs = [builder.move(shape, is_input=True), indices]
    check_random(rng, builder.graph("GATHER_ND", inputs, [builder.move(output)]))
