"""What emission takes for a conflict, against sets of bytes."""

import numpy as np

from dlasim.compiler_shim.lowering.emission.records import MemoryAccess
from dlasim.compiler_shim.lowering.emission.words import conflict


def accessed(access: MemoryAccess) -> set[int]:
    """Every byte: all of them, or a slice of each stride."""
    every = range(access.start, access.end)
    if not access.stride:
        return set(every)
    return {byte for byte in every if (byte - access.phase) % access.stride < access.run}


def channel_slice(rng: np.random.Generator, strides: list[int]) -> MemoryAccess:
    """Some channels of some pixels, as views and transfers describe them, or all bytes of a range."""
    stride, writes = int(rng.choice(strides)), bool(rng.random() < 0.6)
    if rng.random() < 0.2:
        start = int(rng.integers(0, 60))
        return MemoryAccess(0, start, start + int(rng.integers(1, 30)), writes)
    run = int(rng.integers(1, stride))
    start = int(rng.integers(0, 60))
    pixels = int(rng.integers(1, 5))
    return MemoryAccess(0, start, start + (pixels - 1) * stride + run, writes, stride, start % stride, run)


def test_no_conflict_is_missed_and_few_are_made_up():
    rng = np.random.default_rng(0)
    real = claimed = 0
    for _ in range(20_000):
        one, other = channel_slice(rng, [4, 7, 12]), channel_slice(rng, [4, 7, 12])
        meets = bool(accessed(one) & accessed(other)) and (one.is_write or other.is_write)
        assert conflict(one, other) or not meets, (one, other)
        assert conflict(one, other) == conflict(other, one)
        if one.stride == other.stride:
            real += meets
            claimed += conflict(one, other)
    assert 1_000 < real <= claimed < 1.1 * real


def test_spaces_and_reads_are_apart():
    assert not conflict(MemoryAccess(0, 0, 9, True), MemoryAccess(1, 0, 9, True))
    assert not conflict(MemoryAccess(0, 0, 9, False), MemoryAccess(0, 0, 9, False))
    assert conflict(MemoryAccess(0, 0, 9, True), MemoryAccess(0, 8, 10, False))
    assert not conflict(MemoryAccess(0, 0, 9, True), MemoryAccess(0, 9, 10, False))
