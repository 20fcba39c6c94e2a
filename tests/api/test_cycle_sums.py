"""The cycles of a report add up, whichever host simulates the CPU and however the work is shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa.assembly import assemble
from dlasim.isa.container import write
from dlasim.loading import choose_machine, split_choices

DOORBELL = 40  # docs/timing-model.md
NETWORKS: dict[str, dict[str, Any]] = {
    "mnist": {},
    "ds_cnn": {},
    "resnet8": {},
    "autoencoder": {},
    "mobilenet_v1": {"alpha": 0.25, "resolution": 96},
}
CHOICES: tuple[dict[str, Any], ...] = (
    {},
    {"place": "cpu"},
    {"depthwise": "cpu"},
    {"dla_ops": frozenset({"CONV_2D"}), "dma_bandwidth": 1},
    {"fusion": "none", "tiling": "output-channel"},
    {"timing": "macs"},
    {"timing": "zero", "depthwise": "cpu"},
)
WAYS: tuple[dict[str, str], ...] = (
    {},
    {"cpu": "five_stage"},
    {"completion": "polling"},
    {"submission": "registers"},
    {"submission": "registers", "completion": "polling"},
)
BESIDE = """
.tensor x, int8, input, INPUTS, shape=65536
.tensor a, int8, input, INPUTS, shape=4
.tensor y, int32, output, OUTPUTS, shape=4
.stream
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_RUN_BYTES, 65536
    OP_DMA_READ
    HALT
.stream
    HALT
.layer cast, CAST, HOST
.host CAST, inputs=(a), outputs=(y), after=0
.endlayer
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    for name, arguments in NETWORKS.items():
        (folder / name).write_bytes(write_tflite(build_topology(name, seed=0, **arguments)))
    return {name: folder / name for name in NETWORKS}


def add_up(report: dict[str, Any]) -> dict[str, int]:
    cycles: dict[str, int] = report["cycles"]
    assert cycles["total"] == cycles["dla"] + cycles["cpu"] - cycles["overlap"]
    assert 0 <= cycles["overlap"] <= min(cycles["dla"], cycles["cpu"])
    return cycles


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("name", NETWORKS)
def test_an_estimated_cpu_calls_operators_and_rings_doorbells(
    models: dict[str, Path], name: str, choices: dict[str, Any]
) -> None:
    result = api.run(models[name], timing_only=True, **choices)
    cycles = add_up(result.report)
    called = sum(layer["cycles"] for layer in result.report["layers"] if layer["unit"] == "cpu")
    program = result.loaded.program
    rings = bool(program.host_calls) and choices.get("timing", "full") == "full"
    assert cycles["cpu"] == called + rings * DOORBELL * len(program.streams)


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_a_measured_cpu_adds_up_too(models: dict[str, Path], choices: dict[str, Any], tmp_path: Path) -> None:
    """The same program by each way."""
    machine = choose_machine(None, split_choices(choices)[0])
    program = tmp_path / "program.bin"
    program.write_bytes(write(api.compile(models["ds_cnn"], **choices).program))
    for way in WAYS:
        report = api.run(program, machine, timing_only=True, host="riscv", host_options=dict(way)).report
        cycles = add_up(report)
        assert cycles["total"] == cycles["cpu"] + report["cpu"]["idle_cycles"]


def test_what_cpu_and_dla_do_at_once_counts_once(tmp_path: Path) -> None:
    """The second doorbell and the host call fall into the first stream's 8,257 cycles."""
    (tmp_path / "beside.bin").write_bytes(write(assemble(BESIDE)))
    cycles = add_up(api.run(tmp_path / "beside.bin", timing_only=True).report)
    assert cycles["dla"] > 8192
    assert DOORBELL < cycles["cpu"] < 8192
    assert cycles["overlap"] == cycles["cpu"] - DOORBELL  # all but the first doorbell
    assert cycles["total"] == cycles["dla"] + DOORBELL
