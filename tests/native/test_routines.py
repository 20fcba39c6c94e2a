"""One routine, both ways: in plain Python and compiled, on the same memory."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dlasim
from dlasim.errors import RunError
from dlasim.machine_code import ROUTINES
from dlasim.native import library
from dlasim.native.digests import source_files
from dlasim.native.record import slots_of
from dlasim.native.routine import Routine
from dlasim.native.storage import Store, plain
from tests.native.constructs import Drawing, Line, Point
from tests.native.tiny import SUMS, sums

Tiny = Callable[[Store[int], Store[int], int], int]


@pytest.fixture(params=["plain", "compiled"])
def tiny(request: pytest.FixtureRequest, built: Path) -> Tiny:
    """The tiny routine either way."""
    run: Any = sums
    if request.param == "compiled":
        address = library.find_function(SUMS.unit)
        assert address is not None
        run = SUMS.at(address)
    return lambda numbers, found, count: run(numbers.pointer, found.pointer, count)


def test_both_ways_give_the_same(tiny: Tiny) -> None:
    numbers, found = Store(int), Store(int, 40)
    values = [3, -5, 1 << 61, -(1 << 61), *range(15)]
    numbers.write(0, values)
    assert tiny(numbers, found, len(values)) == sum(values)
    pairs = zip(values[1:], values, strict=False)
    wrapped = [(each + (1 << 63)) % (1 << 64) - (1 << 63) for a, b in pairs for each in (a + b, a - b)]
    assert found.take(2, 2 * len(values)) == wrapped


def test_a_memory_grows_and_keeps_what_it_has(tiny: Tiny) -> None:
    memory = Store(int)
    for first in range(0, 4000, 250):
        memory.write(first, range(first, first + 250))
    memory.reserve(100_000, 4000)
    assert memory.take(0, 4000) == list(range(4000))
    assert memory.array(4000).tolist() == list(range(4000))
    assert tiny(memory, Store(int, 8000), 4000) == 3999 * 2000


def test_an_array_is_a_copy() -> None:
    memory = Store(int)
    memory.write(0, [-1, 1 << 62])
    taken = memory.array(2)
    memory.write(0, [7, 7])
    assert taken.tolist() == [-1, 1 << 62]


def test_slots_of_records_are_written_from_any_of_them_on() -> None:
    memory = Store(Line)
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


def test_a_record_has_its_fields_and_no_others() -> None:
    point = Point(3, y=4)
    assert point.flatten() == [3, 4]
    with pytest.raises(AttributeError):
        point.z = 5  # type: ignore[attr-defined]


def test_a_record_keeps_alive_what_it_points_at() -> None:
    drawing = Drawing()
    drawing.numbers = Store(int, 1000).pointer
    Store(int, 1000).write(0, [1] * 1000)
    drawing.numbers[999] = 7
    assert drawing.numbers[999] == 7


def test_plain_records_hold_any_numbers() -> None:
    line, other = plain(Line), plain(Line)
    line.points[2].y, line.weights[1] = 1 << 100, -(1 << 70)
    other.assign(line)
    assert other.equals(line)
    assert sorted(other.flatten())[0] == -(1 << 70)
    line.points[2].y += 1
    assert not other.equals(line)


def test_code_of_sources_newer_than_the_process_is_not_made(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = max(file.stat().st_ctime for file in source_files(SUMS.unit.module))
    monkeypatch.setattr(library, "STARTED", newest - 1)
    with pytest.raises(RunError, match="sources have changed since dlasim started"):
        library.build(SUMS.unit)


def test_without_machine_code_python_runs_and_one_line_says_so(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> bytes:
        raise RunError("cannot compile sums: the compiler\n is out of order")

    monkeypatch.setattr(library, "build", fail)
    monkeypatch.setattr(library, "_reasons", [])
    for name in ("sums", "sums-again"):
        tiny = Routine(sums, name)
        assert tiny([1, 2, 3], [0] * 6, 3) == 6
        assert not tiny.is_compiled
    said = capsys.readouterr().err
    reason = "cannot compile sums: the compiler is out of order"
    assert said == f"dlasim runs without machine code, slowly: {reason}\n"


def test_every_routine_there_is_ships() -> None:
    root = Path(dlasim.__file__).parent
    files = [file for folder in root.iterdir() if folder.is_dir() for file in folder.rglob("*.py")]
    made = re.compile(r'^\w+ = Routine\(\s*\w+,\s*"([\w-]+)"', re.MULTILINE)
    names = {name for file in files for name in made.findall(file.read_text())}
    assert names == {routine.unit.name for routine in ROUTINES}
