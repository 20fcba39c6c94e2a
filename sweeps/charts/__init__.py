"""Charts of a sweep's table, fit for print: `draw` for each kind, `canvas` for how they look."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.result import SweepResult

# kind: module, function, what it shows
KINDS = {
    "stacked": ("stacked", "draw", "cycles by kind, a bar for each configuration"),
    "heatmap": ("heatmap", "draw", "cycles over PEs and SRAM"),
    "pareto": ("pareto", "draw", "cycles against SRAM and PEs, and what nothing beats"),
    "roofline": (
        "layers",
        "draw_roofline",
        "layers under the roofs of computing and memory (needs --layers)",
    ),
    "utilization": ("layers", "draw_utilization", "use of the PEs, layer by layer (needs --layers)"),
    "timeline": ("timeline", "draw", "what every unit does when"),
}


def make(result: SweepResult, kind: str, settings: Mapping[str, Any]) -> Any:
    """The figure of that kind; use it within `canvas.style()`."""
    if kind not in KINDS:
        raise InputError(f"chart kind {kind!r} is unknown (allowed: {', '.join(KINDS)})")
    module, function, _ = KINDS[kind]
    draw = getattr(import_module(f"dlasim.sweeps.charts.{module}"), function)
    allowed = [name for name in signature(draw).parameters if name != "result"]
    unknown = [name for name in settings if name not in allowed]
    if unknown:
        raise InputError(f"a {kind} chart has no setting {unknown[0]!r} (allowed: {', '.join(allowed)})")
    return draw(result, **settings)


def draw(result: SweepResult, kind: str, path: str | Path, **settings: Any) -> None:
    """Draw a chart into a PNG, SVG or PDF file."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it keeps its fonts is no user's concern
    from dlasim.sweeps.charts import canvas

    with canvas.style():
        canvas.save(make(result, kind, settings), Path(path))
