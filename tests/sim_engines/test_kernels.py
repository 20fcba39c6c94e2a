"""The compiled kernels against the readable engine, over the whole SRAM, on both ways of multiplying."""

import numpy as np
import pytest

from dlasim.native.target import host
from dlasim.sim.kernels import Engine
from dlasim.sim.reference import execute
from tests.sim_engines.generate import COMPUTED, LARGE, SMALL, random_scene

KINDS = ("vnni", "portable")


@pytest.fixture(scope="module")
def engines():
    return {kind: Engine(kind) for kind in KINDS if kind == "portable" or host().has_vnni}


@pytest.mark.parametrize(("limits", "scenes"), [(SMALL, 200), (LARGE, 25)], ids=["small", "large"])
@pytest.mark.parametrize("mnemonic", COMPUTED)
def test_every_byte_of_sram_is_as_the_readable_engine_leaves_it(engines, mnemonic, limits, scenes):
    rng = np.random.default_rng(sum(mnemonic.encode()) + limits.pixels)
    compiled = dict.fromkeys(engines, 0)
    for number in range(scenes):
        scene = random_scene(rng, mnemonic, limits)
        expected = scene.sram.copy()
        execute(scene.operation, expected)
        for kind, engine in engines.items():
            sram = scene.sram.copy()
            compiled[kind] += engine.execute(scene.operation, sram)
            wrong = np.flatnonzero(sram != expected)
            assert not len(wrong), (kind, number, wrong[:10], scene.operation)
    assert min(compiled.values()) > scenes // 2, "too many operations never reached the kernels"
