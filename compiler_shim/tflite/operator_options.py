"""An operator's kind and options, from what its tables in the file say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Option, label
from dlasim.compiler_shim.operators.definition import NO_OPTIONS, Options
from dlasim.compiler_shim.operators.fields import SchemaField, absent, enum_names
from dlasim.compiler_shim.operators.table import CUSTOM_NAMES, OPERATORS
from dlasim.compiler_shim.tflite.decoding import Values
from dlasim.compiler_shim.tflite.flexible import FlexibleError, read_numbers
from dlasim.errors import InputError, printable

_CUSTOM = 32
_AS_FIELD: Mapping[str, Callable[[Any], Option]] = {
    "float32": lambda value: float(np.float32(value)),
    "int32": int,
    "bool": bool,
}
_MAX_VALUES = {"float32": float(np.finfo(np.float32).max), "int32": (1 << 31) - 1, "bool": 1}


def kind_of(code: Values) -> str:
    """The operator's name; one that has none here is named so that it can be refused by name."""
    # Files older than the wide field have only the narrow one; newer ones mark it with 127.
    number = max(code["builtin_code"], code["deprecated_builtin_code"])
    if number == _CUSTOM:
        own = {name: kind for kind, name in CUSTOM_NAMES.items()}
        if code["custom_code"] in own:
            return own[code["custom_code"]]
        return f"CUSTOM[{label(printable(code['custom_code'] or ''))}]"
    return enum_names("BuiltinOperator").get(number, f"BUILTIN_{number}")


def options_of(kind: str, operator: Values, where: str) -> dict[str, Option]:
    """Every option of the operator, defaults included; none for an operator that is not known."""
    if kind not in OPERATORS or OPERATORS[kind].options == NO_OPTIONS:
        return {}
    options = OPERATORS[kind].options
    if options.flexible:
        return _flexible_options(options, operator["custom_options"], where)
    found = enum_names("BuiltinOptions").get(operator["builtin_options_type"], "an unknown table")
    values = operator["builtin_options"]
    if values is None or found == "NONE":
        values = {}
    elif found != options.table:
        raise InputError(f"{where}: expected options {options.table}, got {found}")
    fields = [field for field in options.fields if field is not None]
    return {field.name: _option(field, values.get(field.name, absent(field)), where) for field in fields}


def _flexible_options(options: Options, data: Any, where: str) -> dict[str, Option]:
    """The options of a custom operator; numbers of any kind are taken as the field's."""
    try:
        values = read_numbers(bytes(data))
    except FlexibleError as error:
        raise InputError(f"{where}: its custom options are damaged: {error}") from None
    found: dict[str, Option] = {}
    for field in options.fields:
        assert field is not None
        value = values.get(field.name, field.default)
        most = _MAX_VALUES[field.kind]
        if not math.isfinite(value) or abs(value) > most:
            raise InputError(f"{where}: {field.name} must be from -{most} to {most} (got {value})")
        found[field.name] = _AS_FIELD[field.kind](value)
    return found


def _option(field: SchemaField, value: Any, where: str) -> Option:
    if field.enum:
        names = enum_names(field.enum)
        if value not in names:
            raise InputError(f"{where}: {field.name} must be from 0 to {max(names)} (got {value})")
        return names[value]
    if field.is_vector:
        return tuple(int(item) for item in value)
    if field.kind == "float32" and not math.isfinite(value):
        raise InputError(f"{where}: {field.name} must be a finite number (got {value})")
    option: Option = value
    return option
