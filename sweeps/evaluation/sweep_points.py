"""The points of a sweep: each with its content key, and the place of its entry once it is done."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from dlasim.errors import InputError
from dlasim.sweeps.definition.models import Blueprint
from dlasim.sweeps.definition.study import Point, Study
from dlasim.sweeps.evaluation.evaluate import Entry, content_key
from dlasim.sweeps.results.journal import MISSING, Journal

BATCH = 1024
MAX_KEPT = 4096  # points; where there are more, each is made again whenever it is needed


class SweepPoints:
    """The points of a study in order, and what the journal knows of them."""

    def __init__(self, study: Study, blueprints: Mapping[str, Blueprint], journal: Journal) -> None:
        self._study, self._blueprints, self._journal = study, blueprints, journal
        self._locations = array("q")  # of each point's entry in the journal
        self._kept: list[Point] | None = None  # all points, unless there are too many
        self._keys: dict[int, str] = {}  # of points that are kept

    def look_up(self, with_layers: bool) -> None:
        """Find every point's entry in the journal."""
        points = self._study.points()
        first = list(islice(points, MAX_KEPT + 1))
        if len(first) <= MAX_KEPT:
            self._kept = first
        points = chain(first, points)
        while batch := list(islice(points, BATCH)):
            self._locations.extend(self._journal.find([self.key(point) for point in batch], with_layers))
        if not self._locations:
            raise InputError(f"study {self._study.name} has no points: its conditions exclude all")

    def __iter__(self) -> Iterator[Point]:
        return iter(self._study.points() if self._kept is None else self._kept)

    def __len__(self) -> int:
        return len(self._locations)

    @property
    def done(self) -> int:
        """How many have an entry."""
        return len(self._locations) - self._locations.count(MISSING)

    def key(self, point: Point) -> str:
        """The content key of a point."""
        if point.number in self._keys:
            return self._keys[point.number]
        key = content_key(self._blueprints[point.model].content, point.values)
        if self._kept is not None:
            self._keys[point.number] = key
        return key

    def missing(self) -> Iterator[Point]:
        """The points without an entry."""
        for point, location in zip(self, self._locations, strict=True):
            if location == MISSING:
                yield point

    def store(self, items: Iterable[tuple[int, str, Entry]]) -> None:
        """Write the entries of points, given by number and key, into the journal."""
        known = list(items)
        places = self._journal.append((key, entry) for _, key, entry in known)
        for (number, _, _), place in zip(known, places, strict=True):
            self._locations[number] = place

    def entries(self) -> Iterator[tuple[Point, Entry | None]]:
        """Every point with its entry; None if it has none yet."""
        for point, location in zip(self, self._locations, strict=True):
            yield point, None if location == MISSING else self._journal.read(location)
