"""The bound for plans in the model's order, of `benchmarks/plans.py`, against all orders of loads."""

from __future__ import annotations

import random
import sys
from itertools import permutations
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from plans import in_order_cycles

CASES = 300
BANDWIDTH = 4


def fastest(blocks: list[int], cycles: list[int], room: int, load: int) -> int:
    """The fastest of all orders of loads: layer `k` has `blocks[k]` blocks of constants, of which each takes
    `load` cycles on the bus, and then `cycles[k]` in the MAC unit, which frees its place. Layers are computed
    in order, the blocks of one in the order in which they are loaded."""
    layer_of = [layer for layer, count in enumerate(blocks) for _ in range(count)]
    return min(
        filter(None, (finish(order, cycles, room, load) for order in set(permutations(layer_of)))),
    )


def finish(order: tuple[int, ...], cycles: list[int], room: int, load: int) -> int:
    """When the MAC unit is done if every load is made as early as there is a free place; 0 if it never is."""
    loaded: list[int] = []  # when each load of the order ends
    used: list[int] = []  # when each computation ends, in order
    waiting = sorted(range(len(order)), key=lambda place: (order[place], place))
    while len(used) < len(order):
        place = waiting[len(used)]
        while len(loaded) <= place:
            number = len(loaded)
            if number - room >= len(used):
                return 0  # all places are full of what is for later
            free = used[number - room] if number >= room else 0
            loaded.append(max(free, loaded[-1] if loaded else 0) + load)
        used.append(max(loaded[place], used[-1] if used else 0) + cycles[order[place]])
    return used[-1]


def case(seed: int) -> tuple[list[int], list[int], int, int]:
    rng = random.Random(seed)
    blocks = [rng.randint(1, 2) for _ in range(rng.randint(1, 2))]
    cycles = [rng.randint(1, 12) for _ in blocks]
    # As MobileNetV2, which ends with many weights and little work.
    return [*blocks, rng.randint(2, 5)], [*cycles, rng.randint(1, 4)], rng.randint(1, 5), rng.randint(1, 8)


def bound(blocks: list[int], cycles: list[int], room: int, load: int) -> int:
    work = [count * each for count, each in zip(blocks, cycles, strict=True)]
    block_bytes = load * BANDWIDTH
    return in_order_cycles(work, [count * block_bytes for count in blocks], room * block_bytes, BANDWIDTH)


def test_no_order_of_loads_is_faster():
    close = 0
    for seed in range(CASES):
        blocks, cycles, room, load = case(seed)
        found, least = fastest(blocks, cycles, room, load), bound(blocks, cycles, room, load)
        assert found >= least, seed
        work = sum(count * each for count, each in zip(blocks, cycles, strict=True))
        # What the bound leaves out: nothing computes before a first load, nor loads after the last.
        close += found <= max(least, work) + load + max(cycles)
    assert close >= CASES // 2


@pytest.mark.parametrize(("room", "least", "expected"), [(1, 40, 54), (2, 36, 45), (6, 20, 30)])
def test_a_network_that_ends_in_weights(room, least, expected):
    # 20 cycles of work after a load of four, then six blocks, each loaded in four cycles and used in one.
    # Room for one: the six take turns from cycle 24 on, 6 * 5. For two: five loads remain at 24, and one use.
    # For six: five blocks are there at 24, and the sixth, loaded from 24 to 28, is used after them.
    blocks, cycles, load = [1, 6], [20, 1], 4
    assert bound(blocks, cycles, room, load) == least
    assert fastest(blocks, cycles, room, load) == expected
