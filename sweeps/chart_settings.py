"""The settings of charts as text, which the command line, studies and Python share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dlasim.errors import InputError

_LISTS = ("segments", "figures")
_NUMBERS: dict[str, Callable[[str], float]] = {"begin": int, "end": int, "point": int, "top": float}


def parse_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Each setting in its type: a list written as `cycles,dma`, a number written as text."""
    return {name: _parsed(name, value) for name, value in settings.items()}


def _parsed(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return list(value) if name in _LISTS and isinstance(value, tuple) else value
    if name in _LISTS:
        return [part.strip() for part in value.split(",")]
    if name not in _NUMBERS:
        return value
    try:
        return _NUMBERS[name](value)
    except ValueError:
        raise InputError(f"{name} must be a number (got {value!r})") from None
