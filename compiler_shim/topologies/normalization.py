"""What folded batch normalization and quantization make of a layer's sums: scales, biases, ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.topologies.arithmetic import FloatArray
from dlasim.dataclass import dataclass

Range = tuple[float, float]
# Below this many samples per channel, a channel's own spread is mostly chance.
_FEWEST_SAMPLES = 32


@dataclass(frozen=True, slots=True)
class Normalization:
    """What folded batch normalization leaves: the range of a channel's spread, and of its mean in spreads."""

    spread: Range
    mean: Range


# A mean of about two spreads keeps all but a few per cent of a channel above ReLU's corner.
ACTIVATED = Normalization((0.6, 1.1), (2.0, 2.7))
LINEAR = Normalization((0.6, 1.4), (-0.3, 0.3))
# A residual branch adds to its input's mean as well as to its spread, so that sums stay above the corner too.
RESIDUAL = Normalization((0.4, 0.7), (0.8, 1.4))
LOGITS = Normalization((1.5, 1.5), (0.0, 0.0))


def fold_normalization(
    sums: FloatArray, per_channel: bool, norm: Normalization, input_scale: float, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Weight scales (one, or one per channel) and int32 biases that give `sums` what `norm` asks for."""
    channels = sums.shape[-1]
    columns = sums.reshape(-1, channels)
    means = columns.mean(axis=0, dtype=np.float64)
    spreads = np.sqrt(np.square(columns - means).mean(axis=0, dtype=np.float64))
    if not per_channel or len(columns) < _FEWEST_SAMPLES:
        spreads = np.full(channels, np.sqrt(np.square(spreads).mean()))
    wanted_spreads = rng.uniform(*norm.spread, channels)
    scale = (wanted_spreads / (np.maximum(spreads, 1.0) * input_scale)).astype(np.float32)
    if not per_channel:
        scale = scale.mean(keepdims=True)
    wanted_means = wanted_spreads * rng.uniform(*norm.mean, channels)
    biases = np.rint(wanted_means / (np.float64(input_scale) * scale) - means)
    return scale, biases.astype(np.int32)


def activated(real: FloatArray, activation: str) -> FloatArray:
    """The values after the fused activation."""
    lowest, highest = {"NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0)}[activation]
    return real if activation == "NONE" else np.clip(real, lowest, highest)


def covering(real: FloatArray, activation: str) -> Quantization:
    """The scale and zero point whose range just holds the values, zero among them."""
    lowest, highest = min(float(real.min()), 0.0), max(float(real.max()), 0.0)
    if activation == "NONE":
        # Nothing bounds the values of another input, so leave it some room.
        lowest, highest = lowest * 1.1, highest * 1.1
    scale = float(np.float32(max(highest - lowest, 1e-6) / 255))
    return Quantization((scale,), (round(-128 - lowest / scale),))
