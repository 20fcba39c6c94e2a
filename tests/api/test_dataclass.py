"""dlasim's `dataclass` is that of the standard library, made sooner."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from itertools import combinations
from typing import Any, TypeVar

import pytest

from dlasim.dataclass import dataclass as ours

_Class = TypeVar("_Class")
KINDS = [
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True, "slots": True, "eq": False, "weakref_slot": True},
    {"frozen": True},
    {"slots": True},
    {"slots": True, "repr": False},
]


def _class(dataclass: Callable[..., Any], **options: bool) -> Any:
    """A class with every kind of field that dlasim uses."""

    @dataclass(**options)
    class Point:
        first: int
        second: int = 2
        names: list[str] = field(default_factory=list)
        remark: str = field(default="", compare=False, repr=False)

        def __post_init__(self) -> None:
            assert self.first != 99, "refused"

    return Point


def _said(function: Callable[..., object], *arguments: Any, **named: Any) -> tuple[str, str]:
    """What a call returns or raises."""
    try:
        return "", repr(function(*arguments, **named))
    except Exception as error:
        return type(error).__name__, str(error).split("__init__")[-1]


CALLS = [(), (1,), (1, 3), (1, 3, ["a"]), (2,), (1, 2, [], "x"), (1, 2, [], "x", 5), (99,)]


@pytest.mark.parametrize("options", KINDS)
def test_instances_are_made_shown_and_refused_alike(options: dict[str, bool]) -> None:
    theirs, mine = _class(dataclasses.dataclass, **options), _class(ours, **options)
    if not options.get("repr", True):
        theirs.__repr__ = mine.__repr__ = lambda self: f"{self.first} {self.second} {self.names}"
    for arguments in CALLS:
        assert _said(mine, *arguments) == _said(theirs, *arguments)
    for named in ({"first": 1}, {"first": 1, "names": ["b"]}, {"second": 1}, {"first": 1, "third": 1}):
        assert _said(mine, **named) == _said(theirs, **named)
    assert mine.__match_args__ == theirs.__match_args__
    assert mine(1).names is not mine(1).names


@pytest.mark.parametrize("options", KINDS)
def test_they_compare_alike(options: dict[str, bool]) -> None:
    theirs, mine = _class(dataclasses.dataclass, **options), _class(ours, **options)
    for left, right in combinations([each for each in CALLS if 1 <= len(each) <= 4 and each != (99,)], 2):
        both = [(kind(*left), kind(*right)) for kind in (theirs, mine)]
        assert both[0][0].__eq__(both[0][1]) == both[1][0].__eq__(both[1][1])
        for operation in ("__lt__", "__le__", "__gt__", "__ge__"):
            expected, found = (getattr(one, operation)(other) for one, other in both)
            assert expected == found
    assert mine(1) != theirs(1)
    assert _said(hash, mine(1))[0] == _said(hash, theirs(1))[0]


def test_equal_ones_have_the_same_hash() -> None:
    @ours(frozen=True, slots=True)
    class Pair:
        left: int
        right: int

    @ours(frozen=True, slots=True)
    class Single:
        only: float

    assert {Pair(1, 2), Pair(1, 2), Pair(2, 1)} == {Pair(2, 1), Pair(1, 2)}
    unequal = float("nan")
    assert Single(unequal) == Single(unequal), "as for tuples, the same object is equal"
    assert len({Single(1.0), Single(1.0)}) == 1


def test_frozen_ones_cannot_change_but_be_replaced() -> None:
    point = _class(ours, frozen=True, slots=True)(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        point.first = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'first'"):
        del point.first
    assert replace(point, first=3).first == 3
    assert [each.name for each in fields(point)] == ["first", "second", "names", "remark"]
    assert dataclasses.asdict(point) == {"first": 1, "second": 2, "names": [], "remark": ""}


@ours(frozen=True, slots=True)
class Stored:
    """A class that pickle finds."""

    number: int
    text: str = "x"


@ours(frozen=True, slots=True)
class Derived(Stored):
    """One with a field more."""

    more: int = 7


@ours(slots=True)
class Late:
    """One with a field that is set later."""

    number: int
    rest: int = field(init=False)

    def __post_init__(self) -> None:
        self.rest = self.number + 1


@pytest.mark.parametrize("item", [Stored(1), Derived(1, "y", 2), Derived(3), Late(4)])
def test_they_can_be_pickled_and_copied(item: object) -> None:
    assert pickle.loads(pickle.dumps(item)) == item
    assert copy.deepcopy(item) == item


def test_methods_of_the_class_are_kept() -> None:
    @ours(frozen=True, slots=True)
    class Own:
        number: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
    assert hash(Own(1)) == hash(Own(1)) != hash(Own(2))
