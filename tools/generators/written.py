"""What is written of a page by hand: files in the folder `prose`."""

from __future__ import annotations

from pathlib import Path


def prose(name: str) -> str:
    """The text of a file."""
    return (Path(__file__).parent / "prose" / name).read_text(encoding="utf-8")
