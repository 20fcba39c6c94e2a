"""uint8 networks as whole programs: in little and much SRAM, on both hosts, every tensor is LiteRT's."""

from pathlib import Path

import pytest

from dlasim import api
from dlasim.sim.config import DlaConfig

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


def test_what_flips_inputs_and_outputs_runs_on_the_dla(model_zoo: Path) -> None:
    layers = api.run(model_zoo / NETWORK, timing_only=True).report["layers"]
    on_cpu = [layer["operator"] for layer in layers if layer["unit"] == "cpu"]
    assert on_cpu == ["SOFTMAX"]


@pytest.mark.slow
def test_uint8_that_only_a_cast_reads(model_zoo: Path) -> None:
    assert api.verify(model_zoo / "more/movenet_uint8_input.tflite", runs=0).passed
