"""The paper's evaluation, against its plain model worked out here with nothing but whole numbers."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dlasim import api
from dlasim.sweeps.definition.studyfile import shipped_study
from dlasim.sweeps.pages.paper_page import findings, write_page
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


@pytest.mark.slow
def test_the_tiled_layers_are_those_that_do_not_fit(result: SweepResult, tmp_path: Path) -> None:
    """An independent count: what the input leaves of the SRAM, over what an output channel takes."""
    text = write_page(shipped_study("paper"), result, tmp_path, {}).read_text()
    for label, sram in (("512K 64 O", 512 << 10), ("1M 64 O", 1 << 20)):
        cut = []
        for number, (size, in_size, kernel, ins, outs, _) in enumerate(convolutions()):
            tile = (sram - in_size * in_size * ins) // (
                size * size * 4 + kernel * kernel * ins + RECORD_BYTES
            )
            if tile < outs:
                cut.append(f"{f'pointwise_{number}' if number else 'conv_0'} ({-(-outs // tile)})")
        assert re.search(rf"^\| {label} \| [\d.]+ % \| {re.escape(', '.join(cut))} \|$", text, re.MULTILINE)
    assert (
        "conv_0 (2), pointwise_1 (6), pointwise_2 (2), pointwise_3 (3), pointwise_5 (2), pointwise_13" in text
    )


@pytest.mark.slow
def test_findings_hold_and_are_told(result: SweepResult, tmp_path: Path) -> None:
    study = shipped_study("paper")
    assert [finding.holds for finding in findings(result, "mobilenet_v1")] == [True] * 4
    text = write_page(study, result, tmp_path, {}).read_text()
    assert len(re.findall(r"^## Finding \d: holds$", text, re.MULTILINE)) == 4
    assert "nan" not in text
    names = [path.name for path in write_outputs(study, result)]
    assert "figure4.png" in names
    for name in names:
        assert (result.path.parent / name).stat().st_size > 1000


def test_another_model_has_a_page_about_itself(tmp_path: Path) -> None:
    found = api.sweep("paper", "mnist", out=tmp_path, pes=64, jobs=1)
    missing: dict[str, str] = {}
    *_, page = write_outputs(replace(shipped_study("paper"), models=()), found, missing)
    text = page.read_text()
    assert "MobileNetV1-224 as in" not in text
    assert text.startswith("# mnist in the flow of")
    assert "## mnist: tiled convolutions and busy PEs" in text
    assert re.search(r"^\| 256M 64 O \| [\d.]+ % \| none \|$", text, re.MULTILINE)
    for depthwise in ("cpu", "native"):  # it has no depthwise layer
        assert re.search(rf"^\| {depthwise} \| 256M 64 O \| 100.0 % \|", text, re.MULTILINE)
    assert "Finding 3: was not tested for mnist" in text  # it compares 128 PEs, which did not run
    assert "Finding 3: does not hold" not in text
    assert "CONV: 256M 64 O" in text  # what ran is compared, what did not is named
    assert "- 256M 128 O, depthwise native, paper, did not run" in text
    assert "in thousands, unless" in text  # mnist takes less than a million cycles
    key = ("paper", "256M 64 O", "native")
    found_row = next(row for row in found if (row["case"], row["label"], row["depthwise"]) == key)
    assert f"- CONV: 256M 64 O {found_row['cycles_conv'] / 1000:,.2f}," in text
    assert (tmp_path / "figure4.png").exists()
    assert not missing


def test_a_finding_is_asked_of_the_machines_that_ran(tmp_path: Path) -> None:
    found = api.sweep("paper", "ds_cnn", out=tmp_path, pes=64, where=["case != 'auto+full'"], jobs=1)
    depthwise = findings(found, "ds_cnn")[3]
    assert depthwise.holds
    assert len(depthwise.lines) == 4
    assert depthwise.lines[1] == "256M 128 O, depthwise emulated, paper, did not run"
    assert sum(line.endswith(" times") for line in depthwise.lines) == 3


def test_a_chart_without_points_is_left_out_with_a_note(tmp_path: Path) -> None:
    found = api.sweep(
        "paper", "ds_cnn", out=tmp_path, where=["case != 'auto+full' and preset == 'paper'"], jobs=1
    )
    missing: dict[str, str] = {}
    *_, page = write_outputs(replace(shipped_study("paper"), models=()), found, missing)
    assert list(missing) == ["real-memory.png"]
    assert "real-memory.png was left out: " in page.read_text()
    assert "No machine ran with both." in page.read_text()
