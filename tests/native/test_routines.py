"""One routine, both ways: in plain Python over lists, compiled over arrays."""

import re
import time
from pathlib import Path

import pytest

import dlasim
from dlasim.errors import RunError
from dlasim.native import library
from dlasim.native.backend import PLAIN, Runner
from dlasim.native.number_memory import NumberMemory
from dlasim.native.record import slots_of
from dlasim.native.routine import Routine
from dlasim.native.storage import RecordMemory
from dlasim.sweeps.compiled import ROUTINES
from tests.native.constructs import Line
from tests.native.tiny import SUMS, sums


@pytest.fixture(params=["plain", "compiled"])
def tiny(request: pytest.FixtureRequest, built: Path) -> Runner:
    """The tiny routine on either backend."""
    if request.param == "plain":
        return PLAIN.runner(SUMS)
    return library.load_backend([SUMS], library.compile_routines([SUMS])).runner(SUMS)


def test_both_ways_give_the_same(tiny: Runner) -> None:
    numbers, found = NumberMemory(tiny.is_compiled), NumberMemory(tiny.is_compiled, 40)
    values = [3, -5, 1 << 62, -(1 << 61), *range(15)]
    numbers.put(0, values)
    assert tiny(numbers, found, len(values)) == sum(values)
    pairs = zip(values[1:], values, strict=False)
    assert found.take(2, 2 * len(values)) == [each for a, b in pairs for each in (a + b, a - b)]


def test_a_memory_grows_and_keeps_what_it_has(tiny: Runner) -> None:
    memory = NumberMemory(tiny.is_compiled)
    for first in range(0, 4000, 250):
        memory.put(first, range(first, first + 250))
    memory.reserve(100_000, 4000)
    assert memory.take(0, 4000) == list(range(4000))
    assert memory.array(4000).tolist() == list(range(4000))
    assert tiny(memory, NumberMemory(tiny.is_compiled, 8000), 4000) == 3999 * 2000


def test_an_array_is_a_copy_of_the_low_64_bits(tiny: Runner) -> None:
    memory = NumberMemory(tiny.is_compiled)
    memory.put(0, [-1, 1 << 62])
    taken = memory.array(2)
    memory.put(0, [7, 7])
    assert taken.tolist() == [-1, 1 << 62]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_slots_of_records_are_written_from_any_of_them_on(is_compiled: bool) -> None:
    memory = RecordMemory(Line, is_compiled)
    slots = slots_of(Line)
    memory.write(0, range(2 * slots))
    memory.write(1, range(100, 103))
    memory.write(2, range(slots, 2 * slots))
    rows = [[*range(slots)], [100, 101, 102, *range(slots + 3, 2 * slots)], [*range(slots, 2 * slots)]]
    assert memory.array(3).tolist() == rows
    second = memory[1]
    assert (second.first.x, second.first.y, second.count) == (100, 101, 102)
    assert list(second.weights) == rows[1][3:6]
    assert [number for point in second.points for number in (point.x, point.y)] == rows[1][6:]


def test_plain_numbers_have_no_end() -> None:
    memory = NumberMemory(is_compiled=False)
    memory.put(0, [1 << 64, (1 << 64) - 1])
    assert memory.array(2).tolist() == [0, -1]


def test_plain_python_notices_what_was_never_written() -> None:
    memory = NumberMemory(is_compiled=False)
    memory.put(0, [1])
    memory.reserve(2, 1)
    with pytest.raises(TypeError):
        memory.array(2)
    with pytest.raises(TypeError):
        PLAIN.runner(SUMS)(memory, NumberMemory(is_compiled=False), 2)


def test_a_backend_runs_other_routines_as_python(built: Path) -> None:
    backend = library.load_backend([SUMS], library.compile_routines([SUMS]))
    assert backend.runner(SUMS).is_compiled
    assert not backend.runner(Routine(sums, "sums", SUMS.unit.sources)).is_compiled


def test_code_of_sources_newer_than_the_process_is_not_made(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = max(file.stat().st_ctime for file in SUMS.unit._files())
    monkeypatch.setattr(time, "time", lambda: newest - 1)
    early = Routine(sums, "sums", SUMS.unit.sources)
    with pytest.raises(RunError, match="sources have changed since dlasim started"):
        library.compile_routines([early])
    monkeypatch.setattr(time, "time", lambda: newest)
    library.compile_routines([Routine(sums, "sums", SUMS.unit.sources)])


def test_a_sweep_loads_every_routine_there_is() -> None:
    root = Path(dlasim.__file__).parent
    files = [file for folder in root.iterdir() if folder.is_dir() for file in folder.rglob("*.py")]
    made = re.compile(r'^\w+ = Routine\(\s*\w+,\s*"(\w+)"', re.MULTILINE)
    names = {name for file in files for name in made.findall(file.read_text())}
    assert names == {routine.unit.name for routine in ROUTINES}
