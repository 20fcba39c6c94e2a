"""What routines may use, each construct in a small one; who tests them calls each with two numbers."""

from __future__ import annotations

from typing import NamedTuple

from dlasim.native.record import Record, array, member, pointer
from dlasim.native.routine import Numbers, routine

FEW = (3, -1, 4)
PAIRS = 2


@routine
def arithmetic(one: int, other: int) -> int:
    """All operators; division rounds down."""
    return one + other * 3 - one // other + one % other - (-one // PAIRS) + (other % -7) * 5


@routine
def bits(one: int, other: int) -> int:
    """Those on bits."""
    return (one & other) | (one ^ 0xFF) & 0xFFFF | (other << 3) ^ (one >> 2)


@routine
def comparisons(one: int, other: int) -> int:
    """Chains, tuples, and truth as a number."""
    seen = 0
    if -5 < one < other <= 40:
        seen += 1
    if (one, other, 3) > (other, one, 2):
        seen += 2
    if (one % 2, other % 2) == (0, 1):
        seen += 4
    if (one % 3, 5) >= (other % 3, 5):
        seen += 8
    if (one % 3, other) != (1, other):
        seen += 16
    if one % 5 in (2, other % 5) or other in FEW:
        seen += 128
    return seen + (one == other) * 32 + (not one) * 64


@routine
def logic(one: int, other: int) -> int:
    """What `and`, `or` and `not` give; the right side only where it counts."""
    memory = one and other
    either = one or other or 9
    both = one > 0 and other > 0 and one // other > 1
    neither = not (one or other)
    return memory + either * 3 + (7 if both else 1) + (100 if neither else 0)


@routine
def short(one: int, other: int, places: Numbers) -> int:
    """Memory beyond what is written is not read."""
    found = 0
    for place in range(12):
        if place < 4 and places[place] > one:
            found += 1
        if place >= 4 or places[place] < other:
            found += 10
    return found


@routine
def choices(one: int, other: int) -> int:
    """One of two, numbers and tuples; minima and maxima."""
    first, second, third = FEW if one > other else (one, other, 1)
    names = (one, 2, 3) if other % 2 else FEW
    low, high = min(one, other, 5), max(one, other)
    return first + 10 * second + 100 * third + 1000 * names[0] + names[2] + low - high


@routine
def loops(one: int, other: int) -> int:
    """All kinds, left early, skipped and nested."""
    total = 0
    for number in range(one % 7):
        total += number
        number = 100
    for number in range(1, other % 50, 1 + one % 3):
        if number % 4 == 3:
            continue
        for inner in range(number, number + 3):
            if inner > 20:
                break
            total += inner
        total += number
    for step in FEW:
        if step == one % 5:
            break
        for side in (step, other % 3, 2):
            if side < 0:
                continue
            total = total * 2 + side
    left = one % 9
    while left:
        left -= 1
        if left == 4:
            continue
        if left == 1:
            break
        total += left
    while total > 1_000 and not total % 2:
        total //= 2
    return total


@routine
def _halves(number: int) -> tuple[int, int]:
    if number < 0:
        return -number, 0
    return number // 2, number - number // 2


@routine
def _swap(places: Numbers, at: int) -> None:
    if at < 0:
        return
    places[at], places[at + 1] = places[at + 1], places[at]


@routine
def _is_odd(number: int) -> bool:
    return number % 2 == 1


@routine
def calls(one: int, other: int, places: Numbers) -> int:
    """Of routines that return several numbers, none, or truth."""
    low, high = _halves(one)
    _, rest = _halves(other)
    _swap(places, one % 3)
    _swap(places, -1)
    for place in range(4):
        places[place] += low * place
        places[place] *= 2
    again = places[0] = high
    return rest + again + (50 if _is_odd(other) else 0) + places[2] - places[3]


class Span(NamedTuple):
    """Two numbers with names."""

    first: int
    last: int


@routine
def _longer(one: Span, other: Span) -> Span:
    return one if one.last - one.first > other.last - other.first else other


@routine
def named(one: int, other: int) -> int:
    """Tuples with names: made, passed, returned and read."""
    chosen = _longer(Span(one, other), Span(0, 12))
    if chosen.last > 20:
        chosen = Span(chosen.first, 20)
    first, last = chosen
    return first * 3 + last + chosen[0]


class Point(Record):
    """Two numbers."""

    x: int = 0
    y: int = 0


class Line(Record):
    """Members, rows of numbers and of records."""

    first: Point = member(Point)
    count: int = 0
    weights: list[int] = array(int, 3)
    points: list[Point] = array(Point, 4)


class Drawing(Record):
    """Pointers."""

    line: Line = member(Line)
    numbers: Numbers = pointer(int)
    points: list[Point] = pointer(Point)


@routine
def _add(line: Line, x: int, y: int) -> Point:
    point = line.points[line.count % 4]
    point.x, point.y = x, y
    line.count += 1
    return point


@routine
def draw(drawing: Drawing, one: int, other: int) -> int:
    """Fields read and written, records passed, returned, copied and compared."""
    line = drawing.line
    line.first.x = one
    line.weights[other % 3] += one
    last = _add(line, one, other)
    for step in range(5):
        last = _add(line, step + one, last.x - last.y)
        drawing.numbers[step % 4] += last.x
        drawing.points[step].assign(last)
    chosen = line.points[0] if other % 2 else line.first
    chosen.y += 1
    is_same = 0
    for number in range(3):
        if drawing.points[number].equals(line.points[number + 1]):
            is_same += 1 << number
    return is_same + 10 * chosen.x + 1000 * _add(line, 1, 2).x + line.points[line.count % 4].y
