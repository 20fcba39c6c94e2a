"""The page of one run: its report, and what only the run itself knows, such as the network's graph: a row for
each layer in the order in which they run, and a lane for each value that later layers still read, as version
control draws branches. And the page of two runs: what differs, layer by layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.memory import reads, writes
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
MAX_LANES = 24


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
        from dlasim.sweeps.page.buffers import sram_map, timeline

        data["timeline"] = timeline(program, inference)
        data["sram"] = sram_map(program, inference)
    if lowered is not None:
        from dlasim.sweeps.page.run import network_graph

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


def network_graph(network: PlacedNetwork) -> dict[str, Any]:
    """For each layer its lane and output shape, and the edges: from row, to row (the number of layers for the
    network's output, -1 for its input) and lane."""
    count = len(network.layers)
    producer, readers = _uses(network)
    edges = [(producer.get(value, -1), reader, value) for value, rows in readers.items() for reader in rows]
    last = {value: max(rows) for value, rows in readers.items()}
    lanes = _lanes(producer, last)
    shapes = _shapes(network)
    return {
        "lanes": min(max(lanes.values(), default=0) + 1, MAX_LANES),
        "lane": [lanes.get(row, 0) for row in range(count)],
        "shape": [shapes.get(row, "") for row in range(count)],
        "edges": sorted({(start, end, lanes.get(start, 0)) for start, end, _ in edges if start < end}),
    }


def _uses(network: PlacedNetwork) -> tuple[dict[int, int], dict[int, set[int]]]:
    """The layer that completes each value, and the layers that read it."""
    producer: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    for node in network.nodes:
        for value in reads(node, network):
            if producer.get(value) != node.layer:
                readers.setdefault(value, set()).add(node.layer)
        for value in writes(node, network):
            producer[value] = node.layer
    for value in network.outputs:
        if value in producer:
            readers.setdefault(value, set()).add(len(network.layers))
    return producer, readers


def _lanes(producer: dict[int, int], last: dict[int, int]) -> dict[int, int]:
    """A lane for each row: that of a value which it reads last, else the first that is free."""
    until: dict[int, int] = {
        -1: max((row for value, row in last.items() if value not in producer), default=0)
    }
    for value, row in producer.items():
        until[row] = max(until.get(row, row), last.get(value, row))
    free_from: list[int] = []  # for each lane the row from which it is free
    lanes: dict[int, int] = {}
    for row in sorted(until):
        lane = next((n for n, end in enumerate(free_from) if end <= row), len(free_from))
        if lane == len(free_from):
            free_from.append(0)
        free_from[lane] = until[row]
        lanes[row] = min(lane, MAX_LANES - 1)
    return lanes


def _shapes(network: PlacedNetwork) -> dict[int, str]:
    """The shape of the last value that each layer writes."""
    return {
        node.layer: "×".join(map(str, network.values[value].shape))
        for node in network.nodes
        for value in writes(node, network)
    }


def comparison_page(before: Mapping[str, Any], after: Mapping[str, Any], labels: tuple[str, str]) -> str:
    """The HTML page that compares two reports; `labels` say where they come from."""
    reports = (before, after)
    names = [[str(layer["name"]) for layer in report["layers"]] for report in reports]
    data = {
        "page": "comparison",
        "runs": [
            {"label": label, "command": report.get("command"), **report_data(report)}
            for label, report in zip(labels, reports, strict=True)
        ],
        "pairs": matched(*names),
    }
    return document(f"{title_of(before)} and {title_of(after)}", data)


def matched(before: Sequence[str], after: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Pairs of layers with the same name, in order; None where only one network has it."""
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for what, low, high, first, last in matcher.get_opcodes():
        if what == "equal":
            pairs += zip(range(low, high), range(first, last), strict=True)
        else:
            pairs += [(number, None) for number in range(low, high)]
            pairs += [(None, number) for number in range(first, last)]
    return pairs
