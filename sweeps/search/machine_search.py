"""Searches a space of machines too large to sweep: a sampler proposes, an Explorer evaluates.

Machines are proposed and evaluated in batches of a fixed size, and the sampler is told of them in the order
in which it proposed them. So a search gives the same table however many processes evaluate it, on a cluster,
and after an interruption: then it runs again from its start, and takes what was evaluated from the cache.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from math import inf, prod
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError, InputError, is_interrupt
from dlasim.sweeps.definition.axes import find
from dlasim.sweeps.definition.goals import Goals
from dlasim.sweeps.definition.study import Point, Study
from dlasim.sweeps.evaluation.evaluate import FAILED, REFUSED, Entry
from dlasim.sweeps.evaluation.explorer import Explorer, MachineResult
from dlasim.sweeps.evaluation.pool import Pool
from dlasim.sweeps.evaluation.progress import Progress
from dlasim.sweeps.evaluation.sweep import Outcome, Settings, make_folder
from dlasim.sweeps.results.journal import Journal
from dlasim.sweeps.results.result_files import ABOUT, RESULTS
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.results.sweep_tables import StatusCounts, SweepTables
from dlasim.sweeps.search.least_figures import LeastFigures
from dlasim.sweeps.search.samplers import Answer, Place, Sampler, SearchAxis, make_sampler
from dlasim.system.fileio import keep_apart

BATCH = 32  # machines that are proposed at a time
MAX_FRUITLESS = 64  # batches in a row of machines that are all known or discarded


@dataclass(slots=True)
class SearchOrder:
    """How to search: how many machines to evaluate, the sampler and its seed."""

    evaluations: int = 1000
    seed: int = 0
    sampler: str | Sampler = "auto"


@dataclass(slots=True)
class SearchState:
    """What a search has come to."""

    points: list[Point] = field(default_factory=list)
    machines: int = 0
    discarded: int = 0
    front: list[tuple[float, ...]] = field(default_factory=list)  # objectives of machines within the limits


def run_search(study: Study, settings: Settings, order: SearchOrder) -> Outcome:
    """Search the space of a study's axes for its goals, and write its tables."""
    study.check()
    return _MachineSearch(study, settings, order).run()


def space_size(study: Study) -> int:
    """How many machines the axes have."""
    return prod(len(values) for values in study.axes.values())


class _MachineSearch:
    def __init__(self, study: Study, settings: Settings, order: SearchOrder) -> None:
        if not study.goals.objectives:
            raise InputError("a search needs something to minimize, such as --minimize energy,area")
        self._study, self._settings, self._order = study, settings, order
        self._axes = {name: _in_order(values) for name, values in study.axes.items() if len(values) > 1}
        if not self._axes:
            raise InputError("a search needs parameters with several values, such as --pes 16,32,64")
        self._goals: Goals = study.all_goals
        self._is_partial = True
        self._state = SearchState()
        self._answers: dict[Place, Answer] = {}
        self._evaluated: set[Place] = set()
        self._began = time.perf_counter()
        size = space_size(study)
        self._budget = min(order.evaluations, size)
        given = order.sampler
        if not isinstance(given, str) and not (hasattr(given, "ask") and hasattr(given, "tell")):
            raise InputError(f"sampler must be the name of one, or have ask and tell (got {given!r:.80})")
        name = given if isinstance(given, str) else type(given).__name__
        facts = {"space": size, "evaluations": self._budget, "seed": order.seed, "sampler": name}
        self._about: dict[str, Any] = {"search": {**facts, "partial": ""}}
        axes = [
            SearchAxis(name, len(values), find(name, "").kind is not str)
            for name, values in self._axes.items()
        ]
        objectives = len(study.goals.objectives)
        self._sampler = (
            make_sampler(given, axes, objectives, order.seed, self._budget)
            if isinstance(given, str)
            else given
        )

    def run(self) -> Outcome:
        settings = self._settings
        keep_apart(self._study.files(), [settings.out / name for name in (RESULTS, ABOUT)])
        make_folder(settings.out)
        pool = Pool(settings.jobs, settings.scheduler, self._budget * len(self._study.models))
        try:
            with Journal(settings.cache or settings.out / "cache") as journal:
                if settings.resume:
                    journal.refresh()
                self._explorer = Explorer.of_study(self._study, journal, pool)
                self._tables = SweepTables(
                    self._study,
                    settings.out,
                    settings.command,
                    False,
                    self._explorer.blueprints,
                    self._about,
                )
                return self._complete(pool)
        finally:
            pool.close()

    def _complete(self, pool: Pool) -> Outcome:
        try:
            self._evaluate()
        except DlasimError as error:
            if not self._state.points:
                raise
            raise type(error)(f"{error}; {self._keep_what_is_done()}") from None
        except (KeyboardInterrupt, RuntimeError) as error:
            if not is_interrupt(error):
                raise
            pool.close()
            raise KeyboardInterrupt(self._keep_what_is_done()) from None
        if not self._state.points:
            raise InputError(self._nothing())
        self._is_partial = False
        counts = self._write()
        return Outcome(
            SweepResult(self._tables.results), len(self), 0, counts.statuses,
            counts.first.get(FAILED, ""), counts.first.get(REFUSED, ""),
            time.perf_counter() - self._began, self._state.discarded,
        )  # fmt: skip

    def _nothing(self) -> str:
        if self._state.discarded:
            return (f"none of {self._state.discarded:,} proposed machines can keep to the limits, by their "
                    "least time, energy and area")  # fmt: skip
        return f"study {self._study.name} has no points: its conditions exclude all"

    def _evaluate(self) -> None:
        least = LeastFigures(self._study.models, self._explorer.blueprints)
        with Progress(self._budget * len(self._study.models), 0, self._settings.visible) as progress:
            fruitless = 0
            while self._state.machines < self._budget and fruitless < MAX_FRUITLESS:
                done = self._state.machines
                places = self._sampler.ask(min(BATCH, self._budget - self._state.machines))
                if not places:
                    break  # there are no more
                self._answer(places, least, progress)
                fruitless = 0 if self._state.machines > done else fruitless + 1
                self._about["search"]["partial"] = self._partial()
                self._tables.refresh(self)
            self._evaluate_neighbours(progress)

    def _evaluate_neighbours(self, progress: Progress) -> None:
        """Those of the winner, however bad: they say what each parameter does, and which limit binds. One of
        them may win itself, or two steps from the winner together."""
        winner = None
        while (best := self._winner()) is not None and best != winner:
            winner = best
            self._evaluate_all(self._neighbours(winner), progress)
            if self._winner() == winner:
                self._evaluate_all(self._repaired(winner), progress)

    def _evaluate_all(self, places: Iterable[Place], progress: Progress) -> None:
        new: dict[Place, list[Point]] = {}
        for place in places:
            points = self._points_of(place, self._state.machines + len(new))
            if place not in self._evaluated and self._keeps(points):
                new[place] = points
        self._take_all(new, progress)

    def _repaired(self, winner: Place) -> list[Place]:
        """Places two steps from the winner, one of which alone is better but outside a limit, the other alone
        within all: at most a batch, those first that are the least outside."""
        least = self._cost(winner)
        costs = {place: self._cost(place) - least for place in self._neighbours(winner)}
        within = [place for place, cost in costs.items() if cost < inf and not self._answers[place].excess]
        pairs = [
            (self._answers[one].excess, cost + costs[other], _both(winner, one, other))
            for one, cost in costs.items()
            for other in within
            if cost < 0 and cost + costs[other] < 0
        ]
        return [place for *_, place in sorted(pairs) if place not in self._evaluated][:BATCH]

    def _cost(self, place: Place) -> float:
        """The first objective; infinite where it is not known."""
        answer = self._answers.get(place)
        return inf if answer is None or answer.costs is None else answer.costs[0]

    def _winner(self) -> Place | None:
        """The place within the limits that is the best in the first objective."""
        within = {
            place: answer.costs
            for place, answer in self._answers.items()
            if place in self._evaluated and answer.costs is not None and not answer.excess
        }
        return min(within, key=lambda place: within[place], default=None)

    def _neighbours(self, place: Place) -> Iterator[Place]:
        """Places that differ in one parameter, where values have an order by one step."""
        for number, values in enumerate(self._axes.values()):
            here = place[number]
            is_ordered = not isinstance(values[here], str)
            steps = (here - 1, here + 1) if is_ordered else range(len(values))
            for other in steps:
                if other != here and 0 <= other < len(values):
                    yield (*place[:number], other, *place[number + 1 :])

    def _answer(self, places: Sequence[Place], least: LeastFigures, progress: Progress) -> None:
        """Evaluate a batch of places, and tell the sampler of them."""
        new: dict[Place, list[Point]] = {}
        for place in dict.fromkeys(places):
            if place in self._answers:
                continue
            points = self._points_of(place, self._state.machines + len(new))
            answer = self._without_evaluation(points, least)
            if answer is None:
                new[place] = points
            else:
                self._answers[place] = answer
        self._take_all(new, progress)
        for place in places:
            self._sampler.tell(place, self._answers[place])

    def _take_all(self, new: Mapping[Place, Sequence[Point]], progress: Progress) -> None:
        all_points = [point for points in new.values() for point in points]
        progress.expect(len(all_points))
        evaluated = 0
        for results in self._explorer.entries(all_points):
            for point, _ in results:
                progress.add(None, point.label)
                evaluated += 1
        for _ in range(len(all_points) - evaluated):  # those that the cache has
            progress.skip()
        for place, points in new.items():
            self._take(place, points, progress)

    def _points_of(self, place: Place, machine: int) -> list[Point]:
        chosen = {
            name: values[number] for number, (name, values) in zip(place, self._axes.items(), strict=True)
        }
        return self._explorer.points(chosen, machine)

    def _keeps(self, points: Sequence[Point]) -> bool:
        return all(map(self._study.keeps, points))

    def _without_evaluation(self, points: Sequence[Point], least: LeastFigures) -> Answer | None:
        """The answer for a machine that a condition excludes, or that can neither keep to the limits nor beat
        those that do; None if it must be evaluated."""
        if not self._keeps(points):
            return Answer(None, inf)
        if points[0].refusal:
            return None
        figures = least.of(points[0].values)
        costs = tuple(float(figures.get(one.name, 0.0)) for one in self._goals.objectives)
        excess = sum(limit.excess(figures) for limit in self._goals.limits if limit.surely_fails(figures))
        if not excess and not any(_is_worse(costs, known) for known in self._state.front):
            return None
        self._state.discarded += 1
        return Answer(costs, excess)

    def _take(self, place: Place, points: Sequence[Point], progress: Progress) -> None:
        found = self._explorer.result(points)
        self._state.points += points
        self._state.machines += 1
        self._evaluated.add(place)
        answer = self._answers[place] = self._answer_of(found)
        if found.is_within and answer.costs is not None:
            self._state.front = [one for one in self._state.front if not _is_worse(one, answer.costs)]
            self._state.front.append(answer.costs)
        if found.is_within:
            progress.note(found.cycles, found.label)

    def _answer_of(self, found: MachineResult) -> Answer:
        if not found.ran:
            return Answer(None, inf)
        values = found.rows[-1].values
        if any(values[one.name] is None for one in self._goals.objectives):
            return Answer(None, inf)
        networks = {row.point.model: row.values for row in found.rows}
        return Answer(tuple(self._goals.costs(values)), self._goals.excess(values, networks))

    def _keep_what_is_done(self) -> str:
        settings = self._settings
        text = f"{self._state.machines:,} of {self._budget:,} machines done"
        if settings.is_temporary:
            return f"{text}; with out=FOLDER the next call would go on from there"
        with suppress(DlasimError):  # such as a full disk
            if self._state.points:
                self._write()
                text += f", see {self._tables.results}"
        again = "the same command" if settings.command else "the same call"
        return f"{text}; {again} goes on"

    def _write(self) -> StatusCounts:
        self._about["search"]["partial"] = self._partial()
        return self._tables.write(self)

    def _partial(self) -> str:
        done, wanted = self._state.machines, self._budget
        return f"partial: {done:,} of {wanted:,} machines" if self._is_partial and done < wanted else ""

    # The points of the table.

    def __len__(self) -> int:
        return len(self._state.points)

    def key(self, point: Point) -> str:
        """The content key of a point."""
        return self._explorer.key(point)

    def entries(self) -> Iterator[tuple[Point, Entry | None]]:
        """Every point with its entry."""
        for point in self._state.points:
            yield point, self._explorer.entry(point)


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Numbers ascending, so that neighbours are alike; words as they were given."""
    return list(values) if any(isinstance(value, str) for value in values) else sorted(values)


def _both(winner: Place, one: Place, other: Place) -> Place:
    """The place with the changes of both; where both change the same parameter, that of the second."""
    return tuple(mine if its == before else its for before, mine, its in zip(winner, one, other, strict=True))


def _is_worse(costs: Sequence[float], known: Sequence[float]) -> bool:
    """Whether a machine whose objectives are these or more is beaten by a known one."""
    return all(mine >= its for mine, its in zip(costs, known, strict=True)) and tuple(costs) != tuple(known)
