"""One machine at a time at the speed of a sweep: networks, plans and processes are kept between calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack, cast

from dlasim.arguments import checked
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.rows.row_table import RowTable
from dlasim.sweeps.definition.axes import find, parse, with_absolute_files
from dlasim.sweeps.definition.goals import as_texts, joined, read_goals
from dlasim.sweeps.definition.models import Blueprint, read_blueprints
from dlasim.sweeps.definition.study import Point, Study, make_point
from dlasim.sweeps.definition.study_builder import target_study
from dlasim.sweeps.evaluation.evaluate import FIGURES, OK, Entry, content_key
from dlasim.sweeps.evaluation.local import Result, Task
from dlasim.sweeps.evaluation.pool import FEW_POINTS, Pool
from dlasim.sweeps.results.journal import MISSING, Journal
from dlasim.sweeps.results.machine_rows import MachineRow, machine_rows

if TYPE_CHECKING:
    from dlasim.choices import Axes
    from dlasim.sim.reports.report_types import SweepRow

_MANY_POINTS = 1 << 12  # worker processes are not started for more than the computer has cores
Choice = Mapping[str, Any]
Workload = str | Path | Sequence[str | Path] | Mapping[str, float]


@dataclass(frozen=True)
class MachineResult:
    """What a machine takes for a workload: one row for all networks together, and one for each.

    `row` has the columns of a sweep. `outside` are the limits that the machine does not keep to.
    """

    rows: tuple[MachineRow, ...]

    @property
    def row(self) -> SweepRow:
        """Parameters and figures of all networks together; of a single network, its own."""
        return cast("SweepRow", self.rows[-1].values)

    @property
    def networks(self) -> RowTable[SweepRow]:
        """The rows of the networks."""
        count = max(len(self.rows) - 1, 1)
        return RowTable(cast("SweepRow", row.values) for row in self.rows[:count])

    @property
    def ran(self) -> bool:
        """Whether every network runs on it; else `reason` says why not."""
        return self.rows[-1].entry.status == OK

    @property
    def reason(self) -> str:
        """Why there are no figures."""
        return self.rows[-1].entry.reason

    @property
    def outside(self) -> tuple[str, ...]:
        """The limits that it does not keep to."""
        return tuple(filter(None, str(self.rows[-1].more.get("outside", "")).split("; ")))

    @property
    def is_within(self) -> bool:
        """Whether it runs and keeps to all limits."""
        return self.ran and not self.outside

    @property
    def label(self) -> str:
        """The machine by its SRAM, PEs and mode."""
        return self.rows[-1].point.label

    @property
    def cycles(self) -> int:
        """Cycles of a round of all networks."""
        return cast(int, self["cycles_total"])

    @property
    def milliseconds(self) -> float:
        """Their time at the machine's clock."""
        return cast(float, self["milliseconds"])

    @property
    def energy_nj(self) -> float:
        """Their energy."""
        return cast(float, self["energy_nj"])

    @property
    def area_kge(self) -> float:
        """The logic of the machine, in thousands of NAND2 gates."""
        return cast(float, self["area_kge"])

    def __getitem__(self, name: str) -> Any:
        if not self.ran and name in FIGURES:
            raise InputError(f"{self.label} has no {name}: {self.reason}")
        return self.rows[-1].values[name]

    def __repr__(self) -> str:
        if not self.ran:
            return f"<MachineResult {self.label}: {self.reason}>"
        outside = f", outside {'; '.join(self.outside)}" if self.outside else ""
        return f"<MachineResult {self.label}: {self.cycles:,} cycles = {self.milliseconds:g} ms{outside}>"


class Explorer:
    """Evaluates machines for networks, one with a call or many at once, as a sweep does.

    `workload` is a network, a list of them, a mapping to inferences per second, or a study. Further keywords
    hold for every machine. With `cache`, a folder, finished machines are kept.

    >>> import dlasim
    >>> with dlasim.Explorer(["mnist", "ds_cnn"], limits=["milliseconds < 2"], jobs=1) as explorer:
    ...     found = explorer(pes=64, sram="64KiB")
    ...     others = explorer.many([{"pes": 16}, {"pes": 32}])
    >>> found.is_within, [len(other.networks) for other in others]
    (True, [2, 2])
    """

    @checked()
    def __init__(
        self,
        workload: Workload,
        *,
        limits: str | Sequence[str] = (),
        minimize: str | Sequence[str] = (),
        jobs: int | None = None,
        scheduler: str | None = None,
        cache: str | Path | None = None,
        **fixed: Unpack[Axes],
    ) -> None:
        goals = read_goals(as_texts(limits), as_texts(minimize), "Explorer")
        study = target_study(_targets(workload))
        journal = None if cache is None else Journal(Path(cache))
        if journal is not None:
            journal.refresh()
        self._set_up(replace(study, goals=joined(study.goals, goals)), journal, jobs, scheduler)
        self._fixed |= dict(self._parsed(cast(Choice, fixed)))

    @classmethod
    def of_study(cls, study: Study, journal: Journal, pool: Pool) -> Explorer:
        """That of a study, with what others have opened, and close."""
        made = cls.__new__(cls)
        made._set_up(study, journal)
        made._pool = pool
        return made

    def _set_up(
        self, study: Study, journal: Journal | None, jobs: int | None = None, scheduler: str | None = None
    ) -> None:
        study.check()
        if len(study.cases) > 1:
            raise InputError(f"study {study.name} has cases; give their parameters axes of their own")
        self.study, self._journal = replace(study, together=True), journal
        single = {name: values[0] for name, values in study.axes.items() if len(values) == 1}
        self._fixed: dict[str, Any] = {**study.fixed, **single, **study.cases[0].values}
        self._jobs, self._scheduler = jobs, scheduler
        self._pool: Pool | None = None
        self._here = Pool(1, None, 1)
        self._blueprints: dict[str, Blueprint] | None = None
        self._entries: dict[str, Entry] = {}
        self._machines = 0

    def __enter__(self) -> Explorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, **choice: Unpack[Axes]) -> MachineResult:
        """The figures of one machine, evaluated in this process."""
        (found,) = self._evaluate([cast(Choice, choice)], here=True)
        return found

    def many(self, choices: Iterable[Choice]) -> list[MachineResult]:
        """The figures of several machines in their order, evaluated on all cores."""
        return self._evaluate(list(choices), here=False)

    def close(self) -> None:
        """Stop the worker processes, and flush the cache."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        if self._journal is not None:
            self._journal.close()

    @property
    def blueprints(self) -> dict[str, Blueprint]:
        """The networks, read on first use."""
        if self._blueprints is None:
            study = self.study
            self._blueprints = read_blueprints(study.models, study.numerics, study.runs_on_board)
        return self._blueprints

    def key(self, point: Point) -> str:
        """What a point's entry is kept by."""
        return content_key(self.blueprints[point.model].content, point.values)

    def points(self, choice: Choice, machine: int) -> list[Point]:
        """The points of a machine with this number: one for each network."""
        values = {**self._fixed, **dict(self._parsed(choice))}
        models = self.study.models
        return [
            make_point(machine * len(models) + number, "", model.label, values, machine)
            for number, model in enumerate(models)
        ]

    def entries(self, points: Sequence[Point], here: bool = False) -> Iterator[list[tuple[Point, Entry]]]:
        """Evaluate points that are not known yet; yields them as they come, and keeps them."""
        keys = [self.key(point) for point in points]
        self._look_up(keys)
        missing = {key: point for key, point in zip(keys, points, strict=True) if key not in self._entries}
        for key, point in list(missing.items()):
            if point.refusal:
                self._keep([(key, Entry("refused", point.refusal))])
                yield [(missing.pop(key), self._entries[key])]
        tasks = [
            Task(point.number, point.model, with_absolute_files(point.values), False, key, point.label)
            for key, point in missing.items()
        ]
        if not tasks:
            return
        for results in self._run(tasks, here):
            self._keep([(task.key, entry) for task, entry in results])
            yield [(missing[task.key], entry) for task, entry in results]

    def entry(self, point: Point) -> Entry | None:
        """What is known of a point."""
        return self._entries.get(self.key(point))

    def result(self, points: Sequence[Point]) -> MachineResult:
        """The machine of these points, all of which are known."""
        (rows,) = machine_rows(self.study, [(point, self.entry(point)) for point in points], 0)
        return MachineResult(tuple(rows))

    def _evaluate(self, choices: Sequence[Choice], here: bool) -> list[MachineResult]:
        first = self._machines
        self._machines += len(choices)
        machines = [self.points(choice, number) for number, choice in enumerate(choices, first)]
        for _ in self.entries([point for points in machines for point in points], here):
            pass
        return [self.result(points) for points in machines]

    def _run(self, tasks: Sequence[Task], here: bool) -> Iterator[list[Result]]:
        few = len(tasks) <= FEW_POINTS and self._pool is None and self._jobs is None
        if here or (few and self._scheduler is None):
            return self._here.run(self.blueprints, tasks)
        if self._pool is None:
            self._pool = Pool(self._jobs, self._scheduler, _MANY_POINTS)
        return self._pool.run(self.blueprints, tasks)

    def _look_up(self, keys: Sequence[str]) -> None:
        if self._journal is None:
            return
        new = [key for key in keys if key not in self._entries]
        for key, location in zip(new, self._journal.find(new, False), strict=True):
            if location != MISSING:
                self._entries[key] = self._journal.read(location)

    def _keep(self, items: Sequence[tuple[str, Entry]]) -> None:
        if self._journal is not None:
            self._journal.append(items)
        self._entries.update(items)

    def _parsed(self, choice: Choice) -> Iterator[tuple[str, Any]]:
        for name, raw in choice.items():
            parameter = find(name, "Explorer")
            yield parameter.name, parse(parameter, raw, "Explorer")


def _targets(workload: Workload) -> list[str]:
    if isinstance(workload, Mapping):
        return [f"{name}@{rate:.17g}" for name, rate in workload.items()]
    return [str(one) for one in ([workload] if isinstance(workload, str | Path) else workload)]
