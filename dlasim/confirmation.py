"""Confirms the best machines of a sweep or a search: compares every tensor, and runs them on the RTL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlasim import api
from dlasim.arguments import checked
from dlasim.compiler_shim.options import COMPILER_OPTIONS
from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError, InputError
from dlasim.rows.row_table import RowTable
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sweeps.charts.data import Row
from dlasim.sweeps.definition.axes import catalogue, names_in, resolve
from dlasim.sweeps.definition.goals import as_texts, read_goals
from dlasim.sweeps.definition.models import Source
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.results.confirmed import add_confirmed
from dlasim.sweeps.results.decision import Decision
from dlasim.sweeps.results.result_files import ABOUT
from dlasim.sweeps.results.sweep_result import SweepResult, open_results
from dlasim.system.fileio import read_file

EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A network on a machine of the front."""

    row: Row
    source: Source
    machine: DlaConfig
    choices: Mapping[str, Any]


@checked()
def confirm(
    location: str | Path,
    *,
    top: int | None = None,
    rtl: bool = True,
    limits: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    on_network: Callable[[str], None] | None = None,
) -> RowTable[dict[str, Any]]:
    """Run the networks on the front's machines bit-exactly and on the RTL, and add the columns `verified`,
    `rtl`, `rtl_cycles_dla` and `rtl_ratio` to the folder's table; at most `top` machines.

    Comparing needs the extra `verify`, the RTL Verilator. What cannot be done is said in the columns.
    """
    result = open_results(location)
    decision = Decision(result, read_goals(as_texts(limits), as_texts(minimize), "confirm"))
    if not decision.front:
        raise InputError(f"{result.path} has no machine to confirm: {'; '.join(decision.sentences())}")
    found: RowTable[dict[str, Any]] = RowTable()
    folder = result.path.parent
    for candidate in _candidates(result, decision.front[:top]):
        name = f"{candidate.row['model']} on {decision.name(candidate.row)}"
        if on_network is not None:
            on_network(name)
        cells = _confirmed(candidate, rtl)
        add_confirmed(folder, {candidate.row["key"]: {column: str(cell) for column, cell in cells.items()}})
        shown = {name: candidate.row[name] for name in ("point", "model", "label", "cycles_dla")}
        found.append({**shown, **cells})
    return found


def _candidates(result: SweepResult, front: Sequence[Row]) -> Iterator[_Candidate]:
    """Each network on each machine, in the order of the front."""
    sources = _sources(result)
    rows = list(result.rows())
    networks = [row for row in rows if row["model"] != WORKLOAD and row["status"] == "ok"]
    by_machine = "machine" in result.columns
    for best in front:
        same = "machine" if by_machine else "point"
        for row in (row for row in networks if row[same] == best[same]):
            if row["model"] not in sources:
                raise InputError(
                    f"{result.path.with_name(ABOUT)} does not say where {row['model']} comes from"
                )
            values = {name: "" if row[name] is None else row[name] for name in names_in(result.columns)}
            known = catalogue()
            machine, _ = resolve({name: value for name, value in values.items() if name in known})
            choices = {name: values[name] for name in COMPILER_OPTIONS if name in values}
            if values["dla_ops"]:
                choices["dla_ops"] = values["dla_ops"].split("+")
            yield _Candidate(row, sources[row["model"]], machine, choices)


def _sources(result: SweepResult) -> dict[str, Source]:
    path = result.path.with_name(ABOUT)
    try:
        models = json.loads(read_file(path))["models"]
        return {label: _source(label, each) for label, each in models.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not that of a sweep or a search") from None


def _source(label: str, given: Mapping[str, Any]) -> Source:
    arguments = tuple((name, value) for name, value in given["arguments"])
    return Source(label, given["path"], given["topology"], arguments)


def _confirmed(candidate: _Candidate, rtl: bool) -> dict[str, Any]:
    """What comparing and the RTL give; where one cannot be, why."""
    cells: dict[str, Any] = {
        "verified": _verified(candidate),
        "rtl": "",
        "rtl_cycles_dla": "",
        "rtl_ratio": "",
    }
    if rtl:
        try:
            cells |= _on_rtl(candidate)
        except DlasimError as error:
            cells["rtl"] = _line(error)
    return cells


def _verified(candidate: _Candidate) -> str:
    try:
        found = api.verify(candidate.source.file(), candidate.machine, **candidate.choices)
    except DlasimError as error:
        return _line(error)
    return (
        EQUAL
        if found.passed
        else f"differs: {_line(getattr(found, 'mismatch', None) or 'see dlasim verify')}"
    )


def _on_rtl(candidate: _Candidate) -> dict[str, Any]:
    """Outputs and cycles of the RTL against those of the simulator."""
    file, machine = candidate.source.file(), candidate.machine
    here = api.run(file, machine, **candidate.choices)
    board = api.run(file, machine, host="riscv", host_options={"dla": "rtl"}, **candidate.choices)
    same = all(np.array_equal(one, other) for one, other in zip(here.outputs, board.outputs, strict=True))
    took = board.report["rtl"]
    return {
        "rtl": EQUAL if same else "outputs differ",
        "rtl_cycles_dla": took["cycles"],
        "rtl_ratio": round(took["cycles"] / took["simulator_cycles"], 4) if took["simulator_cycles"] else "",
    }


def _line(text: object) -> str:
    return " ".join(str(text).split())
