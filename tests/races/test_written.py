"""The map of written bytes: its flags are the truth, its intervals answer for most accesses."""

import numpy as np

from dlasim.sim.programs.footprint import Box
from dlasim.sim.races import WrittenMap

SIZE = 200


def run(first: int, last: int) -> Box:
    return Box(first, 1, 0, 1, 0, last - first)


def covers(written: WrittenMap, first: int, last: int) -> bool:
    return bool(written.covers(np.array([first]), np.array([last]))[0])


def test_intervals_that_touch_or_overlap_become_one() -> None:
    written = WrittenMap(SIZE)
    for first, last in ((10, 20), (40, 50), (20, 30), (5, 12), (60, 70), (8, 9)):
        written.write(run(first, last))
    assert covers(written, 5, 30)
    assert not covers(written, 4, 30)
    assert not covers(written, 5, 31)
    assert not covers(written, 25, 45)
    written.write(run(30, 45))
    assert covers(written, 5, 50)
    assert not covers(written, 49, 51)
    written.write(run(0, SIZE))
    assert covers(written, 0, SIZE)


def test_slices_without_a_gap_left_are_an_interval() -> None:
    written = WrittenMap(SIZE)
    written.write(Box(0, 1, 0, 10, 8, 4))
    assert not covers(written, 0, 76)
    written.write(Box(4, 1, 0, 10, 8, 4))
    assert covers(written, 4, 80)
    assert written.first_unwritten(run(0, 80)) is None
    assert covers(written, 0, 80)


def test_random_intervals_agree_with_the_flags() -> None:
    rng = np.random.default_rng(11)
    for _ in range(30):
        written, flags = WrittenMap(SIZE), np.zeros(SIZE, bool)
        for _ in range(20):
            first, last = np.sort(rng.choice(SIZE + 1, 2, replace=False)).tolist()
            last = min(last, first + 25)
            written.write(run(first, last))
            flags[first:last] = True
            ranges = np.sort(rng.integers(0, SIZE, (200, 2)), axis=1)
            low, high = ranges[:, 0], ranges[:, 1] + 1
            # Only runs were written, so the intervals know everything.
            expected = [bool(flags[a:b].all()) for a, b in zip(low, high, strict=True)]
            assert written.covers(low, high).tolist() == expected
            for a, b in ranges[:20]:
                gaps = np.flatnonzero(~flags[a : b + 1])
                assert written.first_unwritten(run(int(a), int(b) + 1)) == (
                    a + gaps[0] if len(gaps) else None
                )
