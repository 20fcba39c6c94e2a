"""One routine, both ways: in plain Python over lists, compiled over arrays."""

from pathlib import Path

import pytest

from dlasim.native import routine
from dlasim.native.routine import Memory, Routine, routines
from tests.native.tiny import SUMS, sums


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def tiny(request: pytest.FixtureRequest, built: Path, monkeypatch: pytest.MonkeyPatch) -> Routine:
    """The tiny routine, as a process that wants it compiled has it, or another."""
    monkeypatch.setattr(routine._State, "wanted", request.param)
    fresh = Routine(sums, "sums", SUMS.unit.sources)
    assert fresh.is_ready() == request.param
    return fresh


def test_both_ways_give_the_same(tiny: Routine) -> None:
    numbers, found = Memory(tiny.is_ready()), Memory(tiny.is_ready(), 40)
    values = [3, -5, 1 << 62, -(1 << 61), *range(15)]
    numbers.put(0, values)
    assert tiny(numbers, found, len(values)) == sum(values)
    pairs = zip(values[1:], values, strict=False)
    assert found.take(2, 2 * len(values)) == [each for a, b in pairs for each in (a + b, a - b)]


def test_a_memory_grows_and_keeps_what_it_has(tiny: Routine) -> None:
    memory = Memory(tiny.is_ready())
    for first in range(0, 4000, 250):
        memory.put(first, range(first, first + 250))
    memory.reserve(100_000, 4000)
    assert memory.take(0, 4000) == list(range(4000))
    assert memory.array(4000).tolist() == list(range(4000))
    assert tiny(memory, Memory(tiny.is_ready(), 8000), 4000) == 3999 * 2000


def test_an_array_is_a_copy_of_the_low_64_bits(tiny: Routine) -> None:
    memory = Memory(tiny.is_ready())
    memory.put(0, [-1, 1 << 62])
    taken = memory.array(2)
    memory.put(0, [7, 7])
    assert taken.tolist() == [-1, 1 << 62]


def test_plain_numbers_have_no_end() -> None:
    memory = Memory(is_compiled=False)
    memory.put(0, [1 << 64, (1 << 64) - 1])
    assert memory.array(2).tolist() == [0, -1]


def test_plain_python_notices_what_was_never_written() -> None:
    memory = Memory(is_compiled=False)
    memory.put(0, [1])
    memory.reserve(2, 1)
    with pytest.raises(TypeError):
        memory.array(2)
    with pytest.raises(TypeError):
        SUMS(memory, Memory(is_compiled=False), 2)


def test_a_routine_is_looked_for_now_and_then(
    built: Path, sums_object: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routine._State, "wanted", True)
    now = [1000.0]
    monkeypatch.setattr(routine.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    built.unlink()
    fresh = Routine(sums, "sums", SUMS.unit.sources)
    assert not fresh.is_ready()
    built.write_bytes(sums_object)
    now[0] += 0.9
    assert not fresh.is_ready()
    now[0] += 0.2
    assert fresh.is_ready()


def test_code_of_sources_newer_than_the_process_is_not_used(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routine._State, "wanted", True)
    newest = max(file.stat().st_ctime for file in SUMS.unit._files())
    monkeypatch.setattr(routine.time, "time", lambda: newest - 1)  # type: ignore[attr-defined]
    assert not Routine(sums, "sums", SUMS.unit.sources).is_ready()
    monkeypatch.setattr(routine.time, "time", lambda: newest)  # type: ignore[attr-defined]
    assert Routine(sums, "sums", SUMS.unit.sources).is_ready()


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_a_machine_without_a_compiler_stays_with_python(
    built: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(unit: object) -> None:
        raise error("no LLVM here")

    monkeypatch.setattr(routine._State, "wanted", True)
    monkeypatch.setattr("dlasim.native.library.find", fail)
    assert not Routine(sums, "sums", SUMS.unit.sources).is_ready()


def test_routines_of_imported_modules_are_known() -> None:
    assert SUMS in routines()
