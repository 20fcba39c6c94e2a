"""Points on the virtual prototype: a row says what `dlasim run --host riscv` says."""

import json
from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.results.sweep_result import SweepResult

STUDY = """
title = "small"
models = [{{ file = "{path}", label = "aww" }}]
[fixed]
host = "riscv"
[axes]
cpu = ["two_stage", "ideal"]
timing = ["zero", "macs", "full"]
[[cases]]
name = "CPU only"
place = "cpu"
timing = "full"
[[cases]]
name = "convolutions"
dla_ops = "CONV_2D+DEPTHWISE_CONV_2D"
[[cases]]
name = "all"
"""


@pytest.fixture(scope="module")
def study_file(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prototype") / "small.toml"
    path.write_text(STUDY.format(path=model))
    return path


@pytest.fixture(scope="module")
def result(study_file: Path) -> SweepResult:
    return api.sweep(study_file, out=study_file.parent / "out", jobs=1)


def report_of_run(model: Path, row: dict[str, Any]) -> dict[str, Any]:
    names = row["dla_ops"]
    return api.run(
        model,
        host="riscv",
        host_options={"cpu": row["cpu"]},
        place=row["place"],
        timing=row["timing"],
        dla_ops=frozenset(names.split("+")) if names else None,
    ).report


def test_rows_equal_a_run_on_the_board(model: Path, result: SweepResult) -> None:
    rows = list(result)
    assert len(rows) == 2 + 2 * 2 * 3
    for row in rows:
        assert row["status"] == "ok", row["reason"]
        report = report_of_run(model, row)
        cpu = report["cpu"]
        assert row["cpu_instructions"] == cpu["instructions"]
        assert row["cpu_setup_instructions"] == cpu["setup_instructions"]
        assert row["cpu_idle_cycles"] == cpu["idle_cycles"]
        for name in ("total", "dla", "cpu", "overlap", "stall", "dma"):
            assert row[f"cycles_{name}"] == report["cycles"][name]
        for name in ("stack_peak_bytes", "ram_peak_bytes", "artifact_bytes"):
            assert row[name] == report["memory"][name]
        assert row["simulation_seconds"] > 0


def test_worker_processes_find_the_same(study_file: Path, result: SweepResult, tmp_path: Path) -> None:
    columns = [name for name in result.columns if name != "simulation_seconds"]
    again = api.sweep(study_file, out=tmp_path, jobs=2)
    assert list(again.rows(*columns)) == list(result.rows(*columns))


BOARD_COLUMNS = (
    "cpu_setup_instructions", "cpu_idle_cycles", "stack_peak_bytes", "ram_peak_bytes", "simulation_seconds",
)  # fmt: skip


def test_without_a_board_its_figures_are_empty(model: Path) -> None:
    (row,) = api.sweep(model, jobs=1)
    assert all(row[name] is None for name in BOARD_COLUMNS)


def test_cores_of_equal_cost_share_their_entries(model: Path, tmp_path: Path) -> None:
    from dlasim.vp.riscv import costs

    own = tmp_path / "own.toml"
    own.write_text((Path(costs.__file__).parent / "presets" / "two_stage.toml").read_text())
    keys = api.sweep(model, jobs=1, host="riscv", cpu=["two_stage", str(own), "ideal"]).column("key")
    assert keys[0] == keys[1] != keys[2]


def test_what_the_board_cannot_is_a_row_or_an_error(model: Path) -> None:
    with pytest.raises(InputError, match="'fast'"):
        api.sweep(model, host="riscv", cpu="fast")
    (row,) = api.sweep(model, host="riscv", sram="1KiB", tiling="output-channel", jobs=1)
    assert row["status"] == "refused"
    assert "needs" in row["reason"]


def test_models_take_the_place_of_a_studys_own(model: Path, tmp_path: Path) -> None:
    found = api.sweep("paper_prototype", model, cpu="ideal", out=tmp_path, where=["case == 'CPU only'"])
    assert found.column("model") == [model.stem]
    about = json.loads((tmp_path / "sweep.json").read_text())
    assert list(about["models"]) == [model.stem]


def test_the_papers_study_climbs_from_convolution_and_bias(model: Path, tmp_path: Path) -> None:
    """Each step of the ladder leaves the CPU fewer instructions; the first one is the paper's."""
    found = api.sweep("paper_prototype", model, cpu="ideal", out=tmp_path)
    rows = [row for row in found if row["timing"] == "full"]
    assert [row["case"] for row in rows] == [
        "CPU only", "convolution and bias", "plus requantization", "plus depthwise", "all the DLA can",
    ]  # fmt: skip
    assert [(row["dla_ops"], row["requant"]) for row in rows[1:3]] == [("CONV_2D", "cpu"), ("CONV_2D", "dla")]
    counts = [row["cpu_instructions"] for row in rows]
    assert counts == sorted(counts, reverse=True)
    # Of the five convolutions of ds_cnn each of 25 x 5 x 64 sums takes the CPU about 26 instructions.
    assert counts[1] - counts[2] == pytest.approx(5 * 25 * 5 * 64 * 26, rel=0.05)
