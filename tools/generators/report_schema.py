"""Generates `docs/report.schema.json`: the JSON schema of a report, from its types."""

from __future__ import annotations

import inspect
import json
from types import NoneType, UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from dlasim.sim.reports import report_types
from dlasim.sim.reports.report import SCHEMA
from generators.source_texts import texts_of

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def text() -> str:
    """The whole file."""
    definitions: dict[str, Any] = {}
    found = _schema(report_types.Report, definitions)
    definitions["Report"]["properties"]["schema"]["const"] = SCHEMA
    return json.dumps({"$schema": _DRAFT, "$id": SCHEMA, **found, "$defs": definitions}, indent=1) + "\n"


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; that of a class goes to the definitions."""
    kind, parts = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if kind is UnionType:
        return {"anyOf": [_schema(part, definitions) for part in parts]}
    if kind is list:
        return {"type": "array", "items": _schema(parts[0], definitions)}
    if kind is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1], definitions)}
    return {} if hint is Any else {"type": _TYPES[hint]}


def _object(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    # What a class says of its required keys is wrong where annotations are strings.
    hints = get_type_hints(kind, include_extras=True)
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    properties = {name: _schema(hint, definitions) for name, hint in get_type_hints(kind).items()}
    for name, each in texts_of(report_types, kind.__name__).items():
        properties[name] = {"description": each, **properties[name]}
    return {
        "description": inspect.getdoc(kind),
        "type": "object",
        "properties": properties,
        "required": sorted(hints.keys() - optional),
        "additionalProperties": False,
    }
