"""The row of a machine that runs several networks: what one round takes of it, and what a second does.

A round runs each network `count` times. Its figures are those of the networks added up; what belongs to the
machine or to its programs counts once, of peaks the highest counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlasim.sim.reports.figures import RUN_FIGURES, Figure
from dlasim.sweeps.definition.models import Source
from dlasim.sweeps.evaluation.evaluate import FIGURES, OK, REFUSED, Entry

_MS_PER_SECOND = 1000.0
MW_PER_NJ_PER_SECOND = 1e-6
_OF_PROGRAMS = frozenset((
    "constants_bytes", "artifact_bytes", "subgraphs", "layers_dla", "layers_cpu", "tiles",
    "cpu_setup_instructions", "simulation_seconds",
))  # fmt: skip
_SHOWN = [figure for figure in RUN_FIGURES if figure.column]
_DIGITS = 10  # of sums of floats, so that they do not depend on the order


def together(models: Sequence[Source], entries: Sequence[Entry | None], pes: int) -> Entry:
    """The entry of the machine, from those of the networks in their order; none for one that is excluded."""
    found = dict(zip((model.label for model in models), entries, strict=True))
    for label, entry in found.items():
        if entry is None:
            return Entry(REFUSED, f"a condition excludes {label}")
        if entry.status != OK:
            return Entry(entry.status, f"{label}: {entry.reason}")
    rows = [entry.figures for entry in entries if entry is not None]
    counts = [model.count for model in models]
    made = {
        figure.column: _total(figure, cells, counts) for figure, *cells in zip(_SHOWN, *rows, strict=True)
    }
    return Entry(OK, "", [*(made | _ratios(made, pes)).values()])


def _total(figure: Figure, cells: Sequence[Any], counts: Sequence[int]) -> Any:
    if figure.page == "area":
        return cells[0]
    if any(cell is None for cell in cells):
        return None
    if figure.column.endswith("_peak_bytes"):
        return max(cells)
    if figure.column in _OF_PROGRAMS:
        return _rounded(sum(cells))
    return _rounded(sum(cell * count for cell, count in zip(cells, counts, strict=True)))


def _ratios(total: Mapping[str, Any], pes: int) -> dict[str, Any]:
    """The ratios of a round, from the sums that they are made of."""
    least, busy = total["bound_cycles"], pes * total["cycles_dla"]
    return {
        "bound_ratio": round(total["cycles_total"] / least, 4) if least else None,
        "utilization": round(total["macs"] / busy, 6) if busy else 0.0,
    }


def demands(model: Source, entry: Entry) -> dict[str, float | None]:
    """What a network's rate makes of its figures: the share of time, and the power."""
    if not model.rate or entry.status != OK:
        return {}
    figures = dict(zip(FIGURES, entry.figures, strict=True))
    energy = figures["energy_nj"]
    return {
        "load": _rounded(model.rate * figures["milliseconds"] / _MS_PER_SECOND),
        "power_mw": None if energy is None else _rounded(model.rate * energy * MW_PER_NJ_PER_SECOND),
    }


def all_demands(models: Sequence[Source], entries: Sequence[Entry | None]) -> dict[str, float | None]:
    """Those of all networks together; nothing if one does not run."""
    if any(entry is None or entry.status != OK for entry in entries):
        return {}
    parts = [demands(model, entry) for model, entry in zip(models, entries, strict=True) if entry is not None]
    return {
        name: _rounded(sum(part.get(name) or 0.0 for part in parts))
        for name in ("load", "power_mw")
        if any(name in part for part in parts)
    }


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")
