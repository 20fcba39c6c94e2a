"""The best machines, confirmed: what was found stands in the table, and stays there."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dlasim import api
from dlasim.cli import main
from dlasim.confirmation import confirm
from dlasim.errors import InputError
from dlasim.sweeps.results.confirmed import add_confirmed
from dlasim.sweeps.results.sweep_result import SweepResult, open_results

AXES: dict[str, Any] = {"pes": [8, 16], "sram": "32KiB", "jobs": 1, "minimize": "energy"}


def swept(folder: Path, *models: str) -> SweepResult:
    return api.sweep(*models, out=folder, **AXES)


def test_networks_of_the_best_machine_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="the extra verify is not installed")
    table = swept(tmp_path, "mnist@5", "autoencoder")
    found = confirm(tmp_path, rtl=False)
    best = table.decide().winner
    assert best is not None
    assert found.column("verified") == ["equal", "equal"]
    assert found.column("model") == ["mnist", "autoencoder"]
    for row in open_results(tmp_path):
        is_best = row["machine"] == best["machine"] and row["model"] != "workload"
        assert row["verified"] == ("equal" if is_best else "")
    before = (tmp_path / "results.csv").read_bytes()
    swept(tmp_path, "mnist@5", "autoencoder")
    assert (tmp_path / "results.csv").read_bytes() == before


@pytest.mark.rtl
@pytest.mark.parametrize("ports", [0, 16])
def test_the_table_has_the_cycles_of_the_rtl(tmp_path: Path, ports: int) -> None:
    """As many as the simulator's where ports and output stage have no limits; else not quite as many."""
    if shutil.which("verilator") is None:
        pytest.skip("Verilator is not installed")
    unlimited = ("sram_bandwidth", "line_buffer", "weight_buffer", "mac_results")
    limits = {} if ports else dict.fromkeys(unlimited, 0)
    api.sweep("mnist", out=tmp_path, sram="32KiB", jobs=1, **limits)
    (row,) = confirm(tmp_path)
    assert (row["verified"], row["rtl"]) == ("equal", "equal")
    assert row["rtl_ratio"] == round(row["rtl_cycles_dla"] / row["cycles_dla"], 4)
    assert (row["rtl_ratio"] == 1) == (not ports)
    assert 0.97 < row["rtl_ratio"] < 1.03


def test_a_machine_that_the_rtl_cannot_be(tmp_path: Path) -> None:
    api.sweep("mnist", out=tmp_path, queue_depth=4, mac_fill=2, jobs=1)
    (row,) = confirm(tmp_path)
    assert "mac_fill" in row["rtl"]
    assert not row["rtl_cycles_dla"]


def test_what_was_known_is_kept(tmp_path: Path) -> None:
    key = swept(tmp_path, "mnist").column("key")[0]
    add_confirmed(tmp_path, {key: {"rtl": "equal", "rtl_cycles_dla": "7"}})
    add_confirmed(tmp_path, {key: {"verified": "equal", "rtl": ""}})
    rows = list(open_results(tmp_path))
    assert [rows[0][name] for name in ("verified", "rtl", "rtl_cycles_dla")] == ["equal", "equal", 7]
    assert rows[1]["verified"] == ""


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    swept(tmp_path, "mnist")
    for arguments, message in (
        ([str(tmp_path), "--limit", "area < 1"], "no machine keeps to all limits; 2 of 2 break area < 1"),
        ([str(tmp_path / "nothing")], "cannot read"),
        ([str(tmp_path), "--top", "0"], "--top must be from 1 to 1000000 (got 0)"),
    ):
        done = CliRunner().invoke(main, ["confirm", *arguments])
        assert done.exit_code == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(InputError, match="is not that of a sweep or a search"):
        confirm(tmp_path)
