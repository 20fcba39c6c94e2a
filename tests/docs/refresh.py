"""Puts today's figures into a page: replaces lines of output that differ in numbers only (`make golden`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_NUMBER = r"\d[\d,.]*"
_UNITS = (("B", "KiB", "MiB"), ("nJ", "µJ", "mJ"), ("ns", "µs", "ms", "s"))  # another size may need another
_NUMERIC = re.compile(rf"([(±+−-]*)({_NUMBER})([)%,;:]*)")


def refresh(page: Path, expected: Iterable[str], actual: str) -> None:
    """Replace each expected line by the line of the output that has other numbers but the same words.

    A cell that was empty, or is now, is a change that this does not make.
    """
    text = page.read_text(encoding="utf-8")
    lines = iter(actual.splitlines())
    for wanted in expected:
        is_printed = f"# {wanted}" in text  # behind a print(…): a whole line of the output
        pattern = re.compile(rf"^{_shape(wanted)}$" if is_printed else _shape(wanted))
        found = next((match[0] for line in lines if (match := pattern.search(line.strip()))), None)
        if found is not None and "…" not in wanted and found != wanted:
            before = "# " if is_printed else ""
            text = text.replace(before + wanted, before + found, 1)
    page.write_text(text, encoding="utf-8")


def _shape(line: str) -> str:
    """A pattern for the line with any numbers and any space."""
    words = (_word(word) for word in line.split())
    return r"\s+".join(words)


def _word(word: str) -> str:
    """A word that is a number may change, with the signs around it; digits within names stay."""
    units = next((alike for alike in _UNITS if word in alike), ())
    if units:
        return f"(?:{'|'.join(units)})"
    if not word.strip("─"):
        return "─+"
    if "…" in word:
        return ".*".join(map(re.escape, word.split("…")))
    if re.fullmatch(r"[x/]*\d[\dx/]*", word):  # a tile, or a number that may get a fraction
        return r"\d[\d,.x/]*"
    before, number, after = _NUMERIC.fullmatch(word).groups() if _NUMERIC.fullmatch(word) else (word, "", "")
    return re.escape(before) + (_NUMBER if number else "") + re.escape(after)
