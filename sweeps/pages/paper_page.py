"""Writes the page of the paper's evaluation: its four findings, each with the measured figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.sim.configuration.sizes import KIB, MIB, size_text
from dlasim.sweeps.definition.study import Study
from dlasim.sweeps.pages.page_text import pictures, plain
from dlasim.sweeps.pages.paper_causes import CycleUnit, causes, fitting_unit
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.system.fileio import atomic_write

Row = dict[str, Any]
Machine = tuple[int, int, str]  # SRAM, PEs, mode
_COLUMNS = ("case", "depthwise", "sram_bytes", "pes", "parallel", "cycles_total", "cycles_dla", "cycles_conv",
            "cycles_requant", "cycles_depth", "dma_read_bytes", "dma_write_bytes", "utilization")  # fmt: skip
NAME = "findings.md"
PAPER_MODEL = "mobilenet_v1"  # with its own arguments: 224 pixels, full width
PORT_WIDTHS = (8, 16, 32, 64)  # of the study's cases
SMALL, MIDDLE, LARGE = 512 * KIB, MIB, 256 * MIB

_TILED_AT_1_MIB = (
    "The paper says that 1 MiB tiles the initial layers only. Here pointwise_5 and pointwise_13 are cut too: "
    "pointwise_13 has 1 MiB of weights; input, weights and int32 results of pointwise_5 take 1.02 MiB."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of the paper, whether our numbers bear it out, and these numbers. `holds` is None, and the
    lines say why, where the points that it compares did not run."""

    text: str
    holds: bool | None
    lines: tuple[str, ...]


def write_page(study: Study, result: SweepResult, folder: Path, missing: Mapping[str, str]) -> Path:
    """Write the study's page to the folder of its table; `missing` are charts that could not be drawn."""
    path = folder / NAME
    atomic_write(path, "\n".join(_page(study, result, missing)) + "\n")
    return path


def findings(result: SweepResult, model: str) -> list[Finding]:
    """The paper's four findings from one model's rows of the paper's own flow."""
    table = _Table(result, model)
    return [find(table, fitting_unit(result)) for find in (_no_tiling, _tiling, _not_linear, _emulated)]


class _MissingError(Exception):
    """The sweep lacks a point that a finding compares."""


class _Table:
    """A model's rows by case, depthwise variant and machine."""

    def __init__(self, result: SweepResult, model: str) -> None:
        self._rows: dict[tuple[str, str, Machine], Row] = {}
        for row in result.rows("model", *_COLUMNS):
            if row["model"] != model:
                continue
            machine = (row["sram_bytes"], row["pes"], row["parallel"])
            self._rows[row["case"], row["depthwise"], machine] = row

    def get(self, machine: Machine, depthwise: str = "native", case: str = "paper") -> Row:
        """The row of a machine; InputError if it has no figures."""
        row = self._rows.get((case, depthwise, machine))
        if row is None or row["cycles_dla"] is None:
            raise _MissingError(f"{_name(machine)}, depthwise {depthwise}, {case}, did not run")
        return row

    def has(self, machine: Machine, *cases: str) -> bool:
        """Whether a machine has figures in all of these cases, with native depthwise."""
        rows = [self._rows.get((case, "native", machine)) for case in cases]
        return all(row is not None and row["cycles_dla"] is not None for row in rows)


def _no_tiling(table: _Table, unit: CycleUnit) -> Finding:
    pairs = [((LARGE, pes, "output"), (LARGE, pes, "input")) for pes in (64, 128)]
    return _compare(
        "Without tiling (256 MiB) output parallel needs fewer cycles than input parallel, because the early "
        "layers have few input channels.", table, pairs, "cycles_conv", unit,
    )  # fmt: skip


def _tiling(table: _Table, unit: CycleUnit) -> Finding:
    pairs = [((SMALL, pes, "input"), (SMALL, pes, "output")) for pes in (64, 128)]
    found = _compare(
        "With 512 KiB tiling splits the output channels, output parallel loses its parallelism, and input "
        "parallel is faster.", table, pairs, "cycles_conv", unit,
    )  # fmt: skip
    return replace(found, lines=(*found.lines, *_by_ports(table, unit)))


def _by_ports(table: _Table, unit: CycleUnit) -> Iterator[str]:
    """Finding 2 where the SRAM's port has a width; nothing where no such case ran."""
    one, other = (SMALL, 64, "input"), (SMALL, 64, "output")
    parts = []
    for width in PORT_WIDTHS:
        try:
            few, many = (
                table.get(machine, case=f"{width} B ports")["cycles_conv"] for machine in (one, other)
            )
        except _MissingError:
            continue
        verdict = "holds" if few < many else "does not hold"
        parts.append(f"{verdict} with {width} ({unit.text(few)} against {unit.text(many)})")
    if parts:
        yield (
            "With buffers of finite size and a port of so many bytes per cycle between SRAM and PEs, "
            f"{_name(one)} against {_name(other)}: it {', '.join(parts)}."
        )


def _not_linear(table: _Table, unit: CycleUnit) -> Finding:
    pairs = [((MIDDLE, 128, mode), (LARGE, 64, mode)) for mode in ("output", "input")]
    return _compare(
        "Cycles do not scale linearly with memory: 128 PEs with 1 MiB beat 64 PEs with 256 MiB.",
        table, pairs, "cycles_dla", unit,
    )  # fmt: skip


def _emulated(table: _Table, unit: CycleUnit) -> Finding:
    text = "Depthwise through the standard convolution costs drastically more cycles than the instruction."
    machines = [(LARGE, 64, "output"), (LARGE, 128, "output"), (SMALL, 64, "output"), (SMALL, 64, "input")]
    lines, found = [], []
    for machine in machines:
        try:
            slow, fast = (table.get(machine, how)["cycles_depth"] for how in ("emulated", "native"))
        except _MissingError as error:
            lines.append(str(error))
            continue
        if not fast:
            lines.append(f"{_name(machine)}: no depthwise layer runs on the DLA")
            continue
        found.append(slow > 5 * fast)
        lines.append(
            f"{_name(machine)}: DEPTH {unit.text(slow)} emulated, {unit.text(fast)} native, "
            f"{slow / fast:.0f} times"
        )
    return Finding(text, all(found) if found else None, tuple(lines))


def _compare(
    text: str, table: _Table, pairs: Iterable[tuple[Machine, Machine]], figure: str, unit: CycleUnit
) -> Finding:
    """Whether in each pair that ran the first machine needs less; DLA cycles are compared with native
    depthwise."""
    lines, found = [], []
    what = "CONV" if figure == "cycles_conv" else "all"
    for one, other in pairs:
        try:
            few, many = table.get(one)[figure], table.get(other)[figure]
        except _MissingError as error:
            lines.append(str(error))
            continue
        found.append(few < many)
        times = f" ({many / few:.2f} times)" if few else ""
        lines.append(f"{what}: {_name(one)} {unit.text(few)}, {_name(other)} {unit.text(many)}{times}")
    return Finding(text, all(found) if found else None, tuple(lines))


def _page(study: Study, result: SweepResult, missing: Mapping[str, str]) -> Iterable[str]:
    models = list(dict.fromkeys(result.column("model")))
    is_papers = models == [PAPER_MODEL]
    unit = fitting_unit(result)
    yield (
        f"# {plain(study.title)}"
        if is_papers
        else f"# {plain(', '.join(models))} in the flow of Sponner et al. 2021"
    )
    yield ""
    yield (
        "Cycles are pure compute cycles of the DLA (preset `paper`: memory, issue and pipelines cost "
        f"nothing), in {unit.name}, unless another case is named. Figures 4a to 4e are drawn as in the "
        "paper; its two charts of the emulated version, 4b and 4c, are drawn here for 64 and 128 PEs."
    )
    if not is_papers:
        yield ""
        yield (
            "The paper's findings are about MobileNetV1-224. This page evaluates them on other networks, "
            "which the paper did not measure. A finding that does not hold here does not contradict the "
            "paper."
        )
    for model in models:
        yield from _findings(result, model, "" if is_papers else f" for {plain(model)}")
        yield from causes(result, model, unit)
        if is_papers:
            yield from ("", _TILED_AT_1_MIB)
        yield from _segments(result, model, unit)
        yield from _left_over(result, model, unit)
    yield from _charts(study, missing)


def _findings(result: SweepResult, model: str, about: str) -> Iterable[str]:
    words = {True: "holds", False: "does not hold", None: "was not tested"}
    for number, finding in enumerate(findings(result, model), start=1):
        yield from ("", f"## Finding {number}: {words[finding.holds]}{about}", "", finding.text, "")
        yield from (f"- {line}" for line in finding.lines)


def _segments(result: SweepResult, model: str, unit: CycleUnit) -> Iterable[str]:
    yield from ("", f"## {plain(model)}: all bars of figure 4", "")
    yield "| depthwise | machine | CONV | REQUANT | DEPTH | DLA |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for row in result.rows(*_COLUMNS, "model", "label", "status", "reason"):
        if row["case"] != "paper" or row["model"] != model:
            continue
        if row["status"] != "ok":
            yield f"| {row['depthwise']} | {row['label']} | {plain(row['reason'])} | | | |"
            continue
        cells = (unit.text(row[f"cycles_{kind}"]) for kind in ("conv", "requant", "depth", "dla"))
        yield f"| {row['depthwise']} | {row['label']} | {' | '.join(cells)} |"


def _left_over(result: SweepResult, model: str, unit: CycleUnit) -> Iterable[str]:
    """The paper's flow compared with auto tiling and full fusion, with native depthwise, on what ran."""
    table = _Table(result, model)
    for title, note, cases in (
        ("what the paper's flow left on the table", "Memory is free in both.", ("paper", "auto+full")),
        ("the same where memory takes time", "8 bytes per cycle each way, 64 cycles of latency.",
         ("paper, real memory", "auto+full, real memory")),
    ):  # fmt: skip
        yield from ("", f"## {plain(model)}: {title}", "", f"Total cycles with native depthwise. {note}", "")
        machines = product((SMALL, MIDDLE, LARGE), (64, 128), ("input", "output"))
        both = [machine for machine in machines if table.has(machine, *cases)]
        if not both:
            yield "No machine ran with both."
            continue
        yield "| machine | paper's flow | moved | auto + full | moved | times faster |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: |"
        for machine in both:
            old, new = (table.get(machine, case=case) for case in cases)
            before, after = old["cycles_total"], new["cycles_total"]
            cells = (unit.text(before), _moved(old), unit.text(after), _moved(new), f"{before / after:.2f}")
            yield f"| {_name(machine)} | {' | '.join(cells)} |"


def _charts(study: Study, missing: Mapping[str, str]) -> Iterable[str]:
    yield from ("", "## Charts")
    yield from pictures(study.charts, missing)


def _name(machine: Machine) -> str:
    size, pes, mode = machine
    return f"{size_text(size)} {pes} {'I' if mode == 'input' else 'O'}"


def _moved(row: Row) -> str:
    return f"{(row['dma_read_bytes'] + row['dma_write_bytes']) / MIB:.1f} MiB"
