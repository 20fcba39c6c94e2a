"""Single operators as TensorFlow computes them, their parameters mapped to registers by hand."""

import numpy as np
import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.isa.instruction_rows import Init, Out, PoolMode, Quant
from dlasim.sim.arithmetic.numerics import mean_multiplier, quantize_multiplier
from dlasim.sim.fast_engine import Engine
from dlasim.sim.readable_engine import execute as execute_reference
from tests.host.models import GraphBuilder, random_scale, random_zero_point
from tests.oracle import run_litert_reference, run_tflite_micro
from tests.sim_engines.bench import Bench, records

SEEDS = range(8)
SIMPLE = {"fused_activation_function": "NONE"}


@pytest.fixture(scope="module", params=["reference", "compiled"])
def execute(request):
    return execute_reference if request.param == "reference" else Engine().execute


def noise(rng, *shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def answer(graph, *inputs, run=run_tflite_micro):
    """TensorFlow's output, without the batch."""
    result = run(write_tflite(graph), list(inputs))[graph.outputs[0]]
    return result.reshape(result.shape[-3:] if result.ndim > 3 else (1, *result.shape))


def scales(ratios):
    multipliers, shifts = zip(*(quantize_multiplier(float(ratio)) for ratio in ratios), strict=True)
    return np.array(multipliers), np.array(shifts)


def clamp(activation, scale, zero_point):
    """ACT_MIN and ACT_MAX of a fused activation."""
    low, high = {"NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6)}[activation]
    least = -128 if low is None else max(-128, zero_point)
    most = 127 if high is None else min(127, zero_point + round(float(np.float32(high) / np.float32(scale))))
    return {"ACT_MIN": least, "ACT_MAX": most, "OUT_ZP": zero_point}


def ratio(name, value):
    multiplier, shift = quantize_multiplier(float(value))
    return {f"{name}_MULT": multiplier, f"{name}_SHIFT": shift}


class Convolution:
    """A random convolution of any kind: TensorFlow's graph and the registers for it."""

    def __init__(self, seed, kind):
        rng = np.random.default_rng(seed)
        depthwise = kind == "DEPTHWISE_CONV_2D"
        self.kernel = tuple(int(n) for n in rng.integers(1, 5, 2))
        stride = tuple(int(n) for n in rng.integers(1, 4, 2))
        dilation = tuple(int(n) for n in rng.integers(1, 3, 2)) if stride == (1, 1) else (1, 1)
        size = tuple(
            int(k * d + n) for k, d, n in zip(self.kernel, dilation, rng.integers(0, 9, 2), strict=True)
        )
        depth, factor = int(rng.integers(1, 40)), int(rng.integers(1, 3))
        outputs = depth * factor if depthwise else int(rng.integers(1, 40))
        self.zero_point, self.padding = random_zero_point(rng), str(rng.choice(["SAME", "VALID"]))
        extent = [(k - 1) * d + 1 for k, d in zip(self.kernel, dilation, strict=True)]
        if self.padding == "SAME":
            out = [-(-n // s) for n, s in zip(size, stride, strict=True)]
            spare = [
                max(0, (o - 1) * s + e - n) for o, s, e, n in zip(out, stride, extent, size, strict=True)
            ]
        else:
            out, spare = [(n - e) // s + 1 for n, e, s in zip(size, extent, stride, strict=True)], [0, 0]
        self.shape = (*out, outputs)
        self.input = noise(rng, *size, depth)
        weights = rng.integers(
            -127, 128, (1, *self.kernel, outputs) if depthwise else (outputs, *self.kernel, depth)
        )
        self.weights = weights.astype(np.int8)
        self.bias = rng.integers(-3000, 3000, outputs)
        in_scale = np.float32(random_scale(rng))
        weight_scales = rng.uniform(0.001, 0.05, outputs).astype(np.float32)
        out_scale = np.float32(in_scale * weight_scales.max() * 90 * np.sqrt(np.prod(self.kernel)))
        out_zero = random_zero_point(rng)
        self.activation = str(rng.choice(["NONE", "RELU", "RELU6"]))
        builder = GraphBuilder()
        tensors = [
            builder.add((1, *size, depth), scale=in_scale, zero_point=self.zero_point, is_input=True),
            builder.add(
                self.weights.shape, scale=weight_scales, axis=3 if depthwise else 0, data=self.weights
            ),
            builder.add((outputs,), "int32", scale=in_scale * weight_scales, data=self.bias),
        ]
        output = builder.add((1, *self.shape), scale=out_scale, zero_point=out_zero)
        options = {
            "padding": self.padding, "stride_h": stride[0], "stride_w": stride[1],
            "dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1],
            "fused_activation_function": self.activation,
        }  # fmt: skip
        if depthwise:
            options["depth_multiplier"] = factor
        self.graph = builder.graph(kind, tensors, [output], **options)
        doubles = np.float64(in_scale) * weight_scales.astype(np.float64) / np.float64(out_scale)
        self.multipliers, self.shifts = scales(doubles)
        self.registers = {
            "IN_SIZE": size, "IN_CHANNELS": depth, "KERNEL": self.kernel, "STRIDE": stride,
            "DILATION": dilation, "PAD": (spare[0] // 2, spare[1] // 2), "PAD_VALUE": self.zero_point,
            "IN_ZP": self.zero_point, **clamp(self.activation, out_scale, out_zero),
        }  # fmt: skip

    @property
    def expected(self):
        return answer(self.graph, self.input[None])

    def bench(self):
        bench = Bench(**self.registers)
        bench.view("IN", self.input)
        bench.linear("WEIGHT_ADDR", self.weights)
        bench.linear("PARAM_ADDR", records(self.bias, self.multipliers, self.shifts))
        return bench


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_convolution_in_one_instruction(execute, kind, seed):
    case = Convolution(seed, kind)
    mnemonic = "OP_CONV" if kind == "CONV_2D" else "OP_DEPTH_CONV"
    fields = {"init": Init.BIAS, "out": Out.INT8, "quant": Quant.CHANNEL}
    found = case.bench().run(execute, mnemonic, case.shape, **fields)
    np.testing.assert_array_equal(found, case.expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_convolution_with_relu(execute, seed):
    case = Convolution(seed, "CONV_2D")
    case.registers["ACT_MIN"] = -128
    found = case.bench().run(execute, "OP_CONV_RELU", case.shape, init=Init.BIAS, quant=Quant.CHANNEL)
    unclamped = case.activation == "NONE"
    expected = np.maximum(case.expected, case.registers["OUT_ZP"]) if unclamped else case.expected
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_convolution_by_halves_of_the_input_channels_then_requantized(execute, seed):
    case = Convolution(seed, "CONV_2D")
    half = case.input.shape[2] // 2
    partial = None
    for channels in (slice(0, half), slice(half, None)):
        if case.input[..., channels].size == 0:
            continue
        bench = Bench(**case.registers | {"IN_CHANNELS": case.input[..., channels].shape[2]})
        bench.view("IN", case.input[..., channels])
        bench.linear("WEIGHT_ADDR", case.weights[..., channels])
        bench.linear("PARAM_ADDR", records(case.bias, 0, 0))
        init = Init.BIAS
        if partial is not None:
            bench.view("ACC", partial)
            init = Init.PARTIAL
        partial = bench.run(execute, "OP_CONV", case.shape, init=init, out=Out.INT32, quant=Quant.TENSOR)
    bench = Bench(**case.registers)
    bench.view("IN", partial)
    bench.linear("PARAM_ADDR", records(1 << 20, case.multipliers, case.shifts))
    found = bench.run(execute, "OP_REQUANT", case.shape, quant=Quant.CHANNEL)
    np.testing.assert_array_equal(found, case.expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_depthwise_one_filter_at_a_time(execute, seed):
    case = Convolution(seed, "DEPTHWISE_CONV_2D")
    outputs = case.shape[2]
    factor = outputs // case.input.shape[2]
    for o in range(outputs):
        bench = Bench(**case.registers | {"IN_CHANNELS": 1})
        bench.view("IN", case.input)
        bench.values["IN_ADDR"] += o // factor
        bench.linear("WEIGHT_ADDR", case.weights[..., o])
        one = slice(o, o + 1)
        bench.linear("PARAM_ADDR", records(case.bias[one], case.multipliers[one], case.shifts[one]))
        found = bench.run(
            execute, "OP_CONV", (*case.shape[:2], 1), init=Init.BIAS, out=0, quant=Quant.CHANNEL
        )
        np.testing.assert_array_equal(found, case.expected[..., one])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_fully_connected(execute, rows, seed):
    rng = np.random.default_rng(seed)
    depth, units = int(rng.integers(1, 300)), int(rng.integers(1, 40))
    zero_point, out_zero = random_zero_point(rng), random_zero_point(rng)
    in_scale, weight_scale = np.float32(random_scale(rng)), np.float32(random_scale(rng))
    out_scale = np.float32(in_scale * weight_scale * 80 * np.sqrt(depth))
    values, weights = noise(rng, rows, depth), rng.integers(-127, 128, (units, depth)).astype(np.int8)
    bias = rng.integers(-9000, 9000, units)
    builder = GraphBuilder()
    tensors = [
        builder.add((rows, depth), scale=in_scale, zero_point=zero_point, is_input=True),
        builder.add((units, depth), scale=weight_scale, data=weights),
        builder.add((units,), "int32", scale=in_scale * weight_scale, data=bias),
    ]
    output = builder.add((rows, units), scale=out_scale, zero_point=out_zero)
    graph = builder.graph("FULLY_CONNECTED", tensors, [output], **SIMPLE)
    effective = np.float64(in_scale * weight_scale) / np.float64(out_scale)
    bench = Bench(IN_CHANNELS=depth, IN_ZP=zero_point, OUT_ZP=out_zero, **ratio("OUT", effective))
    bench.view("IN", values[None])
    bench.linear("WEIGHT_ADDR", weights)
    bench.linear("PARAM_ADDR", records(bias, 0, 0))
    found = bench.run(execute, "OP_MAT_MUL", (1, rows, units), init=Init.BIAS, out=0, quant=Quant.TENSOR)
    np.testing.assert_array_equal(found, answer(graph, values))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM", "SQUARED_DIFFERENCE"])
def test_two_inputs(execute, kind, seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 40, 3))
    compares, squares = kind in ("MINIMUM", "MAXIMUM"), kind == "SQUARED_DIFFERENCE"
    one, two, out = np.repeat(random_scale(rng), 3) if compares else [random_scale(rng) for _ in range(3)]
    zeros = [random_zero_point(rng)] * 3 if compares else [random_zero_point(rng) for _ in range(3)]
    out = out * 9 if kind in ("MUL", "SQUARED_DIFFERENCE") else out
    left, right = noise(rng, *shape), noise(rng, *shape)
    builder = GraphBuilder()
    tensors = [
        builder.add((1, *shape), scale=scale, zero_point=zero, is_input=True)
        for scale, zero in zip((one, two), zeros, strict=False)
    ]
    output = builder.add((1, *shape), scale=out, zero_point=zeros[2])
    graph = builder.graph(kind, tensors, [output], **({} if compares or squares else SIMPLE))
    one, two, out = (np.float64(np.float32(scale)) for scale in (one, two, out))
    twice = 2 * max(one, two)
    registers = {"IN_ZP": zeros[0], "IN2_ZP": zeros[1], "OUT_ZP": zeros[2]}
    if kind == "MUL":
        registers |= ratio("OUT", one * two / out)
    elif not compares:
        registers |= ratio("IN", one / twice) | ratio("IN2", two / twice)
        left_shift, share = (7, twice**2 / (1 << 14)) if squares else (20, twice / (1 << 20))
        registers |= ratio("OUT", share / out) | {"LEFT_SHIFT": left_shift}
    bench = Bench(**registers)
    bench.view("IN", left)
    bench.view("IN2", right)
    prefix = {
        "ADD": "OP_E_ADD",
        "SUB": "OP_E_SUB",
        "SQUARED_DIFFERENCE": "OP_E_SQDIFF",
        "MUL": "OP_E_MUL",
        "MINIMUM": "OP_C_MIN",
        "MAXIMUM": "OP_C_MAX",
    }
    found = bench.run(execute, prefix[kind], shape)
    np.testing.assert_array_equal(found, answer(graph, left[None], right[None]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_pooling(execute, kind, seed):
    rng = np.random.default_rng(seed)
    kernel, stride = (tuple(int(n) for n in rng.integers(1, 5, 2)) for _ in range(2))
    size = tuple(int(k + n) for k, n in zip(kernel, rng.integers(0, 9, 2), strict=True))
    channels, scale, zero_point = int(rng.integers(1, 40)), random_scale(rng), random_zero_point(rng)
    values = noise(rng, *size, channels)
    out = tuple(-(-n // s) for n, s in zip(size, stride, strict=True))
    spare = [max(0, (o - 1) * s + k - n) for o, s, k, n in zip(out, stride, kernel, size, strict=True)]
    builder = GraphBuilder()
    tensor = builder.add((1, *size, channels), scale=scale, zero_point=zero_point, is_input=True)
    output = builder.add((1, *out, channels), scale=scale, zero_point=zero_point)
    graph = builder.graph(
        kind, [tensor], [output], padding="SAME", stride_h=stride[0], stride_w=stride[1],
        filter_height=kernel[0], filter_width=kernel[1], **SIMPLE,
    )  # fmt: skip
    bench = Bench(
        IN_SIZE=size, IN_CHANNELS=channels, KERNEL=kernel, STRIDE=stride, PAD=(spare[0] // 2, spare[1] // 2)
    )
    bench.view("IN", values)
    mode = PoolMode.MAX if kind == "MAX_POOL_2D" else PoolMode.AVERAGE
    found = bench.run(execute, "OP_POOL", (*out, channels), mode=mode)
    np.testing.assert_array_equal(found, answer(graph, values[None]))


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_over_the_image(execute, seed):
    rng = np.random.default_rng(seed)
    height, width, channels = (int(n) for n in rng.integers(1, 30, 3))
    in_scale, out_scale = np.float32(random_scale(rng)), np.float32(random_scale(rng))
    zero_point, out_zero = random_zero_point(rng), random_zero_point(rng)
    values = noise(rng, height, width, channels)
    builder = GraphBuilder()
    tensor = builder.add((1, height, width, channels), scale=in_scale, zero_point=zero_point, is_input=True)
    axes = builder.add((2,), "int32", data=[1, 2])
    output = builder.add((1, 1, 1, channels), scale=out_scale, zero_point=out_zero)
    graph = builder.graph("MEAN", [tensor, axes], [output], keep_dims=True)
    effective = np.float64(in_scale) / np.float64(out_scale)
    multiplier, shift = mean_multiplier(float(effective), height * width)
    bench = Bench(
        IN_SIZE=(height, width), IN_CHANNELS=channels, KERNEL=(height, width), IN_ZP=zero_point,
        OUT_ZP=out_zero, OUT_MULT=multiplier, OUT_SHIFT=shift,
    )  # fmt: skip
    bench.view("IN", values)
    found = bench.run(execute, "OP_POOL", (1, 1, channels), mode=PoolMode.MEAN)
    np.testing.assert_array_equal(found, answer(graph, values[None]))


def unary(kind, in_scale, in_zero, out_scale, out_zero, **options):
    """A graph of one input, all 256 values of it, and TensorFlow's answer to them."""
    builder = GraphBuilder()
    values = np.arange(-128, 128, dtype=np.int8).reshape(16, 2, 8)
    tensor = builder.add((1, 16, 2, 8), scale=in_scale, zero_point=in_zero, is_input=True)
    output = builder.add((1, 16, 2, 8), scale=out_scale, zero_point=out_zero)
    return builder.graph(kind, [tensor], [output], **options), values


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["RELU", "LEAKY_RELU", "ABS", "QUANTIZE"])
def test_one_input(execute, kind, seed):
    rng = np.random.default_rng(seed)
    in_scale, out_scale = np.float32(random_scale(rng)), np.float32(random_scale(rng))
    zeros = random_zero_point(rng), random_zero_point(rng)
    alpha = np.float32(rng.uniform(0, 1))
    options = {"alpha": float(alpha)} if kind == "LEAKY_RELU" else {}
    graph, values = unary(kind, in_scale, zeros[0], out_scale, zeros[1], **options)
    doubles = kind in ("ABS", "QUANTIZE")
    same = np.float64(in_scale) / np.float64(out_scale) if doubles else np.float64(in_scale / out_scale)
    registers = {"IN_ZP": zeros[0], "OUT_ZP": zeros[1], **ratio("OUT", same)}
    mnemonic = {"RELU": "OP_ACT_RELU", "LEAKY_RELU": "OP_ACT_LRELU", "ABS": "OP_E_ABS"}.get(
        kind, "OP_ACT_LRELU"
    )
    if kind == "LEAKY_RELU":
        registers |= ratio("IN", np.float64(in_scale * alpha / out_scale))
    if kind == "QUANTIZE":
        registers |= ratio("IN", same)
    bench = Bench(**registers)
    bench.view("IN", values)
    run = run_litert_reference if kind == "ABS" else run_tflite_micro
    np.testing.assert_array_equal(
        bench.run(execute, mnemonic, values.shape), answer(graph, values[None], run=run)
    )


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_any_unary_operator_is_a_table(execute, kind):
    rng = np.random.default_rng(1)
    scale, zero_point = (1 / 256, -128) if kind == "LOGISTIC" else (1 / 128, 0)
    graph, every_value = unary(kind, 0.05, 3, scale, zero_point)
    table = answer(graph, every_value[None])
    values = noise(rng, 16, 2, 8)
    bench = Bench()
    bench.view("IN", values)
    bench.linear("LUT_ADDR", table)
    np.testing.assert_array_equal(bench.run(execute, "OP_ACT_LUT", values.shape), answer(graph, values[None]))
