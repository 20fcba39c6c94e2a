"""Numbers at the ends of their ranges, where wrapping, saturating and rounding differ."""

import itertools

import numpy as np
import pytest

from dlasim.isa.instruction_rows import Quant, ShiftMode
from dlasim.sim.fast_engine import Engine
from dlasim.sim.readable_engine import execute as execute_reference
from tests.sim_engines import oracle
from tests.sim_engines.bench import Bench, records

LOW, HIGH = -(1 << 31), (1 << 31) - 1
VALUES = (LOW, LOW + 1, -(1 << 30), -3, -2, -1, 0, 1, 2, 3, 1 << 30, HIGH - 1, HIGH, -12345, 98765)
MULTIPLIERS = (LOW, LOW + 1, -1, 0, 1, 1 << 30, (1 << 30) + 1, HIGH - 1, HIGH)
SHIFTS = (LOW, -32, -31, -30, -17, -2, -1, 0, 1, 2, 30, 31, 32, HIGH)


@pytest.fixture(scope="module", params=["reference", "best", "portable"])
def execute(request):
    if request.param == "reference":
        return execute_reference
    return Engine(None if request.param == "best" else "portable").execute


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_requantization_of_any_record(execute, zero_point):
    pairs = list(itertools.product(MULTIPLIERS, SHIFTS))
    multipliers, shifts = np.array(pairs).T
    bench = Bench(OUT_ZP=zero_point)
    bench.view("IN", np.repeat(np.array(VALUES, np.int32), len(pairs)).reshape(1, len(VALUES), len(pairs)))
    bench.linear("PARAM_ADDR", records(0, multipliers, shifts))
    found = bench.run(execute, "OP_REQUANT", (1, len(VALUES), len(pairs)), quant=Quant.CHANNEL)
    for i, value in enumerate(VALUES):
        for c, (multiplier, shift) in enumerate(pairs):
            scaled = oracle.wrap(oracle.requant(value, multiplier, shift) + zero_point)
            assert found[0, i, c] == min(127, max(-128, scaled)), (value, multiplier, shift)


@pytest.mark.parametrize("mode", ShiftMode)
def test_shifts_by_every_amount(execute, mode):
    values = np.array(VALUES, np.int32).reshape(1, 1, -1)
    for amount in range(32):
        bench = Bench(SHIFT_AMOUNT=amount)
        bench.view("IN", values)
        found = bench.run(execute, "OP_E32_SHIFT", values.shape, mode=mode)
        expected = {
            ShiftMode.LEFT: [oracle.wrap(value << amount) for value in VALUES],
            ShiftMode.RIGHT: [value >> amount for value in VALUES],
            ShiftMode.RIGHT_ROUND: [oracle.round_shift(value, amount) for value in VALUES],
        }
        assert found.reshape(-1).tolist() == expected[mode], amount


def test_sums_wrap(execute):
    pairs = np.array(list(itertools.product(VALUES, VALUES)), np.int32)
    bench = Bench()
    bench.view("IN", pairs[:, 0].reshape(1, 1, -1))
    bench.view("IN2", pairs[:, 1].reshape(1, 1, -1))
    found = bench.run(execute, "OP_E32_ADD", (1, 1, len(pairs)))
    assert found.reshape(-1).tolist() == [oracle.wrap(int(a) + int(b)) for a, b in pairs]


def test_convolution_of_extreme_bytes_on_an_extreme_partial_sum(execute):
    bench = Bench(IN_SIZE=(1, 5), IN_CHANNELS=400, IN_ZP=127)
    bench.view("IN", np.full((1, 5, 400), -128, np.int8))
    bench.linear("WEIGHT_ADDR", np.full((33, 400), -128, np.int8))
    bench.view("ACC", np.full((1, 5, 33), HIGH, np.int32))
    found = bench.run(execute, "OP_CONV", (1, 5, 33), init=2, out=1, quant=0)
    assert (found == oracle.wrap(HIGH + 400 * 255 * 128)).all()


def test_an_empty_clamp_leaves_its_upper_end(execute):
    """OP_CONV_RELU and OP_ACT_RELU raise the lower clamp to the zero point, maybe beyond ACT_MAX."""
    bench = Bench(OUT_ZP=100, ACT_MAX=50)
    bench.view("IN", np.arange(-8, 8, dtype=np.int8).reshape(1, 1, 16))
    assert (bench.run(execute, "OP_ACT_RELU", (1, 1, 16)) == 50).all()


@pytest.mark.parametrize("mnemonic", ["OP_CONV", "OP_DEPTH_CONV", "OP_POOL"])
def test_windows_that_hardly_ever_meet_the_input(execute, mnemonic):
    """Strides, dilations and pads at their limits would need a padded input beyond any memory."""
    far = (1 << 16) - 1
    bench = Bench(
        IN_SIZE=(3, 2), IN_CHANNELS=2, KERNEL=(2, 2), STRIDE=(far, far), DILATION=(far, far), PAD=(far, far),
        PAD_VALUE=5, IN_ZP=5,
    )  # fmt: skip
    image = np.arange(12, dtype=np.int8).reshape(3, 2, 2)
    bench.view("IN", image)
    bench.linear("WEIGHT_ADDR", np.ones((2, 2, 2, 2), np.int8))
    found = bench.run(execute, mnemonic, (2, 2, 2), **_FIELDS[mnemonic])
    # Every output meets the corner pixel through one tap, and nothing else.
    corner = image[0, 0].astype(int) - (0 if mnemonic == "OP_POOL" else 5)
    assert (found == (corner.sum() if mnemonic == "OP_CONV" else corner)).all()


_FIELDS = {
    "OP_CONV": {"init": 0, "out": 1, "quant": 0},
    "OP_DEPTH_CONV": {"init": 0, "out": 1, "quant": 0},
    "OP_POOL": {"mode": 1},
}
