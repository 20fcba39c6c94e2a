"""The page of one run: its report, and what only the run itself knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlasim.isa.instruction_rows import UNITS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.reports.figures import LAYER_FIGURES, RUN_FIGURES, UNIT_FIGURES, Figure
from dlasim.sweeps.charts.roofs import bytes_per_cycle, roofline_point
from dlasim.sweeps.page.document import document

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.isa.program import Program
    from dlasim.sim.execution.runner import Inference

Report = Mapping[str, Any]
_MAX_TITLE_LENGTH = 80
_EXPLAINED = ("why", "tile", "bound_cycles", "lost_cycles", "limit", "advice")


def run_page(
    report: Report,
    program: Program | None = None,
    inference: Inference | None = None,
    lowered: Lowered | None = None,
    command: str = "",
) -> str:
    """The HTML page of a run.

    Without `program` and `inference` it has no timeline and no SRAM map, without `lowered` no graph and no
    reasons; the page says so. `command` reproduces the run.
    """
    data: dict[str, Any] = {**report_data(report), "page": "run", "command": command or report.get("command")}
    if program is not None and inference is not None:
        from dlasim.sweeps.page.buffers import sram_map
        from dlasim.sweeps.page.spans import timeline

        data["timeline"] = timeline(program, inference)
        data["sram"] = sram_map(program, inference)
    if lowered is not None:
        from dlasim.sweeps.page.network import network_graph

        data["network"] = network_graph(lowered.network)
    if lowered is not None and inference is not None:
        from dlasim.explanation import explain_layers

        rows = explain_layers(lowered, DlaConfig(**report["config"]), inference)
        data["explained"] = {name: [row[name] for row in rows] for name in _EXPLAINED}
    return document(title_of(report), data)


def report_data(report: Report) -> dict[str, Any]:
    """What the pages of one and of two runs show of a report."""
    return {
        "report": report,
        "names": short_names([str(layer["name"]) for layer in report["layers"]]),
        "defaults": DlaConfig().as_dict(),
        "roofline": _roofline(report),
        "units": [unit.name for unit in UNITS],
        "figures": _described(RUN_FIGURES),
        "unit_figures": _described(UNIT_FIGURES),
        "layer_figures": _described(LAYER_FIGURES),
    }


def title_of(report: Report) -> str:
    """What the page of a report is called."""
    config = report["config"]
    name = str(report["program"]) or "program"
    short = name if len(name) <= _MAX_TITLE_LENGTH else f"{name[:_MAX_TITLE_LENGTH]}…"
    return f"{short} on {config['pes']} PEs ({config['parallel']})"


def short_names(names: Sequence[str]) -> list[str]:
    """The last parts of the names, where these tell layers apart."""
    last = [name.rsplit("/", 1)[-1] for name in names]
    counts = Counter(last)
    return [part if part and counts[part] == 1 else name for part, name in zip(last, names, strict=True)]


def _described(table: Sequence[Figure]) -> list[dict[str, str | bool]]:
    names = ("name", "unit", "text", "label", "dla_only", "macs_only")
    return [{name: getattr(figure, name) for name in names} for figure in table if figure.name]


def _roofline(report: Report) -> dict[str, Any]:
    """The roofs, and for each layer MACs per byte and per cycle; null where it does no MACs on the DLA."""
    machine = report["config"]
    return {
        "pes": machine["pes"],
        "bytes_per_cycle": bytes_per_cycle(machine),
        "points": [
            roofline_point(_flat(layer), machine) if layer["macs"] and layer["unit"] == "dla" else None
            for layer in report["layers"]
        ],
    }


def _flat(layer: Mapping[str, Any]) -> dict[str, Any]:
    """A layer of a report under the names that tables of layers use."""
    return {figure.column: figure.cell(layer) for figure in LAYER_FIGURES if figure.column}
