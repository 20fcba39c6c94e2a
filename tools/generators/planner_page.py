"""The table of docs/planner.md that says what networks far from their bound lose."""

from __future__ import annotations

import csv

from synthesis import ROOT

from generators.marked_table import table_line, with_table

PAGE = ROOT / "docs" / "planner.md"
SOURCE = "benchmarks/compared/losses.csv"
HEAD = (
    "network",
    "cycles",
    "cycles / bound",
    "unit",
    "works",
    "ends",
    "output stage",
    "ports",
    "issue",
    "waits",
)


def page() -> str:
    """The page with today's table."""
    return with_table(PAGE.read_text(encoding="utf-8"), SOURCE, _table())


def _table() -> str:
    with (ROOT / SOURCE).open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    lines = [table_line(HEAD), "| --- | ---: | ---: | --- |" + " ---: |" * 6]
    for name, cycles, ratio, unit, *shares in sorted(rows, key=lambda row: -float(row[2])):
        lines.append(table_line((name, f"{int(cycles):,}", ratio, unit, *(f"{each} %" for each in shares))))
    return "\n".join(lines) + "\n"
