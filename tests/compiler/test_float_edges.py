"""Networks of Keras with float32 inputs and outputs: TensorFlow's results, and nothing left to the CPU."""

import os
from pathlib import Path

import pytest

from dlasim import api
from tests.compiler.test_transformers import check
from tests.keras_networks import keras_network


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
@pytest.mark.parametrize("name", ["small_cnn", pytest.param("gru", marks=pytest.mark.slow)])
def test_edges_are_on_the_dla(name: str, tmp_path: Path) -> None:
    """784 elements took 21.6 % of all cycles on the CPU, 96 of an unrolled GRU 24.5 %."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    path = keras_network(name, tmp_path, has_float_edges=True)
    check(path)
    report = api.run(path).report
    kinds = [layer["operator"] for layer in report["layers"]]
    assert {"QUANTIZE", "DEQUANTIZE"} <= set(kinds)
    assert report["cycles"]["cpu"] <= 0.05 * report["cycles"]["total"]
