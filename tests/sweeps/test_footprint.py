"""The studies of the footprint and of the subgraphs say what a run on the board says."""

from __future__ import annotations

from pathlib import Path

import dlasim
from dlasim.sweeps.charts.measures import three_digits
from dlasim.sweeps.definition.studyfile import shipped_names
from tests.sweeps.test_contradictions import sweep


def test_the_footprint_is_that_of_a_run(tmp_path: Path) -> None:
    done = sweep("footprint", "mnist", "--out", tmp_path, "--jobs", 1)
    assert "CPU instructions" in done.stdout
    found = dlasim.SweepResult(tmp_path / "results.csv")
    for row, place in zip(found, ("cpu", "auto"), strict=True):
        report = dlasim.run("mnist", host="riscv", place=place).report
        names = ("ram_peak_bytes", "stack_peak_bytes", "arena_peak_bytes", "artifact_bytes")
        assert [row[name] for name in names] == [report["memory"][name] for name in names]
        assert row["cpu_instructions"] == report["cpu"]["instructions"]
        assert f" {three_digits(report['cycles']['total'])} " in done.stdout


def test_subgraphs_are_counted_and_cost_traffic(tmp_path: Path) -> None:
    found = dlasim.sweep("subgraphs", out=tmp_path, jobs=1)
    assert found.column("subgraphs") == [1, 3, 1, 4]
    assert found.column("layers_cpu") == [3, 5, 1, 5]  # SOFTMAX, the classifier's layers, and requantizations
    run = dlasim.run("mnist", dla_ops="CONV_2D+MAX_POOL_2D", requant="cpu", timing_only=True)
    assert run.report["subgraphs"] == len(run.loaded.program.streams) == 3
    # Both convolutions write their sums, four bytes each; the DLA reads what the CPU makes of them.
    one, three = list(found)[:2]
    elements = 26 * 26 * 8 + 11 * 11 * 16
    assert three["dma_write_bytes"] - one["dma_write_bytes"] == 4 * elements
    assert three["dma_read_bytes"] - one["dma_read_bytes"] > 26 * 26 * 8


def test_the_studies_that_ship_are_listed_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    assert all(f"| `{name}` |" in page for name in shipped_names())
