"""16-bit tensors at the edges of an int8 network, against TFLite Micro."""

import numpy as np
import pytest

from tests.host.models import GraphBuilder, check_random, random_scale, random_zero_point, tied_scale


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("int8", "int16"), ("int8", "int32"), ("int16", "int8"), ("int16", "int16"), ("int16", "int32"),
        ("int32", "int8"), ("int32", "int16"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(8))
def test_quantize(seed, source, target):
    rng = np.random.default_rng(seed)
    builder, shape = GraphBuilder(), tuple(int(n) for n in rng.integers(1, 9, 2))
    points = {name: random_zero_point(rng) if name == "int8" else 0 for name in (source, target)}
    scale = random_scale(rng)
    steps = {"int8": 1.0, "int16": 2.0**-8, "int32": 2.0**-20}
    values = builder.add(shape, source, scale * steps[source], points[source], is_input=True)
    result = builder.add(shape, target, tied_scale(rng, scale * steps[target]), points[target])
    check_random(rng, builder.graph("QUANTIZE", [values], [result]))


@pytest.mark.parametrize("seed", range(12))
def test_softmax_to_int16(seed):
    rng = np.random.default_rng(seed)
    builder, shape = GraphBuilder(), (int(rng.integers(1, 4)), int(rng.choice([1, 2, 10, 700])))
    values = builder.add(shape, "int8", random_scale(rng), random_zero_point(rng), is_input=True)
    result = builder.add(shape, "int16", 1 / 65536, -32768)
    check_random(rng, builder.graph("SOFTMAX", [values], [result], beta=1.0))
