"""How exact docs/timing-model.md says that the model is: the tests take their limits from its table."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "timing-model.md"
_ROW = re.compile(r"^\| ([^|]+) \| (\d+) % \| (\d*) ?\|$", re.MULTILINE)


@cache
def limits() -> dict[str, tuple[float, int]]:
    """By what is compared: the share of the stepped machine's cycles, and the cycles, that may be lacking."""
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {what: (int(share) / 100, int(cycles or 0)) for what, share, cycles in rows}


def is_within(ours: int, stepped: int, what: str) -> bool:
    """Whether the larger of both limits of a row holds."""
    share, cycles = limits()[what]
    return abs(ours - stepped) <= max(share * stepped, cycles)
