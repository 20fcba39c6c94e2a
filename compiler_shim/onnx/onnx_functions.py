"""Functions of one element, of constants or of the 256 numbers that a tensor of 8 bits may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dlasim.compiler_shim.onnx.onnx_values import Array

Function = Callable[[Array, Mapping[str, Any]], Array]


def _erf(x: Array) -> Array:
    return np.array([math.erf(item) for item in x.ravel().tolist()], x.dtype).reshape(x.shape)


def _gelu(x: Array, at: Mapping[str, Any]) -> Array:
    is_tanh = at.get("approximate", "none") == "tanh"
    inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if is_tanh else _erf(x / math.sqrt(2))
    return np.asarray(0.5 * x * (1 + inner))


def _sigmoid(x: Array, _: Mapping[str, Any]) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _hard_sigmoid(x: Array, at: Mapping[str, Any]) -> Array:
    line = at.get("alpha", 0.2) * x + at.get("beta", 0.5)
    return np.asarray(np.clip(line, 0, 1))


def _elu(x: Array, at: Mapping[str, Any]) -> Array:
    return np.where(x > 0, x, at.get("alpha", 1.0) * np.expm1(x))


def _selu(x: Array, at: Mapping[str, Any]) -> Array:
    alpha = at.get("alpha", 1.67326319217681884765625)
    gamma = at.get("gamma", 1.05070102214813232421875)
    return np.asarray(gamma * np.where(x > 0, x, alpha * np.expm1(x)))


def _leaky(x: Array, at: Mapping[str, Any]) -> Array:
    return np.where(x < 0, np.float32(at.get("alpha", 0.01)) * x, x)


FUNCTIONS: dict[str, Function] = {
    "Abs": lambda x, _: np.abs(x),
    "Ceil": lambda x, _: np.ceil(x),
    "Cos": lambda x, _: np.cos(x),
    "Elu": _elu,
    "Erf": lambda x, _: _erf(x),
    "Exp": lambda x, _: np.exp(x),
    "Floor": lambda x, _: np.floor(x),
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1),
    "LeakyRelu": _leaky,
    "Log": lambda x, _: np.log(x),
    "Mish": lambda x, _: x * np.tanh(np.log1p(np.exp(x))),
    "Neg": lambda x, _: -x,
    "Reciprocal": lambda x, _: 1 / x,
    "Relu": lambda x, _: np.maximum(x, 0),
    "Round": lambda x, _: np.rint(x),
    "Selu": _selu,
    "Sigmoid": _sigmoid,
    "Sin": lambda x, _: np.sin(x),
    "Softplus": lambda x, _: np.logaddexp(np.float32(0), x),
    "Softsign": lambda x, _: x / (1 + np.abs(x)),
    "Sqrt": lambda x, _: np.sqrt(x),
    "Tanh": lambda x, _: np.tanh(x),
}
