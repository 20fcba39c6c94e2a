"""Ranges of bytes in order, for what is in use: routines."""

from __future__ import annotations

from dlasim.native.record import Record, pointer
from dlasim.native.routine import Numbers, routine


class RangeList(Record):
    """Ranges of bytes in order, of which none touches another."""

    starts: Numbers = pointer(int)
    ends: Numbers = pointer(int)
    count: int = 0


@routine
def insert_range(ranges: RangeList, start: int, end: int) -> None:
    """Add a range to a list."""
    starts, ends, count = ranges.starts, ranges.ends, ranges.count
    if start >= end:
        return
    first = 0
    while first < count and ends[first] < start:
        first += 1
    last = first
    while last < count and starts[last] <= end:
        start, end = min(start, starts[last]), max(end, ends[last])
        last += 1
    if last == first:
        for number in range(count - first):
            starts[count - number] = starts[count - number - 1]
            ends[count - number] = ends[count - number - 1]
    else:
        for place in range(last, count):
            starts[place - last + first + 1], ends[place - last + first + 1] = starts[place], ends[place]
    starts[first], ends[first] = start, end
    ranges.count = count + 1 - (last - first)


@routine
def covered_bytes(ranges: RangeList) -> int:
    """How many bytes the ranges have."""
    total = 0
    for place in range(ranges.count):
        total += ranges.ends[place] - ranges.starts[place]
    return total
