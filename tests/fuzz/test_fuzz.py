"""A brief run of each target, and every input that once found a defect."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlasim.errors import InputError
from tests.fuzz.harness import CORPUS, DefectError, Target, attempt, fuzz
from tests.fuzz.targets import TARGETS

BRIEF = 120


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_taken_and_damage_is_refused(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert any(attempt(target, seed) for seed in seeds), "no seed reaches what lies behind the parser"
    _, defects = fuzz(target, BRIEF, seed=1)
    assert not defects


@pytest.mark.parametrize(
    "file", [file for target in TARGETS.values() for file in target.corpus()], ids=lambda file: file.name
)
def test_what_found_a_defect_finds_none(file: Path) -> None:
    attempt(TARGETS[file.parent.name], file.read_bytes())


def test_every_corpus_has_a_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} <= set(TARGETS)


def raising(error: Exception) -> Target:
    def check(data: bytes) -> None:
        raise error

    return Target("raising", lambda: [b""], check)


@pytest.mark.parametrize(
    "error", [KeyError("x"), RecursionError("x"), InputError("two\nlines"), InputError("")]
)
def test_the_harness_sees_a_defect(error: Exception) -> None:
    with pytest.raises(DefectError):
        attempt(raising(error), b"")


def test_the_harness_takes_a_refusal() -> None:
    assert not attempt(raising(InputError("pes = 0 is out of range")), b"")
