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
    return [np.argmax(call.inputs[0], axis=call.attributes.axis).astype(call.dtype)]


KERNELS = {"softmax": softmax, "arg_max": arg_max}
