"""A random network of each operator of the table, by host operators alone, against TensorFlow's kernels."""

from __future__ import annotations

import numpy as np
import pytest

from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.host.models import check
from tests.oracle import random_inputs
from tests.tflite.one_operator import BUILDERS, FORMS, NOT_IN_TFLITE_MICRO, random_form, random_graph

SEEDS = range(4)
# Of int8 only LiteRT has it; dlasim refuses that, and tests/compiler/test_tails.py has it in float32.
FLOATS_ONLY = ("FLOOR_DIV",)


@pytest.mark.parametrize("kind", sorted(BUILDERS))
def test_every_operator_is_the_references(kind: str) -> None:
    if OPERATORS[kind].lower is None or kind in FLOATS_ONLY:
        return
    for seed in SEEDS:
        graph = random_graph(kind, seed)
        inputs = random_inputs(write_tflite(graph), seed)
        check(graph, [np.asarray(values) for values in inputs], litert=kind in NOT_IN_TFLITE_MICRO)


@pytest.mark.parametrize("kind", sorted(FORMS))
def test_further_forms_are_the_references(kind: str) -> None:
    for seed in range(40):
        graph = random_form(kind, seed)
        inputs = random_inputs(write_tflite(graph), seed)
        check(graph, [np.asarray(values) for values in inputs], litert=kind == "REDUCE_PROD")
