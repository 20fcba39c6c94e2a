"""An operator's kind and options, from what its tables in the file say."""

from __future__ import annotations

import math
from typing import Any

from dlasim.compiler_shim.graph import Option, label
from dlasim.compiler_shim.operators.definition import NO_OPTIONS
from dlasim.compiler_shim.operators.fields import SchemaField, absent, enum_names
from dlasim.compiler_shim.operators.table import CUSTOM_NAMES, OPERATORS
from dlasim.compiler_shim.tflite.decoding import Values
from dlasim.errors import InputError, printable

_CUSTOM = 32


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
    found = enum_names("BuiltinOptions").get(operator["builtin_options_type"], "an unknown table")
    values = operator["builtin_options"]
    if values is None or found == "NONE":
        values = {}
    elif found != options.table:
        raise InputError(f"{where}: expected options {options.table}, got {found}")
    fields = [field for field in options.fields if field is not None]
    return {field.name: _option(field, values.get(field.name, absent(field)), where) for field in fields}


def _option(field: SchemaField, value: Any, where: str) -> Option:
    if field.enum:
        names = enum_names(field.enum)
        if value not in names:
            raise InputError(f"{where}: {field.name} must be from 0 to {max(names)} (got {value})")
        return names[value]
    if field.is_vector:
        return tuple(int(item) for item in value)
    if field.kind == "float32" and not math.isfinite(value):
        raise InputError(f"{where}: {field.name} is {value}")
    option: Option = value
    return option
