"""Checks the arguments of public functions against their annotations: a wrong one is one clear line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, is_typeddict

from dlasim.errors import InputError, one_of

_P = ParamSpec("_P")
_T = TypeVar("_T")
# What may stand for a type, NumPy's numbers among them, and its name.
_BASIC: Mapping[Any, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: isinstance(value, bool) or type(value).__name__ == "bool", "True or False"),
    int: (lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"),
    float: (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    str: (lambda value: isinstance(value, str), "text"),
    Path: (lambda value: isinstance(value, Path), "a path"),
    type(None): (lambda value: value is None, "None"),
    Callable: (callable, "a function"),
}
_UNIONS = (UnionType, Union)
_HAS_REST = 4  # of a function's code: it has an argument such as *targets
_MOST_CHARACTERS = 80
# Counts from the least to the greatest, wherever they are arguments, and on the command line.
_MOST = 1_000_000
COUNTS = {
    "repeat": (1, _MOST),
    "runs": (0, _MOST),
    "top": (1, _MOST),
    "evaluations": (1, _MOST),
    "prompt": (1, _MOST),
    "jobs": (1, 4096),
}


def checked(*own: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Makes a function refuse arguments that its annotations do not allow, but for those that it checks on
    its own. Annotations that are imported for type checkers only are left out."""

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        code, hints = function.__code__, dict[str, Any]()
        known = code.co_argcount + code.co_kwonlyargcount
        rest = code.co_varnames[known] if code.co_flags & _HAS_REST else ""

        @wraps(function)
        def call(*arguments: _P.args, **keywords: _P.kwargs) -> _T:
            if not hints:  # on first use: importing dlasim imports nothing else
                hints.update(_hints(function, {*code.co_varnames[:known], rest} - set(own)))
            names = (*code.co_varnames[: code.co_argcount], *[rest] * len(arguments))
            for name, value in (*zip(names, arguments, strict=False), *keywords.items()):
                check(name, value, hints.get(name, Any))
            return function(*arguments, **keywords)

        return call

    return decorate


def check(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that the annotation does not allow."""
    if isinstance(value, str | Path) and "\0" in str(value):
        raise InputError(f"{name} must not have the character NUL (got {_shown(value)})")
    if not _fits(value, hint):
        raise InputError(f"{name} must be {one_of(_allowed(hint))} (got {_shown(value)})")
    if name in COUNTS and value is not None:
        least, most = COUNTS[name]
        if not least <= value <= most:
            raise InputError(f"{name} must be from {least} to {most} (got {_shown(value)})")


def check_fields(kind: type, values: Mapping[str, Any]) -> None:
    """Refuse values that the fields of a class do not allow."""
    hints = _hints(kind, set(values))
    for name, value in values.items():
        check(name, value, hints.get(name, Any))


def _hints(owner: Callable[..., Any], names: set[str]) -> dict[str, Any]:
    """The annotations of a function or a class that can be read, by name."""
    found = {}
    for name in names & owner.__annotations__.keys():
        try:
            found[name] = eval(owner.__annotations__[name], vars(sys.modules[owner.__module__]))
        except NameError:
            continue
    return found


def _fits(value: Any, hint: Any) -> bool:
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in _UNIONS:
        return any(_fits(value, part) for part in parts)
    if kind is Literal:
        return isinstance(value, str) and value in parts
    if kind in _BASIC:
        return _BASIC[kind][0](value)
    if kind is Sequence:
        is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return is_list and all(_fits(item, parts[0]) for item in value)
    if kind is Mapping:
        return isinstance(value, Mapping) and all(_fits(item, parts[1]) for item in value.values())
    return kind is Any or isinstance(value, dict if is_typeddict(kind) else kind)


def _allowed(hint: Any) -> list[str]:
    """What values the annotation allows: the parts of a union, each once."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in _UNIONS:
        return list(dict.fromkeys(text for part in parts for text in _allowed(part)))
    if kind is Literal:
        return [str(part) for part in parts]
    if kind is Sequence:
        return [f"a list of {' or '.join(_allowed(parts[0]))}"]
    if kind is Mapping or is_typeddict(kind):
        return ["a dictionary"]
    return [_BASIC[kind][1] if kind in _BASIC else f"a {kind.__name__}"]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else type(value).__name__
