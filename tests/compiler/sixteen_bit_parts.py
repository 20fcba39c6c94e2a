"""Parts of random networks that compute in 16 bits: chains of int16 between conversions, and LSTMs."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from tests.compiler.network_builder import Activation, MisfitError, RandomNetwork

_UNIT = 1 / 32768
_MAX_STEPS = 6
# Of the input of LOGISTIC and TANH: with a larger one the reference's product of 32 bits overflows.
_MOST_CURVE_SCALE = (1 << 15) / (3 * 4096)
# With a smaller one the reference's multiplier is 0, which it takes for the sign of a power of two.
_LEAST_CURVE_SCALE = 1 / ((1 << 31) * 3 * 4096)


def _int16(
    net: RandomNetwork, kind: str, inputs: list[int], like: Activation, scale: float, **options
) -> Activation:
    """An operator with an int16 result, which no later part reads but through this one."""
    quantization = Quantization((float(np.float32(scale)),), (0,))
    one = net.output(kind, inputs, like.shape, quantization, options)
    net.tensors[one.index] = type(net.tensors[one.index])(
        net.tensors[one.index].name, one.shape, "int16", quantization
    )
    net.activations.remove(one)
    return one


def chain(net: RandomNetwork) -> None:
    """A few operators of int16 between two QUANTIZE."""
    source = net.any_activation()
    scale = source.quantization.scale / 128
    one = _int16(net, "QUANTIZE", [source.index], source, scale)
    for _ in range(net.number(1, 3)):
        kind = net.choice(
            "ADD", "SUB", "MUL", "LOGISTIC", "TANH", "LEAKY_RELU", "RELU", "CONV_2D", "FULLY_CONNECTED"
        )
        now = one.quantization.scale
        if kind in ("ADD", "SUB", "MUL"):
            base = now**2 if kind == "MUL" else now
            result = net.scale(base * (9000 if kind == "MUL" else net.choice(0.7, 1.0, 2.0)), base)
            activation = net.choice("NONE", "RELU")
            one = _int16(net, kind, [one.index, one.index], one, result, fused_activation_function=activation)
        elif kind in ("LOGISTIC", "TANH"):
            if not _LEAST_CURVE_SCALE <= now < _MOST_CURVE_SCALE:
                raise MisfitError
            one = _int16(net, kind, [one.index], one, _UNIT)
        elif kind in ("LEAKY_RELU", "RELU"):
            options = {"alpha": 0.25} if kind == "LEAKY_RELU" else {}
            result = net.scale(now * net.choice(0.6, 1.0), now)
            one = _int16(net, kind, [one.index], one, result, **options)
        else:
            one = _product(net, kind, one)
    net.output(
        "QUANTIZE",
        [one.index],
        one.shape,
        Quantization((float(np.float32(one.quantization.scale * 256)),), (net.choice(0, -3),)),
        {},
    )


def _product(net: RandomNetwork, kind: str, one: Activation) -> Activation:
    """Each pixel or row times a square matrix; biases have 64 or 32 bits, or there are none."""
    depth = one.shape[-1]
    if depth > 64 or (kind == "CONV_2D") != (len(one.shape) == 4):
        raise MisfitError
    scale = net.scale(0.01 / np.sqrt(depth))
    shape = (depth, 1, 1, depth) if kind == "CONV_2D" else (depth, depth)
    operands = [one.index, net.constant(net.int8(shape), Quantization((scale,), (0,)))]
    if net.chance(0.7):
        bias_scale = float(np.float32(scale * one.quantization.scale))
        bias = net.rng.integers(-90_000, 90_000, depth)
        net.constant(bias.astype(np.int32), Quantization((bias_scale,), (0,)))
        if net.chance(0.6):
            tensor = net.tensors[-1]
            net.tensors[-1] = type(tensor)(tensor.name, tensor.shape, "int64", tensor.quantization, bias * 7)
        operands.append(len(net.tensors) - 1)
    windows = (
        {"padding": "SAME", "stride_h": 1, "stride_w": 1} if kind == "CONV_2D" else {"keep_num_dims": True}
    )
    result = net.scale(one.quantization.scale * net.choice(0.6, 1.0), scale * one.quantization.scale)
    return _int16(net, kind, operands, one, result, **windows)


def lstm(net: RandomNetwork) -> None:
    """An LSTM over rows of what there is."""
    source = net.any_activation()
    elements = int(np.prod(source.shape))
    depths = [size for size in range(1, 41) if elements % size == 0 and elements // size <= _MAX_STEPS]
    if not depths:
        raise MisfitError
    depth, units = net.choice(*depths), net.number(1, 12)
    steps = elements // depth
    in_steps = net.chance(0.5)
    shape = (steps, 1, depth) if in_steps else (1, steps, depth)
    rows = net.output(
        "RESHAPE",
        [source.index, net.constant(np.array(shape))],
        shape,
        source.quantization,
        {"new_shape": shape},
    )
    hidden = Quantization((net.scale(net.rng.uniform(0.006, 0.012)),), (net.choice(0, -128, 5),))
    weights = [
        net.constant(
            net.int8((units, depth if number < 4 else units)),
            Quantization((net.scale(net.rng.uniform(0.001, 0.01)),), (0,)),
        )
        for number in range(8)
    ]
    biases = [
        net.constant(net.rng.integers(-3000, 3000, units), Quantization((1e-4,), (0,))) for _ in range(4)
    ]
    state = net.tensor((1, units), hidden)
    cell = net.tensor((1, units), Quantization((2.0 ** -net.number(10, 13),), (0,)), "int16")
    inputs = [rows.index, *weights, -1, -1, -1, *biases, -1, -1, state, cell, -1, -1, -1, -1]
    options = {"fused_activation_function": "TANH", "time_major": in_steps}
    net.output("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, (*shape[:2], units), hidden, options)
