"""Built-in networks as files, timing-only runs of them, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.sim.configuration.config import DlaConfig

Report = dict[str, Any]


@dataclass(slots=True)
class Networks:
    """Built-in networks, each written once to a folder."""

    folder: Path
    _files: dict[str, Path] = field(default_factory=dict)

    def path(self, name: str, **arguments: Any) -> Path:
        """The .tflite of a built-in network."""
        key = name + "".join(f"-{value}" for value in arguments.values())
        if key not in self._files:
            file = self.folder / f"{key}.tflite"
            file.write_bytes(write_tflite(build_topology(name, **arguments)))
            self._files[key] = file
        return self._files[key]


def cycles_of(model: Path, config: DlaConfig, **options: str) -> Report:
    """The report of a timing-only run."""
    return api.run(model, config, timing_only=True, check_races=False, **options).report


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A Markdown table; all but the first columns, which are texts, to the right."""
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * texts + " ---: |" * (len(head) - texts)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def percent(value: float, reference: float) -> str:
    """How far a value is from its reference, signed."""
    return f"{signed(value / reference - 1)} %"


def signed(share: float) -> str:
    """A share in per cent, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "−")


def span(values: Iterable[float], digits: int = 1) -> str:
    """The least and the greatest value."""
    known = list(values)
    return f"{min(known):.{digits}f} to {max(known):.{digits}f}"


def millions(cycles: float, digits: int = 2) -> str:
    """Cycles in millions."""
    return f"{cycles / 1e6:.{digits}f}"
