"""Random networks of one operator that reduces along axes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.network.graph import Graph
from tests.tflite.maker import Maker


def mean(make: Maker) -> Graph:
    shape, keep = make.shape(4), make.choice(True, False)
    source = make.input(shape)
    axes = make.constant("axes", [1, 2])
    result = make.tensor("output", (1, 1, 1, shape[3]) if keep else (1, shape[3]), make.quantization())
    return make.graph("MEAN", [source, axes], [result], {"keep_dims": keep})


def arg_max(make: Maker) -> Graph:
    """Along any dimension, which may have more positions than a byte can count."""
    shape = list(make.shape(make.number(2, 4)))
    axis = make.number(1, len(shape) - 1)
    shape[axis] = make.choice(shape[axis], shape[axis], make.number(250, 600))
    source = make.input(tuple(shape))
    given = make.constant("axis", np.int32(axis - make.choice(0, len(shape))))
    result = make.tensor("output", (*shape[:axis], *shape[axis + 1 :]), None, "int32")
    return make.graph("ARG_MAX", [source, given], [result], {"output_type": "int32"})


def reduction(kind: str, dtype: str = "int8") -> Callable:
    def build(make: Maker) -> Graph:
        shape, keep = make.shape(make.number(2, 4)), make.choice(True, False)
        rank = len(shape)
        chosen = sorted({make.number(0, rank - 1) for _ in range(make.number(1, rank - 1))})
        source = make.input(shape) if dtype == "int8" else make.plain("input_0", shape, dtype)
        axes = make.constant("axes", [axis - make.choice(0, rank) for axis in chosen])
        sizes = [
            1 if axis in chosen else size for axis, size in enumerate(shape) if keep or axis not in chosen
        ]
        quantization = None
        if dtype == "int8":
            same = make.quantization_of(source)
            quantization = make.quantization() if kind == "SUM" else same
        result = make.tensor("output", tuple(sizes), quantization, dtype)
        return make.graph(kind, [source, axes], [result], {"keep_dims": keep})

    return build


def cumsum(make: Maker) -> Graph:
    shape = make.shape(3)
    source = make.plain("input_0", shape, "int32")
    axis = make.constant("axis", np.int32(make.number(-3, 2)))
    result = make.tensor("output", shape, None, "int32")
    options = {"exclusive": bool(make.number(0, 1)), "reverse": bool(make.number(0, 1))}
    return make.graph("CUMSUM", [source, axis], [result], options)


def cumsum_int8(make: Maker) -> Graph:
    """Which TFLite Micro alone computes."""
    shape = make.shape(3)
    source, axis = make.input(shape), make.constant("axis", np.int32(make.number(-3, 2)))
    options = {"exclusive": bool(make.number(0, 1)), "reverse": bool(make.number(0, 1))}
    result = make.tensor("output", shape, make.quantization())
    return make.graph("CUMSUM", [source, axis], [result], options)


def product_int8(make: Maker) -> Graph:
    """Of few factors, whose product needs a large scale; LiteRT alone computes it."""
    shape = (make.number(1, 4), make.number(2, 4), make.number(1, 5))
    source, axis = make.input(shape), make.number(0, 2)
    scale = make.quantization_of(source).scale ** shape[axis] * 40.0 ** (shape[axis] - 1)
    output = replace(make.quantization(), scales=(float(np.float32(scale)),))
    result = make.tensor("output", shape[:axis] + shape[axis + 1 :], output)
    return make.graph("REDUCE_PROD", [source, make.constant("axes", [axis])], [result], {"keep_dims": False})


def top_k(make: Maker) -> Graph:
    shape = (2, make.number(4, 12))
    source = make.input(shape)
    count = make.number(1, shape[1])
    values = make.tensor("values", (2, count), make.quantization_of(source))
    indices = make.tensor("indices", (2, count), None, "int32")
    k = make.constant("k", np.array(count, np.int32))
    return make.graph("TOPK_V2", [source, k], [values, indices], {})
