"""Products of scales in float32 and in float64 give multipliers that differ in their last bits only. Results
show the difference where a ratio of scales is a power of two in float32: then many results are ties."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.tflite.one_operator import random_graph

pytest.importorskip("tflite_micro", reason="TFLite Micro is not installed")

KINDS = (
    "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MUL", "PRELU", "SQUARED_DIFFERENCE",
    "TRANSPOSE_CONV",
)  # fmt: skip
SCALED = {"TRANSPOSE_CONV": (2, 1)}  # the operands whose scales are multiplied


def with_ties(graph: Graph, kind: str) -> Graph:
    """The output's scale is the product of the operands' in float32, times the nearest power of two."""
    operator = graph.operators[0]
    tensors = list(graph.tensors)
    first, second = (tensors[operator.inputs[place]].quantization for place in SCALED.get(kind, (0, 1)))
    number = operator.outputs[0]
    old = tensors[number].quantization
    assert first is not None
    assert second is not None
    assert old is not None
    product = float(np.float32(first.scales[0]) * np.float32(second.scales[0]))
    scale = product * 2.0 ** round(math.log2(old.scale / product))
    tensors[number] = replace(tensors[number], quantization=replace(old, scales=(scale,)))
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("kind", KINDS)
def test_every_product_of_scales(kind: str, tmp_path: Path) -> None:
    for seed in range(6):
        path = tmp_path / f"{seed}.tflite"
        path.write_bytes(write_tflite(with_ties(random_graph(kind, seed), kind)))
        found = api.verify(path, runs=2, seed=seed)
        assert found.mismatch is None, f"seed {seed}: {found.mismatch}"
