"""Which machine a table speaks for: the front within the limits, the best, and the limits that bind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.charts.data import Row, Table, labels, parameters, value_text, varying
from dlasim.sweeps.charts.measures import Measure, describe
from dlasim.sweeps.definition.goals import NO_GOALS, Goals, Limit, joined, read_goals
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.results.fronts import front
from dlasim.sweeps.results.result_files import ABOUT, read_about

_COLUMNS = ("point", "label", "status", "reason")
_MAX_NAME = 100  # characters of a machine's name
_BETWEEN = "; "  # of limits in the column `outside`


def goals_of(result: Table) -> Goals:
    """The goals of the study whose table this is; none where its folder does not say."""
    about = read_about(result.path.parent)
    try:
        return read_goals(about.get("limits", ()), about.get("minimize", ()), ABOUT)
    except (InputError, TypeError, AttributeError):
        return NO_GOALS


def machines_of(rows: Sequence[Row]) -> list[Row]:
    """The rows of machines: of a workload, those of all networks together."""
    return [row for row in rows if row.get("model") == WORKLOAD] or list(rows)


def with_limits(rows: Sequence[Row], goals: Goals) -> None:
    """Note in the rows of each machine, under `outside`, the limits that it does not keep to."""
    machines: dict[Any, list[Row]] = {}
    for number, row in enumerate(rows):
        key = row.get("machine")
        machines.setdefault(("row", number) if key is None else key, []).append(row)
    for some in machines.values() if goals.limits else ():
        machine, networks = machines_of(some)[-1], {str(row.get("model")): row for row in some}
        broken = {*broken_limits(machine), *(limit.text for limit in goals.broken(machine, networks))}
        for row in some:
            row["outside"] = _BETWEEN.join(sorted(broken))


def columns_of(goals: Goals, columns: Sequence[str]) -> list[str]:
    """The columns that limits are judged by, of those that there are."""
    names = ("outside", "machine", *(name for limit in goals.limits for name in limit.condition.names))
    return [name for name in dict.fromkeys(names) if name in columns]


def broken_limits(row: Mapping[str, Any]) -> frozenset[str]:
    """The limits that the table says a row's machine does not keep to."""
    return frozenset(filter(None, str(row.get("outside") or "").split(_BETWEEN)))


class Decision:
    """What the machines of a table come to, by its goals."""

    def __init__(self, result: Table, more: Goals = NO_GOALS) -> None:
        """By the goals of the table's study, and by more."""
        self.goals = joined(goals_of(result), more)
        names = [one.name for one in self.objectives]
        missing = next((name for name in names if name not in result.columns), None)
        if missing:
            raise InputError(f"{result.path} has no column {missing}, which should be minimized")
        wanted = dict.fromkeys(
            (*_COLUMNS, *parameters(result), *names, *columns_of(self.goals, result.columns))
        )
        found = result.rows(*(name for name in wanted if name in result.columns))
        ran = [row for row in found if row["status"] == "ok"]
        if more.limits:
            with_limits(ran, more)
        self.machines = [row for row in machines_of(ran) if all(row[name] is not None for name in names)]
        """The rows of the machines on which everything runs."""

    @property
    def objectives(self) -> Sequence[Measure]:
        """What is minimized: cycles, if nothing is said."""
        return self.goals.objectives or (describe("cycles_total"),)

    @cached_property
    def within(self) -> list[Row]:
        """Those that keep to all limits."""
        return [row for row in self.machines if not broken_limits(row)]

    @cached_property
    def front(self) -> list[Row]:
        """Those of them that no other beats in all objectives, the best in the first objective first."""
        found = front(self.within, *self.objectives) if self.within else []
        return sorted(found, key=self._rank)

    @property
    def winner(self) -> Row | None:
        """The best in the first objective."""
        return self.front[0] if self.front else None

    @cached_property
    def binding(self) -> list[tuple[Limit, Row]]:
        """The limits without which another machine would win, with this machine."""
        found = []
        for limit in self.goals.limits:
            others = [row for row in self.machines if broken_limits(row) <= {limit.text}]
            best = min(others, key=self._rank, default=None)
            if best is not None and best is not self.winner and broken_limits(best):
                found.append((limit, best))
        return found

    def _rank(self, row: Row) -> tuple[float, ...]:
        return tuple(one.cost(row[one.name]) for one in self.objectives)

    def sentences(self) -> Iterator[str]:
        """The answer in words."""
        count, first = len(self.machines), self.objectives[0]
        if self.goals.limits:
            limits = ", ".join(limit.text for limit in self.goals.limits)
            yield f"{len(self.within):,} of {count:,} machines keep to {limits}"
        if self.winner is None:
            if count:
                yield self._nearest()
            return
        yield f"{self._best_text(first)}: {self.name(self.winner)}, {self.figures(self.winner)}"
        for limit, row in self.binding:
            yield f"{limit.text} binds: without it, {self.name(row)} with {self.figure(first, row)}"
        if self.goals.limits and not self.binding:
            yield self._without_limits()

    def _without_limits(self) -> str:
        """What to say where no limit binds alone."""
        best = min(self.machines, key=self._rank)
        if not broken_limits(best):
            return "no limit binds: the same machine wins without them"
        limits = " and ".join(sorted(broken_limits(best)))
        figure = self.figure(self.objectives[0], best)
        return f"{limits} bind together: without them, {self.name(best)} with {figure}"

    def _nearest(self) -> str:
        """What to say where no machine is within: the limit that most machines fail."""
        counts = {limit.text: sum(limit.text in broken_limits(row) for row in self.machines)
                  for limit in self.goals.limits}  # fmt: skip
        most = max(counts, key=lambda text: counts[text])
        return f"no machine keeps to all limits; {counts[most]:,} of {len(self.machines):,} break {most}"

    def _best_text(self, first: Measure) -> str:
        return f"{first.best_text} {first.text}" + (" within the limits" if self.goals.limits else "")

    def name(self, row: Row) -> str:
        """A machine by what tells it from the others."""
        return self._names.get(id(row)) or str(row["label"])

    @cached_property
    def _names(self) -> dict[int, str]:
        if not self.machines:
            return {}
        texts = labels(self.machines, "model", width=200)
        if max(map(len, texts)) > _MAX_NAME:  # its number tells more than a list of parameters
            texts = [f"{row['label']} #{row['point']}" for row in self.machines]
        return dict(zip(map(id, self.machines), texts, strict=True))

    @staticmethod
    def parameter(name: str, row: Row | None) -> str:
        """A parameter's value as text."""
        return "" if row is None else value_text(name, row[name])

    def figures(self, row: Row) -> str:
        """Its objectives, and what the limits are about."""
        return ", ".join(self.figure(one, row) for one in self.shown)

    @cached_property
    def shown(self) -> list[Measure]:
        """The figures that the goals are about."""
        of_limits = [name for limit in self.goals.limits if not limit.model and limit.edge
                     for name in limit.condition.names]  # fmt: skip
        names = dict.fromkeys([*(one.name for one in self.objectives), *of_limits])
        return [describe(name) for name in names]

    def figure(self, measure: Measure, row: Row) -> str:
        """A figure with its name and unit."""
        return f"{measure.text} {self.value(measure, row)}"

    @staticmethod
    def value(measure: Measure, row: Row) -> str:
        """A figure with its unit."""
        value = row.get(measure.name)
        if not isinstance(value, int | float):
            return value_text(measure.name, value)
        text = measure.writer([value])(measure.shown(value))
        return f"{text} {measure.unit}" if measure.axis != measure.text else text

    def sensitivity(self) -> Iterator[tuple[str, Row]]:
        """The machines that differ from the winner in one parameter, with this parameter; of many values the
        nearest below and above."""
        if self.winner is None:
            return
        winner = self.winner
        swept = [name for name in varying(self.machines, "model") if name in winner]
        grid = {"pes", "parallel"}  # a grid also says how many PEs there are
        for name in swept:
            kept = [other for other in swept if other != name and not {name, other} <= grid]
            others = [row for row in self.machines if row[name] != winner[name]
                      and all(row[other] == winner[other] for other in kept)]  # fmt: skip
            yield from ((name, row) for row in _nearest(others, name, winner[name]))

    def explanation(self) -> Iterator[tuple[str, str]]:
        """By parameter, what the machines of the front have: the same everywhere, or what changes from the
        best in the first objective to the best in the last."""
        if len(self.front) < 2:
            return
        swept = [name for name in varying(self.machines, "model") if name != "case"]
        for name in swept:
            values = list(dict.fromkeys(row[name] for row in self.front))
            texts = [value_text(name, value) for value in values]
            shared = len(values) == 1
            yield name, f"{texts[0]} everywhere" if shared else " → ".join(_few(texts))


def _nearest(rows: list[Row], name: str, value: Any) -> list[Row]:
    """Of rows with numbers, the nearest below and above; all others."""
    if isinstance(value, str):
        return rows
    below, above = ([row for row in rows if (row[name] < value) == is_below] for is_below in (True, False))
    lower = [max(below, key=lambda row: row[name])] if below else []
    return lower + ([min(above, key=lambda row: row[name])] if above else [])


def _few(texts: list[str], most: int = 8) -> list[str]:
    """Some of many, with the ends."""
    return texts if len(texts) <= most else [*texts[: most // 2], "…", *texts[-most // 2 + 1 :]]
