"""The recipe for adding an instruction, followed to the letter in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "docs" / "how-to" / "add-an-instruction.md"
PLACE = re.compile(
    r"<!-- (?P<file>[\w/.]+)(?:, (?P<table>\w+))? -->\s*```python\n(?P<code>.*?)```", re.DOTALL
)

USE = """
from dlasim.isa import codec
from dlasim.isa.assembly import assemble, disassemble
from dlasim.isa.documents import pages
from dlasim.isa.documents.c_isa import render

text = '''
.config pes=64 parallel=output sram=512KiB
.stream
    CFG OUT_CHANNELS, 4
    CFG IN2_ADDR, 16
    CFG OUT_ADDR, 32
    OP_E_XOR
    HALT
'''
program = assemble(text, "xor.s")
assert [codec.decode(int(word)).is_legal for word in program.commands] == [True] * 5
assert "OP_E_XOR" in disassemble(program)
assert "## OP_E_XOR" in pages.isa_page()
assert "dla_encode_op_e_xor" in render()
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, its links resolved, and the tests, with the recipe followed."""
    place = tmp_path_factory.mktemp("recipe")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "dlasim", place / "dlasim", ignore=ignored)
    shutil.copytree(ROOT / "tests", place / "tests", ignore=ignored)
    steps = list(PLACE.finditer(RECIPE.read_text(encoding="utf-8")))
    assert len(steps) == 4, "a row, a body, its binding and its test"
    for step in steps:
        file = step["file"] if step["file"].startswith("tests/") else f"dlasim/{step['file']}"
        insert(place / file, step["table"], unindented(step["code"]))
    return place


def unindented(code: str) -> str:
    """The code without the three columns that a list item adds."""
    return "".join(line.removeprefix("   ") for line in code.splitlines(keepends=True))


def insert(file: Path, table: str | None, code: str) -> None:
    """Put code at the end of a file, or at the end of a table in it."""
    text = file.read_text(encoding="utf-8")
    if table is None:
        file.write_text(f"{text}\n\n{textwrap.dedent(code)}", encoding="utf-8")
        return
    start = re.search(rf"^{table}\b.*[({{]\n", text, re.MULTILINE)
    assert start, f"{file} has no table {table}"
    end = re.compile(r"^[)}]$", re.MULTILINE).search(text, start.end())
    assert end
    file.write_text(text[: end.start()] + code + text[end.start() :], encoding="utf-8")


def run(tree: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_new_instruction_is_known_everywhere(tree: Path) -> None:
    run(tree, "-c", USE)


def test_its_random_test_passes(tree: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-k", "XOR"]
    run(tree, "-m", "pytest", *options, "tests/sim_engines/test_reference.py")


def test_the_tests_would_notice_a_wrong_body(tree: Path) -> None:
    file = tree / "dlasim/sim/reference/vector.py"
    right = file.read_text(encoding="utf-8")
    wrong = right.replace('context.view("IN") ^ context', 'context.view("IN") | context')
    assert wrong != right
    file.write_text(wrong, encoding="utf-8")
    try:
        with pytest.raises(AssertionError, match="1 failed"):
            test_its_random_test_passes(tree)
    finally:
        file.write_text(right, encoding="utf-8")
