"""Writes every file that is generated from the tables; with --check, says what differs and fails.

A new one is a line in FILES: where it lies in the repository, and what makes its text.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from generators import (
    api_page,
    board_files,
    c_headers,
    choices_module,
    command_page,
    figures_page,
    graph_page,
    operators_page,
    pages,
    parameters_page,
    planner_page,
    port_page,
    report_schema,
    report_types_module,
    rtl_page,
    sv_package,
    tops_table,
)

ROOT = Path(__file__).resolve().parent.parent
SHOWN_LINES = 20

FILES: dict[str, Callable[[], str]] = {
    **{f"docs/{name}": render for name, render in pages.PAGES.items()},
    **{f"firmware/include/{name}": render for name, render in c_headers.HEADERS.items()},
    "firmware/include/dlasim_board.h": board_files.c_header,
    "firmware/include/dlasim_launch.h": board_files.launch_header,
    "firmware/board.ld": board_files.linker_script,
    f"rtl/{sv_package.FILE_NAME}": sv_package.render,
    "docs/operators.md": operators_page.page,
    "docs/graph-format.md": graph_page.page,
    "docs/cli.md": command_page.page,
    "dlasim/choices.py": choices_module.module,
    "sim/reports/report_types.py": report_types_module.module,
    "docs/report.schema.json": report_schema.text,
    "docs/api.md": api_page.page,
    "docs/figures.md": figures_page.page,
    "docs/parameters.md": parameters_page.page,
    "docs/sram-ports.md": port_page.page,
    "docs/rtl.md": rtl_page.page,
    "docs/area.md": tops_table.page,
    "docs/planner.md": planner_page.page,
}


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    if arguments not in ([], ["--check"]):
        print("usage: python tools/generate.py [--check]", file=sys.stderr)
        return 2
    stale = {path: text for path, make in FILES.items() if (text := make()) != _current(path)}
    if not arguments:
        _write(stale)
        if any(path.endswith(".py") for path in stale):  # others are made from it, and it was imported before
            os.execv(sys.executable, [sys.executable, __file__])
        return 0
    for path, text in stale.items():
        _show_difference(path, text)
    if stale:
        print("generated files are stale: run `make docs`", file=sys.stderr)
    return 1 if stale else 0


def _write(texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")


def _current(path: str) -> str | None:
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.exists() else None


def _show_difference(path: str, text: str) -> None:
    lines = difflib.unified_diff(
        (_current(path) or "").splitlines(),
        text.splitlines(),
        path,
        f"{path}, generated again",
        lineterm="",
        n=1,
    )
    shown = list(lines)
    print("\n".join(shown[:SHOWN_LINES]))
    if len(shown) > SHOWN_LINES:
        print(f"… and {len(shown) - SHOWN_LINES} lines more")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
