"""Operators that look along one dimension."""

from __future__ import annotations

import numpy as np

from dlasim.sim import numerics
from dlasim.sim.host.call import Array, Call


def softmax(call: Call) -> list[Array]:
    """SOFTMAX."""
    return [numerics.softmax(*call.inputs)]


def arg_max(call: Call) -> list[Array]:
    """ARG_MAX."""
    values, axis = call.inputs[0], call.attributes.axis
    if values.dtype.kind != "f":
        return [np.argmax(values, axis=axis).astype(call.dtype)]
    # Nothing is greater than NaN, nor NaN than anything.
    greatest = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=axis)
    return [np.where(np.isnan(values.take(0, axis)), 0, greatest).astype(call.dtype)]


KERNELS = {"softmax": softmax, "arg_max": arg_max}
