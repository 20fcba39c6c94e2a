"""Puts today's figures into a page: replaces lines of output that differ in numbers only (`make golden`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_NUMBER = r"\d[\d,.]*"
_NUMERIC = re.compile(rf"([(±+−-]*)({_NUMBER})([)%,;:]*)")


def refresh(page: Path, expected: Iterable[str], actual: str) -> None:
    """Replace each expected line by the line of the output that has other numbers but the same words."""
    text = page.read_text(encoding="utf-8")
    lines = iter(actual.splitlines())
    for wanted in expected:
        pattern = re.compile(_shape(wanted))
        found = next((match[0] for line in lines if (match := pattern.search(line.strip()))), None)
        if found is not None and "…" not in wanted and found.split() != wanted.split():
            text = text.replace(wanted, found, 1)
    page.write_text(text, encoding="utf-8")


def _shape(line: str) -> str:
    """A pattern for the line with any numbers and any space."""
    words = (_word(word) for word in line.split())
    return r"\s+".join(words)


def _word(word: str) -> str:
    """A word that is a number may change, with the signs around it; digits within names stay."""
    if "…" in word:
        return ".*".join(map(re.escape, word.split("…")))
    before, number, after = _NUMERIC.fullmatch(word).groups() if _NUMERIC.fullmatch(word) else (word, "", "")
    return re.escape(before) + (_NUMBER if number else "") + re.escape(after)
