"""Scaling of a technology's constants to another process, by the factors of its table `scaling`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dlasim.errors import InputError, unknown

# What each factor multiplies: constants, or rows of the tables of memory macros.
_CONSTANTS = {
    "logic_energy": (
        "mac_pj", "requantization_pj", "element_pj", "instruction_pj", "flip_flop_clock_pj",
    ),
    "logic_leakage": ("gate_leakage_nw",),
    "logic_area": ("gate_um2",),
}  # fmt: skip
_ROWS = {"memory_energy": "access_pj", "memory_leakage": "leakage_mw", "memory_area": "area_mm2"}
FACTORS = (*_CONSTANTS, *_ROWS)
_MOST = 1_000_000
_ENTRY = ("value", "uncertainty", "source")


def scaled(values: Mapping[str, Any], factors: Any, what: str) -> dict[str, Any]:
    """The tables of a technology with these factors; `what` names the one that has them."""
    result = dict(values)
    for name, factor in _checked(factors, what).items():
        if name in _ROWS:
            for kind in ("sram", "buffers"):
                result[kind] = _scaled_rows(values[kind], result[kind], _ROWS[name], factor)
        else:
            constants = {each: _scaled_value(values["constants"][each], factor) for each in _CONSTANTS[name]}
            result["constants"] = result["constants"] | constants
    return result


def _checked(factors: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(factors, dict):
        raise InputError(f"{what}: scaling must be a table (got {factors!r:.80})")
    for name, factor in factors.items():
        if name not in FACTORS:
            raise InputError(f"{what}: {unknown('scaling', name, FACTORS)}")
        if not isinstance(factor, dict) or set(factor) != set(_ENTRY):
            raise InputError(f"{what}: scaling.{name} must have value, uncertainty and source")
        for key, allowed in (("value", "above 0"), ("uncertainty", "from 0")):
            number = factor[key]
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not is_number or not 0 <= number < _MOST or (key == "value" and not number):
                raise InputError(
                    f"{what}: scaling.{name}.{key} must be a number {allowed} and below {_MOST:,} "
                    f"(got {number!r:.80})"
                )
    return factors


def _scaled_value(constant: Mapping[str, Any], factor: Mapping[str, Any]) -> dict[str, Any]:
    return {**constant, "value": constant["value"] * factor["value"], **_origin(constant, factor)}


def _scaled_rows(
    base: Mapping[str, Any], table: Mapping[str, Any], name: str, factor: Mapping[str, Any]
) -> dict[str, Any]:
    """The table with some rows of the base scaled. It has one uncertainty, the largest."""
    rows = [[number * factor["value"] for number in row] for row in base[name]]
    uncertainty = max(table["uncertainty"], _origin(base, factor)["uncertainty"])
    return {**table, name: rows, **_origin(table, factor), "uncertainty": uncertainty}


def _origin(old: Mapping[str, Any], factor: Mapping[str, Any]) -> dict[str, Any]:
    """Errors of a constant and of its scaling are independent, so their squares add up."""
    return {
        "uncertainty": math.hypot(old["uncertainty"], factor["uncertainty"]),
        "source": f"{old['source']}; times {factor['value']:g}: {factor['source']}",
    }
