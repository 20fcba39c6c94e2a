"""Models that are sound flatbuffers with unsound contents: fields, wiring, shapes, types and data.

Damage to bytes mostly ends in the decoder. Here a model's tables are taken apart after the schema, changed,
and put together again, so that what lies behind the decoder is reached.
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np

from dlasim.compiler_shim.operators.fields import SCALARS, SchemaField, enum_names
from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.schema import TABLES

Table = dict[str, Any]
Place = tuple[Table, SchemaField]

_NUMBERS = (0, 1, -1, 2, 3, 4, 5, 7, 8, 9, 16, 63, 100, 127, -127, -128, 128, 255, 256, 1000, 4096, 65_535,
            65_536, 1 << 20, 1 << 24, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 62, -(1 << 63))  # fmt: skip
_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_FLOATS = (0.0, -0.0, -1.0, 1.0, 0.5, 1e-45, 1e-38, 1e-9, 1e9, 3e38, math.inf, -math.inf, math.nan)
_NAMES = (
    "",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egpj.exe",
    "a\r\nb",
    "x" * 5000,
    "%s%n",
    "../..",
    ";" * 99,
    "\x9b31m",
)
_LENGTHS = (0, 1, 2, 3, 4, 5, 8, 9, 300)
_EXTENTS = (0, 1, 1, 2, 3, 5, 7, 16, 17, 64, 100, 255, 1000, 4096, 70_000)
_MAX_BYTES = 1 << 18  # of a constant: evil is not a matter of size


def evil(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A copy of one of the seeds with one to eight things changed."""
    model = copy.deepcopy(_decoded(random.choice(seeds)))
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 8))):
        random.choice(_CHANGES)(random, model, seeds)
    return encode("Model", model, 1 << 16)


@cache
def _decoded(data: bytes) -> Table:
    return Decoder(data, "seed").root("Model")


def _places(name: str, values: Table) -> Iterator[tuple[str, Place]]:
    """Every field of a table and of those below it, with the name of its own table."""
    for field in TABLES[name]:
        if field is None or field.name not in values:
            continue
        yield name, (values, field)
        value = values[field.name]
        if field.is_vector and field.item in TABLES:
            for entry in value:
                yield from _places(field.item, entry)
        elif isinstance(value, dict):
            yield from _places(_table_of(values, field), value)


def _table_of(values: Table, field: SchemaField) -> str:
    kind = enum_names("BuiltinOptions")[values[f"{field.name}_type"]] if field.kind == "union" else field.kind
    return kind if kind in TABLES else "SparsityParameters"  # which has no field


def _change_field(random: Random, model: Table, seeds: Sequence[bytes]) -> None:
    """Some field of some table; tables of all kinds are equally likely."""
    by_table = defaultdict(list)
    for name, place in _places("Model", model):
        by_table[name].append(place)
    values, field = random.choice(by_table[random.choice(sorted(by_table))])
    if field.name.startswith("builtin_options"):
        _retype_options(random, values)
    else:
        values[field.name] = _other(random, values[field.name], field, seeds)


def _retype_options(random: Random, operator: Table) -> None:
    """Options of another kind, with the values that both have."""
    number = random.choice(sorted(enum_names("BuiltinOptions")))
    table = enum_names("BuiltinOptions")[number]
    operator["builtin_options_type"] = number
    old = operator.get("builtin_options") or {}
    known = {field.name for field in TABLES.get(table, ()) if field is not None}
    kept = {name: value for name, value in old.items() if name in known}
    operator["builtin_options"] = kept if table in TABLES else None


def _other(random: Random, old: Any, field: SchemaField, seeds: Sequence[bytes]) -> Any:
    if field.kind in SCALARS:
        return _scalar(random, field.kind, old, field.enum)
    if field.kind == "string":
        return random.choice(_NAMES)
    if field.is_vector and field.item in SCALARS:
        return _vector(random, field.item, old)
    if field.is_vector:
        return _entries(random, field.item, list(old), seeds)
    return None if old is not None else {}


def _scalar(random: Random, kind: str, old: Any, enum: str = "") -> Any:
    if kind == "bool":
        return not old
    if kind == "float32":
        value = random.choice((*_FLOATS, float(old) * 2, float(old) / 3))
        return math.copysign(math.inf, value) if abs(value) > _LARGEST_FLOAT else value
    if enum and random.random() < 0.8:
        return random.choice(sorted(enum_names(enum)))
    limits, old = np.iinfo(kind), int(old)
    value = random.choice((*_NUMBERS, old + 1, old - 1, old * 2, -old, random.randrange(16)))
    return min(max(value, int(limits.min)), int(limits.max))


def _vector(random: Random, item: str, old: Any) -> Any:
    """Of constant data mostly a number as wide as indices are; of anything else an element, or the length."""
    if item == "uint8":
        return _data(random, np.array(old, np.uint8))
    values = [value.item() if hasattr(value, "item") else value for value in old]
    match random.randrange(5):
        case 0:
            return [_scalar(random, item, 1) for _ in range(random.choice(_LENGTHS))]
        case 1:
            values.insert(random.randrange(len(values) + 1), _scalar(random, item, 1))
        case 2 if values:
            del values[random.randrange(len(values))]
        case 3 if len(values) > 1:
            random.shuffle(values)
        case _ if values:
            at = random.randrange(len(values))
            values[at] = _scalar(random, item, values[at])
    return values


def _data(random: Random, data: np.ndarray) -> np.ndarray:
    match random.randrange(5):
        case 0:
            return np.full_like(data, random.choice((0, 1, 0x7F, 0x80, 0xFF)))
        case 1:
            return np.resize(data, random.choice(_LENGTHS))
        case _ if data.size % 4 == 0 and data.size:
            words = data.view("<i4")
            words[random.randrange(words.size)] = _scalar(random, "int32", 1)
        case _ if data.size:
            data[random.randrange(data.size)] = random.randrange(256)
    return data


def _entries(random: Random, item: str, entries: list[Table], seeds: Sequence[bytes]) -> list[Table]:
    """One more, one less, two in the other order, or one of another model."""
    if not entries:
        return [{}]
    at, other = random.randrange(len(entries)), random.randrange(len(entries))
    match random.randrange(4):
        case 0:
            entries.insert(other, copy.deepcopy(entries[at]))
        case 1:
            del entries[at]
        case 2:
            entries[at], entries[other] = entries[other], entries[at]
        case _:
            donor = _decoded(random.choice(seeds))
            pool = [place[0] for name, place in _places("Model", donor) if name == item]
            entries[at] = copy.deepcopy(random.choice(pool)) if pool else {}
    return entries


# --- changes that keep a model consistent enough to get further ---


def _some_tensor(random: Random, model: Table) -> Table | None:
    tensors = [tensor for graph in model["subgraphs"] for tensor in graph.get("tensors", ())]
    return random.choice(tensors) if tensors else None


def _reshape(random: Random, model: Table, seeds: Sequence[bytes]) -> None:
    """Another shape, and as much data as it takes."""
    tensor = _some_tensor(random, model)
    if tensor is None:
        return
    shape = [int(extent) for extent in tensor.get("shape", ())]
    if shape and random.random() < 0.7:
        shape[random.randrange(len(shape))] = random.choice(_EXTENTS)
    elif shape and random.random() < 0.5:
        shape.pop(random.randrange(len(shape)))
    else:
        shape.insert(random.randrange(len(shape) + 1), random.choice((1, 1, 2, 3)))
    tensor["shape"] = shape
    _refill(model, tensor)


def _retype(random: Random, model: Table, seeds: Sequence[bytes]) -> None:
    """Another type, and as much data as it takes."""
    tensor = _some_tensor(random, model)
    if tensor is not None:
        tensor["type"] = random.choice(sorted(enum_names("TensorType")))
        _refill(model, tensor)


def _refill(model: Table, tensor: Table) -> None:
    buffers, number = model.get("buffers", ()), tensor.get("buffer", 0)
    data = buffers[number].get("data", ()) if number < len(buffers) else ()
    name = enum_names("TensorType").get(tensor.get("type", 0), "int8")
    width = np.dtype(name).itemsize if name in _WIDTHS else 1
    size = math.prod(int(extent) for extent in tensor["shape"]) * width
    if len(data) and 0 <= size <= _MAX_BYTES:
        buffers[number]["data"] = np.resize(np.asarray(data, np.uint8), size)


_WIDTHS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool", "float16",
           "float32", "float64", "complex64", "complex128")  # fmt: skip


def _rewire(random: Random, model: Table, seeds: Sequence[bytes]) -> None:
    """An operator, or the model, reads or writes another tensor."""
    for graph in model["subgraphs"]:
        users = [graph, *graph.get("operators", ())]
        user, end = random.choice(users), random.choice(("inputs", "outputs"))
        wiring = [int(index) for index in user.get(end, ())]
        if wiring:
            wiring[random.randrange(len(wiring))] = random.randrange(-1, len(graph.get("tensors", ())) + 1)
            user[end] = wiring


def _add_input(random: Random, model: Table, seeds: Sequence[bytes]) -> None:
    """An input that nothing reads, or what was constant."""
    for graph in model["subgraphs"]:
        if not graph.get("tensors"):
            continue
        tensor = copy.deepcopy(random.choice(graph["tensors"]))
        tensor["buffer"] = 0
        tensor["type"] = random.choice(sorted(enum_names("TensorType")))
        graph["tensors"] = [*graph["tensors"], tensor]
        graph["inputs"] = [*(int(index) for index in graph.get("inputs", ())), len(graph["tensors"]) - 1]


def _rename(random: Random, model: Table, seeds: Sequence[bytes]) -> None:
    """A name that would steer a terminal."""
    named = [values for _, (values, field) in _places("Model", model) if field.name == "name"]
    if named:
        random.choice(named)["name"] = random.choice(_NAMES)


_CHANGES = (
    _change_field,
    _change_field,
    _change_field,
    _reshape,
    _reshape,
    _retype,
    _rewire,
    _add_input,
    _rename,
)
