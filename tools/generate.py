"""Writes every file that is generated from the tables; with --check, says what differs and fails.

A new one is a line in FILES: where it lies in the repository, and what makes its text.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path

from dlasim.isa.documents import c_entry, pages
from dlasim.vp import generate as board

ROOT = Path(__file__).resolve().parent.parent
SHOWN_LINES = 20

FILES: dict[str, Callable[[], str]] = {
    **{f"docs/{name}": render for name, render in pages.PAGES.items()},
    **{f"firmware/include/{name}": render for name, render in c_entry.HEADERS.items()},
    "firmware/include/dlasim_board.h": board.c_header,
    "firmware/board.ld": board.linker_script,
}


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    if arguments not in ([], ["--check"]):
        print("usage: python tools/generate.py [--check]", file=sys.stderr)
        return 2
    stale = {path: text for path, make in FILES.items() if (text := make()) != _current(path)}
    for path, text in stale.items():
        if arguments:
            _show_difference(path, text)
        else:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    if arguments and stale:
        print(f"{len(stale)} generated files are stale: run `make docs`", file=sys.stderr)
    return 1 if arguments and stale else 0


def _current(path: str) -> str | None:
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.exists() else None


def _show_difference(path: str, text: str) -> None:
    lines = difflib.unified_diff(
        (_current(path) or "").splitlines(),
        text.splitlines(),
        path,
        f"{path}, generated anew",
        lineterm="",
        n=1,
    )
    shown = list(lines)
    print("\n".join(shown[:SHOWN_LINES]))
    if len(shown) > SHOWN_LINES:
        print(f"… and {len(shown) - SHOWN_LINES} lines more")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
