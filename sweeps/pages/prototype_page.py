"""Writes the page of a study on the virtual prototype.

It compares CPU instructions without and with the accelerator with those of Ahmadifarsani et al. 2023, and
lists the cycles of an inference on each core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.sim.configuration.sizes import size_text
from dlasim.sweeps.definition.study import Study
from dlasim.sweeps.pages.page_text import pictures, plain
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.system.fileio import atomic_write

Row = dict[str, Any]
NAME = "prototype.md"
_COLUMNS = ("case", "model", "place", "cpu", "timing", "pes", "sram_bytes", "parallel", "status", "reason",
            "cpu_instructions", "cycles_total", "cycles_dla", "cycles_dma", "simulation_seconds")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the table in the paper."""

    alone: float  # instructions of the CPU without the accelerator
    together: float
    saved: float  # as a fraction of 1
    seconds: float  # of simulating it


# Ahmadifarsani, Stahl, van Kempen, Mueller-Gritschneder, Schlichtmann 2023.
PAPER = {
    "resnet": Published(5.73e7, 1.44e7, 0.75, 0.68),
    "vww": Published(4.12e7, 1.46e7, 0.65, 1.33),
    "aww": Published(1.43e7, 5.34e6, 0.63, 0.54),
}


def saved_fraction(alone: float, together: float) -> float:
    """The fraction of the CPU's instructions that the accelerator saves."""
    return 1 - together / alone


def write_page(study: Study, result: SweepResult, folder: Path, missing: Mapping[str, str]) -> Path:
    """Write the study's page to the folder of its table; `missing` are charts that could not be drawn."""
    path = folder / NAME
    atomic_write(path, "\n".join(_page(study, list(result.rows(*_COLUMNS)), missing)) + "\n")
    return path


def _page(study: Study, rows: list[Row], missing: Mapping[str, str]) -> Iterator[str]:
    yield f"# {plain(study.title)}"
    yield ""
    yield (
        "Instructions are those of one inference on the CPU, driver included, with the machine of this "
        "study that takes most. The CPU sleeps while it waits, so the DLA's time hardly changes them. "
        "The paper offloads quantized convolution and bias: here CONV_2D with `--requant cpu`, where the CPU "
        "scales the int32 sums to int8. The steps after it let the accelerator requantize, too, then run "
        "depthwise convolutions, then all that it can. "
        "Simulation is the emulation of one inference from reset to exit; it was measured, and varies."
    )
    for row in rows:
        if row["status"] != "ok":
            yield f"\n{plain(row['model'])}, {plain(row['case'])}: {plain(row['reason'])}"
    working = [row for row in rows if row["status"] == "ok"]
    yield from _instructions(working)
    yield from _cycles(working)
    if study.charts:
        yield from ("", "## Charts")
    yield from pictures(study.charts, missing)


def _instructions(rows: list[Row]) -> Iterator[str]:
    yield from ("", "## Instructions of the CPU", "")
    yield "| model | on the DLA | CPU only | CPU + DLA | saved | simulation |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for model in _distinct(rows, "model"):
        mine = [row for row in rows if row["model"] == model]
        if (published := PAPER.get(model)) is not None:
            figures = (
                _count(published.alone),
                _count(published.together),
                f"{100 * published.saved:.0f} %",
                f"{published.seconds} s",
            )
            yield f"| {plain(model)} | the paper: convolution and bias | {' | '.join(figures)} |"
        for case in _distinct(mine, "case"):
            chosen = [row for row in mine if row["case"] == case]
            yield f"| {plain(model)} | {_on_dla(chosen)} | {' | '.join(_saved(mine, chosen))} |"


def _saved(mine: list[Row], chosen: list[Row]) -> tuple[str, ...]:
    """The cells of a case, for its machine with the most instructions."""
    alone = _instructions_alone(mine)
    most = max(row["cpu_instructions"] for row in chosen)
    seconds = f"{min(row['simulation_seconds'] for row in chosen):.3f} s"
    if chosen[0]["place"] == "cpu":
        return _count(most), "", "", seconds
    saved = "" if alone is None else f"{100 * saved_fraction(alone, most):.3f} %"
    return "" if alone is None else _count(alone), _count(most), saved, seconds


def _instructions_alone(rows: list[Row]) -> int | None:
    return max((row["cpu_instructions"] for row in rows if row["place"] == "cpu"), default=None)


def _cycles(rows: list[Row]) -> Iterator[str]:
    cores = _distinct(rows, "cpu")
    yield from ("", "## Cycles of an inference on each core", "")
    yield "`zero`: the DLA takes no time; `macs`: MACs over PEs; `full`: the whole model, DMA and all."
    yield ""
    yield f"| model | on the DLA | DLA | its time | DLA alone | {' | '.join(cores)} |"
    yield f"| --- | --- | --- | --- | ---: |{' ---: |' * len(cores)}"
    machines: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        machine = (row["model"], row["case"], row["pes"], row["sram_bytes"], row["parallel"], row["timing"])
        machines.setdefault(machine, {})[row["cpu"]] = row
    for (model, _, pes, sram, parallel, timing), found in machines.items():
        one = next(iter(found.values()))
        cells = [f"{found[core]['cycles_total']:,}" if core in found else "" for core in cores]
        dla = ("", "", "") if one["place"] == "cpu" else (
            f"{size_text(sram)} {pes} {parallel}", timing, f"{one['cycles_dla']:,}")  # fmt: skip
        yield f"| {plain(model)} | {_on_dla([one])} | {' | '.join((*dla, *cells))} |"


def _on_dla(rows: list[Row]) -> str:
    return "nothing" if rows[0]["place"] == "cpu" else plain(rows[0]["case"])


def _distinct(rows: list[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


def _count(instructions: float) -> str:
    """In the paper's notation, except for small numbers."""
    if instructions < 1e5:
        return f"{instructions:,.0f}"
    digits, power = f"{instructions:.2e}".split("e")
    return f"{digits}e{int(power)}"
