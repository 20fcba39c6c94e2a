"""Reports are as their JSON schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dlasim

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8"))
TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": int, "number": (int, float), "string": str, "boolean": bool, "null": type(None),
    "array": list, "object": dict,
}  # fmt: skip


def wrong(value: Any, schema: dict[str, Any], place: str = "report") -> list[str]:
    """What is not as the schema says: the few keywords of JSON Schema 2020-12 that ours has."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return min((wrong(value, each, place) for each in schema["anyOf"]), key=len)
    if "const" in schema and value != schema["const"]:
        return [f"{place} is {value!r}"]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{place} is {value!r}, not {kind}"]
    if kind == "array":
        return [text for each in value for text in wrong(each, schema["items"], f"{place}[]")]
    if kind != "object":
        return []
    known, more = schema.get("properties", {}), schema["additionalProperties"]
    found = [f"{place} lacks {name}" for name in schema.get("required", ()) if name not in value]
    for name, each in value.items():
        if name not in known and more is False:
            found.append(f"{place} has {name}")
        else:
            found += wrong(each, known.get(name, more), f"{place}.{name}")
    return found


@pytest.mark.parametrize(
    "options",
    [{}, {"timing_only": True}, {"host": "riscv"}, {"place": "cpu", "io": "int8"}, {"technology": "22nm"}],
)
def test_a_report_is_as_its_schema_says(options: dict[str, Any]) -> None:
    report = json.loads(json.dumps(dlasim.run("mnist", **options).report))
    assert wrong(report, SCHEMA) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"macs": 1.5}, "report.macs is 1.5, not integer"),
        ({"schema": "other"}, "report.schema is 'other'"),
        ({"more": 1}, "report has more"),
        ({"units": {"MAC": {}}}, "report.units.MAC lacks contention"),
    ],
)
def test_another_report_is_not(change: dict[str, Any], message: str) -> None:
    report = dlasim.run("mnist", timing_only=True).report
    assert wrong({**report, **change}, SCHEMA)[0] == message
