"""Files whose structure is sound and whose contents are not: options, shapes, types and wiring at random."""

import random
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Quantization, Tensor
from dlasim.compiler_shim.tflite.reader import ReadModel, read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.tflite.one_operator import BUILDERS, random_graph

TRIALS = 3000
NUMBERS = (0, 1, -1, 2, 3, 5, -2, 7, 100, -100, 2**31 - 1, -(2**31), 65536)
SIZES = (0, 1, 2, 3, 5, 100, 70_000)
TYPES = ("int8", "int32", "int64", "float32", "bool", "int16", "uint8")
MAX_ELEMENTS = 1_000_000


def other_option(value, rng):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(NUMBERS)
    if isinstance(value, float):
        return rng.choice((0.0, -1.0, float("inf"), float("nan")))
    if isinstance(value, tuple):
        return tuple(rng.choice(NUMBERS) for _ in range(rng.randrange(6)))
    return rng.choice(("SAME", "VALID")) if value in ("SAME", "VALID") else value


def other_shape(tensor, rng):
    shape = list(tensor.shape)
    if shape and rng.random() < 0.7:
        shape[rng.randrange(len(shape))] = rng.choice(SIZES)
    elif shape and rng.random() < 0.5:
        shape.pop()
    else:
        shape.append(rng.choice((1, 2)))
    if tensor.data is not None and np.prod(shape, dtype=float) > MAX_ELEMENTS:
        return tensor
    data = None if tensor.data is None else np.resize(tensor.data, shape)
    return replace(tensor, shape=tuple(shape), data=data)


def other_value(tensor, rng):
    if tensor.data is None or tensor.data.size == 0:
        return tensor
    data = tensor.data.copy()
    data.reshape(-1)[rng.randrange(data.size)] = np.array(rng.choice(NUMBERS)).astype(data.dtype)
    return replace(tensor, data=data)


def other_type(tensor, rng):
    dtype = rng.choice(TYPES)
    data = None if tensor.data is None else tensor.data.astype(dtype)
    quantization = (tensor.quantization or Quantization((1.0,), (0,))) if dtype == "int8" else None
    return replace(tensor, dtype=dtype, data=data, quantization=quantization)


def changed_once(graph: Graph, rng: random.Random) -> Graph:
    tensors, operator, inputs = list(graph.tensors), graph.operators[0], set(graph.inputs)
    index = rng.randrange(len(tensors))
    kind = rng.randrange(6)
    if kind == 0 and operator.options:
        name = rng.choice(list(operator.options))
        operator = replace(
            operator, options={**operator.options, name: other_option(operator.options[name], rng)}
        )
    elif kind == 1:
        wiring = list(operator.inputs)
        wiring[rng.randrange(len(wiring))] = rng.randrange(-1, len(tensors))
        operator = replace(operator, inputs=tuple(wiring))
    elif kind == 2:
        tensors[index], inputs = switched(index, tensors[index], inputs)
    else:
        tensors[index] = (other_shape, other_value, other_type)[kind - 3](tensors[index], rng)
    return replace(graph, tensors=tuple(tensors), operators=(operator,), inputs=tuple(sorted(inputs)))


def switched(index: int, tensor: Tensor, inputs: set[int]) -> tuple[Tensor, set[int]]:
    """A constant as an input of the network, and the other way round."""
    if tensor.data is not None:
        return replace(tensor, data=None), inputs | {index}
    if index in inputs and np.prod(tensor.shape, dtype=float) <= MAX_ELEMENTS:
        return replace(tensor, data=np.ones(tensor.shape, tensor.dtype)), inputs - {index}
    return tensor, inputs


def test_every_network_imports_or_is_refused_in_one_line():
    rng = random.Random(7)
    messages = []
    for _ in range(TRIALS):
        graph = random_graph(rng.choice(list(BUILDERS)), rng.randrange(20))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            graph = changed_once(graph, rng)
        model = write_tflite(graph)
        try:
            read = read_model(model)
            if rng.random() < 0.5:  # as if the file left every shape open
                read = ReadModel(read.graph, frozenset(range(len(graph.tensors))))
            prepare(read, "model")
        except InputError as error:
            messages.append(str(error))
    assert TRIALS // 4 < len(messages) < TRIALS * 3 // 4
    assert all(message.startswith("model: ") and "\n" not in message for message in messages)
    assert max(map(len, messages)) < 1000
