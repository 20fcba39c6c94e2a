"""Parts of error messages: lists of names, suggestions and ranges."""

from __future__ import annotations

from collections.abc import Iterable

from dlasim.errors import suggestion

_MAX_LISTED = 20


def joined(names: Iterable[str], word: str = "or") -> str:
    """`a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def suggestion_text(name: str, known: Iterable[str], what: str = "") -> str:
    """`; did you mean X?` if a known name is close; otherwise, given `what`, the known names if few."""
    names = list(known)
    hint = suggestion(name, names)
    if hint or not what or not 0 < len(names) <= _MAX_LISTED:
        return hint
    return f"; {what} {joined(names, 'and')}"


def must_be(lowest: int, highest: int) -> str:
    """`must be from 0 to 7`, `must be 0`."""
    return f"must be {lowest}" if lowest == highest else f"must be from {lowest} to {highest}"
