"""Transformers, built in and as TensorFlow converts Keras': in little and much SRAM, on both hosts."""

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_graph, lower_for
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.float_tables import find_float_tables
from dlasim.compiler_shim.options import CompileOptions
from dlasim.sim.configuration.config import DlaConfig
from tests.compiler.cases import Outcome
from tests.compiler.hosts import hosts_differ
from tests.compiler.matrix import Recorded
from tests.keras_networks import keras_network

SIZES = (24 << 10, 96 << 10, 1 << 20)
BUILT_IN = ("vit", "mobile_bert", pytest.param("kwt", marks=pytest.mark.slow))
CONVERTED = ("vision_transformer", "keyword_transformer", "bottleneck_encoder")


@pytest.fixture(scope="module")
def keras_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    return tmp_path_factory.mktemp("keras")


def check(path: Path) -> None:
    """Every tensor is TensorFlow's at each size, and the board agrees with the standalone simulator."""
    graph = load_graph(path)
    network = partition(graph)
    with closing(Recorded(path.read_bytes(), len(graph.tensors))) as reference:
        for sram_bytes in SIZES:
            config = DlaConfig(sram_bytes=sram_bytes)
            lowered = lower_for(network, config, CompileOptions())
            result = verify(path, lowered, config, runs=1, reference=reference)
            assert result.passed, (sram_bytes, result.mismatch, result.uncompared)
            assert not hosts_differ(Outcome("", lowered, config), seed=1)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_transformers(name: str, tmp_path: Path) -> None:
    check(api.model(name, str(tmp_path / "model.tflite")))


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
@pytest.mark.parametrize("name", CONVERTED)
def test_transformers_of_keras(name: str, keras_folder: Path) -> None:
    """With float32 inputs and outputs, and no cycle left to the CPU."""
    path = keras_network(name, keras_folder, has_float_edges=True)
    check(path)
    assert api.run(path, timing_only=True).report["cycles"]["cpu"] == 0


@pytest.mark.parametrize("name", BUILT_IN)
def test_share_of_the_cpu(name: str) -> None:
    """At least 95 % of the cycles of the default machine are the DLA's; each SOFTMAX is."""
    layers = api.run(name, timing_only=True).report["layers"]
    on_cpu = [layer for layer in layers if layer["unit"] == "cpu"]
    assert sum(layer["cycles"] for layer in on_cpu) <= 0.05 * sum(layer["cycles"] for layer in layers)
    softmax = {layer["name"]: layer["unit"] for layer in layers if layer["operator"] == "SOFTMAX"}
    assert "probabilities" in softmax
    assert set(softmax.values()) == {"dla"}


def test_attention_stays_in_sram() -> None:
    """The scores are never written to system memory; only tables are read for them."""
    layers = {layer["name"]: layer for layer in api.run("vit", timing_only=True).report["layers"]}
    for block in range(4):
        scores, scaled, weights = (
            layers[f"block_{block}/attention/{part}"]["dma_bytes"] for part in ("scores", "scaled", "weights")
        )
        assert scores["write"] == scaled["write"] == weights["write"] == 0
        assert (scaled["read"], weights["read"]) == (256, 1024)


@pytest.mark.filterwarnings("ignore")
def test_what_runs_on_the_cpu(keras_folder: Path, tmp_path: Path) -> None:
    """Nothing, of Keras' form with squared differences and of the built-in form without."""
    converted = keras_network("vision_transformer", keras_folder)
    built_in = api.model("vit", str(tmp_path / "vit.tflite"))
    for path in (converted, built_in):
        layers = api.run(path, timing_only=True).report["layers"]
        assert {layer["unit"] for layer in layers} == {"dla"}


@pytest.mark.filterwarnings("ignore")
def test_negation_in_float32_becomes_a_table(keras_folder: Path) -> None:
    graph = load_graph(keras_network("vision_transformer", keras_folder))
    tables = find_float_tables(graph)
    assert len(tables) == 5  # one for each normalization
    for table in tables.values():
        assert [operator.kind for operator in table.before] == ["DEQUANTIZE", "NEG"]
        assert (np.diff(table.table.astype(int)) <= 0).all()
    assert not {"NEG", "DEQUANTIZE"} & {item.operator for item in partition(graph).items}


@pytest.mark.filterwarnings("ignore")
def test_keys_are_transposed_once(keras_folder: Path) -> None:
    """Keras' transpose of keys undoes what the product needs; then each TRANSPOSE is a view or a copy of
    rows."""
    graph = load_graph(keras_network("vision_transformer", keras_folder))
    orders = [
        tuple(graph.tensors[operator.inputs[1]].data)
        for operator in graph.operators
        if operator.kind == "TRANSPOSE"
    ]
    assert orders
    assert all(order[-1] == 3 for order in orders)
    products = [operator for operator in graph.operators if operator.kind == "BATCH_MATMUL"]
    assert [product.options["adj_y"] for product in products] == [True, False] * 2
