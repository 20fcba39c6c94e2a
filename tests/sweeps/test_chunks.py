"""What workers get at a time: each point once, and those that share plans together."""

from itertools import count, product

from hypothesis import given
from hypothesis import strategies as st

from dlasim.sweeps.evaluation.local import CHUNK_POINTS, Task, chunks


def tasks(machines: int, srams: int) -> list[Task]:
    numbers = count()
    return [
        Task(next(numbers), "net", {"pes": pes, "sram_bytes": sram, "parallel": mode}, False, "", "")
        for pes, sram, mode in product(range(machines), range(srams), ("input", "output"))
    ]


@given(st.integers(0, 90), st.integers(1, 40))
def test_each_point_once(machines: int, srams: int) -> None:
    given_tasks = tasks(machines, srams)
    handed = [task.number for chunk in chunks(given_tasks) for task in chunk]
    assert sorted(handed) == [task.number for task in given_tasks]


def test_kin_go_to_one_worker() -> None:
    for chunk in chunks(tasks(30, 13)):
        assert len(chunk) == 13
        assert len({(task.values["pes"], task.values["parallel"]) for task in chunk}) == 1


def test_a_size_of_sram_is_planned_once() -> None:
    points = [
        Task(number, "net", {"pes": 1, "clock_mhz": clock, "sram_bytes": sram}, False, "", "")
        for number, (clock, sram) in enumerate(product((1.0, 2.0, 3.0), range(5)))
    ]
    (chunk,) = chunks(points)
    assert [task.values["sram_bytes"] for task in chunk] == [size for size in range(5) for _ in range(3)]


def test_machines_without_kin_go_by_some() -> None:
    assert {len(chunk) for chunk in chunks(tasks(200, 1))} == {CHUNK_POINTS}


def test_tasks_are_not_asked_for_long_before_they_are_needed() -> None:
    asked = 0

    def endless():
        nonlocal asked
        for asked in count():
            yield Task(asked, "net", {"pes": asked, "sram_bytes": 1}, False, "", "")

    next(chunks(endless()))
    assert asked < 2000
