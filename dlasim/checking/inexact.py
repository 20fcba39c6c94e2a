"""Functions of float32 that no standard defines to the last bit: how far dlasim may be from TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Graph

# In units in the last place; docs/numerics.md states them, and a test measures them.
MOST_ULPS = {"EXP": 1, "LOGISTIC": 2, "ELU": 1, "SOFTMAX": 2}


def tolerances(graph: Graph) -> Mapping[int, int]:
    """The tensors that such operators compute, each with the units that it may be apart."""
    return {
        number: MOST_ULPS[operator.kind]
        for operator in graph.operators
        for number in operator.outputs
        if operator.kind in MOST_ULPS and graph.tensors[number].dtype == "float32"
    }


def are_near(one: NDArray[Any], other: NDArray[Any], ulps: int) -> NDArray[np.bool_]:
    """Which elements of two arrays of float32 are at most so many units in the last place apart."""
    near: NDArray[np.bool_] = np.abs(_place(one) - _place(other)) <= ulps
    return near


def _place(values: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of float32 by their order; both zeros are 0."""
    bits = np.array(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFF_FFFF), bits)
