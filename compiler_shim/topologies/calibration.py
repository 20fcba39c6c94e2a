"""Inputs to calibrate a built-in network with: noise, and smooth pictures with a little of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Enough samples that statistics are steady, few enough that large images cost little.
_ELEMENTS = 700_000
_MAX_SAMPLES = 64  # of small inputs, which _ELEMENTS would let be thousands
_COARSE_POINTS = 5  # along each axis of a smooth picture, which is interpolated between them


def calibration_inputs(shape: tuple[int, ...], seed: int) -> NDArray[np.int8]:
    """Seeded int8 samples of this shape, one per row: uniform noise in turn with smooth pictures."""
    rng = np.random.default_rng(seed)
    pairs = max(1, min(_MAX_SAMPLES, _ELEMENTS // int(np.prod(shape))) // 2)
    noise = rng.integers(-128, 128, (pairs, *shape), dtype=np.int8)
    smooth = np.stack([_smooth(rng, shape) for _ in range(pairs)])
    return np.stack([noise, smooth], axis=1).reshape(2 * pairs, *shape)


def _smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    picture = rng.uniform(-80, 80, [_COARSE_POINTS if size > 3 else size for size in shape])
    for axis, size in enumerate(shape):
        if picture.shape[axis] != size:
            picture = _stretch(picture, axis, size)
    return np.clip(np.rint(picture + rng.uniform(-40, 40, shape)), -128, 127).astype(np.int8)


def _stretch(picture: NDArray[np.float64], axis: int, size: int) -> NDArray[np.float64]:
    """Linear interpolation along one axis, end to end."""
    position = np.linspace(0, picture.shape[axis] - 1, size)
    before = np.minimum(position.astype(int), picture.shape[axis] - 2)
    part = (position - before).reshape([-1 if other == axis else 1 for other in range(picture.ndim)])
    stretched: NDArray[np.float64] = (
        picture.take(before, axis) * (1 - part) + picture.take(before + 1, axis) * part
    )
    return stretched
