"""A routine that is compiled in no time."""

from dlasim.native.routine import Numbers, Routine, routine


@routine
def _both(one: int, other: int) -> tuple[int, int]:
    return one + other, one - other


@routine
def sums(numbers: Numbers, found: Numbers, count: int) -> int:
    """Sums and differences of neighbours; returns the sum of all."""
    total = 0
    for place in range(count):
        total += numbers[place]
        if place:
            more, less = _both(numbers[place], numbers[place - 1])
            found[2 * place], found[2 * place + 1] = more, less
    return total


SUMS = Routine(sums, "sums")
