"""The fast convolutions against sums written out one by one."""

import numpy as np
import pytest

from dlasim.compiler_shim.topologies.arithmetic import convolve, convolve_depthwise, multiply, pool_max

CASES = [
    (9, 9, 3, 1, "SAME"),
    (9, 8, 3, 2, "SAME"),
    (8, 9, 2, 2, "VALID"),
    (7, 7, 1, 2, "SAME"),
    (6, 10, 4, 3, "SAME"),
]


def padding_before(size, window, stride, padding):
    if padding == "VALID":
        return 0, (size - window) // stride + 1
    count = -(-size // stride)
    return max((count - 1) * stride + window - size, 0) // 2, count


def windows(values, window, stride, padding):
    """For each output position: the (row, column, input row, input column) inside the image."""
    top, rows = padding_before(values.shape[1], window, stride, padding)
    left, columns = padding_before(values.shape[2], window, stride, padding)
    for y in range(rows):
        for x in range(columns):
            taps = [
                (row, column, y * stride + row - top, x * stride + column - left)
                for row in range(window)
                for column in range(window)
            ]
            inside = [tap for tap in taps if 0 <= tap[2] < values.shape[1] and 0 <= tap[3] < values.shape[2]]
            yield y, x, inside


@pytest.mark.parametrize(("height", "width", "window", "stride", "padding"), CASES)
def test_convolutions_and_pooling_are_their_definition(height, width, window, stride, padding):
    rng = np.random.default_rng(height * width)
    values = rng.integers(-255, 256, (2, height, width, 3)).astype(np.float32)
    weights = rng.integers(-127, 128, (4, window, window, 3), dtype=np.int8)
    channel_weights = rng.integers(-127, 128, (1, window, window, 3), dtype=np.int8)
    sums = convolve(values, weights, stride, padding)
    channel_sums = convolve_depthwise(values, channel_weights, stride, padding)
    largest = pool_max(values, window, stride, padding)
    whole, wide = values.astype(np.int64), weights.astype(np.int64)
    for y, x, inside in windows(values, window, stride, padding):
        for n in range(2):
            patch = [(row, column, whole[n, iy, ix]) for row, column, iy, ix in inside]
            expected = sum(wide[:, row, column] @ pixel for row, column, pixel in patch)
            assert sums[n, y, x].tolist() == expected.tolist()
            expected = sum(channel_weights[0, row, column] * pixel for row, column, pixel in patch)
            assert channel_sums[n, y, x].tolist() == expected.tolist()
            assert largest[n, y, x].tolist() == np.max([pixel for *_, pixel in patch], axis=0).tolist()


def test_sums_too_large_for_float32_are_exact():
    values = np.full((1, 5000), 255, dtype=np.float32)
    values[0, 0] = 254
    weights = np.full((1, 5000), 127, dtype=np.int8)
    assert multiply(values, weights)[0, 0] == 5000 * 255 * 127 - 127
