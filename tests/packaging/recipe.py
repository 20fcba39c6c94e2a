"""A how-to followed to the letter in a copy of the tree: each piece of its code goes where the page says."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
_STEP = re.compile(
    r"<!-- (?P<file>[\w/.]+)(?:, (?P<before>before )?(?P<table>\w+))? -->\s*```python\n(?P<code>.*?)```",
    re.DOTALL,
)


def followed(page: str, place: Path, step_count: int, is_copied: bool = False) -> Path:
    """A copy of the tree with the steps of a how-to done."""
    if not is_copied:
        copied(place)
    steps = list(_STEP.finditer((ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")))
    assert len(steps) == step_count
    for step in steps:
        file = step["file"] if step["file"].startswith("tests/") else f"dlasim/{step['file']}"
        _insert(place / file, step["table"], bool(step["before"]), _unindented(step["code"]))
    return place


def copied(place: Path) -> Path:
    """A copy of the package, its links resolved, the tests and the tools."""
    for folder in ("dlasim", "tests", "tools"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def _unindented(code: str) -> str:
    """The code without the three columns that a list item adds."""
    return "".join(line.removeprefix("   ") for line in code.splitlines(keepends=True))


def _insert(file: Path, table: str | None, before: bool, code: str) -> None:
    """Put code at the end of a file, which may be new, before a table in it, or at the end of that table."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if table is None:
        file.write_text(f"{text}\n\n{textwrap.dedent(code)}", encoding="utf-8")
        return
    start = re.search(rf"^{table}\b.*[({{]\n", text, re.MULTILINE)
    assert start, f"{file} has no table {table}"
    if before:
        changed = f"{text[: start.start()]}{textwrap.dedent(code)}\n\n{text[start.start() :]}"
    else:
        end = re.compile(r"^[)}](?:  # fmt: skip)?$", re.MULTILINE).search(text, start.end())
        assert end
        changed = text[: end.start()] + code + text[end.start() :]
    file.write_text(changed, encoding="utf-8")


def rewrite(file: Path, text: str) -> None:
    """Change a module of the copy, and remove its bytecode.

    Python takes the old one for the new if both texts have one length and were written in one second.
    """
    file.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def run(tree: Path, *arguments: str) -> None:
    """Run Python on the copy; a failure is an AssertionError with its output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tools'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run_tests(tree: Path, *arguments: str) -> None:
    """Run tests of the copy."""
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *arguments)
