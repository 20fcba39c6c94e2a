"""Accesses of the SRAM against words counted one by one."""

import numpy as np
import pytest

from dlasim.isa.registers import Region
from dlasim.sim.config import DlaConfig
from dlasim.sim.cost import unit_costs
from dlasim.sim.footprint import Box
from dlasim.sim.plan import Plan
from dlasim.sim.sram_words import _words, stream_accesses
from tests.sim_machine.test_energy import CONFIG, plan_of

WIDTH = 16


def touched(box: Box, part: int) -> int:
    """Words of a box, in the order in which they cross: a part of each run, then the next part of each. The
    word that crossed last is still there."""
    count, last = 0, -1
    for done in range(0, box.run_bytes, part):
        size = min(part, box.run_bytes - done)
        for plane in range(box.planes):
            for run in range(box.runs):
                first = box.address + plane * box.plane_stride + run * box.run_stride + done
                for word in range(first // WIDTH, (first + size - 1) // WIDTH + 1):
                    count, last = count + (word != last), word
    return count


@pytest.mark.parametrize("seed", range(40))
def test_words_of_aligned_boxes_are_counted(seed: int) -> None:
    """Where each line begins at the same place of a word, the count is exact."""
    rng = np.random.default_rng(seed)
    planes, runs, run_bytes = (int(rng.integers(1, most)) for most in (5, 5, 50))
    run_stride = WIDTH * int(rng.integers(-(-run_bytes // WIDTH) + 1, 8))
    plane_stride = runs * run_stride + WIDTH * int(rng.integers(1, 4))
    box = Box(int(rng.integers(0, 100)), planes, plane_stride, runs, run_stride, run_bytes)
    assert _words(box, run_bytes, WIDTH) == touched(box, run_bytes)


@pytest.mark.parametrize("seed", range(40))
def test_words_of_dense_pictures_are_counted(seed: int) -> None:
    """Pixels that follow each other are one run."""
    rng = np.random.default_rng(seed)
    planes, runs, run_bytes = (int(rng.integers(1, most)) for most in (5, 5, 50))
    box = Box(int(rng.integers(0, 100)), planes, runs * run_bytes, runs, run_bytes, run_bytes)
    assert _words(box, run_bytes, WIDTH) == touched(box, run_bytes)


@pytest.mark.parametrize("channels", [20, 24, 33, 47, 64, 100])
@pytest.mark.parametrize("part", [4, 6, 8, 16])
def test_groups_of_channels_cross_one_after_the_other(channels: int, part: int) -> None:
    """The mean over all places where the tensor may begin. Its runs are too far apart to share a word."""
    stride = 7 * WIDTH
    boxes = [Box(address, 3, 5 * stride, 4, stride, channels) for address in range(WIDTH)]
    counted = [touched(box, part) for box in boxes]
    assert np.mean([_words(box, part, WIDTH) for box in boxes]) == pytest.approx(np.mean(counted))


def accesses(plan: Plan, config: DlaConfig) -> list[float]:
    """Of each operation."""
    batches = plan.stream.batches(plan.operations)
    return stream_accesses(config, batches, plan.costs.sram_bytes, WIDTH).tolist()


def test_a_convolution_by_hand() -> None:
    """Four output lanes, seven channels. Input: 7 x 7 pixels of 9 bytes, one run of 441 bytes. Filters of 54
    bytes begin anywhere: five words each. Records: 48 and 36 bytes, aligned: three words each. Results: 30
    pixels that lie 28 bytes apart, in parts of 4 and 3 bytes that begin at multiples of 4: a word each."""
    plan = plan_of(("OP_CONV", {"init": 1}))
    assert accesses(plan, CONFIG) == [28 + 7 * 5 + 3 + 3 + 30 + 30]


def test_a_table_and_a_transfer_by_hand() -> None:
    """5 x 6 pixels of 7 bytes that follow each other: 14 words, both ways; a table of 256 bytes."""
    plan = plan_of(
        ("OP_ACT_LUT", {}), ("OP_DMA_READ", {}), IN_PIXEL_STRIDE=7, IN_ROW_STRIDE=42, OUT_PIXEL_STRIDE=7,
        OUT_ROW_STRIDE=42, LUT_ADDR=32768, DMA_IN_REGION=Region.CONSTANTS, DMA_IN_RUN_BYTES=3,
        DMA_IN_RUNS=5, DMA_IN_RUN_STRIDE=3, DMA_IN_RUN_SRAM_STRIDE=32,
    )  # fmt: skip
    assert accesses(plan, CONFIG) == [14 + 14 + 16, 5]


def test_no_access_carries_more_than_a_word() -> None:
    plan = plan_of(
        ("OP_CONV", {"init": 1}), ("OP_E32_ADD", {}), IN2_ADDR=0, IN_PIXEL_STRIDE=12, IN_ROW_STRIDE=84
    )
    assert unit_costs(CONFIG, "OP_CONV").output_lanes == 4
    full = plan.costs.sram_bytes / WIDTH
    assert (np.array(accesses(plan, CONFIG)) >= full).all()
