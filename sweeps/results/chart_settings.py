"""The kinds of charts, and their settings as text, which the command line, studies and Python share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dlasim.errors import InputError

# kind of chart: its module in sweeps/charts, what it shows
KINDS = {
    "stacked": ("stacked", "cycles by kind, a bar for each configuration"),
    "heatmap": ("heatmap", "cycles, or any figure, over two parameters"),
    "pareto": ("pareto", "two or three figures against each other, and what nothing beats"),
    "roofline": ("roofline", "layers under the roofs of computing and memory (needs --layers)"),
    "utilization": ("utilization", "use of the PEs, layer by layer (needs --layers)"),
    "timeline": ("timeline", "what every unit does when"),
}
LOOKS = ("width", "style")  # settings of every kind
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
