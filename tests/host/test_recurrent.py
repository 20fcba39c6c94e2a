"""SVDF keeps a state: several inferences in a row, against TFLite Micro (LiteRT's int8 SVDF is faulty).

Some states with a zero point reach the end of int8, where TFLite Micro wraps them.
"""

import numpy as np
import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import GraphBuilder, HostRun, random_scale, random_values, random_zero_point


def svdf_graph(rng, state_type):
    builder = GraphBuilder()
    batch, depth, units, rank, memory = (int(n) for n in rng.integers(1, 6, 5))
    filters = units * rank
    scale = {name: random_scale(rng) for name in ("input", "feature", "time")}
    # Powers of two, because ties show in which precision the scales are multiplied.
    zero_point = int(rng.choice([0, rng.integers(-80, 81)])) if state_type == "int8" else 0
    steps = (256, 128) if state_type == "int8" else (2, 16384)
    scale["state"] = float(np.float32(scale["input"] * scale["feature"] * steps[0]))
    scale["output"] = float(np.float32(scale["state"] * scale["time"] * steps[1]))
    values = builder.add((batch, depth), "int8", scale["input"], random_zero_point(rng), is_input=True)
    data = rng.integers(-127, 128, (filters, depth))
    feature = builder.add(data.shape, "int8", scale["feature"], data=data)
    data = rng.integers(-127, 128, (filters, memory))
    time = builder.add(data.shape, state_type, scale["time"], data=data)
    bias_scale = np.float32(scale["state"]) * np.float32(scale["time"])
    bias = builder.add((units,), "int32", bias_scale, data=rng.integers(-1000, 1000, units))
    state = builder.add((batch, filters * memory), state_type, scale["state"], zero_point)
    output = builder.add((batch, units), "int8", scale["output"], random_zero_point(rng))
    return builder.graph("SVDF", [values, feature, time, bias, state], [output], rank=rank)


@pytest.mark.parametrize("state_type", ["int8", "int16"])
@pytest.mark.parametrize("seed", range(20))
def test_svdf(seed, state_type):
    from tflite_micro.python.tflite_micro import runtime

    rng = np.random.default_rng(seed)
    graph = svdf_graph(rng, state_type)
    ours, theirs = HostRun(graph), runtime.Interpreter.from_bytes(write_tflite(graph), arena_size=1 << 20)
    for _ in range(8):
        values = random_values(rng, graph.tensors[graph.inputs[0]])
        theirs.set_input(values, 0)
        theirs.invoke()
        tensors = ours.infer([values])
        np.testing.assert_array_equal(tensors[graph.outputs[0]], theirs.get_output(0))
