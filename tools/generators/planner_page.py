"""The tables of docs/planner.md: what passes cost and gain, and what networks far from their bound lose."""

from __future__ import annotations

import csv

from synthesis import ROOT

from generators.marked_table import table_line, with_table

PAGE = ROOT / "docs" / "planner.md"
PASSES, LOSSES = "benchmarks/compared/passes.csv", "benchmarks/compared/losses.csv"
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
    """The page with today's tables."""
    text = with_table(PAGE.read_text(encoding="utf-8"), PASSES, _passes())
    return with_table(text, LOSSES, _losses())


def _rows(source: str) -> list[list[str]]:
    with (ROOT / source).open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def _passes() -> str:
    head = ("pass", "CPU time", "plans", "without it", "most", "of", "programs above 0.5 %")
    lines = [table_line(head), "| --- | ---: | ---: | ---: | ---: | --- | ---: |"]
    for name, share, plans, mean, above, most, network, programs in _rows(PASSES):
        losses = f"{float(mean):+.2f} %", f"{float(most):+.1f} %", network, f"{above} of {programs}"
        lost = losses if network else [""] * len(losses)
        lines.append(table_line((f"`{name}`", f"{share} %", plans, *lost)))
    return "\n".join(lines) + "\n"


def _losses() -> str:
    lines = [table_line(HEAD), "| --- | ---: | ---: | --- |" + " ---: |" * 6]
    for name, cycles, ratio, unit, *shares in sorted(_rows(LOSSES), key=lambda row: -float(row[2])):
        lines.append(table_line((name, f"{int(cycles):,}", ratio, unit, *(f"{each} %" for each in shares))))
    return "\n".join(lines) + "\n"
