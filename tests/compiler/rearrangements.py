"""Builders of random networks: products of activations, reductions, and what moves elements in other ways."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from tests.compiler.network_builder import MisfitError, RandomNetwork


def product(net: RandomNetwork) -> None:
    """BATCH_MATMUL with itself, or with another that fits, either of them transposed."""
    one = net.any_activation()
    if len(one.shape) < 2:
        raise MisfitError
    is_transposed = net.chance(0.3)
    depth = one.shape[-2] if is_transposed else one.shape[-1]
    rows = one.shape[-1] if is_transposed else one.shape[-2]
    fitting = [
        (other, adjoint)
        for other in net.activations
        for adjoint in (False, True)
        if len(other.shape) >= 2
        and other.shape[-1 if adjoint else -2] == depth
        and other.shape[:-2] in (one.shape[:-2], (1,) * len(one.shape[:-2]))
    ]
    if not fitting:
        raise MisfitError
    other, adjoint = net.choice(*fitting)
    shape = (*one.shape[:-2], rows, other.shape[-2 if adjoint else -1])
    if int(np.prod(shape)) * depth > net.most_macs:
        raise MisfitError
    base = one.quantization.scale * other.quantization.scale
    scale = net.scale(base * np.sqrt(depth) * net.rng.uniform(20, 80), base)
    output = Quantization((scale,), (net.number(-60, 60),))
    options = {"adj_x": is_transposed, "adj_y": adjoint}
    net.output("BATCH_MATMUL", [one.index, other.index], shape, output, options)


def reduction(net: RandomNetwork) -> None:
    """REDUCE_MAX, REDUCE_MIN and SUM over any dimensions but the first."""
    source = net.any_activation()
    rank = len(source.shape)
    axes = sorted({net.number(1, rank - 1) for _ in range(net.number(1, rank - 1))}) if rank > 1 else []
    if not axes:
        raise MisfitError
    kind, keep = net.choice("REDUCE_MAX", "REDUCE_MIN", "SUM"), net.chance(0.5)
    shape = tuple(
        1 if axis in axes else size for axis, size in enumerate(source.shape) if keep or axis not in axes
    )
    output = source.quantization
    if kind == "SUM":
        terms = np.prod([source.shape[axis] for axis in axes])
        scale = net.scale(output.scale * float(np.sqrt(terms)) * net.rng.uniform(0.5, 2), output.scale)
        output = Quantization((scale,), (net.number(-60, 60),))
    net.output(kind, [source.index, net.constant(np.array(axes))], shape, output, {"keep_dims": keep})


def blocks(net: RandomNetwork) -> None:
    """BATCH_TO_SPACE_ND, or SPACE_TO_BATCH_ND without padding, for which TFLite Micro has a wrong value."""
    source = net.any_activation(4)
    batch, *sizes, depth = source.shape
    block = [net.number(1, 3), net.number(1, 3)]
    edges = np.zeros((2, 2), np.int64)
    if batch % (block[0] * block[1]) == 0 and net.chance(0.8):
        kind, batch = "BATCH_TO_SPACE_ND", batch // (block[0] * block[1])
        inner = [size * side for size, side in zip(sizes, block, strict=True)]
        edges[:, 0] = [net.number(0, 1) if size > 1 else 0 for size in inner]
        inner = [size - int(cut) for size, cut in zip(inner, edges[:, 0], strict=True)]
    elif sizes[0] % block[0] == 0 == sizes[1] % block[1]:
        kind, batch = "SPACE_TO_BATCH_ND", batch * block[0] * block[1]
        inner = [size // side for size, side in zip(sizes, block, strict=True)]
    else:
        raise MisfitError
    inputs = [source.index, net.constant(np.array(block)), net.constant(edges)]
    net.output(kind, inputs, (batch, *inner, depth), source.quantization, {})


def rearrangement(net: RandomNetwork) -> None:
    """DEPTH_TO_SPACE, SPACE_TO_DEPTH, REVERSE_V2 and MIRROR_PAD."""
    source = net.any_activation(4)
    batch, height, width, depth = source.shape
    kind = net.choice("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "REVERSE_V2", "MIRROR_PAD")
    inputs, options, shape = [source.index], {}, source.shape
    if kind == "DEPTH_TO_SPACE":
        if depth % 4:
            raise MisfitError
        shape, options = (batch, 2 * height, 2 * width, depth // 4), {"block_size": 2}
    elif kind == "SPACE_TO_DEPTH":
        if height % 2 or width % 2:
            raise MisfitError
        shape, options = (batch, height // 2, width // 2, 4 * depth), {"block_size": 2}
    elif kind == "REVERSE_V2":
        inputs.append(net.constant(np.array([net.number(1, 3)])))
    else:
        if min(height, width) < 2:
            raise MisfitError
        amounts = [(0, 0), (net.number(0, 1), 1), (1, net.number(0, 1)), (0, 0)]
        shape = tuple(size + sum(pair) for size, pair in zip(source.shape, amounts, strict=True))
        inputs.append(net.constant(np.array(amounts)))
        options = {"mode": net.choice("REFLECT", "SYMMETRIC")}
    net.output(kind, inputs, shape, source.quantization, options)
