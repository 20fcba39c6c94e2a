"""Writes the page of the paper's evaluation: its four findings, each with the measured figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.fileio import atomic_write
from dlasim.sim.config import KIB, MIB, size_text
from dlasim.sweeps.result import SweepResult
from dlasim.sweeps.study import Study

Row = dict[str, Any]
Machine = tuple[int, int, str]  # SRAM, PEs, mode
_COLUMNS = ("case", "depthwise", "sram_bytes", "pes", "parallel", "cycles_total", "cycles_dla", "cycles_conv",
            "cycles_requant", "cycles_depth", "dma_read_bytes", "dma_write_bytes", "utilization")  # fmt: skip
NAME = "findings.md"
SMALL, MIDDLE, LARGE = 512 * KIB, MIB, 256 * MIB


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of the paper, whether it holds here, and the figures that show it."""

    text: str
    holds: bool
    lines: tuple[str, ...]


def write_page(study: Study, result: SweepResult, folder: Path) -> Path:
    """Write the study's page to the folder of its table."""
    path = folder / NAME
    atomic_write(path, "\n".join(_page(study, result)) + "\n")
    return path


def findings(result: SweepResult) -> list[Finding]:
    """The paper's four findings, from the rows of its own flow."""
    table = _Table(result)
    return [_no_tiling(table), _tiling(table), _not_linear(table), _emulated(table)]


class _Table:
    """Rows by case, depthwise variant and machine."""

    def __init__(self, result: SweepResult) -> None:
        self._rows: dict[tuple[str, str, Machine], Row] = {}
        for row in result.rows(*_COLUMNS):
            machine = (row["sram_bytes"], row["pes"], row["parallel"])
            self._rows[row["case"], row["depthwise"], machine] = row

    def get(self, machine: Machine, depthwise: str = "native", case: str = "paper") -> Row:
        """The row of a machine; InputError if it has no figures."""
        row = self._rows.get((case, depthwise, machine))
        if row is None or row["cycles_dla"] is None:
            raise InputError(
                f"no figures for {_name(machine)}, depthwise {depthwise}, case {case} in the results"
            )
        return row


def _no_tiling(table: _Table) -> Finding:
    pairs = [((LARGE, pes, "output"), (LARGE, pes, "input")) for pes in (64, 128)]
    return _compare(
        "Without tiling (256 MiB) output parallel needs fewer cycles than input parallel, because the early "
        "layers have few input channels.", table, pairs, "cycles_conv",
    )  # fmt: skip


def _tiling(table: _Table) -> Finding:
    pairs = [((SMALL, pes, "input"), (SMALL, pes, "output")) for pes in (64, 128)]
    return _compare(
        "With 512 KiB tiling splits the output channels, output parallel loses its parallelism, and input "
        "parallel is faster.", table, pairs, "cycles_conv",
    )  # fmt: skip


def _not_linear(table: _Table) -> Finding:
    pairs = [((MIDDLE, 128, mode), (LARGE, 64, mode)) for mode in ("output", "input")]
    return _compare(
        "Cycles do not scale linearly with memory: 128 PEs with 1 MiB beat 64 PEs with 256 MiB.",
        table, pairs, "cycles_dla",
    )  # fmt: skip


def _emulated(table: _Table) -> Finding:
    lines, holds = [], True
    for machine in (
        (LARGE, 64, "output"),
        (LARGE, 128, "output"),
        (SMALL, 64, "output"),
        (SMALL, 64, "input"),
    ):
        slow = table.get(machine, "emulated")["cycles_depth"]
        fast = table.get(machine)["cycles_depth"]
        holds &= slow > 5 * fast
        lines.append(
            f"{_name(machine)}: DEPTH {_m(slow)} emulated, {_m(fast)} native, {slow / fast:.0f} times"
        )
    text = "Depthwise through the standard convolution costs drastically more cycles than the instruction."
    return Finding(text, holds, tuple(lines))


def _compare(text: str, table: _Table, pairs: Iterable[tuple[Machine, Machine]], figure: str) -> Finding:
    """Whether the first machine of each pair needs fewer cycles, with native depthwise."""
    lines, holds = [], True
    for one, other in pairs:
        few, many = table.get(one)[figure], table.get(other)[figure]
        holds &= few < many
        what = "CONV" if figure == "cycles_conv" else "all"
        lines.append(f"{what}: {_name(one)} {_m(few)}, {_name(other)} {_m(many)} ({many / few:.2f} times)")
    return Finding(text, holds, tuple(lines))


def _page(study: Study, result: SweepResult) -> Iterable[str]:
    yield f"# {study.title}"
    yield ""
    yield (
        "Cycles are pure compute cycles of the DLA (preset `paper`: memory, issue and pipelines cost "
        "nothing), in millions, unless another case is named. Figures 4a to 4e are drawn as in the paper; "
        "its two charts of the emulated version, 4b and 4c, are drawn here for 64 and 128 PEs."
    )
    for number, finding in enumerate(findings(result), start=1):
        yield ""
        yield f"## Finding {number}: {'holds' if finding.holds else 'does not hold'}"
        yield ""
        yield finding.text
        yield ""
        yield from (f"- {line}" for line in finding.lines)
    yield from _segments(result)
    yield from _left_over(result)
    yield from _charts(study)


def _segments(result: SweepResult) -> Iterable[str]:
    yield from ("", "## All bars of figure 4", "")
    yield "| depthwise | machine | CONV | REQUANT | DEPTH | DLA |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for row in result.rows(*_COLUMNS, "label", "status", "reason"):
        if row["case"] != "paper":
            continue
        if row["status"] != "ok":
            yield f"| {row['depthwise']} | {row['label']} | {row['reason']} | | | |"
            continue
        cells = (_m(row[f"cycles_{kind}"]) for kind in ("conv", "requant", "depth", "dla"))
        yield f"| {row['depthwise']} | {row['label']} | {' | '.join(cells)} |"


def _left_over(result: SweepResult) -> Iterable[str]:
    """Compare the paper's flow with auto tiling and full fusion, with native depthwise."""
    table = _Table(result)
    for title, note, cases in (
        ("What the paper's flow left on the table", "Memory is free in both.", ("paper", "auto+full")),
        ("The same where memory takes time", "8 bytes per cycle each way, 64 cycles of latency.",
         ("paper, real memory", "auto+full, real memory")),
    ):  # fmt: skip
        yield from ("", f"## {title}", "", f"Total cycles with native depthwise. {note}", "")
        yield "| machine | paper's flow | moved | auto + full | moved | times faster |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: |"
        for machine in product((SMALL, MIDDLE, LARGE), (64, 128), ("input", "output")):
            old, new = (table.get(machine, case=case) for case in cases)
            before, after = old["cycles_total"], new["cycles_total"]
            cells = (_m(before), _moved(old), _m(after), _moved(new), f"{before / after:.2f}")
            yield f"| {_name(machine)} | {' | '.join(cells)} |"


def _charts(study: Study) -> Iterable[str]:
    yield from ("", "## Charts")
    for chart in study.charts:
        yield from ("", f"![{chart.settings.get('title', chart.file)}]({chart.file})")


def _name(machine: Machine) -> str:
    size, pes, mode = machine
    return f"{size_text(size)} {pes} {'I' if mode == 'input' else 'O'}"


def _m(cycles: int) -> str:
    return f"{cycles / 1e6:.2f}"


def _moved(row: Row) -> str:
    return f"{(row['dma_read_bytes'] + row['dma_write_bytes']) / MIB:.1f} MiB"
