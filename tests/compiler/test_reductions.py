"""MEAN, SUM, REDUCE_MAX and REDUCE_MIN over any dimensions run on the DLA, with TensorFlow's results."""

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import GraphBuilder, random_scale, random_values, random_zero_point
from tests.oracle import run_litert_reference, run_tflite_micro

KINDS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
CASES = [
    ((2, 4, 5, 3), (1,)),
    ((2, 4, 5, 3), (0, 2)),
    ((2, 4, 5, 3), (1, 3)),
    ((2, 4, 5, 3), (0, 3)),
    ((1, 6, 7, 8), (1, 2)),
    ((1, 6, 7, 8), (1, 3)),
    ((1, 6, 7, 8), (3,)),
    ((2, 4, 5, 3), (0, 1, 3)),
    ((2, 4, 5, 3), (0, 1, 2, 3)),
    ((3, 1, 1, 5), (1, 2)),
    ((12, 9), (0,)),
    ((12, 9), (1,)),
    ((2, 3, 4, 2, 3), (1, 3)),
    ((2, 3, 4, 2, 3), (0, 2, 4)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_any_dimensions_are_reduced_on_the_dla(kind, shape, axes, tmp_path):
    rng, builder = np.random.default_rng(len(shape) + sum(axes)), GraphBuilder()
    given = random_scale(rng), random_zero_point(rng)
    taken = (random_scale(rng), random_zero_point(rng)) if kind in ("MEAN", "SUM") else given
    left = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    source = builder.add(shape, "int8", *given, is_input=True)
    chosen = builder.add((len(axes),), "int32", data=np.array(axes))
    result = builder.add(left, "int8", *taken)
    graph = builder.graph(kind, [source, chosen], [result], keep_dims=True)
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    values = [random_values(rng, graph.tensors[source])]
    try:
        expected = run_tflite_micro(path, values)[result]
    except RuntimeError:  # not a rank or an axis of TFLite Micro's
        expected = run_litert_reference(path, values)[result]
    for place in ("dla", "cpu"):
        found = api.run(path, inputs=values, place=place)
        assert {layer["unit"] for layer in found.report["layers"]} == {place}
        np.testing.assert_array_equal(found.outputs[0], expected)


def test_a_maximum_is_found_where_it_is_fastest(tmp_path):
    """A global maximum of an image takes less than a twentieth of its time on the CPU."""
    builder = GraphBuilder()
    source = builder.add((1, 14, 14, 32), "int8", 0.1, 0, is_input=True)
    chosen = builder.add((2,), "int32", data=np.array([1, 2]))
    graph = builder.graph("REDUCE_MAX", [source, chosen], [builder.add((1, 32), "int8", 0.1, 0)])
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    cycles = {
        place: api.run(path, timing_only=True, place=place).report["cycles"]["total"]
        for place in ("auto", "cpu")
    }
    assert cycles["auto"] * 20 < cycles["cpu"]
