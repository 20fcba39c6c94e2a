"""A brief run of each target, and every input that once found a defect."""

from __future__ import annotations

import contextlib
from itertools import islice
from pathlib import Path

import pytest

from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.errors import InputError, RunError
from tests.fuzz import harness
from tests.fuzz.harness import CORPUS, MEMORY_BYTES, DefectError, Target, attempt, fuzz
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


def test_the_harness_sees_what_takes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DefectError, match="MemoryError"):
        attempt(Target("hungry", list, lambda data: bytearray(2 * MEMORY_BYTES) and None), b"")
    monkeypatch.setattr(harness, "SECONDS", 0.05)
    with pytest.raises(DefectError, match=r"more than 0\.05 s"):
        attempt(Target("slow", list, lambda data: max(iter(lambda: 0, 1))), b"")


def test_evil_models_are_sound_flatbuffers_and_mostly_get_beyond_them() -> None:
    """Damage that the decoder alone refuses would test nothing behind it."""
    target = TARGETS["evil"]
    reasons: list[str] = []
    for data in islice(harness.inputs(target, 1000, seed=2), 300, 600):
        with contextlib.suppress(InputError, RunError):
            read_model(data)
            reasons.append("read")
        assert Decoder(data, "model").root("Model")
    assert len(reasons) > 100


def test_the_harness_takes_a_refusal() -> None:
    assert not attempt(raising(InputError("pes = 0 is out of range")), b"")
