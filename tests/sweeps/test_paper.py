"""The paper's evaluation, against its plain model worked out here with nothing but whole numbers."""

from pathlib import Path

import pytest

from dlasim import api
from dlasim.sweeps.definition.studyfile import shipped_study
from dlasim.sweeps.results.study_outputs import write_outputs
from dlasim.sweeps.results.sweep_result import SweepResult

RECORD_BYTES = 12  # of a channel: bias, multiplier, shift; the paper's have the bias alone
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


def convolutions() -> list[tuple[int, int, int, int, int, int]]:
    """Output size, input size, kernel, input channels, output channels of each plain convolution."""
    layers = [(112, 224, 3, 3, 32, 0)]
    size, channels = 112, 32
    for out, stride in BLOCKS:
        size //= stride
        layers.append((size, size, 1, channels, out, 0))
        channels = out
    return layers


def conv_cycles(sram: int, pes: int, mode: str) -> int:
    total = 0
    for size, in_size, kernel, ins, outs, _ in convolutions():
        room = sram - in_size * in_size * ins
        tile = min(outs, room // (size * size * 4 + kernel * kernel * ins + RECORD_BYTES))
        groups = [tile] * (outs // tile) + ([outs % tile] if outs % tile else [])
        work = size * size * kernel * kernel
        if mode == "input":
            total += work * outs * -(-ins // pes)
        else:
            total += work * ins * sum(-(-group // pes) for group in groups)
    return total


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    axes = {"depthwise": ["cpu", "emulated", "native"], "sram": "512KiB,1MiB,256MiB", "pes": [64, 128],
            "parallel": ["input", "output"]}  # fmt: skip
    return api.sweep("paper", out=tmp_path_factory.mktemp("paper"), **axes)


@pytest.mark.slow
def test_convolutions_as_the_plain_model_says(result: SweepResult) -> None:
    for row in result.rows():
        if row["case"] != "paper":
            continue
        sram, pes, mode = row["sram_bytes"], row["pes"], row["parallel"]
        assert row["cycles_conv"] == conv_cycles(sram, pes, mode)
        if row["depthwise"] == "emulated":
            assert row["cycles_depth"] == pytest.approx(17.39e6, rel=0.001)
        if row["depthwise"] == "native" and sram == 256 << 20:
            assert row["cycles_depth"] == pytest.approx({64: 0.33e6, 128: 0.23e6}[pes], rel=0.03)


def test_the_charts_are_drawn(tmp_path: Path) -> None:
    found = api.sweep("paper", "mnist", out=tmp_path, pes=64, jobs=1)
    missing: dict[str, str] = {}
    paths = list(write_outputs(shipped_study("paper"), found, missing))
    assert "figure4.png" in {path.name for path in paths}
    assert all(path.stat().st_size > 1000 for path in paths)
    assert not missing


def test_a_chart_without_points_is_left_out(tmp_path: Path) -> None:
    found = api.sweep(
        "paper", "ds_cnn", out=tmp_path, where=["case != 'auto+full' and preset == 'paper'"], jobs=1
    )
    missing: dict[str, str] = {}
    list(write_outputs(shipped_study("paper"), found, missing))
    assert list(missing) == ["real-memory.png"]
