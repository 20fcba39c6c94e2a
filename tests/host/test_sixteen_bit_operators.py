"""Every operator that takes int16 activations, by host operators alone, against TFLite Micro."""

import numpy as np
import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import check
from tests.oracle import random_inputs
from tests.tflite.sixteen_bit_operators import INT16_BUILDERS, random_int16_graph


@pytest.mark.parametrize("kind", sorted(INT16_BUILDERS))
@pytest.mark.parametrize("seed", range(6))
def test_operator(kind, seed):
    graph = random_int16_graph(kind, seed)
    inputs = random_inputs(write_tflite(graph), seed)
    check(graph, [np.asarray(values) for values in inputs])
