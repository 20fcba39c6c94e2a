"""What operations of a layer take at least beside its steps, against all ways to cut small layers."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from dlasim.sim.timing.formulas import RESULTS_SCALE, UnitCosts, ceil_div, output_stall_cycles
from dlasim.sim.timing.lower_bound import least_mac_cycles


def operation_cycles(unit: UnitCosts, pixels: int, channels: int, steps: int) -> int:
    """An operation with all input channels, by the formulas of the simulator."""
    groups = ceil_div(channels, unit.output_lanes)
    last = channels - (groups - 1) * unit.output_lanes
    work = pixels * steps * groups
    stall = output_stall_cycles(unit, pixels, pixels, channels, last, work, steps)
    return unit.fill + work + stall + unit.drain


def cheapest_cut(unit: UnitCosts, pixels: int, channels: int, steps: int) -> int:
    """The least of all divisions of the pixels, and for each part of all divisions of the channels."""

    @cache
    def by_channels(count: int, left: int) -> int:
        if not left:
            return 0
        return min(
            operation_cycles(unit, count, part, steps) + by_channels(count, left - part)
            for part in range(1, left + 1)
        )

    @cache
    def by_pixels(left: int, most: int) -> int:
        if not left:
            return 0
        return min(
            by_channels(part, channels) + by_pixels(left - part, part)
            for part in range(1, min(left, most) + 1)
        )

    return by_pixels(pixels, pixels)


@pytest.mark.parametrize("seed", range(5))
def test_no_cut_of_a_small_layer_takes_less(seed):
    random, exact = Random(seed), 0
    for _ in range(200):
        unit = UnitCosts(
            input_lanes=1, output_lanes=random.choice((1, 2, 4, 8)), accumulators=random.choice((1, 2, 4, 8)),
            fill=random.choice((0, 1, 4)), drain=random.choice((0, 1, 4)),
            result_cycles=round(RESULTS_SCALE / random.choice((0.25, 0.5, 1, 2, 4))),
        )  # fmt: skip
        pixels, channels, steps = random.randint(1, 20), random.randint(1, 12), random.randint(1, 9)
        found, cheapest = (
            least_mac_cycles(unit, pixels, steps, 1, channels),
            cheapest_cut(unit, pixels, channels, steps),
        )
        assert found <= cheapest, (unit, pixels, channels, steps)
        exact += found == cheapest
    assert exact > 100  # it is more than a bound for most


def test_a_pointwise_convolution_of_ds_cnn_by_hand():
    """125 pixels of 64 steps; 64 results a pixel, four in a cycle. The last block has 29 pixels, whose
    results take 29 * 16 cycles from their last step on, which takes 29: 435 cycles more. 40 and 85 pixels
    would take 32 + 8 - 32 - 8 * 64 + 40 * 16 = 120 and 21 * 15 = 315, and fill and drain again: 443."""
    unit = UnitCosts(
        input_lanes=1, output_lanes=64, accumulators=32, fill=4, drain=4, result_cycles=RESULTS_SCALE // 4
    )
    assert least_mac_cycles(unit, 125, 64, 1, 64) == 8 + 125 * 64 + 435
    assert operation_cycles(unit, 40, 64, 64) == 8 + 40 * 64 + 8 * 15
    assert operation_cycles(unit, 85, 64, 64) == 8 + 85 * 64 + 315
