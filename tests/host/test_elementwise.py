"""Element-wise operators of two inputs, and between number types."""

import numpy as np
import pytest

from tests.host.models import (
    GraphBuilder,
    check,
    check_random,
    random_scale,
    random_zero_point,
    run_on_host,
    tied_scale,
)

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def broadcast_shapes(rng, rank):
    """Two shapes that broadcast, and what they broadcast to."""
    full = [int(n) for n in rng.integers(1, 6, rank)]
    shapes = [[1 if rng.integers(3) == 0 else n for n in full] for _ in range(2)]
    shapes = [shape[int(rng.integers(0, rank)) if rng.integers(4) == 0 else 0 :] for shape in shapes]
    return *map(tuple, shapes), np.broadcast_shapes(*shapes)


def binary_graph(rng, kind, dtype="int8", rank=4, constant=False, tied=False, **options):
    builder = GraphBuilder()
    first, second, full = broadcast_shapes(rng, rank)
    common = (random_scale(rng), random_zero_point(rng))
    numbers = []
    for position, shape in enumerate((first, second, full)):
        quantization = (random_scale(rng), random_zero_point(rng)) if dtype == "int8" else (None, 0)
        if kind in ("MAXIMUM", "MINIMUM") and dtype == "int8":
            quantization = common
        if tied and position == 2:
            scales = [builder.tensors[number].quantization.scale for number in numbers]
            product = scales[0] * scales[1] * 64 if kind == "MUL" else max(scales)
            quantization = (tied_scale(rng, product), quantization[1])
        if position == 1 and constant:
            data = rng.integers(-100, 100, shape)
            numbers.append(builder.add(shape, dtype, *quantization, data=data))
        else:
            numbers.append(builder.add(shape, dtype, *quantization, is_input=position < 2))
    return builder.graph(kind, numbers[:2], numbers[2:], **options)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_rescaled_arithmetic(kind, seed):
    rng = np.random.default_rng(seed)
    activation = str(rng.choice(ACTIVATIONS))
    options = {"constant": seed % 3 == 0, "tied": seed % 2 == 0, "fused_activation_function": activation}
    check_random(rng, binary_graph(rng, kind, **options))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_every_pair_of_values(kind, seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    scales = [random_scale(rng), random_scale(rng)]
    scales.append(tied_scale(rng, scales[0] * scales[1] * 32 if kind == "MUL" else max(scales)))
    shapes = [(256, 1), (1, 256), (256, 256)]
    numbers = [
        builder.add(shape, scale=scale, zero_point=random_zero_point(rng), is_input=1 in shape)
        for shape, scale in zip(shapes, scales, strict=True)
    ]
    everything = np.arange(-128, 128, dtype=np.int8)
    check(builder.graph(kind, numbers[:2], numbers[2:]), [everything[:, None], everything[None]])


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
def test_extremum(kind, seed):
    rng = np.random.default_rng(seed)
    check_random(rng, binary_graph(rng, kind, dtype=["int8", "float32", "int32"][seed % 3]))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "DIV", "FLOOR_DIV"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_plain_arithmetic(kind, dtype, seed):
    rng = np.random.default_rng(seed)
    options = {} if kind == "FLOOR_DIV" else {"fused_activation_function": ACTIVATIONS[seed % 4]}
    graph = binary_graph(rng, kind, dtype, **options)
    values = [rng.integers(-1000, 1000, graph.tensors[n].shape).astype(dtype) for n in graph.inputs]
    values[1][values[1] == 0] = 7
    if dtype == "float32":
        values = [value * np.float32(rng.normal()) for value in values]
    # LiteRT computes every type; TFLite Micro's choice is small.
    check(graph, values, litert=True)


def constant_divisor_graph(kind, dtype, count, divisor):
    builder = GraphBuilder()
    values = builder.add((count,), dtype, is_input=True)
    numbers = [values, builder.add((1,), dtype, data=np.array([divisor]))]
    return builder.graph(kind, numbers, [builder.add((count,), dtype)])


@pytest.mark.parametrize("divisor", [0.1, 0.7, -0.3])
def test_floor_div_of_floats_divides_in_float64(divisor):
    """Rounded to float32 first, many quotients just below a whole number would be that number."""
    graph = constant_divisor_graph("FLOOR_DIV", "float32", 400, divisor)
    multiples = (np.arange(-200, 200) * divisor).astype(np.float32)
    divisor = np.float32(divisor)
    assert (np.floor(multiples / divisor) != np.floor(multiples / np.float64(divisor))).any()
    check(graph, [multiples])
    check(graph, [multiples], litert=True)


@pytest.mark.parametrize("divisor", [1, 2, 3, -2, -3, -7, 2**31 - 1, -(2**31)])
def test_div_of_the_least_integers(divisor):
    least = np.array([0, 1, 2, 3, 6, 7], np.int32) - np.int32(2**31 - 1) - np.int32(1)
    graph = constant_divisor_graph("DIV", "int32", 2 * len(least), divisor)
    check(graph, [np.concatenate([least, ~least])], litert=True)


@pytest.mark.parametrize(("kind", "expected"), [("DIV", 0), ("FLOOR_DIV", 0)])
def test_an_integer_divided_by_zero_is_zero(kind, expected):
    builder = GraphBuilder()
    first, second = (builder.add((3,), "int32", is_input=True) for _ in range(2))
    graph = builder.graph(kind, [first, second], [builder.add((3,), "int32")])
    values = [np.array([-7, 0, 7], np.int32), np.array([0, 0, 2], np.int32)]
    assert run_on_host(graph, values)[2].tolist() == [expected, expected, 3]


@pytest.mark.parametrize("seed", range(20))
def test_prelu(seed):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    shape = tuple(int(n) for n in rng.integers(1, 6, 4))
    alpha_shape = [(1, 1, shape[3]), (shape[3],), shape[1:]][seed % 3]
    scales = [random_scale(rng) for _ in range(3)]
    if seed % 2:
        scales[2] = tied_scale(rng, scales[0] * scales[1] * 64 if seed % 4 == 1 else scales[0])
    values = builder.add(shape, scale=scales[0], zero_point=random_zero_point(rng), is_input=True)
    data = rng.integers(-128, 128, alpha_shape)
    alpha = builder.add(alpha_shape, scale=scales[1], zero_point=random_zero_point(rng), data=data)
    output = builder.add(shape, scale=scales[2], zero_point=random_zero_point(rng))
    check_random(rng, builder.graph("PRELU", [values, alpha], [output]))


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_plain_arithmetic_of_64_bits(kind):
    """TFLite has these three."""
    rng = np.random.default_rng(3)
    check_random(rng, binary_graph(rng, kind, "int64"), litert=True)


def test_absolute_of_floats():
    rng = np.random.default_rng(0)
    builder = GraphBuilder()
    numbers = [builder.add((100,), "float32", is_input=True), builder.add((100,), "float32")]
    check_random(rng, builder.graph("ABS", numbers[:1], numbers[1:]))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_negative(dtype):
    builder = GraphBuilder()
    numbers = [builder.add((4,), dtype, is_input=True), builder.add((4,), dtype)]
    values = np.array([-(2**31), -1, 0, 5]).astype(dtype)
    expected = [2**31 if dtype == "float32" else -(2**31), 1, 0, -5]
    assert run_on_host(builder.graph("NEG", numbers[:1], numbers[1:]), [values])[1].tolist() == expected


def test_square_root():
    rng = np.random.default_rng(0)
    builder = GraphBuilder()
    graph = builder.graph(
        "SQRT", [builder.add((1000,), "float32", is_input=True)], [builder.add((1000,), "float32")]
    )
    check(graph, [np.exp(rng.normal(0, 20, 1000)).astype(np.float32)])


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("seed", range(5))
def test_quantize_floats(seed, dtype):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    scale, zero_point = random_scale(rng), random_zero_point(rng) if dtype == "int8" else 0
    graph = builder.graph(
        "QUANTIZE",
        [builder.add((5000,), "float32", is_input=True)],
        [builder.add((5000,), dtype, scale, zero_point)],
    )
    # Halves of a step, and their neighbours, are where rounding shows.
    steps = rng.integers(-300, 300, 5000) / 2
    values = (steps * scale).astype(np.float32)
    values[::3] = np.nextafter(values[::3], np.float32(np.inf))
    values[:4] = [1e30, -1e30, 0.49999997 * np.float32(scale), 0]
    check(graph, [values[4:].repeat(2)[:5000]])
    assert run_on_host(graph, [values])[1][:2].tolist() == [np.iinfo(dtype).max, np.iinfo(dtype).min]


@pytest.mark.parametrize("types", [("int8", "int8"), ("int8", "uint8"), ("uint8", "int8")])
@pytest.mark.parametrize("seed", range(10))
def test_requantize(seed, types):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    offsets = [128 if dtype == "uint8" else 0 for dtype in types]
    scale = random_scale(rng)
    scales = [scale, [scale, random_scale(rng), tied_scale(rng, scale)][seed % 3]]
    numbers = [
        builder.add((256,), types[n], scales[n], random_zero_point(rng) + offsets[n], is_input=n == 0)
        for n in range(2)
    ]
    graph = builder.graph("QUANTIZE", numbers[:1], numbers[1:])
    check(graph, [np.arange(256, dtype=np.uint8).view(types[0])])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("seed", range(5))
def test_dequantize(seed, dtype):
    rng = np.random.default_rng(seed)
    builder = GraphBuilder()
    zero_point = {"int8": random_zero_point(rng), "uint8": 100}.get(dtype, 0)
    graph = builder.graph(
        "DEQUANTIZE",
        [builder.add((512,), dtype, random_scale(rng), zero_point, is_input=True)],
        [builder.add((512,), "float32")],
    )
    check_random(rng, graph)


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "float32", "bool", "uint8"])
@pytest.mark.parametrize("source", ["int8", "int32", "float32", "bool", "int64", "uint8"])
def test_cast(source, target):
    rng = np.random.default_rng(1)
    builder = GraphBuilder()
    graph = builder.graph("CAST", [builder.add((200,), source, is_input=True)], [builder.add((200,), target)])
    if source == "float32":
        # Beyond the target's range C says nothing; ours is tested below.
        low = 0 if target == "uint8" else -100
        check(graph, [rng.uniform(low, 100, 200).astype(np.float32)], litert=True)
    else:
        check_random(rng, graph, litert=True)


def test_cast_of_floats_beyond_the_range_saturates():
    builder = GraphBuilder()
    graph = builder.graph("CAST", [builder.add((5,), "float32", is_input=True)], [builder.add((5,), "int32")])
    values = np.array([np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31)], np.float32)
    assert run_on_host(graph, [values])[1].tolist() == [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31)]
