"""Windows of any size, stride, padding and dilation: the host operators against sums pixel by pixel."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from dlasim.errors import RunError
from dlasim.isa import host_ops
from dlasim.isa.host_attributes import encode_attributes
from dlasim.sim.host import TensorSpec, convolution, run_host_op

FAR = 1 << 30  # the largest window, and the largest pad
CLAMP = {"clamp_min": -128, "clamp_max": 127}
ALIKE = (0, 1 << 30, 1)  # bias, multiplier, shift: leaves a sum as it is


def call(name, inputs, shape, **attributes):
    words = encode_attributes(name, **attributes)
    return run_host_op(host_ops.BY_NAME[name].code, words, inputs, [TensorSpec(shape, "int8")])[0]


def window(rng):
    """Size of the image, number of windows, taps, stride, pad and dilation along an axis."""
    while True:
        size, taps, stride, dilation = (int(n) for n in rng.integers(1, (9, 13, 7, 6)))
        reach = (taps - 1) * dilation + 1
        pad = int(rng.integers(0, reach))
        most = (size + pad - 1) // stride + 1
        windows = int(rng.integers(1, most + 1))
        if (windows - 1) * stride + reach - pad - size < reach:
            return size, windows, taps, stride, pad, dilation


def positions(axes, y, x):
    """(tap row, tap column, image row, image column) of the taps that meet the image."""
    (height, _, taps_y, stride_y, top, dilation_y), (width, _, taps_x, stride_x, left, dilation_x) = axes
    for ky, kx in itertools.product(range(taps_y), range(taps_x)):
        row, column = y * stride_y + ky * dilation_y - top, x * stride_x + kx * dilation_x - left
        if 0 <= row < height and 0 <= column < width:
            yield ky, kx, row, column


def placed(axes, dilation=True):
    (_, _, _, stride_y, top, dilation_y), (_, _, _, stride_x, left, dilation_x) = axes
    values = {"stride_height": stride_y, "stride_width": stride_x, "pad_top": top, "pad_left": left}
    return values | ({"dilation_height": dilation_y, "dilation_width": dilation_x} if dilation else {})


def clip(value):
    return min(127, max(-128, int(value)))


LAYOUTS = {"all taps": (1 << 24, 1 << 50), "few rows": (500, 1 << 24), "single taps": (1 << 24, 0)}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(40))
def test_convolution(monkeypatch, seed, layout):
    monkeypatch.setattr(convolution, "_MAX_ELEMENTS", LAYOUTS[layout][0])
    monkeypatch.setattr(convolution, "_CALL_ELEMENTS", LAYOUTS[layout][1])
    rng = np.random.default_rng(seed)
    axes = window(rng), window(rng)
    groups, depth, per_group, batch = (int(n) for n in rng.integers(1, (3, 4, 3, 3)))
    image = rng.integers(-9, 10, (batch, axes[0][0], axes[1][0], groups * depth), np.int8)
    weights = rng.integers(-2, 3, (groups * per_group, axes[0][2], axes[1][2], depth), np.int8)
    shape, zero_point = (batch, axes[0][1], axes[1][1], groups * per_group), seed % 3
    expected = np.zeros(shape, np.int64)
    for n, y, x, o in np.ndindex(shape):
        group = o // per_group * depth
        for ky, kx, row, column in positions(axes, y, x):
            pixel = image[n, row, column, group : group + depth].astype(int) - 3
            expected[n, y, x, o] += (pixel * (weights[o, ky, kx].astype(int) - zero_point)).sum()
    records = np.array([ALIKE] * shape[3], np.int32)
    attributes = {"input_zero_point": 3, "weight_zero_point": zero_point, "output_zero_point": 0, **CLAMP}
    attributes |= placed(axes)
    found = call("CONV_2D", [image, weights, records], shape, **attributes)
    assert np.array_equal(found, np.clip(expected, -128, 127))


@pytest.mark.parametrize("seed", range(40))
def test_depthwise_convolution(seed):
    rng = np.random.default_rng(seed)
    axes = window(rng), window(rng)
    depth, factor, batch = (int(n) for n in rng.integers(1, (4, 4, 3)))
    image = rng.integers(-9, 10, (batch, axes[0][0], axes[1][0], depth), np.int8)
    weights = rng.integers(-2, 3, (1, axes[0][2], axes[1][2], depth * factor), np.int8)
    shape, zero_point = (batch, axes[0][1], axes[1][1], depth * factor), seed % 3
    expected = np.zeros(shape, np.int64)
    for n, y, x, o in np.ndindex(shape):
        for ky, kx, row, column in positions(axes, y, x):
            weight = int(weights[0, ky, kx, o]) - zero_point
            expected[n, y, x, o] += (int(image[n, row, column, o // factor]) + 4) * weight
    records = np.array([ALIKE] * shape[3], np.int32)
    attributes = {"input_zero_point": -4, "weight_zero_point": zero_point, "output_zero_point": 0, **CLAMP}
    attributes |= placed(axes)
    found = call("DEPTHWISE_CONV_2D", [image, weights, records], shape, **attributes)
    assert np.array_equal(found, np.clip(expected, -128, 127))


@pytest.mark.parametrize("seed", range(40))
def test_transpose_convolution(seed):
    rng = np.random.default_rng(seed)
    axes = window(rng), window(rng)
    depth, channels, batch = (int(n) for n in rng.integers(1, (4, 4, 3)))
    image = rng.integers(-9, 10, (batch, axes[0][1], axes[1][1], depth), np.int8)
    weights = rng.integers(-2, 3, (channels, axes[0][2], axes[1][2], depth), np.int8)
    shape, zero_point = (batch, axes[0][0], axes[1][0], channels), seed % 3
    expected = np.zeros(shape, np.int64)
    plain = [(*axis[:5], 1) for axis in axes]
    for n, y, x in np.ndindex(image.shape[:3]):
        for ky, kx, row, column in positions(plain, y, x):
            factors = weights[:, ky, kx].astype(int) - zero_point
            expected[n, row, column] += factors @ (image[n, y, x].astype(int) - 3)
    records = np.array([ALIKE] * channels, np.int32)
    attributes = {"input_zero_point": 3, "weight_zero_point": zero_point, "output_zero_point": 0, **CLAMP}
    attributes |= placed(axes, dilation=False)
    found = call("TRANSPOSE_CONV", [image, weights, records], shape, **attributes)
    assert np.array_equal(found, np.clip(expected, -128, 127))


@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("seed", range(60))
def test_pool(seed, name):
    rng = np.random.default_rng(seed)
    axes = []
    while len(axes) < 2:
        axis = (*window(rng)[:5], 1)
        if axis[4] < axis[2] and (axis[1] - 1) * axis[3] - axis[4] < axis[0]:
            axes.append(axis)
    image = rng.integers(-128, 128, (2, axes[0][0], axes[1][0], 3), np.int8)
    shape = (2, axes[0][1], axes[1][1], 3)
    expected, halves_up = np.zeros(shape, np.int8), seed % 2
    for n, y, x, c in np.ndindex(shape):
        seen = [int(image[n, row, column, c]) for _, _, row, column in positions(axes, y, x)]
        half = len(seen) // 2 if sum(seen) >= 0 or halves_up else -(len(seen) // 2)
        average = (
            math.floor((sum(seen) + half) / len(seen)) if halves_up else int((sum(seen) + half) / len(seen))
        )
        expected[n, y, x, c] = clip(average if name == "AVERAGE_POOL_2D" else max(seen))
    attributes = {"filter_height": axes[0][2], "filter_width": axes[1][2], **CLAMP}
    if name == "AVERAGE_POOL_2D":
        attributes["halves_up"] = halves_up
    found = call(name, [image], shape, **attributes, **placed(axes, dilation=False))
    assert np.array_equal(found, expected)


@pytest.fixture
def little_memory():
    """Fails a test that takes more than 64 MiB at any time."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 26


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("size", [1, 200])
def test_a_pool_far_larger_than_its_image(name, size):
    """Each window sees all of the image."""
    image = np.arange(size * size, dtype=np.int8).reshape(1, size, size, 1)
    windows = 40
    found = call(
        name, [image], (1, windows, windows, 1), stride_height=1 << 20, stride_width=3,
        pad_top=FAR - (1 << 26), pad_left=FAR - (1 << 26), filter_height=FAR, filter_width=FAR, **CLAMP,
        **({"halves_up": 0} if name == "AVERAGE_POOL_2D" else {}),
    )  # fmt: skip
    assert (found == (int(image.max()) if name == "MAX_POOL_2D" else round(image.mean()))).all()


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_dilation_far_beyond_the_image(name):
    """Only the middle tap ever meets the image."""
    image = np.arange(9, dtype=np.int8).reshape(1, 3, 3, 1)
    weights = np.full((1, 3, 3, 1), 2, np.int8)
    far = FAR // 2 - 1
    found = call(
        name, [image, weights, np.array([ALIKE], np.int32)], image.shape, stride_height=1, stride_width=1,
        pad_top=far, pad_left=far, dilation_height=far, dilation_width=far, input_zero_point=0,
        output_zero_point=0, weight_zero_point=0, **CLAMP,
    )  # fmt: skip
    assert np.array_equal(found, 2 * image)


@pytest.mark.usefixtures("little_memory")
def test_a_kernel_far_larger_than_its_image():
    """Each output meets the one pixel through a tap of its own."""
    size = 120
    weights = np.random.default_rng(0).integers(-128, 128, (1, size, size, 1), np.int8)
    found = call(
        "CONV_2D", [np.ones((1, 1, 1, 1), np.int8), weights, np.array([ALIKE], np.int32)], (1, size, size, 1),
        stride_height=1, stride_width=1, pad_top=size - 1, pad_left=size - 1, dilation_height=1,
        dilation_width=1, input_zero_point=0, output_zero_point=0, weight_zero_point=0, **CLAMP,
    )  # fmt: skip
    assert np.array_equal(found[0, ::-1, ::-1, 0], weights[0, :, :, 0])


@pytest.mark.usefixtures("little_memory")
def test_a_transposed_stride_far_beyond_the_output():
    image, weights = np.arange(1, 10, dtype=np.int8).reshape(1, 3, 3, 1), np.full((1, 1, 1, 1), 2, np.int8)
    found = call(
        "TRANSPOSE_CONV", [image, weights, np.array([ALIKE], np.int32)], (1, 2, 2, 1),
        stride_height=FAR, stride_width=FAR, pad_top=0, pad_left=0, input_zero_point=0, output_zero_point=0,
        weight_zero_point=0, **CLAMP,
    )  # fmt: skip
    assert found.reshape(-1).tolist() == [2, 0, 0, 0]


def many(*shape, dtype=np.int8):
    return np.zeros(shape, dtype)


_INDICES = many(1 << 20, dtype=np.int32)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("name", "inputs", "attributes"),
    [
        ("STRIDED_COPY", [many(9)], {"offset": 0, "size": [1 << 20] * 6, "stride": [0] * 6}),
        ("GATHER", [many(1, 1 << 20), _INDICES], {"axis": 0, "batch_dims": 0}),
        ("GATHER_ND", [many(1, 1 << 20), _INDICES[:, None]], {}),
        ("CONCATENATION", [many(1 << 24)] * 9, {"axis": 0}),
        ("MUL", [many(1 << 20, 1), many(1, 1 << 20)], {}),
        ("RESIZE_NEAREST", [many(1, 1, 1 << 20, 1), _INDICES, _INDICES[:1]], {}),
        ("FULLY_CONNECTED", [many(1 << 16, 1), many(1 << 16, 1), many(1 << 16, 3, dtype=np.int32)], {}),
    ],
)
def test_what_would_outgrow_its_output_is_refused_before_it_is_made(name, inputs, attributes):
    zeros = {attribute.name: 0 for attribute in host_ops.BY_NAME[name].attributes}
    with pytest.raises(RunError, match=f"host operator {name}: "):
        call(name, inputs, (2,), **zeros | attributes)
