"""The table of docs/area.md that compares whole machines with the model; benchmarks/accuracy.py fills the
others."""

from __future__ import annotations

import top_synthesis
from synthesis import ROOT
from top_synthesis import Machine, config_of, modelled

from dlasim.sim.configuration.sizes import KIB
from generators.marked_table import table_line, with_table

PAGE = ROOT / "docs" / "area.md"
SOURCE = "benchmarks/compared/tops.csv"


def page() -> str:
    """The page with today's table."""
    return with_table(PAGE.read_text(encoding="utf-8"), SOURCE, _table())


def _table() -> str:
    """A row for each machine that was synthesised, with what the model says of it today."""
    rows = top_synthesis.points().rows
    lines = [
        "| array | VECTOR lanes | SRAM, KiB | ports | banks | DMA, bytes | queue | kGE | model | off |",
        "| --- |" + " ---: |" * 9,
    ]
    for machine in top_synthesis.MACHINES:
        if row := rows.get((top_synthesis.text_of(machine),)):
            lines.append(_line(machine, row))
    return "\n".join(lines) + "\n"


def _line(machine: Machine, row: dict[str, str]) -> str:
    more = "".join(f", `{name}`" for name in ("int16", "mac_sums") if name in machine)
    older = "" if row["sources"] == top_synthesis.sources() else " (of earlier sources)"
    kge, model = float(row["kge"]), modelled(config_of(machine)).kge
    cells = (
        f"{machine['parallel']}{more}{older}",
        machine["vector_lanes"],
        int(machine["sram_bytes"]) // KIB,
        f"{machine['sram_ports']} of {machine['sram_bandwidth']} B",
        machine["sram_banks"],
        machine["dma_bandwidth"],
        machine["queue_depth"],
        f"{kge:,.0f}",
        f"{model:,.0f}",
        f"{100 * (model / kge - 1):+.1f} %".replace("-", "−"),
    )
    return table_line(cells)
