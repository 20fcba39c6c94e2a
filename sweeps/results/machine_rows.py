"""The rows of each machine of a sweep: those of its networks and, in a workload, that of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import groupby
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.sweeps.definition.goals import Goals
from dlasim.sweeps.definition.study import WORKLOAD, Point, Study
from dlasim.sweeps.definition.workload import all_demands, demands, together
from dlasim.sweeps.evaluation.evaluate import FIGURES, OK, Entry
from dlasim.sweeps.results.result_files import PENDING

NOT_DONE = Entry(PENDING, "not done yet")


@dataclass(slots=True)
class MachineRow:
    """A row of the table: its point, its entry, and what else is known of it by column."""

    point: Point
    entry: Entry
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """Parameters and figures by column."""
        figures = dict(zip(FIGURES, self.entry.figures, strict=True))
        return {"model": self.point.model, **self.point.values, **figures, **self.more}


def machine_rows(
    study: Study, points: Iterable[tuple[Point, Entry | None]], first: int
) -> Iterator[list[MachineRow]]:
    """The rows of each machine; the last is the one that the goals are about. Rows of workloads have numbers
    from `first` on."""
    goals = study.all_goals
    if not study.is_workload:
        for point, entry in points:
            yield _judged([_row(study, point, entry)], goals)
        return
    for number, (_, group) in enumerate(groupby(points, key=lambda pair: pair[0].machine), first):
        rows = [_row(study, point, entry) for point, entry in group]
        yield _judged([*rows, _workload_row(study, rows, number)], goals)


def _row(study: Study, point: Point, entry: Entry | None) -> MachineRow:
    """The row of a network."""
    row = MachineRow(point, entry or NOT_DONE)
    model = next(model for model in study.models if model.label == point.model)
    if study.is_workload:
        row.more["machine"] = point.machine
    if model.rate:
        row.more |= {"rate": model.rate, **demands(model, row.entry)}
    return row


def _workload_row(study: Study, rows: list[MachineRow], number: int) -> MachineRow:
    """The row of all networks of a machine."""
    entries = {row.point.model: row.entry for row in rows}
    found = [entries.get(model.label) for model in study.models]
    point = replace(rows[0].point, number=number, model=WORKLOAD)
    entry = together(study.models, found, point.values["pes"])
    return MachineRow(point, entry, {"machine": point.machine, **all_demands(study.models, found)})


def _judged(rows: list[MachineRow], goals: Goals) -> list[MachineRow]:
    """The rows of a machine, each with the limits that the machine does not keep to."""
    machine = rows[-1]
    if goals.limits and machine.entry.status == OK:
        networks: Mapping[str, Any] = {row.point.model: row.values for row in rows}
        broken = "; ".join(limit.text for limit in goals.broken(machine.values, networks))
        for row in rows:
            row.more["outside"] = broken
    return rows
