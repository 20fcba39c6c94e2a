"""Parameters that contradict each other are explained before anything runs; a sweep of nothing fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import dlasim
from dlasim.cli import main
from dlasim.errors import InputError


def sweep(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)], prog_name="dlasim")


STUDY = """
models = ["mnist"]

[axes]
pes = [32]
"""


def test_machines_that_cannot_exist_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    out = tmp_path / "out"
    for arguments, origins in (
        (("mnist", "--pes", "32,64", "--parallel", "8x16"), "parallel from --parallel, pes from --pes"),
        (
            ("mnist", "--pes", 32, "--preset", "nvdla-small"),
            "parallel from preset nvdla-small, pes from --pes",
        ),
        (
            (tmp_path / "study.toml", "--parallel", "8x16"),
            f"parallel from --parallel, pes from {tmp_path}/study.toml",
        ),
    ):
        done = sweep(*arguments, "--out", out)
        assert done.exit_code == 2, done.output
        assert "all points have contradictory parameters; the first: the grid" in done.stderr
        assert origins in done.stderr
        assert done.stderr.count("\n") == 1
        assert not out.exists()


def test_some_machines_that_cannot_exist_are_a_warning(tmp_path: Path) -> None:
    done = sweep("mnist", "--pes", "32,64", "--parallel", "8x8,output", "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0
    assert (
        "warning: 1 of 4 points have contradictory parameters; the first: the grid 8x8 has 64 PEs, but "
        "pes is 32" in done.stderr
    )


def test_a_sweep_of_which_nothing_runs_fails_with_the_reason(tmp_path: Path) -> None:
    done = sweep("mnist", "--sram", "1KiB", "--tiling", "output-channel", "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 1
    assert "none of 1 point can run; the first: mnist 1K 64 O: layer conv_0 (CONV_2D) needs" in done.stderr
    assert (tmp_path / "results.csv").exists()


@pytest.mark.parametrize(
    ("machine", "origin"),
    [
        ("nvdla-small", "parallel comes from preset nvdla-small, pes is given"),
        (None, "parallel is given, pes is given"),
        ("file", "machine.toml, pes is given"),
    ],
)
def test_a_single_run_says_where_its_values_come_from(
    machine: str | None, origin: str, tmp_path: Path
) -> None:
    chosen: object = machine
    choices = {"pes": 32} if machine else {"pes": 32, "parallel": "8x8"}
    if machine == "file":
        chosen = tmp_path / "machine.toml"
        chosen.write_text('parallel = "8x8"\n')
    with pytest.raises(InputError, match="give only one of parallel and pes") as caught:
        dlasim.run("mnist", chosen, **choices)
    assert origin in str(caught.value)


def test_rows_and_studies_as_json(tmp_path: Path) -> None:
    rows = json.loads(sweep("mnist", "--pes", "16,32", "--jobs", 1, "--json", "--out", tmp_path).stdout)
    assert [row["pes"] for row in rows] == [16, 32]
    studies = json.loads(sweep("--list", "--json").stdout)
    assert "paper" in [study["name"] for study in studies]
