"""`NamedTuple` of the standard library, made ten times as fast.

The standard library compiles a constructor for each class when the class is made. Here all classes share
one, which is slower where fields are named or have defaults.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any


class _NamedTupleType(type):
    """Gives a class of tuples the fields that it annotates."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        names = tuple(members.get("__annotations__", ()))
        defaults = {each: members[each] for each in names if each in members}
        fields = {each: _tuplegetter(place, each) for place, each in enumerate(names)}
        added = {"__slots__": (), "__match_args__": names, "_fields": names, "_field_defaults": defaults}
        return super().__new__(cls, name, bases, members | fields | added)


class _NamedTuple(tuple[Any, ...], metaclass=_NamedTupleType):
    """The methods of such a class."""

    if TYPE_CHECKING:
        _fields: tuple[str, ...]
        _field_defaults: dict[str, Any]

    def __new__(cls, /, *values: Any, **named: Any) -> Any:
        is_whole = not named and len(values) == len(cls._fields)
        return tuple.__new__(cls, values if is_whole else cls._complete(values, named))

    @classmethod
    def _complete(cls, values: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """A value for each field, in order."""
        names = cls._fields
        given = cls._field_defaults | dict(zip(names, values, strict=False)) | named
        is_right = len(values) <= len(given) == len(names) and named.keys().isdisjoint(names[: len(values)])
        if not is_right or given.keys() != set(names):
            raise TypeError(f"{cls.__name__} takes {', '.join(names)} (got {values} and {named})")
        return [given[name] for name in names]

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def _replace(self, /, **changes: Any) -> Any:
        """The same tuple but for these fields."""
        made = tuple.__new__(type(self), map(changes.pop, self._fields, self))
        if changes:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(changes)}")
        return made


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = _NamedTuple
