"""The compiled kernels against the readable engine, over the whole SRAM, on every way of multiplying."""

from dataclasses import replace

import numpy as np
import pytest

from dlasim.isa.instruction_rows import Init, Out, Quant
from dlasim.sim.fast_engine import Engine
from dlasim.sim.fast_engine.loader import runnable_kinds
from dlasim.sim.readable_engine import execute
from tests.sim_engines.bench import Bench, records
from tests.sim_engines.generate import COMPILED, LARGE, SMALL, Limits, is_legal, make_operation, random_scene

SUMS = ("OP_CONV", "OP_CONV_RELU", "OP_MAT_MUL", "OP_DEPTH_CONV")
WIDE = Limits(pixels=40, channels=200, kernel=4, sram_bytes=1 << 20)  # of several tiles and blocks
EIGHTS = Limits(pixels=20, channels=24, channel_step=8, kernel=5, sram_bytes=1 << 18)  # half a vector is left
EIGHT = replace(EIGHTS, channels=8)  # two pixels of a depthwise convolution share a vector


@pytest.fixture(scope="module")
def engines():
    return {kind: Engine(kind) for kind in runnable_kinds()}


@pytest.mark.parametrize(
    ("mnemonic", "limits", "scenes"),
    [
        *((mnemonic, SMALL, 200) for mnemonic in COMPILED),
        *((mnemonic, LARGE, 25) for mnemonic in COMPILED),
        *((mnemonic, WIDE, 12) for mnemonic in SUMS),
        *((mnemonic, EIGHTS, 60) for mnemonic in SUMS),
    ],
)
def test_every_byte_of_sram_is_as_the_readable_engine_leaves_it(engines, mnemonic, limits, scenes):
    rng = np.random.default_rng(sum(mnemonic.encode()) + limits.pixels + limits.channel_step)
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


def test_pixels_of_eight_channels_that_share_a_vector(engines):
    """Depthwise convolutions of dense pixels, as random operations hardly ever are."""
    rng, found = np.random.default_rng(8), 0
    while found < 30:
        scene = random_scene(rng, "OP_DEPTH_CONV", EIGHT)
        operation = scene.operation
        dense = all(operation.value(name) == 8 for name in ("IN_CHANNELS", "IN_PIXEL_STRIDE", "OUT_CHANNELS"))
        if not dense or operation.value("WEIGHT_ZP") != 0 or operation.pair("STRIDE")[1] != 1:
            continue
        expected, found = scene.sram.copy(), found + 1
        execute(operation, expected)
        for kind, engine in engines.items():
            sram = scene.sram.copy()
            engine.execute(operation, sram)
            assert np.array_equal(sram, expected), (kind, operation)


@pytest.mark.parametrize("pixels", [1, 3, 40])
@pytest.mark.parametrize("zero_point", [-128, 3, 127])
def test_sums_next_to_where_rounding_changes(engines, pixels, zero_point):
    """Biases at and next to halves of a step, and at the limits of what the quick requantization takes."""
    rng = np.random.default_rng(pixels)
    for shift in range(-31, 3):
        step = 1 << max(1, min(24, -shift))
        biases = rng.integers(-300, 300, 128) * (step // 2) + rng.integers(-1, 2, 128)
        biases[:8] = (1 << 29, (1 << 29) - 1, -(1 << 29), 1 - (1 << 29), 1 << 30, -(1 << 30), 0, -1)
        multipliers = rng.choice([1 << 30, (1 << 30) + 1, (1 << 31) - 1, 5, 0, -3], 128)
        multipliers[64:] = 1 << 30
        bench = Bench(OUT_ZP=zero_point, IN_ZP=-128, IN_CHANNELS=64)
        bench.view("IN", rng.integers(-128, -126, (1, pixels, 64)).astype(np.int8))
        bench.linear("WEIGHT_ADDR", rng.integers(-1, 2, (128, 64)).astype(np.int8))
        bench.linear("PARAM_ADDR", records(biases.clip(-(1 << 31), (1 << 31) - 1), multipliers, shift))
        fields = {"init": Init.BIAS, "quant": Quant.CHANNEL, "out": Out.INT8}
        expected = bench.run(execute, "OP_MAT_MUL", (1, pixels, 128), **fields)
        for kind, engine in engines.items():
            found = bench.run(engine.execute, "OP_MAT_MUL", (1, pixels, 128), **fields)
            assert np.array_equal(found, expected), (kind, shift)


# Where the input of a 1x1 convolution lies: its pixel stride, its size, and the output's address and stride.
DENSE = {"IN_PIXEL_STRIDE": 64, "IN_SIZE": (5, 8), "OUT_ADDR": 40 * 192, "OUT_PIXEL_STRIDE": 100}
PLACES = {
    "apart": {},
    "before": {"IN_ADDR": 64 * 1024, "OUT_ADDR": 64 * 1024 - 4000},
    "with gaps": {"IN_PIXEL_STRIDE": 192},
    "between the input's pixels": {"IN_PIXEL_STRIDE": 192, "OUT_ADDR": 70, "OUT_PIXEL_STRIDE": 192},
    "larger than the input": {"IN_SIZE": (4, 7)},
    "smaller than the input": {"IN_SIZE": (6, 8)},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mnemonic", ["OP_CONV", "OP_MAT_MUL"])
@pytest.mark.parametrize("outputs", [12, 32, 100])
def test_inputs_that_are_dense_in_sram(engines, mnemonic, place, outputs):
    values = {**DENSE, **PLACES[place], "OUT_SIZE": (5, 8), "IN_CHANNELS": 64, "OUT_CHANNELS": outputs}
    values |= {"WEIGHT_ADDR": 80000, "PAD_VALUE": 3, "IN_ZP": -7, "OUT_MULT": 1 << 30, "OUT_SHIFT": -6}
    for prefix in ("IN", "OUT"):
        values[f"{prefix}_ROW_STRIDE"] = 8 * int(str(values[f"{prefix}_PIXEL_STRIDE"]))
    operation = make_operation(mnemonic, {"init": Init.ZERO, "out": Out.INT8, "quant": Quant.TENSOR}, values)
    assert is_legal(operation, 1 << 17)
    sram = np.random.default_rng(outputs).integers(0, 256, 1 << 17, np.uint8)
    expected = sram.copy()
    execute(operation, expected)
    for kind, engine in engines.items():
        found = sram.copy()
        assert engine.execute(operation, found)
        assert np.array_equal(found, expected), kind
