"""Sizes in bytes, and limits, as people write them."""

from __future__ import annotations

import re

KIB = 1024
MIB = 1024 * KIB
SIZE_FORM = "a size such as 512KiB, 1M or 65536"
UNLIMITED = "unlimited"
_UNITS = {"": 1, "K": KIB, "M": MIB, "G": 1024 * MIB}
_SIZE = re.compile(r"(\d{1,18})(?:([KMG])(?:I?B)?|B)?", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int | None:
    """The bytes of `512KiB`, `512K`, `512KB`, `1G` or `65536` (K is 1024); None if it is not a size."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(match[1]) * _UNITS[(match[2] or "").upper()]


def size_text(size: int) -> str:
    """A size in its shortest exact form: 512K, 1M, 100."""
    for unit, letter in ((MIB, "M"), (KIB, "K")):
        if size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)
