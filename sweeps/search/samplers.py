"""What proposes machines to a search: ours, which walks from the front, or one of Optuna's.

A machine is a place in the space: for each axis, the number of a value. A sampler is asked for places and
told what they cost; its proposals depend on its seed and on these answers only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from importlib import import_module
from random import Random
from typing import Any, Protocol

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.installation import extra_command

Place = tuple[int, ...]
SAMPLERS = ("auto", "walk", "nsga2", "tpe", "random")
_FIRST_SHARE = 0.1  # of the evaluations: random places, of which the walk starts
_TRIES = 200  # for a place that is new
_CROSS, _JUMP = 0.25, 0.15  # of the walk's proposals: of two parents, and with a value from anywhere


@dataclass(frozen=True)
class SearchAxis:
    """An axis of the space: how many values it has, and whether neighbours are alike."""

    name: str
    count: int
    is_ordered: bool


@dataclass(frozen=True)
class Answer:
    """What a machine costs: its objectives, None if it does not run; and how far it is outside the limits."""

    costs: tuple[float, ...] | None
    excess: float = 0.0


class Sampler(Protocol):
    """Proposes places; an object of your own may be one."""

    def ask(self, count: int) -> list[Place]:
        """So many places to evaluate."""

    def tell(self, place: Place, answer: Answer) -> None:
        """What a place costs; called for all that were asked for, in this order."""


def make_sampler(name: str, axes: Sequence[SearchAxis], objectives: int, seed: int, budget: int) -> Sampler:
    """The sampler of that name."""
    if name in ("auto", "walk"):
        return WalkSampler(axes, seed, budget)
    return (
        RandomSampler(axes, seed) if name == "random" else OptunaSampler(name, axes, objectives, seed, budget)
    )


class RandomSampler:
    """Places from anywhere, none twice."""

    def __init__(self, axes: Sequence[SearchAxis], seed: int) -> None:
        self._axes, self._random = axes, Random(seed)
        self._seen: set[Place] = set()

    def ask(self, count: int) -> list[Place]:
        """So many new places; fewer where there are no more."""
        return [place for _ in range(count) if (place := self._new(self._anywhere)) is not None]

    def tell(self, place: Place, answer: Answer) -> None:
        """It does not matter."""

    def _anywhere(self) -> Place:
        return tuple(self._random.randrange(axis.count) for axis in self._axes)

    def _new(self, propose: Any) -> Place | None:
        for _ in range(_TRIES):
            place: Place = propose()
            if place not in self._seen:
                self._seen.add(place)
                return place
        return None


class WalkSampler(RandomSampler):
    """Starts at random places, then steps from machines of the front to their neighbours.

    A step changes a parameter by one value; sometimes two machines of the front are mixed, or a parameter
    jumps. Machines outside the limits count as worse than all within, those that are further outside more.
    """

    def __init__(self, axes: Sequence[SearchAxis], seed: int, budget: int) -> None:
        super().__init__(axes, seed)
        self._first = max(int(budget * _FIRST_SHARE), 8)
        self._asked = 0
        self._front: list[tuple[Place, Answer]] = []
        self._tries: dict[Place, int] = {}  # how often a place was a parent

    def ask(self, count: int) -> list[Place]:
        """Random places first, then neighbours of the front."""
        found = []
        for _ in range(count):
            is_first = self._asked < self._first or not self._front
            place = self._new(self._anywhere if is_first else self._step)
            place = place or self._new(self._anywhere)
            if place is not None:
                found.append(place)
                self._asked += 1
        return found

    def tell(self, place: Place, answer: Answer) -> None:
        """Keep it if no machine of the front beats it, without those that it beats."""
        if answer.costs is None or any(_beats(other, answer) for _, other in self._front):
            return
        self._front = [pair for pair in self._front if not _beats(answer, pair[1])]
        self._front.append((place, answer))

    def _step(self) -> Place:
        parent = list(self._parent())
        if self._random.random() < _CROSS:
            other = self._parent()
            parent = [self._random.choice(pair) for pair in zip(parent, other, strict=True)]
        number = self._random.randrange(len(parent))
        axis = self._axes[number]
        if not axis.is_ordered or self._random.random() < _JUMP:
            parent[number] = self._random.randrange(axis.count)
        else:
            parent[number] += self._random.choice((-1, 1))
            parent[number] = min(max(parent[number], 0), axis.count - 1)
        return tuple(parent)

    def _parent(self) -> Place:
        """One of the front that was seldom a parent, so that the walk covers all of it."""
        some = self._random.sample(self._front, min(2, len(self._front)))
        place = min((place for place, _ in some), key=lambda place: self._tries.get(place, 0))
        self._tries[place] = self._tries.get(place, 0) + 1
        return place


def _beats(one: Answer, other: Answer) -> bool:
    """Whether a machine is within the limits, or less far outside, or else as good in all and equal or better
    in each objective."""
    if one.excess != other.excess:
        return one.excess < other.excess
    assert one.costs is not None
    assert other.costs is not None
    return all(mine <= its for mine, its in zip(one.costs, other.costs, strict=True))


class OptunaSampler:
    """One of Optuna's samplers, for several objectives and with limits as constraints."""

    def __init__(
        self, name: str, axes: Sequence[SearchAxis], objectives: int, seed: int, budget: int
    ) -> None:
        self._optuna = _optuna()
        self._axes = axes
        self._trials: dict[int, tuple[Any, Place]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it calls some of these experimental
            sampler = self._sampler(name, seed, budget)
            self._study = self._optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)

    def ask(self, count: int) -> list[Place]:
        """So many places, perhaps known ones."""
        return [self._ask() for _ in range(count)]

    def tell(self, place: Place, answer: Answer) -> None:
        """Tell the oldest trial that asked for this place."""
        number = next(number for number, (_, asked) in self._trials.items() if asked == place)
        trial, _ = self._trials.pop(number)
        trial.set_user_attr("excess", answer.excess)
        if answer.costs is None or not all(map(math.isfinite, answer.costs)):
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, answer.costs)

    def _ask(self) -> Place:
        trial = self._study.ask()
        place = tuple(
            trial.suggest_int(axis.name, 0, axis.count - 1)
            if axis.is_ordered
            else trial.suggest_categorical(axis.name, list(range(axis.count)))
            for axis in self._axes
        )
        self._trials[trial.number] = trial, place
        return place

    def _sampler(self, name: str, seed: int, budget: int) -> Any:
        samplers = self._optuna.samplers

        def constraints(trial: Any) -> tuple[float]:
            return (trial.user_attrs.get("excess", 0.0),)

        if name == "nsga2":
            size = max(min(budget // 12, 80), 8)
            return samplers.NSGAIISampler(population_size=size, seed=seed, constraints_func=constraints)
        return samplers.TPESampler(seed=seed, constraints_func=constraints, multivariate=True)


def _optuna() -> Any:
    try:
        optuna = import_module("optuna")
    except ImportError:
        raise InputError(
            f"this sampler needs Optuna; run {extra_command('search')}, or take --sampler walk"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
