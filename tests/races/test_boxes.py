"""Strided boxes against the sets of bytes that they stand for."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlasim.sim.programs.footprint import Box
from dlasim.sim.races import boxes
from dlasim.sim.races.boxes import Boxes, canonical, common_byte, expand, intersect, stack

SMALL = st.integers(1, 6)
STRIDES = st.one_of(st.integers(0, 24), st.sampled_from((0, 1, 4, 8, 12, 16, 32, 48)))
BOXES = st.builds(Box, st.integers(0, 60), SMALL, STRIDES, SMALL, STRIDES, st.integers(1, 9))


def bytes_of(box: Box) -> set[int]:
    return {
        box.address + plane * box.plane_stride + run * box.run_stride + byte
        for plane in range(box.planes)
        for run in range(box.runs)
        for byte in range(box.run_bytes)
    }


def table(boxes: list[Box]) -> Boxes:
    return stack([canonical(box, 1) for box in boxes])


def test_every_small_box_keeps_its_bytes() -> None:
    for planes, plane_stride, runs, run_stride, size in itertools.product(
        range(1, 4), range(14), range(1, 5), range(6), range(1, 4)
    ):
        box = Box(3, planes, plane_stride, runs, run_stride, size)
        assert bytes_of(canonical(box, 1).one(0)) == bytes_of(box), box


@given(BOXES)
@settings(max_examples=500, deadline=None)
def test_the_canonical_box_has_the_same_bytes_in_runs_that_are_apart(box: Box) -> None:
    simple = canonical(box, 1).one(0)
    assert bytes_of(simple) == bytes_of(box)
    assert simple.end == max(bytes_of(box)) + 1
    assert simple.runs == 1 or simple.run_stride > simple.run_bytes
    assert simple.planes == 1 or simple.plane_stride > simple.run_stride > 0


@given(st.lists(st.tuples(BOXES, BOXES), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_boxes_intersect_where_their_sets_of_bytes_do(pairs: list[tuple[Box, Box]]) -> None:
    left, right = table([pair[0] for pair in pairs]), table([pair[1] for pair in pairs])
    shared = [bytes_of(a) & bytes_of(b) for a, b in pairs]
    assert intersect(left, right).tolist() == [bool(common_bytes) for common_bytes in shared]
    for i, common_bytes in enumerate(shared):
        byte = common_byte(left.take(np.array([i])), right.take(np.array([i])))
        assert byte in common_bytes if common_bytes else byte is None
        if common_bytes and left.one(i).is_disjoint:
            assert byte == min(common_bytes)


def test_a_search_in_small_pieces_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    size = 3000
    left, right = (
        canonical(
            Box(
                rng.integers(0, 200, size),
                rng.integers(1, 9, size),
                rng.integers(0, 90, size),
                rng.integers(1, 9, size),
                rng.integers(0, 40, size),
                rng.integers(1, 5, size),
            ),
            size,
        )
        for _ in range(2)
    )
    expected = [bool(bytes_of(left.one(i)) & bytes_of(right.one(i))) for i in range(size)]
    assert 0.2 < np.mean(expected) < 0.9
    assert intersect(left, right).tolist() == expected
    monkeypatch.setattr(boxes, "MAX_AT_ONCE", 7)
    assert intersect(left, right).tolist() == expected


def test_channel_slices_of_one_tensor_are_apart_and_a_shifted_one_is_not() -> None:
    # 112 x 112 pixels of 64 channels, rows padded to 114 pixels.
    slices = [Box(0x1000 + 16 * i, 112, 114 * 64, 112, 64, 16) for i in range(4)]
    shifted = Box(0x1000 + 15, 112, 114 * 64, 112, 64, 2)
    boxes = table(slices)
    for i in range(4):
        others = table([slices[i]] * 4)
        assert intersect(others, boxes).tolist() == [i == j for j in range(4)]
    assert intersect(table([shifted] * 4), boxes).tolist() == [True, True, False, False]


def test_boxes_as_large_as_the_registers_allow_do_not_overflow() -> None:
    most, far = (1 << 24) - 1, (1 << 31) - 1
    huge = Box(far, most, far, most, far, far)
    dense = Box(0, 1, 0, 1, 0, 1 << 62)
    assert intersect(table([huge, dense, huge]), table([dense, huge, huge])).all()


def test_expansion_counts_every_row_in_pieces() -> None:
    counts = np.array([0, 3, 1, 0, 5, 0])
    for most in (1, 2, 4, 100):
        pieces = list(expand(counts, most))
        assert all(len(rows) <= most for rows, _ in pieces)
        rows = np.concatenate([piece[0] for piece in pieces]).tolist()
        positions = np.concatenate([piece[1] for piece in pieces]).tolist()
        assert rows == [1, 1, 1, 2, 4, 4, 4, 4, 4]
        assert positions == [0, 1, 2, 0, 0, 1, 2, 3, 4]
    assert list(expand(np.zeros(0, np.int64), 5)) == []
