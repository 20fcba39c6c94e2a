"""Whole networks by host operators alone: every tensor is TFLite Micro's."""

import numpy as np
import pytest

from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from tests.host.models import run_on_host
from tests.oracle import random_inputs, run_tflite_micro
from tests.zoo import int8_models


def check_network(data, seed=0):
    graph, inputs = read_tflite(data), random_inputs(data, seed)
    actual, expected = run_on_host(graph, inputs), run_tflite_micro(data, inputs)
    for operator in graph.operators:
        for number in operator.outputs:
            np.testing.assert_array_equal(actual[number], expected[number], err_msg=operator.location)


@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "autoencoder", "mnist"])
def test_built_in_network(name):
    check_network(write_tflite(build_topology(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v1", "mobilenet_v2"])
def test_large_built_in_network(name):
    check_network(write_tflite(build_topology(name)))


def test_real_networks(model_zoo):
    models = int8_models(model_zoo)
    assert models, f"no models in {model_zoo}"
    for model in models:
        check_network(model.read_bytes())
