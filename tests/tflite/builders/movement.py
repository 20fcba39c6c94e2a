"""Random networks of one operator that moves elements and computes nothing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator
from tests.tflite.maker import Maker


def pad(make: Maker) -> Graph:
    shape = make.shape(4)
    paddings = np.array([(0, 0), *((make.number(0, 3), make.number(0, 3)) for _ in range(3))])
    output = tuple(int(size + amount.sum()) for size, amount in zip(shape, paddings, strict=True))
    source = make.input(shape)
    return make.moved("PAD", source, [make.constant("paddings", paddings)], output, {})


def padv2(make: Maker) -> Graph:
    source = make.input(make.shape(4))
    shape = make.tensors[source].shape
    paddings = make.constant("paddings", [(0, 0), (1, 2), (2, 1), (0, 0)])
    value = make.constant("value", np.array([-7], dtype=np.int8), make.quantization_of(source))
    return make.moved("PADV2", source, [paddings, value], (1, shape[1] + 3, shape[2] + 3, shape[3]), {})


def reshape(make: Maker) -> Graph:
    shape = make.shape(4)
    output = (shape[1], shape[2] * shape[3])
    source = make.input(shape)
    return make.moved("RESHAPE", source, [make.constant("shape", output)], output, {"new_shape": output})


def space_to_batch(make: Maker) -> Graph:
    block, pixels, pairs, outer = _blocks(make)
    shape = [side * count - sum(pair) for side, count, pair in zip(block, pixels, pairs, strict=True)]
    source = make.input((outer[0], *shape, outer[1]))
    constants = [make.constant("block", block), make.constant("paddings", pairs)]
    output = (outer[0] * int(np.prod(block)), *pixels, outer[1])
    return make.moved("SPACE_TO_BATCH_ND", source, constants, output, {})


def batch_to_space(make: Maker) -> Graph:
    block, pixels, pairs, outer = _blocks(make)
    source = make.input((outer[0] * int(np.prod(block)), *pixels, outer[1]))
    constants = [make.constant("block", block), make.constant("crops", pairs)]
    shape = [side * count - sum(pair) for side, count, pair in zip(block, pixels, pairs, strict=True)]
    return make.moved("BATCH_TO_SPACE_ND", source, constants, (outer[0], *shape, outer[1]), {})


def _blocks(make: Maker) -> tuple[list[int], list[int], list[list[int]], tuple[int, int]]:
    """Blocks of one or two dimensions, how many there are, what is added or cropped, images and channels."""
    rank = make.number(1, 2)
    block, pixels = [make.number(1, 3) for _ in range(rank)], [make.number(2, 4) for _ in range(rank)]
    pairs = [[make.number(0, 2), make.number(0, 1)] for _ in range(rank)]
    fits = all(sum(pair) < side * count for side, count, pair in zip(block, pixels, pairs, strict=True))
    if not fits or make.choice(False, True):
        pairs = [[0, 0] for _ in range(rank)]
    return block, pixels, pairs, (make.number(1, 2), make.number(1, 5))


def squeeze(make: Maker) -> Graph:
    size = make.number(2, 9)
    source = make.input((1, 1, size, 1))
    return make.moved("SQUEEZE", source, [], (1, size), {"squeeze_dims": (1, 3)})


def expand_dims(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    return make.moved(
        "EXPAND_DIMS", source, [make.constant("axis", np.int32(-2))], (*shape[:2], 1, shape[2]), {}
    )


def concatenation(make: Maker) -> Graph:
    shape, quantization = make.shape(4), make.quantization()
    axis = make.number(1, 3)
    other = tuple(make.number(1, 5) if dimension == axis else size for dimension, size in enumerate(shape))
    sources = [make.input(shape, quantization), make.input(other, quantization)]
    output = tuple(
        size + other[dimension] if dimension == axis else size for dimension, size in enumerate(shape)
    )
    result = make.tensor("output", output, quantization)
    return make.graph("CONCATENATION", sources, [result], {"axis": make.choice(axis, axis - 4)})


def split(make: Maker) -> Graph:
    parts, shape = make.number(2, 3), make.shape(3)
    axis = make.constant("axis", np.int32(2))
    source = make.input((*shape[:2], shape[2] * parts))
    outputs = [make.tensor(f"output_{part}", shape, make.quantization_of(source)) for part in range(parts)]
    return make.graph("SPLIT", [axis, source], outputs, {"num_splits": parts})


def split_v(make: Maker) -> Graph:
    sizes, shape = (make.number(1, 4), make.number(1, 4)), make.shape(3)
    source = make.input((*shape[:2], sum(sizes)))
    lengths, axis = make.constant("sizes", sizes), make.constant("axis", np.int32(2))
    quantization = make.quantization_of(source)
    outputs = [
        make.tensor(f"output_{size}_{part}", (*shape[:2], size), quantization)
        for part, size in enumerate(sizes)
    ]
    return make.graph("SPLIT_V", [source, lengths, axis], outputs, {"num_splits": 2})


def pack(make: Maker) -> Graph:
    shape, quantization = make.shape(3), make.quantization()
    sources = [make.input(shape, quantization) for _ in range(make.number(1, 3))]
    axis = make.number(0, 3)
    result = make.tensor("output", (*shape[:axis], len(sources), *shape[axis:]), quantization)
    return make.graph("PACK", sources, [result], {"values_count": len(sources), "axis": axis})


def unpack(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    quantization = make.quantization_of(source)
    outputs = [make.tensor(f"output_{part}", shape[:2], quantization) for part in range(shape[2])]
    return make.graph("UNPACK", [source], outputs, {"num": shape[2], "axis": 2})


def strided_slice(make: Maker) -> Graph:
    height, width, depth = make.number(6, 9), make.number(6, 9), make.number(3, 5)
    source = make.input((1, height, width, depth))
    begin, end, strides = [0, 1, -1, 1], [1, height - 1, -width - 1, 9], [1, 2, -1, 1]
    bounds = [make.constant(name, value) for name, value in (("b", begin), ("e", end), ("s", strides))]
    options = {"begin_mask": 1, "end_mask": 8, "shrink_axis_mask": make.choice(0, 1)}
    output = ((height - 1) // 2, width, depth - 1)
    return make.moved(
        "STRIDED_SLICE", source, bounds, output if options["shrink_axis_mask"] else (1, *output), options
    )


def slice_(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    bounds = [make.constant("begin", [0, 1, 0, 1]), make.constant("size", [1, -1, 2, shape[3] - 1])]
    return make.moved("SLICE", source, bounds, (1, shape[1] - 1, 2, shape[3] - 1), {})


def tile(make: Maker) -> Graph:
    shape = make.shape(4)
    repeats = (1, make.number(1, 3), make.number(1, 3), make.number(1, 2))
    output = tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))
    source = make.input(shape)
    return make.moved("TILE", source, [make.constant("repeats", repeats)], output, {})


def transpose(make: Maker) -> Graph:
    shape = make.shape(4)
    order = [int(axis) for axis in make.rng.permutation(4)]
    source = make.input(shape)
    return make.moved(
        "TRANSPOSE", source, [make.constant("order", order)], tuple(shape[a] for a in order), {}
    )


def resize(kind: str) -> Callable:
    def build(make: Maker) -> Graph:
        shape = make.shape(4)
        size = (make.number(1, 12), make.number(1, 12))
        if make.choice(False, True):
            size = (shape[1] * make.choice(1, 2, 3, 4, 8), shape[2] * make.choice(1, 2, 3, 4, 8))
        options = make.choice({}, {"half_pixel_centers": True}, {"align_corners": True})
        source = make.input(shape)
        return make.moved(kind, source, [make.constant("size", size)], (1, *size, shape[3]), options)

    return build


def gather(make: Maker) -> Graph:
    """Rows or channels: any, every other one, or all of them as a channel shuffle puts them."""
    shape, axis = make.shape(3), make.number(1, 2)
    size = shape[axis]
    mixed = np.arange(2 * size).reshape(2, size).T.ravel() % size
    indices = make.choice(make.rng.integers(0, size, 4), np.arange(0, size, 2), mixed)
    target = (*shape[:axis], len(indices), *shape[axis + 1 :])
    source = make.input(shape)
    return make.moved("GATHER", source, [make.constant("indices", indices)], target, {"axis": axis})


def gather_nd(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(shape)
    indices = make.constant("indices", [(0, make.number(0, shape[1] - 1)) for _ in range(3)])
    return make.moved("GATHER_ND", source, [indices], (3, shape[2]), {})


def dynamic_update_slice(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    part = tuple(make.number(1, size) for size in shape)
    update = make.tensor("update", part, make.quantization_of(source))
    make.inputs.append(update)
    start = make.constant("start", [make.number(-2, size + 1) for size in shape])
    return make.moved("DYNAMIC_UPDATE_SLICE", source, [update, start], shape, {})


def embedding_lookup(make: Maker) -> Graph:
    table = make.input(make.shape(3)[1:])
    rows, size = make.tensors[table].shape
    indices = make.constant("indices", make.rng.integers(0, rows, 5).astype(np.int32))
    result = make.tensor("output", (5, size), make.quantization_of(table))
    return make.graph("EMBEDDING_LOOKUP", [indices, table], [result], {})


def shape_of(make: Maker) -> Graph:
    source = make.input(make.shape(4))
    result = make.tensor("output", (4,), None, "int32")
    return make.graph("SHAPE", [source], [result], {"out_type": "int32"})


def where(make: Maker) -> Graph:
    """Of a constant; what it finds picks elements of the input."""
    shape = make.shape(3)
    chosen = make.rng.integers(0, 2, shape).astype(bool)
    chosen[0, 0, 0] = True
    condition, count = make.constant("condition", chosen), int(chosen.sum())
    source, places = make.input(shape), make.tensor("places", (count, 3), None, "int64")
    result = make.tensor("output", (count,), make.quantization_of(source))
    graph = make.graph("GATHER_ND", [source, places], [result], {})
    first = Operator("WHERE", (condition,), (places,), {}, "operator 0")
    return replace(graph, operators=(first, replace(graph.operators[0], location="operator 1")))


def depth_to_space(make: Maker) -> Graph:
    block, (height, width, depth) = make.number(1, 3), make.shape(4)[1:]
    source = make.input((1, height, width, depth * block**2))
    output = (1, height * block, width * block, depth)
    return make.moved("DEPTH_TO_SPACE", source, [], output, {"block_size": block})


def space_to_depth(make: Maker) -> Graph:
    block, (height, width, depth) = make.number(1, 3), make.shape(4)[1:]
    source = make.input((1, height * block, width * block, depth))
    output = (1, height, width, depth * block**2)
    return make.moved("SPACE_TO_DEPTH", source, [], output, {"block_size": block})


def mirror_pad(make: Maker) -> Graph:
    shape, mode = make.shape(4), make.choice("REFLECT", "SYMMETRIC")
    paddings = np.array([(0, 0), *((make.number(0, 1), make.number(0, 1)) for _ in range(3))])
    output = tuple(int(size + amount.sum()) for size, amount in zip(shape, paddings, strict=True))
    source = make.input(shape)
    return make.moved("MIRROR_PAD", source, [make.constant("paddings", paddings)], output, {"mode": mode})


def broadcast_to(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.input(make.choice((1, 1, shape[2]), (shape[1], 1), (1, shape[1], shape[2])))
    output = (make.number(1, 3), *shape[1:])
    return make.moved("BROADCAST_TO", source, [make.constant("shape", output)], output, {})


def reverse(make: Maker) -> Graph:
    shape = make.shape(4)
    source = make.input(shape)
    return make.moved("REVERSE_V2", source, [make.constant("axes", [make.number(0, 3)])], shape, {})
