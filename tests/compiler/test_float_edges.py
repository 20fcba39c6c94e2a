"""A network of Keras with float32 inputs and outputs: TensorFlow's results, and how much the edges take."""

import os
from pathlib import Path

import pytest

from dlasim import api
from tests.compiler.test_transformers import check
from tests.keras_networks import keras_network


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
def test_edges_take_at_most_a_quarter(tmp_path: Path) -> None:
    """Of all cycles of the default machine, as estimated and on the board; 40.6 % when QUANTIZE divided."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    path = keras_network("float_edges", tmp_path)
    check(path)
    for host in ("none", "riscv"):
        report = api.run(path, host=host).report  # of noise of both signs
        on_cpu = [layer for layer in report["layers"] if layer["unit"] == "cpu"]
        assert [layer["operator"] for layer in on_cpu] == ["QUANTIZE", "DEQUANTIZE"]
        assert sum(layer["cycles"] for layer in on_cpu) <= 0.25 * report["cycles"]["total"]
