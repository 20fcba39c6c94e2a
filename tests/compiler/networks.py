"""Random int8 networks of many operators, and the same for each seed.

The first n operators of a seed are the same whatever the length asked for, so a failure shrinks by asking for
fewer. Scales are chosen such that most results lie well inside the range of int8: saturated tensors hide
mistakes.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization
from tests.compiler import rearrangements, sixteen_bit_parts
from tests.compiler.detection_parts import detections
from tests.compiler.listed_parts import LISTED
from tests.compiler.network_builder import (
    ACTIVATIONS,
    MAX_ELEMENTS,
    Activation,
    MisfitError,
    RandomNetwork,
    Shape,
)


def _windows(size: int, window: int, stride: int, padding: str) -> int:
    count = -(-size // stride) if padding == "SAME" else (size - window) // stride + 1
    if count < 1:
        raise MisfitError
    return count


def _spatial(net: RandomNetwork, source: Activation, kernel: tuple[int, int], dilated: bool,
             square: bool) -> tuple[dict[str, Any], tuple[int, int]]:  # fmt: skip
    """Padding, strides and dilations that suit, and the output's height and width."""
    stride_h = net.choice(1, 1, 1, 2) if net.is_line else net.choice(1, 1, 1, 2, 2, 3, 5)
    stride_w = stride_h if square or net.chance(0.7) else net.choice(1, 2, 3, 7)
    options = {"padding": net.choice("SAME", "SAME", "VALID"), "stride_h": stride_h, "stride_w": stride_w}
    steps = (1, 1)
    if dilated:
        # TensorFlow has no dilation together with strides; its kernels do.
        steps = net.choice((1, 1), (1, 1), (1, 1), (2, 2), (1, 3), (4, 1))
        options |= {"dilation_h_factor": steps[0], "dilation_w_factor": steps[1]}
    rows, columns = (
        _windows(source.shape[1 + axis], (kernel[axis] - 1) * steps[axis] + 1,
                 (stride_h, stride_w)[axis], options["padding"])
        for axis in (0, 1)
    )  # fmt: skip
    return options, (rows, columns)


def _kernel(net: RandomNetwork) -> tuple[int, int]:
    return net.choice((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (2, 2), (5, 5), (1, 3), (3, 1), (4, 2), (7, 3))


def conv_2d(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    kernel, depth = _kernel(net), source.shape[3]
    channels = net.size(32 if net.is_line else 130)
    options, (rows, columns) = _spatial(net, source, kernel, True, False)
    groups = net.choice(2, 3, 4, depth) if net.chance(0.15) else 1
    if depth % groups == 0:
        depth //= groups
        channels = -(-channels // groups) * groups
    taps = kernel[0] * kernel[1] * depth
    if rows * columns * channels * taps * source.shape[0] > net.most_macs:
        raise MisfitError
    output = net.new_quantization()
    axis = net.choice(0, 0, 0, None)
    weights = net.weights((channels, *kernel, depth), axis, taps, source, output)
    options["fused_activation_function"] = net.choice(*ACTIVATIONS)
    shape = (source.shape[0], rows, columns, channels)
    net.output("CONV_2D", [source.index, *weights], shape, output, options)


def pad_conv(net: RandomNetwork) -> None:
    """The converter's form of a convolution with padding of its own: PAD, then VALID."""
    source = net.any_activation(4)
    amounts = [(0, 0), (net.number(0, 2), net.number(0, 2)), (net.number(0, 3), net.number(0, 2)), (0, 0)]
    if net.chance(0.1):
        amounts[3] = (0, 1)
    kind = "PAD"
    extra: list[int] = []
    paddings = net.constant(np.array(amounts))
    if net.chance(0.2):
        kind = "PADV2"
        value = net.choice(source.quantization.zero_point, net.number(-128, 127))
        extra = [net.constant(np.array([value], np.int8), source.quantization)]
    shape = tuple(size + sum(amount) for size, amount in zip(source.shape, amounts, strict=True))
    padded = net.output(kind, [source.index, paddings, *extra], shape, source.quantization, {})
    (conv_2d if net.chance(0.5) else depthwise)(net)
    if net.chance(0.9):
        net.activations.remove(padded)


def depthwise(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    kernel, depth = _kernel(net), source.shape[3]
    multiplier = net.choice(1, 1, 1, 1, 2, 3, 8)
    channels = depth * multiplier
    if channels > 300:
        raise MisfitError
    options, (rows, columns) = _spatial(net, source, kernel, True, True)
    output = net.new_quantization()
    taps = kernel[0] * kernel[1]
    weights = net.weights((1, *kernel, channels), 3, taps, source, output, 0.15)
    options |= {"depth_multiplier": multiplier, "fused_activation_function": net.choice(*ACTIVATIONS)}
    shape = (source.shape[0], rows, columns, channels)
    net.output("DEPTHWISE_CONV_2D", [source.index, *weights], shape, output, options)


def fully_connected(net: RandomNetwork) -> None:
    source = net.any_activation()
    # TFLite Micro flattens what comes before the last dimension; here also all of an image.
    depth = source.shape[-1]
    if len(source.shape) == 4 and source.shape[0] == 1 and net.chance(0.6):
        depth = int(np.prod(source.shape))
        source = reshape_to(net, source, (1, depth))
    rows = int(np.prod(source.shape)) // depth
    units = net.size(130)
    if rows * depth * units > net.most_macs or len(source.shape) > 2:
        raise MisfitError
    output = net.new_quantization()
    weights = net.weights((units, depth), None, depth, source, output, 0.15)
    options = {"fused_activation_function": net.choice(*ACTIVATIONS)}
    net.output("FULLY_CONNECTED", [source.index, *weights], (rows, units), output, options)


def pool(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    kind = net.choice("AVERAGE_POOL_2D", "MAX_POOL_2D")
    kernel = net.choice(
        (2, 2), (3, 3), (1, 1), (2, 3), (5, 1), (min(source.shape[1], 20), min(source.shape[2], 20))
    )
    options, (rows, columns) = _spatial(net, source, kernel, False, False)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1],
                "fused_activation_function": net.choice(*ACTIVATIONS)}  # fmt: skip
    net.output(
        kind, [source.index], (source.shape[0], rows, columns, source.shape[3]), source.quantization, options
    )


def mean(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    axes, keep = (
        net.choice((1, 2), (1, 2), (2, 1), (2,), (3,), (1,), (2, 3), (1, 3), (1, 2, 3)),
        net.chance(0.5),
    )
    sizes = [1 if axis in axes else size for axis, size in enumerate(source.shape)]
    shape = tuple(sizes if keep else (s for axis, s in enumerate(source.shape) if axis not in axes))
    scale = source.quantization.scale
    output = Quantization((net.scale(scale * net.rng.uniform(0.1, 1.2), scale),), (net.number(-60, 60),))
    net.output("MEAN", [source.index, net.constant(np.array(axes))], shape, output, {"keep_dims": keep})


def _partner(net: RandomNetwork, one: Activation) -> Activation:
    """Another activation of this shape, or a new input or a constant that is the same or broadcast."""
    same = [other for other in net.activations if other.shape == one.shape and other.index != one.index]
    if same and net.chance(0.7):
        return net.choice(*same)
    rank = len(one.shape)
    broadcast = [other for other in net.activations if _spreads(other.shape, one.shape) and other != one]
    if broadcast and net.chance(0.6):
        return net.choice(*broadcast)
    shape = one.shape
    if net.chance(0.6):
        shape = net.choice(
            tuple(size if axis == rank - 1 else 1 for axis, size in enumerate(shape)),
            tuple(1 if axis == rank - 2 else size for axis, size in enumerate(shape)),
            tuple(1 if axis == 1 else size for axis, size in enumerate(shape)),
            (1,) * rank,
        )
    quantization = net.choice(one.quantization, net.fresh_quantization())
    if net.chance(0.75):
        return Activation(net.constant(net.int8(shape), quantization), shape, quantization)
    return one


def _spreads(small: Shape, large: Shape) -> bool:
    """Whether a shape can be broadcast to another of its rank."""
    return len(small) == len(large) and all(a in (1, b) for a, b in zip(small, large, strict=True))


def elementwise(net: RandomNetwork) -> None:
    one = net.any_activation()
    other = _partner(net, one)
    kind = net.choice("ADD", "ADD", "ADD", "SUB", "MUL")
    first, second = (one, other) if net.chance(0.7) else (other, one)
    base = max(one.quantization.scale, other.quantization.scale)
    scale = base * net.rng.uniform(0.7, 2.5)
    if kind == "MUL":
        base = one.quantization.scale * other.quantization.scale
        scale = base * net.rng.uniform(30, 120)
    output = Quantization((net.scale(scale, base),), (net.number(-60, 60),))
    options = {"fused_activation_function": net.choice(*ACTIVATIONS)}
    net.output(kind, [first.index, second.index], one.shape, output, options)


def extreme(net: RandomNetwork) -> None:
    one = net.any_activation()
    other = _partner(net, one)
    if net.tensors[other.index].is_constant and other.quantization != one.quantization:
        data = net.tensors[other.index].data
        other = Activation(net.constant(data, one.quantization), other.shape, one.quantization)
    other = net.matched(other, one.quantization)
    pair = [one.index, other.index] if net.chance(0.7) else [other.index, one.index]
    net.output(net.choice("MAXIMUM", "MINIMUM"), pair, one.shape, one.quantization, {})


def activation(net: RandomNetwork) -> None:
    source = net.any_activation()
    kind = net.choice(
        "RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH", "QUANTIZE", "ABS", "ELU",
        "L2_NORMALIZATION",
    )  # fmt: skip
    options = {"alpha": 0.25} if kind == "LEAKY_RELU" else {}
    output = net.new_quantization()
    if kind == "LOGISTIC":
        output = Quantization((1 / 256,), (-128,))
    elif kind in ("TANH", "L2_NORMALIZATION"):
        output = Quantization((1 / 128,), (0,))
    elif kind == "HARD_SWISH" and output.scale < source.quantization.scale / 64:
        raise MisfitError  # TensorFlow's table for it would overflow
    elif kind in ("RELU6", "ABS"):
        output = source.quantization  # TFLite Micro's RELU6 ignores a difference
    net.output(kind, [source.index], source.shape, output, options)


def prelu(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    quantization = Quantization((net.scale(0.01),), (3,))
    alpha = net.constant(net.int8((1, 1, source.shape[3])), quantization)
    net.output("PRELU", [source.index, alpha], source.shape, net.new_quantization(), {})


def softmax(net: RandomNetwork) -> None:
    source = net.any_activation()
    if source.shape[-1] > 200:
        raise MisfitError  # TFLite Micro stops the process where the sum of a row's powers is beyond 512
    net.output("SOFTMAX", [source.index], source.shape, Quantization((1 / 256,), (-128,)), {"beta": 1.0})


def reshape_to(net: RandomNetwork, source: Activation, shape: Shape) -> Activation:
    target = net.constant(np.array(shape))
    return net.output("RESHAPE", [source.index, target], shape, source.quantization, {"new_shape": shape})


def reshape(net: RandomNetwork) -> None:
    source = net.any_activation()
    elements = int(np.prod(source.shape))
    divisors = [size for size in range(1, min(elements, 300) + 1) if elements % size == 0]
    last = net.choice(*divisors)
    width = net.choice(*(size for size in divisors if elements // last % size == 0))
    shape = net.choice(
        (1, elements), (1, elements // last // width, width, last), (1, elements // last, 1, last)
    )
    reshape_to(net, source, shape)


def resize(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    if source.shape[0] > 1:
        raise MisfitError
    size = (net.number(1, 20), net.number(1, 20))
    kind = net.choice("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")
    options = net.choice({}, {"half_pixel_centers": True}, {"align_corners": True})
    inputs = [source.index, net.constant(np.array(size))]
    net.output(kind, inputs, (1, *size, source.shape[3]), source.quantization, options)


def transpose(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    order = (0, *(1 + int(axis) for axis in net.rng.permutation(3)))
    shape = tuple(source.shape[axis] for axis in order)
    net.output("TRANSPOSE", [source.index, net.constant(np.array(order))], shape, source.quantization, {})


def transpose_conv(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    channels, depth, stride = net.size(20), source.shape[3], net.choice(1, 2, 2, 3)
    kernel, padding = net.choice((3, 3), (2, 2), (4, 4), (1, 1), (5, 2)), net.choice("SAME", "VALID")
    sizes = [size * stride for size in source.shape[1:3]]
    if padding == "VALID":
        sizes = [size + max(taps - stride, 0) for size, taps in zip(sizes, kernel, strict=True)]
    shape, taps = (source.shape[0], *sizes, channels), kernel[0] * kernel[1]
    if int(np.prod(shape)) * taps * depth > net.most_macs:
        raise MisfitError
    output = net.new_quantization()
    weights = net.weights((channels, *kernel, depth), 0, taps * depth, source, output, 0.15)
    inputs = [net.constant(np.array(shape)), weights[0], source.index, *weights[1:]]
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    net.output("TRANSPOSE_CONV", inputs, shape, output, options)


def concatenation(net: RandomNetwork) -> None:
    one = net.any_activation()
    last = len(one.shape) - 1
    axis = net.number(min(1, last), last) if net.chance(0.5) else last
    fitting = [
        other for other in net.activations
        if len(other.shape) == len(one.shape) and other.index != one.index
        and all(a == b for d, (a, b) in enumerate(zip(other.shape, one.shape, strict=True)) if d != axis)
    ]  # fmt: skip
    parts = [one, *([net.choice(*fitting)] if fitting else [one])]
    if net.chance(0.3):
        parts.append(net.choice(*parts))
    parts = [net.matched(part, one.quantization) for part in parts]
    total = sum(part.shape[axis] for part in parts)
    shape = tuple(total if d == axis else size for d, size in enumerate(one.shape))
    net.output("CONCATENATION", [part.index for part in parts], shape, one.quantization, {"axis": axis})


def split(net: RandomNetwork) -> None:
    source = net.any_activation()
    axis = len(source.shape) - 1
    parts = next((count for count in (2, 3, 4) if source.shape[axis] % count == 0), 0)
    if not parts:
        raise MisfitError
    shape = (*source.shape[:-1], source.shape[-1] // parts)
    inputs = (net.constant(np.int32(axis)), source.index)
    outputs = [net.tensor(shape, source.quantization) for _ in range(parts)]
    options = {"num_splits": parts}
    net.operators.append(Operator("SPLIT", inputs, tuple(outputs), options, f"operator {len(net.operators)}"))
    net.activations += [Activation(index, shape, source.quantization) for index in outputs]


def strided_slice(net: RandomNetwork) -> None:
    source = net.any_activation(4)
    begin = [0, *(net.number(0, size - 1) for size in source.shape[1:])]
    end = [
        source.shape[0],
        *(net.number(b + 1, size) for b, size in zip(begin[1:], source.shape[1:], strict=True)),
    ]
    strides = [1, net.number(1, 2), net.number(1, 2), 1]
    shape = tuple(-(-(e - b) // s) for b, e, s in zip(begin, end, strides, strict=True))
    bounds = [net.constant(np.array(bound)) for bound in (begin, end, strides)]
    net.output("STRIDED_SLICE", [source.index, *bounds], shape, source.quantization, {})


BUILDERS: dict[str, Callable[[RandomNetwork], None]] = {
    "conv_2d": conv_2d,
    "depthwise": depthwise,
    "pad_conv": pad_conv,
    "fully_connected": fully_connected,
    "pool": pool,
    "mean": mean,
    "elementwise": elementwise,
    "extreme": extreme,
    "activation": activation,
    "prelu": prelu,
    "softmax": softmax,
    "reshape": reshape,
    "resize": resize,
    "transpose": transpose,
    "transpose_conv": transpose_conv,
    "concatenation": concatenation,
    "split": split,
    "strided_slice": strided_slice,
    "product": rearrangements.product,
    "reduction": rearrangements.reduction,
    "rearrangement": rearrangements.rearrangement,
    "blocks": rearrangements.blocks,
    "sixteen_bits": sixteen_bit_parts.chain,
    "lstm": sixteen_bit_parts.lstm,
}
LINE = ("conv_2d", "conv_2d", "depthwise", "depthwise", "depthwise", "pool", "activation", "elementwise")
_WEIGHTS = {"conv_2d": 20, "depthwise": 12, "pad_conv": 6, "fully_connected": 5, "pool": 7, "mean": 4,
            "elementwise": 16, "extreme": 5, "activation": 10, "reshape": 4, "concatenation": 8, "split": 3,
            "transpose_conv": 3, "product": 8, "reduction": 4, "rearrangement": 5,
            "detections": 16}  # fmt: skip


MIXED = {**BUILDERS, **LISTED, "detections": detections}
_LISTED_WEIGHT = 12  # together about half


def _shares(builders: Mapping[str, Any]) -> np.ndarray:
    weights = np.array([_LISTED_WEIGHT if name in LISTED else _WEIGHTS.get(name, 1.5) for name in builders])
    return weights / weights.sum()


def _grow(net: RandomNetwork, operators: int, is_mixed: bool) -> None:
    """Operators until there are so many; those that bring helpers may go beyond."""
    attempts = 0
    builders = MIXED if is_mixed else BUILDERS
    names, shares = list(builders), _shares(builders)
    while len(net.operators) < operators and attempts < 60:
        attempts += 1
        build = net.choice(*LINE) if net.is_line else net.rng.choice(names, p=shares)
        kept = len(net.tensors), len(net.operators), len(net.activations)
        try:
            builders[build](net)
        except MisfitError:
            del net.tensors[kept[0] :], net.operators[kept[1] :], net.activations[kept[2] :]


def random_network(
    seed: int,
    operators: int,
    most_elements: int = MAX_ELEMENTS,
    is_line: bool = False,
    is_mixed: bool = False,
) -> Graph:
    """The network of a seed, cut to so many operators, with tensors of about so many elements at most.

    In a line, operators work on images, each on the result of the one before: what chains are made of. Mixed
    networks have operators beyond those of CNNs, too.
    """
    net = RandomNetwork(seed, most_elements, is_line)
    _grow(net, operators, is_mixed)
    return net.graph(operators)
