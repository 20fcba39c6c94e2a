"""A .tosa file to operators, constants and shapes, or one InputError that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, label
from dlasim.compiler_shim.tflite.decoding import Decoder, Values
from dlasim.compiler_shim.tosa.tosa_schema import DTYPES, OTHER_DTYPES, TOSA
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable

Array = NDArray[Any]
_VERSION = 1  # the major one that is read
_CONSTANTS = ("CONST", "CONST_SHAPE")


@dataclass(frozen=True, slots=True)
class TosaTensor:
    """A tensor as the file declares it."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class TosaOperator:
    """An operator with its attribute's fields; tensors and shapes by name."""

    kind: str
    attributes: Mapping[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TosaModel:
    """The one block of a file, its constants apart; lists of sizes count as constants, too."""

    name: str
    operators: tuple[TosaOperator, ...]
    tensors: Mapping[str, TosaTensor]
    constants: Mapping[str, Array]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def read_tosa(source: AnyInput) -> TosaModel:
    """The network in a file."""
    file = open_input(source)
    name = str(file)
    graph = Decoder(file.data, name, TOSA).root("TosaGraph")
    version = graph["version"] or {}
    if version.get("major") != _VERSION:
        found = f"{version.get('major', '?')}.{version.get('minor', '?')}"
        raise InputError(f"{name}: TOSA version {found}; dlasim reads version {_VERSION}.x")
    block = _only_block(graph, name)
    tensors, constants = _tensors(block, name, ConstantBudget(len(file.data)))
    operators = [_operator(values) for values in block["operators"]]
    if not block["outputs"]:
        raise InputError(f"{name}: the model has no outputs")
    return TosaModel(
        printable(Path(name).stem),
        tuple(operator for operator in operators if operator.kind not in _CONSTANTS),
        tensors,
        constants,
        tuple(block["inputs"]),
        tuple(block["outputs"]),
    )


def _only_block(graph: Values, name: str) -> Values:
    blocks = [block for region in graph["regions"] for block in region["blocks"]]
    if len(blocks) != 1:
        raise InputError(
            f"{name}: the model has {len(blocks)} blocks; only one is supported: control flow is not"
        )
    return dict(blocks[0])


def _operator(values: Values) -> TosaOperator:
    number = values["op"]
    kind = TOSA.union_member(number) or f"operator {number}"
    fits = values["attribute_type"] == number
    attributes = values["attribute"] if fits and values["attribute"] is not None else {}
    return TosaOperator(kind, attributes, tuple(values["inputs"]), tuple(values["outputs"]))


def _tensors(
    block: Values, name: str, budget: ConstantBudget
) -> tuple[dict[str, TosaTensor], dict[str, Array]]:
    tensors: dict[str, TosaTensor] = {}
    constants: dict[str, Array] = {}
    for values in block["tensors"]:
        tensor = _tensor(values, name)
        if tensor.name in tensors:
            raise InputError(f"{name}: two tensors are called {label(tensor.name)}")
        tensors[tensor.name] = tensor
        if len(values["data"]):
            constants[tensor.name] = _data(tensor, values["data"], name, budget)
    for values in block["shapes"]:
        sizes = values["data"]
        if len(sizes) != 8 * values["rank"] or values["rank"] > 64:
            raise InputError(f"{name}: shape {_label(values)}: it has {len(sizes)} bytes of data")
        constants[values["name"] or ""] = np.frombuffer(sizes.tobytes(), "<i8")
    return tensors, constants


def _label(values: Values) -> str:
    return label(printable(values["name"] or "")) or "without a name"


def _tensor(values: Values, name: str) -> TosaTensor:
    where = f"{name}: tensor {_label(values)}"
    dtype, number = DTYPES.get(values["type"]), values["type"]
    if dtype is None:
        raise InputError(
            f"{where} is {OTHER_DTYPES.get(number, f'of type {number}')}; dlasim runs int8 networks of the "
            "integer profile, whose tensors are bool, int8, int16 and int32"
        )
    if values["offset"] > 1:
        raise InputError(f"{where}: data behind the tables, of a file above 2 GiB, are not supported")
    if values["variable"] or values["is_unranked"]:
        raise InputError(f"{where}: variables and tensors without a rank are not supported")
    shape = tuple(int(size) for size in values["shape"])
    if len(shape) > MAX_DIMENSIONS or not all(0 < size < 1 << 31 for size in shape):
        raise InputError(
            f"{where}: shape must have up to {MAX_DIMENSIONS} sizes above 0 (got {str(list(shape))[:60]})"
        )
    return TosaTensor(values["name"] or "", shape, dtype)


def _data(tensor: TosaTensor, data: Array, name: str, budget: ConstantBudget) -> Array:
    where = f"{name}: constant {label(printable(tensor.name))}"
    stored = np.dtype("uint8" if tensor.dtype == "bool" else tensor.dtype)
    size_bytes = prod(tensor.shape) * stored.itemsize
    if len(data) < size_bytes:  # ExecuTorch writes a zero point of [1] as often as there are channels
        raise InputError(
            f"{where}: {tensor.dtype}{list(tensor.shape)} takes {size_bytes} bytes, but it has {len(data)}"
        )
    budget.spend(size_bytes, where)
    array = np.frombuffer(data[:size_bytes].tobytes(), stored.newbyteorder("<")).reshape(tensor.shape)
    return array.astype(tensor.dtype)
