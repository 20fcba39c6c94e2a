"""What proposes machines to a search: a walk from the front, or chance.

A machine is a place in the space: for each axis, the number of a value. A sampler is asked for places and
told what they cost; its proposals depend on its seed and on these answers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of

Place = tuple[int, ...]
SAMPLERS = ("walk", "random")
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


def make_sampler(given: str | Sampler, axes: Sequence[SearchAxis], seed: int, budget: int) -> Sampler:
    """The sampler of that name, or the one given."""
    if not isinstance(given, str):
        return given
    if given not in SAMPLERS:
        raise InputError(f"sampler must be {one_of(SAMPLERS)}, or have methods ask and tell (got {given!r})")
    return WalkSampler(axes, seed, budget) if given == "walk" else RandomSampler(axes, seed)


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
