"""The RTL of the same machine: cycles, wall times and bytes at the SRAM's ports, measured by
`python -m tests.rtl --write`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from compared.common import table

Row = dict[str, str]
MEASURED = Path(__file__).parent / "rtl.csv"
EARLIER = """
Rows without times were measured beside other work."""
PLACE = ("network", "machine")
HEAD = (*PLACE, "RTL, cycles", "dlasim, cycles", "difference", "RTL", "dlasim", "cycles only")
SRAM_HEAD = (*PLACE, "RTL, bytes", "dlasim, bytes", "difference", "RTL, words", "part of them used")


def render() -> dict[str, str]:
    """The tables and figures of the page."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ports = [row for row in rows if row["rtl_sram_bytes"]]
    return {
        "rtl_cycles": table(HEAD, map(_cycles, rows)),
        "rtl_sram": "\n\n" + table(SRAM_HEAD, map(_sram, ports)) if ports else "\n",
        "rtl_faster": " ".join(_faster(rows)),
        "rtl_note": "" if all(row["cycles_only_seconds"] for row in rows) else EARLIER,
    }


def _faster(rows: list[Row]) -> Iterator[str]:
    for column, outputs in (("simulator_seconds", "with outputs"), ("cycles_only_seconds", "without")):
        ratios = [float(row["rtl_seconds"]) / float(row[column]) for row in rows if row[column]]
        if ratios:
            least, most, middle = (f"{found(ratios):,.0f}" for found in (min, max, median))
            yield f"{least} to {most} times {outputs}, {middle} in the median."


def _cycles(row: Row) -> tuple[str, ...]:
    rtl, simulator = int(row["rtl_cycles"]), int(row["simulator_cycles"])
    seconds = f"{float(row['rtl_seconds']):.1f} s" if row["rtl_seconds"] else ""
    times = seconds, _milliseconds(row["simulator_seconds"]), _milliseconds(row["cycles_only_seconds"])
    place = row["network"], row["machine"]
    return (*place, f"{rtl:,}", f"{simulator:,}", _difference(rtl, simulator), *times)


def _sram(row: Row) -> tuple[str, ...]:
    rtl, simulator, words = (
        int(row[name]) for name in ("rtl_sram_bytes", "simulator_sram_bytes", "rtl_sram_words")
    )
    used = f"{100 * rtl / (int(row['word_bytes']) * words):.1f} %"
    place = row["network"], row["machine"]
    return (*place, f"{rtl:,}", f"{simulator:,}", _difference(rtl, simulator), f"{words:,}", used)


def _difference(rtl: int, simulator: int) -> str:
    return f"{100 * (rtl / simulator - 1):+.2f} %".replace("-", "−") if rtl != simulator else "0"


def _milliseconds(seconds: str) -> str:
    return f"{1000 * float(seconds):.1f} ms" if seconds else ""
