"""Parses the values of an axis (lists, ranges, multiples and powers) from text or from TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.definition.axes import Parameter, parse

MAX_VALUES = 1_000_000
_KEYS = ("from", "to", "step", "factor", "powers_of_two")


def from_text(parameter: Parameter, text: str, origin: str) -> list[Any]:
    """Parse a flag: `64,128`, `16..256:16` (in steps), `64KiB..256MiB` (doubling), `1..81:*3` (tripling)."""
    found: list[Any] = []
    for part in (part.strip() for part in text.split(",")):
        if ".." in part and parameter.kind is not str:
            first, _, rest = part.partition("..")
            last, _, how = rest.partition(":")
            how = how or "*2"
            step, factor = (None, how[1:]) if how.startswith("*") else (how, None)
            found += _span(parameter, first, last, step, factor, origin)
        elif part or parameter.kind is str:
            found.append(parse(parameter, part, origin))
    return _distinct(parameter, found, origin)


def from_toml(parameter: Parameter, raw: Any, origin: str) -> list[Any]:
    """Parse a study's axis: a list, one value, text as for a flag, or a table with from, to and one of step,
    factor, powers_of_two."""
    if isinstance(raw, str) and ".." in raw and parameter.kind is not str:
        return from_text(parameter, raw, origin)
    if isinstance(raw, Mapping):
        return _distinct(parameter, _table(parameter, raw, origin), origin)
    items = raw if isinstance(raw, list) else [raw]
    return _distinct(parameter, [parse(parameter, item, origin) for item in items], origin)


def _table(parameter: Parameter, raw: Mapping[str, Any], origin: str) -> list[Any]:
    unexpected = set(raw) - set(_KEYS)
    ways = [key for key in _KEYS[2:] if key in raw]
    if unexpected or "from" not in raw or "to" not in raw or len(ways) > 1 or parameter.kind is str:
        raise InputError(
            f"{origin}: {parameter.name} must be a list, or a table with from, to and one of step, "
            f"factor or powers_of_two = true (got {dict(raw)!r})"
        )
    step, factor = raw.get("step"), raw.get("factor", 2)
    return _span(parameter, raw["from"], raw["to"], step, None if step is not None else factor, origin)


def _span(parameter: Parameter, first: Any, last: Any, step: Any, factor: Any, origin: str) -> list[Any]:
    """Values from `first` to at most `last`, by steps or by factors."""
    low, high = (parse(parameter, end, origin) for end in (first, last))
    grows = parse(parameter, step if factor is None else factor, origin)
    least = 0 if factor is None else 1
    if low > high or grows <= least or (factor is not None and low <= 0):
        step_text = f"step {grows}" if factor is None else f"factor {grows}"
        if low > high:
            rule = "a range must ascend"
        elif grows <= least:
            rule = "a step must be above 0" if factor is None else "a factor must be above 1"
        else:
            rule = "a range that grows by a factor must start above 0"
        raise InputError(f"{origin}: {parameter.name}: {rule} (got {low} to {high} by {step_text})")
    values = []
    value = low
    while value <= high:
        values.append(value)
        if len(values) > MAX_VALUES:
            raise InputError(
                f"{origin}: {parameter.name} has more than {MAX_VALUES:,} values; use a larger step"
            )
        value = value + grows if factor is None else value * grows
    return values


def _distinct(parameter: Parameter, values: list[Any], origin: str) -> list[Any]:
    if not values:
        raise InputError(f"{origin}: {parameter.name} has no values")
    return list(dict.fromkeys(values))
