"""What networks far from their bound lose: `python benchmarks/losses.py` (some minutes, with TensorFlow).

The networks of Keras and the built-in ones on the default machine; of those that take at least LEAST_RATIO
times the bound, what the unit of the bound does in all cycles. The table goes to
benchmarks/compared/losses.csv; `python tools/generate.py` puts it into docs/planner.md.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from compared.common import cycles_of

from dlasim.compiler_shim.topologies import topology_names
from dlasim.sim.configuration.config import DlaConfig
from tests.keras_networks import BUILDERS, keras_network

TABLE = Path(__file__).parent / "compared" / "losses.csv"
LEAST_RATIO = 1.3
PARTS = {
    "work": ("work",),
    "ends": ("fill", "drain", "latency"),
    "output": ("output",),
    "ports": ("sram", "contention"),
    "issue": ("idle_issue",),
    "waits": ("idle_wait", "idle_queue"),
}
COLUMNS = ("network", "cycles", "ratio", "unit", *PARTS)


def networks() -> Iterator[tuple[str, Any]]:
    """The name of each, and what is run."""
    for name in BUILDERS:
        yield name, keras_network(name, has_float_edges=True)
    for name in topology_names():
        yield name, name


def main() -> None:
    """Measure all."""
    rows = []
    for name, source in networks():
        report = cycles_of(source, DlaConfig())
        total, unit = report["cycles"]["total"], report["bound_unit"]
        print(name, total, report["bound_ratio"], unit, flush=True)
        if report["bound_ratio"] >= LEAST_RATIO and unit in report["units"]:
            parts = [sum(report["units"][unit][each] for each in names) / total for names in PARTS.values()]
            shares = [f"{100 * part:.1f}" for part in parts]
            rows.append([name, total, f"{report['bound_ratio']:.2f}", unit, *shares])
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
