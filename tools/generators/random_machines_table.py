"""The table of docs/rtl.md that sets the RTL of machines drawn by chance beside the simulator."""

from __future__ import annotations

import csv
from statistics import mean

from synthesis import ROOT

from generators.marked_table import table_line

SOURCE = "benchmarks/compared/rtl_random.csv"
HEAD = ("machine", "networks", "mean of sizes", "least", "most", "farthest")


def table() -> str:
    """All machines with limits, all without, and a row for each of the former, the farthest first."""
    with (ROOT / SOURCE).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by_machine: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_machine.setdefault(row["machine"], []).append(row)
    limited = {name: of for name, of in by_machine.items() if not name.endswith("ideal ports")}
    free = {name: of for name, of in by_machine.items() if name not in limited}
    lines = [table_line(HEAD), "| --- | ---: | ---: | ---: | ---: | --- |"]
    for title, machines in (("with limits", limited), ("without", free)):
        if machines:
            lines.append(_row(f"{len(machines)} {title}", [row for of in machines.values() for row in of]))
    farthest = sorted(limited, key=lambda name: -max(map(abs, map(_difference, limited[name]))))
    return "\n".join([*lines, *(_row(name, limited[name]) for name in farthest)]) + "\n"


def _row(title: str, rows: list[dict[str, str]]) -> str:
    found = [_difference(row) for row in rows]
    most = max(rows, key=lambda row: abs(_difference(row)))
    size = f"{mean(map(abs, found)):.2f} %"
    return table_line((title, len(rows), size, *map(_per_cent, (min(found), max(found))), most["network"]))


def _difference(row: dict[str, str]) -> float:
    return 100 * (int(row["rtl_cycles"]) / int(row["simulator_cycles"]) - 1)


def _per_cent(number: float) -> str:
    return "0" if not number else f"{number:+.2f} %".replace("-", "−")
