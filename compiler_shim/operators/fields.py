"""Fields of the tables in a flatbuffer, and the enums of TFLite's schema."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from dlasim.dataclass import dataclass

SCALARS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
}


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field: a scalar, "string", "union", a table's name, or a vector "[...]" of scalars or tables.

    `default` is what an absent field means in a file, `usual` what an option left out of a Graph means.
    An integer with an `enum` is known by the name it has there.
    """

    name: str
    kind: str = "int32"
    default: int | float | bool = 0
    usual: int | float | bool | None = None
    enum: str = ""

    @property
    def is_vector(self) -> bool:
        """Whether the field holds a vector."""
        return self.kind.startswith("[")

    @property
    def item(self) -> str:
        """The kind of the field, or of its elements where it is a vector."""
        return self.kind.strip("[]")


@dataclass(frozen=True, slots=True)
class FlatbufferFormat:
    """A kind of file: its name for messages, the mark in bytes 4 to 7, its tables, and the table of each
    number of its union.

    A field's place in its tuple is its slot in the flatbuffer; None holds the place of one that is not read.
    """

    name: str
    identifier: bytes
    tables: Mapping[str, tuple[SchemaField | None, ...]]
    union_member: Callable[[int], str]


def enum_field(name: str, enum: str) -> SchemaField:
    """A member of an enum, the first where it is left out."""
    return SchemaField(name, "int8", enum=enum)


def flag(name: str, default: bool = False) -> SchemaField:
    """A truth value."""
    return SchemaField(name, "bool", default)


def positive(name: str, default: int = 0) -> SchemaField:
    """A number that a Graph may leave out for 1."""
    return SchemaField(name, "int32", default, usual=1)


ACTIVATION = enum_field("fused_activation_function", "ActivationFunctionType")


def absent(field: SchemaField) -> Any:
    """What a field means that is not in the file."""
    if field.kind in SCALARS:
        return field.default
    return () if field.is_vector else None


def left_out(field: SchemaField) -> Any:
    """What an option means that a Graph does not give."""
    if field.enum:
        return enum_names(field.enum)[int(field.default)]
    return absent(field) if field.usual is None else field.usual


@functools.cache
def enum_names(enum: str) -> Mapping[int, str]:
    """The names of a schema enum by number; tensor types are named as NumPy names them."""
    members = vars(getattr(_module(enum), enum))
    names = {number: name for name, number in members.items() if isinstance(number, int)}
    return {number: name.lower() for number, name in names.items()} if enum == "TensorType" else names


@functools.cache
def enum_numbers(enum: str) -> Mapping[str, int]:
    """The numbers of a schema enum by name."""
    return {name: number for number, name in enum_names(enum).items()}


def _module(name: str) -> ModuleType:
    """A module of the package `tflite` without the package, which would load its hundreds of modules."""
    spec = importlib.util.spec_from_file_location(f"tflite.{name}", _schema_folder() / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def _schema_folder() -> Path:
    package = importlib.util.find_spec("tflite")
    assert package is not None
    assert package.submodule_search_locations is not None
    return Path(package.submodule_search_locations[0])
