"""Holds the options of an operator to its row in the table: names, types, ranges, members of enums."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Option
from dlasim.compiler_shim.operators.fields import SCALARS, SchemaField, enum_numbers
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.errors import one_of, unknown

_SHOWN = 40
_MAX_LIST = 1 << 16


class OptionError(ValueError):
    """What is wrong with an option, without saying of which operator."""


def checked_options(kind: str, given: Mapping[str, Any]) -> dict[str, Option]:
    """The options as a graph holds them; those left out stay out."""
    fields = {field.name: field for field in OPERATORS[kind].options.fields if field is not None}
    for name in given:
        if name not in fields:
            if not fields:
                raise OptionError(f"it has no options (got {name[:_SHOWN]!r})")
            raise OptionError(unknown("option", name, fields))
    return {name: _checked(fields[name], value) for name, value in given.items()}


def _checked(field: SchemaField, value: Any) -> Option:
    shown = (
        repr(value)[:_SHOWN] if not isinstance(value, int) or isinstance(value, bool) else f"{value}"[:_SHOWN]
    )
    if field.enum:
        members = enum_numbers(field.enum)
        if not isinstance(value, str) or value not in members:
            names = f"; known are {one_of(members)}" if len(members) <= 16 else ""
            raise OptionError(f"option {field.name} must be a name of {field.enum} (got {shown}){names}")
        return value
    if field.is_vector:
        if not isinstance(value, list | tuple) or len(value) > _MAX_LIST:
            raise OptionError(f"option {field.name} must be a list (got {shown})")
        return tuple(_number(field, item) for item in value)
    if field.kind == "bool":
        if not isinstance(value, bool):
            raise OptionError(f"option {field.name} must be true or false (got {shown})")
        return value
    if field.kind == "float32":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or abs(value) > np.finfo(np.float32).max:
            raise OptionError(f"option {field.name} must be a finite number (got {shown})")
        return float(value)
    return _number(field, value)


def _number(field: SchemaField, value: Any) -> int:
    bits = 8 * struct.calcsize("<" + SCALARS[field.item])
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not -(1 << (bits - 1)) <= value < 1 << (bits - 1)
    ):
        raise OptionError(
            f"option {field.name} must be an integer of {bits} bits (got {str(value)[:_SHOWN]})"
        )
    return value
