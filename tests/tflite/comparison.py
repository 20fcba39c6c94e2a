"""When two graphs are the same."""

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Tensor


def assert_same_graph(found: Graph, expected: Graph) -> None:
    """Every fact of `expected` is in `found`; options left out there may have any value here."""
    assert found.name == expected.name
    assert found.inputs == expected.inputs
    assert found.outputs == expected.outputs
    assert len(found.tensors) == len(expected.tensors)
    for one, other in zip(found.tensors, expected.tensors, strict=True):
        _assert_same_tensor(one, other)
    for one, other in zip(found.operators, expected.operators, strict=True):
        assert (one.kind, one.inputs, one.outputs) == (other.kind, other.inputs, other.outputs)
        assert {name: one.options[name] for name in other.options} == other.options


def _assert_same_tensor(found: Tensor, expected: Tensor) -> None:
    assert (found.name, found.shape, found.dtype) == (expected.name, expected.shape, expected.dtype)
    assert found.quantization == expected.quantization
    assert found.is_constant == expected.is_constant
    if found.data is not None:
        assert found.data.dtype == expected.data.dtype
        np.testing.assert_array_equal(found.data, expected.data)
