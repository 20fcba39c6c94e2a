"""Addresses of live ranges: compiled as in plain Python, and as the rule says in words."""

from __future__ import annotations

import numpy as np
import pytest

from dlasim.compiler_shim.calls.live_ranges import LiveRange
from dlasim.compiler_shim.lowering.addresses.allocation import PLACE, assign_addresses
from tests.compiled import in_python


def random_ranges(rng):
    firsts, lengths, sizes = (rng.integers(0, high, 40).tolist() for high in (30, 12, 200))
    numbers = enumerate(zip(firsts, lengths, sizes, strict=True))
    return [LiveRange(key, size, first, first + length) for key, (first, length, size) in numbers]


def is_free(address, mine, placed):
    """Whether a range meets none that is alive at the same time."""
    return not any(
        other.first <= mine.last and mine.first <= other.last
        and place < address + mine.size_bytes and address < place + other.size_bytes
        for other, place in placed
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_each_range_is_at_the_lowest_free_address(seed):
    ranges, alignment = random_ranges(np.random.default_rng(seed)), 16
    found, end = assign_addresses(ranges, alignment)
    with in_python(PLACE):
        assert assign_addresses(ranges, alignment) == (found, end)
    assert end == max(found[each.key] + each.size_bytes for each in ranges)
    placed = []
    for mine in sorted(ranges, key=lambda each: (-each.size_bytes, each.first)):
        if mine.size_bytes:
            lower = range(0, found[mine.key], alignment)
            assert is_free(found[mine.key], mine, placed)
            assert not any(is_free(address, mine, placed) for address in lower)
            placed.append((mine, found[mine.key]))
