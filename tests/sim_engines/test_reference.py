"""The readable engine against the manual's text in plain Python integers."""

import numpy as np
import pytest

from dlasim.sim.programs.footprint import Box
from dlasim.sim.readable_engine import execute
from dlasim.sim.readable_engine.box_copy import copy_box
from tests.sim_engines import oracle
from tests.sim_engines.generate import COMPUTED, random_scene

SCENES = 60


@pytest.mark.parametrize("mnemonic", COMPUTED)
def test_every_byte_of_sram_is_as_the_manual_says(mnemonic):
    rng = np.random.default_rng(sum(mnemonic.encode()))
    for number in range(SCENES):
        scene = random_scene(rng, mnemonic, int16=True)
        expected = oracle.execute(scene.operation, scene.sram.tobytes())
        execute(scene.operation, scene.sram)
        assert scene.sram.tobytes() == expected, (number, scene.operation)


def test_scenes_cover_overlap_broadcast_and_strides():
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        operation = random_scene(rng, "OP_E_ADD").operation
        if operation.value("OUT_ADDR") == operation.value("IN2_ADDR"):
            seen.add("in place")
        if operation.value("IN2_PIXEL_STRIDE") == 0:
            seen.add("broadcast")
        if operation.value("OUT_PIXEL_STRIDE") > operation.value("OUT_CHANNELS"):
            seen.add("slack")
    assert seen == {"in place", "broadcast", "slack"}


def test_copy_box_moves_exactly_the_box():
    rng = np.random.default_rng(2)
    for _ in range(100):
        planes, runs, run_bytes = (int(n) for n in rng.integers(1, 6, 3))
        source_strides, target_strides = (
            (runs * (run_bytes + slack), run_bytes + slack) for slack in rng.integers(0, 4, 2)
        )
        source, target = rng.integers(0, 256, 600, np.uint8), rng.integers(0, 256, 600, np.uint8)
        expected = target.copy()
        for p in range(planes):
            for r in range(runs):
                for b in range(run_bytes):
                    here = 7 + p * target_strides[0] + r * target_strides[1] + b
                    expected[here] = source[3 + p * source_strides[0] + r * source_strides[1] + b]
        copy_box(
            source, Box(3, planes, int(source_strides[0]), runs, int(source_strides[1]), run_bytes),
            target, Box(7, planes, int(target_strides[0]), runs, int(target_strides[1]), run_bytes),
        )  # fmt: skip
        assert np.array_equal(target, expected)
