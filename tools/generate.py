"""Writes every file that is generated from the tables; with --check, says what differs and fails.

A new one is a line in FILES: where it lies in the repository, and what makes its text. The links in .typing,
which show type checkers the layout that is installed, are kept up to date here too.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from dlasim.cli import manual
from dlasim.compiler_shim import operators_page
from dlasim.isa.documents import c_entry, pages
from dlasim.vp import generate as board
from dlasim.vp import launch

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("isa", "sim", "vp", "firmware", "compiler_shim", "sweeps")
TYPING = ROOT / ".typing" / "dlasim"
SHOWN_LINES = 20

FILES: dict[str, Callable[[], str]] = {
    **{f"docs/{name}": render for name, render in pages.PAGES.items()},
    **{f"firmware/include/{name}": render for name, render in c_entry.HEADERS.items()},
    "firmware/include/dlasim_board.h": board.c_header,
    "firmware/include/dlasim_launch.h": launch.c_header,
    "firmware/board.ld": board.linker_script,
    "docs/operators.md": operators_page.page,
    "docs/cli.md": manual.page,
}


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    if arguments not in ([], ["--check"]):
        print("usage: python tools/generate.py [--check]", file=sys.stderr)
        return 2
    stale = {path: text for path, make in FILES.items() if (text := make()) != _current(path)}
    wrong_links = _links().items() ^ _current_links().items()
    if not arguments:
        _write(stale)
        _write_links()
        return 0
    for path, text in stale.items():
        _show_difference(path, text)
    for name in sorted({name for name, _ in wrong_links}):
        print(f".typing/dlasim/{name} is missing or leads to the wrong place")
    if stale or wrong_links:
        print("generated files are stale: run `make docs`", file=sys.stderr)
    return 1 if stale or wrong_links else 0


def _write(texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")


def _links() -> dict[str, str]:
    """What stands in .typing/dlasim, and where it leads."""
    own = [path.name for path in (ROOT / "dlasim").iterdir() if path.suffix in (".py", ".typed")]
    links = {name: f"../../dlasim/{name}" for name in (*own, "cli", "native")}
    return links | {folder: f"../../{folder}" for folder in FOLDERS}


def _current_links() -> dict[str, str]:
    return {path.name: os.readlink(path) for path in TYPING.iterdir() if path.is_symlink()}


def _write_links() -> None:
    wanted, current = _links(), _current_links()
    for name in current.keys() - wanted.keys():
        (TYPING / name).unlink()
    for name, target in wanted.items():
        if current.get(name) != target:
            (TYPING / name).unlink(missing_ok=True)
            (TYPING / name).symlink_to(target)
            print(f"linked .typing/dlasim/{name}")


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
