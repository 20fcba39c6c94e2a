"""dlasim's `NamedTuple` is that of the standard library, made sooner."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from typing import NamedTuple as Theirs

import pytest

from dlasim.named_tuple import NamedTuple


class Point(NamedTuple):
    """A class that pickle finds."""

    first: int
    second: int = 2
    third: str = "x"

    @property
    def total(self) -> int:
        """A property of its own."""
        return self.first + self.second


class TheirPoint(Theirs):
    """The same by the standard library."""

    first: int
    second: int = 2
    third: str = "x"


RIGHT: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 3), {}),
    ((1, 3, "y"), {}),
    ((1,), {"third": "z"}),
    ((), {"second": 5, "first": 4}),
]
WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((), {"second": 1}),
    ((1, 2, "x", 4), {}),
    ((1,), {"first": 1}),
    ((1,), {"fourth": 1}),
    ((), {"second": 1, "third": "x", "fourth": 1}),
]


@pytest.mark.parametrize(("arguments", "named"), RIGHT)
def test_what_is_made_and_shown_is_alike(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    mine, theirs = Point(*arguments, **named), TheirPoint(*arguments, **named)
    assert tuple(mine) == tuple(theirs)
    assert hash(mine) == hash(theirs)
    assert repr(mine) == repr(theirs).removeprefix("Their")
    assert (mine.first, mine.second, mine.third) == theirs
    assert mine.total == theirs.first + theirs.second
    assert mine._replace(second=9) == theirs._replace(second=9)
    assert type(mine._replace(third="a")) is Point
    for kept in (pickle.loads(pickle.dumps(mine)), copy.deepcopy(mine)):
        assert kept == mine
        assert type(kept) is Point


@pytest.mark.parametrize(("arguments", "named"), WRONG)
def test_the_same_is_refused(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Point, TheirPoint):
        with pytest.raises(TypeError):
            kind(*arguments, **named)


def test_fields_are_fixed() -> None:
    assert Point._fields == TheirPoint._fields == Point.__match_args__
    with pytest.raises(AttributeError):
        Point(1).first = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Point(1).fourth = 2  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="has no field fourth"):
        Point(1)._replace(fourth=2)  # type: ignore[call-arg]
