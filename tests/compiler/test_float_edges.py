"""Networks of Keras with float32 inputs and outputs: TensorFlow's results, and how much the edges take."""

import os
from pathlib import Path

import pytest

from dlasim import api
from tests import keras_networks
from tests.compiler.test_transformers import check


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
@pytest.mark.parametrize("name", ["float_edges", "gru"])
def test_edges_take_at_most_a_quarter(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all cycles of the default machine, as estimated and on the board: 784 elements by a table, 20.3 %
    (40.6 % when QUANTIZE divided), and 96 without one, 22.2 %."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    monkeypatch.setattr(keras_networks, "FLOAT_EDGES", {name})
    path = keras_networks.keras_network(name, tmp_path)
    check(path)
    for host in ("none", "riscv"):
        report = api.run(path, host=host).report  # of noise of both signs
        on_cpu = [layer for layer in report["layers"] if layer["unit"] == "cpu"]
        assert [layer["operator"] for layer in on_cpu] == ["QUANTIZE", "DEQUANTIZE"]
        assert sum(layer["cycles"] for layer in on_cpu) <= 0.25 * report["cycles"]["total"]
