"""Damage to TOSA files that leaves them sound flatbuffers: other operators, names, numbers and types."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tosa.tosa_import import TOSA_HANDLERS
from dlasim.compiler_shim.tosa.tosa_schema import DTYPES, OPERATORS, TOSA
from tests.fuzz.mutate import mutated
from tests.tosa.test_tosa_operators import CASES
from tests.tosa.tosa_maker import TosaMaker
from tests.tosa.tosa_networks import NETWORKS

# That the networks do not have.
OPERATORS_OF_INTEGERS = ("softmax-tensorflow", "bits", "shift-right-rounded", "table-int16", "scatter")

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 9, 31, 32, 62, 63, 127, -128, 1 << 15, (1 << 31) - 1, -(1 << 31))


@cache
def seeds() -> tuple[bytes, ...]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, make in enumerate(NETWORKS.values()):
            net, output = make(1 + 2 * (number % 2))
            found.append(net.maker.save(Path(folder) / "m.tosa", output).read_bytes())
        for name in OPERATORS_OF_INTEGERS:
            maker = TosaMaker()
            found.append(maker.save(Path(folder) / "m.tosa", CASES[name](maker)).read_bytes())
    return tuple(found)


def damaged(random: Random, models: Sequence[bytes]) -> bytes:
    """A copy of one of the models: its bytes damaged, or its tables."""
    if random.random() < 0.3:
        return mutated(random, models, is_text=False)
    graph = Decoder(random.choice(models), "seed", TOSA).root("TosaGraph")
    block = graph["regions"][0]["blocks"][0]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice((_operator, _operator, _attribute, _tensor, _tensor, _shape, _order))(random, block)
    return encode("TosaGraph", graph, 1 << 16, TOSA)


def _operator(random: Random, block: Any) -> None:
    operator = random.choice(block["operators"])
    names = [tensor["name"] for tensor in block["tensors"]]
    match random.randrange(3):
        case 0 if operator["inputs"]:
            inputs = list(operator["inputs"])
            inputs[random.randrange(len(inputs))] = random.choice(names)
            operator["inputs"] = inputs[: random.choice((len(inputs), len(inputs), 1))]
        case 1:
            operator["outputs"] = [random.choice(names)] * random.choice((1, 1, 0, 2))
        case _:
            number = OPERATORS.index(random.choice(list(TOSA_HANDLERS)))
            operator |= {"op": number, "attribute_type": number, "attribute": {}}


def _attribute(random: Random, block: Any) -> None:
    attribute = random.choice(block["operators"])["attribute"]
    if attribute:
        name = random.choice(list(attribute))
        value = attribute[name]
        if isinstance(value, bool):
            attribute[name] = not value
        elif isinstance(value, int):
            attribute[name] = random.randrange(8)
        elif len(value) and name not in ("min_val", "max_val"):
            changed = np.array(value)
            changed[random.randrange(len(changed))] = random.choice(NUMBERS)
            attribute[name] = changed[: random.choice((len(changed), len(changed), 1, 0))]


def _tensor(random: Random, block: Any) -> None:
    tensor = random.choice(block["tensors"])
    shape = np.array(tensor["shape"])
    match random.randrange(3):
        case 0 if shape.size:
            shape[random.randrange(shape.size)] = random.choice(NUMBERS)
            tensor["shape"] = shape[: random.choice((shape.size, shape.size, 1, 0))]
        case 1:
            tensor["type"] = random.choice((*DTYPES, 2, 7))
        case _ if len(tensor["data"]):
            data = np.array(tensor["data"])
            data[random.randrange(len(data))] = random.randrange(256)
            tensor["data"] = data[: random.choice((len(data), len(data), len(data) // 2))]


def _shape(random: Random, block: Any) -> None:
    if block["shapes"]:
        chosen = random.choice(block["shapes"])
        numbers = np.frombuffer(np.array(chosen["data"]).tobytes(), "<i8").copy()
        numbers[random.randrange(len(numbers))] = random.choice(NUMBERS)
        chosen["data"] = np.frombuffer(numbers.tobytes(), np.uint8)


def _order(random: Random, block: Any) -> None:
    random.shuffle(block["operators"])
