"""The checker on random streams against brute force."""

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.sim.races import RaceReport, WrittenMap, check_races, pairs
from dlasim.sim.races import checker as checker_module
from tests.races.generate import chaotic, double_buffered, wait_positions
from tests.races.oracle import Repair, racing_pairs, repairs, steps, unwritten_reads
from tests.races.streams import SRAM_BYTES, decode

NO_LIMIT = 10**6


def check(words: list[int], limit: int = NO_LIMIT) -> RaceReport:
    stream = decode(np.array(words, np.uint64))
    report = check_races(stream, SRAM_BYTES, limit=limit)
    assert stream.fault is None
    return report


def as_repairs(report: RaceReport) -> list[Repair]:
    return [
        Repair(race.earlier.word, race.later.word, int(race.earlier.unit), race.max_outstanding)
        for race in report.races
    ]


@pytest.fixture(params=["by time", "by place", "by place in blocks of 5"])
def listing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of listing pairs, also where a stream this small would not take it."""
    if request.param != "by time":
        monkeypatch.setattr(pairs, "MAX_BY_TIME", 0)
        monkeypatch.setattr(pairs, "PAIRS_AT_ONCE", 37)
        monkeypatch.setattr(checker_module, "PAIRS_AT_ONCE", 5)
    if request.param == "by place in blocks of 5":
        monkeypatch.setattr(pairs, "SMALLEST_BLOCK", 5)
    return str(request.param)


@pytest.mark.parametrize("waits", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(12))
def test_races_and_waits_are_those_of_brute_force(listing: str, seed: int, waits: float) -> None:
    words = chaotic(np.random.default_rng([seed, int(10 * waits)]), 24, waits)
    expected = repairs(words)
    assert as_repairs(check(words)) == expected
    assert as_repairs(check(words, limit=2)) == expected[:2]


@pytest.mark.parametrize("seed", range(10))
def test_every_race_names_operands_that_share_the_byte(seed: int) -> None:
    words = chaotic(np.random.default_rng(100 + seed), 30, 0.2)
    touched = {step.position: step for step in steps(words)}
    races = check(words).races
    assert races
    for race in races:
        memory = "SRAM" if race.later.memory == "SRAM" else "region 1"
        for access in (race.earlier, race.later):
            step = touched[access.word]
            assert (memory, race.byte) in (step.writes if access.writes else step.reads)
            assert access.first <= race.byte <= access.last
        assert race.earlier.writes or race.later.writes


@pytest.mark.parametrize("seed", range(10))
def test_inserting_the_proposed_waits_leaves_no_race(seed: int) -> None:
    words = chaotic(np.random.default_rng(200 + seed), 60, 0.3)
    races = check(words).races
    assert races
    for race in reversed(races):
        unit = race.earlier.unit
        words.insert(race.later.word, codec.encode("WAIT", unit=unit, max_outstanding=race.max_outstanding))
    assert check(words).races == ()


@pytest.mark.parametrize("seed", range(6))
def test_double_buffering_is_clean_and_each_needed_wait_is_missed(listing: str, seed: int) -> None:
    words = double_buffered(np.random.default_rng(300 + seed), 6)
    assert racing_pairs(words) == []
    assert check(words).is_clean
    needed = 0
    for position in wait_positions(words):
        rest = words[:position] + words[position + 1 :]
        racing = bool(racing_pairs(rest))
        assert bool(check(rest).races) == racing, f"without word {position}"
        needed += racing
    assert needed >= 12


@pytest.mark.parametrize("seed", range(25))
def test_unwritten_bytes_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    written: set[int] = set()
    flags = WrittenMap(SRAM_BYTES)
    for _ in range(3):  # streams of one inference
        words = chaotic(rng, 25, 0.0)
        stream = decode(np.array(words, np.uint64))
        report = check_races(stream, SRAM_BYTES, written=flags, limit=NO_LIMIT)
        first: dict[int, int] = {}
        for read in report.uninitialised:
            first[read.access.word] = min(read.byte, first.get(read.access.word, read.byte))
        assert list(first.items()) == unwritten_reads(words, written)


def test_few_accesses_at_a_time_find_the_same_unwritten_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    words = chaotic(np.random.default_rng(5), 300, 0.0)
    expected = check(words).uninitialised
    assert len(expected) > 20
    monkeypatch.setattr("dlasim.sim.races.written.ACCESSES_AT_ONCE", 3)
    assert check(words).uninitialised == expected
    assert check(words, limit=7).uninitialised == expected[:7]
    assert [word for word, _ in unwritten_reads(words, set())] == sorted({r.access.word for r in expected})
