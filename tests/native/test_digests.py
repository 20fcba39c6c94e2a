"""Which edits change machine code: those of what is compiled, and not those of its words."""

import sys
from pathlib import Path

import pytest

from dlasim.native import library
from dlasim.native.build import build_object, lower, meaning_of
from dlasim.native.digests import digest_of, source_files
from dlasim.native.unit import CodeUnit
from tests.native.tiny import SUMS

SOURCE = '''
"""A module."""

from dlasim.native.routine import routine

FACTOR = 3


@routine
def helped(number: int) -> int:
    """Three times a number."""
    return number * FACTOR


@routine
def entry(number: int) -> int:
    return helped(number) + 1


def apart() -> str:
    return "not compiled"
'''
SAME = {
    "a comment": ("FACTOR = 3", "FACTOR = 3  # so many"),
    "a docstring": ("Three times a number.", "Thrice a number."),
    "a new docstring": ("    return helped", '    """One more."""\n    return helped'),
    "blank lines": ("FACTOR = 3", "\n\n\nFACTOR = 3"),
    "another function": ('"not compiled"', '"nor is this"'),
    "a number written otherwise": ("= 3", "= 0x3"),
}
OTHER = {
    "a constant": ("= 3", "= 4"),
    "a callee": ("number * FACTOR", "number + FACTOR"),
    "the routine": ("+ 1", "+ 2"),
}


def meaning(folder: Path, name: str, source: str) -> str:
    (folder / f"{name}.py").write_text(source)
    sys.modules.pop(name, None)
    return meaning_of(lower(CodeUnit("entry", name, "entry")).replace(name, "module"))


@pytest.mark.parametrize("edit", SAME)
def test_other_words_mean_the_same(edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = SOURCE.replace(*SAME[edit])
    assert source != SOURCE
    assert meaning(tmp_path, "before_words", SOURCE) == meaning(tmp_path, f"after_{abs(hash(edit))}", source)


@pytest.mark.parametrize("edit", OTHER)
def test_other_code_means_something_else(edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = SOURCE.replace(*OTHER[edit])
    assert meaning(tmp_path, "before_code", SOURCE) != meaning(tmp_path, f"after_{abs(hash(edit))}", source)


def test_what_means_the_same_is_not_compiled() -> None:
    assert build_object(SUMS.unit, meaning_of(lower(SUMS.unit))) == b""
    assert build_object(SUMS.unit, "another meaning") != b""


def test_the_files_are_those_that_a_module_imports() -> None:
    names = {file.name for file in source_files("dlasim.sim.timing.issue")}
    assert {"issue.py", "contention.py", "instruction_rows.py", "record.py", "routine.py"} <= names
    assert not names & {"cost.py", "planner.py", "translator.py"}


def test_each_byte_and_name_counts(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("1")
    other.write_text("1")
    digests = {digest_of([one]), digest_of([other]), digest_of([one, other])}
    one.write_text("2")
    assert len(digests | {digest_of([one])}) == 4


def test_a_cached_object_is_for_one_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    before = library.file_name(SUMS.unit)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1")
    assert library.file_name(SUMS.unit) != before
