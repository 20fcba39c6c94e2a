"""uint8 networks as whole programs: in little and much SRAM, on both hosts, every tensor is LiteRT's."""

import os
from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph, save_graph
from dlasim.sim.configuration.config import DlaConfig
from tests.compiler.quantization_aware import SHAPE, quantization_aware_network
from tests.oracle import run_litert_reference

NETWORK = "more/mobilenet_v1_0.25_128_uint8.tflite"


@pytest.mark.parametrize("sram_bytes", [65_536, 262_144, 1 << 20])
def test_a_network_of_tensorflow_1(sram_bytes: int, model_zoo: Path) -> None:
    result = api.verify(model_zoo / NETWORK, DlaConfig(sram_bytes=sram_bytes), runs=0)
    assert result.passed
    assert "CONV_2D (uint8)" in result.reference
    assert result.tensors == 32


@pytest.mark.slow
@pytest.mark.parametrize("sram_bytes", [65_536, 262_144, 1 << 20])
def test_a_network_of_tensorflow_1_on_the_board(sram_bytes: int, model_zoo: Path) -> None:
    assert api.verify(model_zoo / NETWORK, DlaConfig(sram_bytes=sram_bytes), runs=0, host="riscv").passed


def test_all_of_it_runs_on_the_dla(model_zoo: Path) -> None:
    """What flips inputs and outputs, too."""
    layers = api.run(model_zoo / NETWORK, timing_only=True).report["layers"]
    assert {layer["unit"] for layer in layers} == {"dla"}


@pytest.mark.slow
def test_uint8_that_only_a_cast_reads(model_zoo: Path) -> None:
    assert api.verify(model_zoo / "more/movenet_uint8_input.tflite", runs=0).passed


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of uint8 that TensorFlow converts."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing to convert with")
    path = tmp_path_factory.mktemp("trained") / "network.tflite"
    path.write_bytes(quantization_aware_network(tf))
    return path


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
@pytest.mark.parametrize("sram", ["2KiB", "8KiB", "512KiB"])
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_a_network_that_tensorflow_converts(trained: Path, host: str, sram: str) -> None:
    result = api.verify(trained, host=host, sram=sram)
    assert result.passed, result.mismatch or result.uncompared
    assert "CONCATENATION (uint8)" in result.reference
    image = np.random.default_rng(5).integers(0, 256, SHAPE).astype(np.uint8)
    (expected,) = (run_litert_reference(trained, [image])[index] for index in load_graph(trained).outputs)
    (found,) = api.run(trained, inputs=image, host=host, sram=sram).outputs
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own
def test_its_graph_file_is_the_same_network(trained: Path, tmp_path: Path) -> None:
    """It has no table in front of its CONCATENATION; the importer adds that again."""
    (tmp_path / "m.dlag").write_bytes(save_graph(load_graph(trained)))
    again = load_graph(tmp_path / "m.dlag")
    (tmp_path / "again.dlag").write_bytes(save_graph(again))
    assert save_graph(load_graph(tmp_path / "again.dlag")) == (tmp_path / "again.dlag").read_bytes()
    kinds = [operator.kind for operator in again.operators]
    assert kinds[kinds.index("CONCATENATION") - 1] == "TABLE"
    assert api.verify(tmp_path / "m.dlag", runs=0).passed
