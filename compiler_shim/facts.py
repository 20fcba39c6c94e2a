"""Remembers what has been found for a network, or what was asked for last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

_Network = TypeVar("_Network")
_Found = TypeVar("_Found")


def once(find: Callable[[_Network], _Found]) -> Callable[[_Network], _Found]:
    """Find a fact about a network when it is first asked for, and remember it while the network is there."""
    known: WeakKeyDictionary[_Network, _Found] = WeakKeyDictionary()

    @wraps(find)
    def found(network: _Network) -> _Found:
        try:
            return known[network]
        except KeyError:
            fact = known[network] = find(network)
            return fact

    return found


class Recent(Generic[_Found]):
    """What was found for the `most` keys that were asked for last."""

    def __init__(self, most: int) -> None:
        self._most, self._known = most, OrderedDict[Hashable, _Found]()

    def get(self, key: Hashable, find: Callable[[], _Found]) -> _Found:
        """What is known for a key, or else what is found now."""
        if key not in self._known:
            found = self._known[key] = find()
            if len(self._known) > self._most:
                self._known.popitem(last=False)
            return found
        self._known.move_to_end(key)
        return self._known[key]
