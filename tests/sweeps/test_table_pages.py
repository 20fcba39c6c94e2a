"""The pages of the footprint and of the subgraphs say what a run on the board says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dlasim
from dlasim.rows.tables import size
from dlasim.sweeps.definition.models import Source
from dlasim.sweeps.definition.studyfile import shipped_study
from dlasim.sweeps.evaluation.sweep import Settings, run_study
from dlasim.sweeps.results.study_outputs import write_outputs


def cells(page: str, case: str) -> list[str]:
    (line,) = (line for line in page.splitlines() if f"| {case} |" in line)
    return [cell.strip() for cell in line.strip("|").split("|")][2:]


def test_the_footprint_is_that_of_a_run(tmp_path: Path) -> None:
    found = dlasim.sweep("footprint", "mnist", out=tmp_path, jobs=1)
    study = replace(shipped_study("footprint"), models=(Source("mnist", topology="mnist"),))
    (path,) = write_outputs(study, found)
    text = path.read_text()
    for case, place in (("CPU only", "cpu"), ("with the DLA", "auto")):
        report = dlasim.run("mnist", host="riscv", place=place).report
        memory = report["memory"]
        assert cells(text, case) == [
            f"{report['cpu']['instructions']:,}",
            f"{report['cycles']['total']:,}",
            *(size(memory[name]) for name in ("ram_peak_bytes", "stack_peak_bytes", "arena_peak_bytes")),
            size(memory["artifact_bytes"]),
        ]


@pytest.mark.parametrize("name", ["footprint", "subgraphs"])
def test_names_and_reasons_are_text_and_not_markup(name: str, tmp_path: Path) -> None:
    evil = "a|b\n# <b>`*[x](y)\x1b"
    ships = shipped_study(name)
    study = replace(
        ships, models=(Source(evil, topology="mnist"),), axes={}, cases=ships.cases[:2], title=evil
    )
    found = run_study(study, Settings(tmp_path, jobs=1)).result
    (path,) = (path for path in write_outputs(study, found) if path.suffix == ".md")
    text = path.read_text()
    assert r"a\|b # \<b>\`\*\[x](y)?" in text
    assert "\n# <" not in text
    assert "a|b" not in text.replace("\\|", "")
    assert "\x1b" not in text


def test_subgraphs_are_counted_and_cost_traffic(tmp_path: Path) -> None:
    found = dlasim.sweep("subgraphs", out=tmp_path, jobs=1)
    (path,) = write_outputs(shipped_study("subgraphs"), found)
    text = path.read_text()
    assert found.column("subgraphs") == [1, 3, 1, 4]
    assert found.column("layers_cpu") == [3, 5, 1, 5]  # SOFTMAX, the classifier's layers, and requantizations
    assert [cells(text, case)[0] for case in found.column("case")] == ["1", "3", "1", "4"]
    run = dlasim.run("mnist", dla_ops="CONV_2D+MAX_POOL_2D", requant="cpu", timing_only=True)
    assert run.report["subgraphs"] == len(run.loaded.program.streams) == 3
    # Both convolutions write their sums, four bytes each; the DLA reads what the CPU makes of them.
    one, three = list(found)[:2]
    elements = 26 * 26 * 8 + 11 * 11 * 16
    assert three["dma_write_bytes"] - one["dma_write_bytes"] == 4 * elements
    assert three["dma_read_bytes"] - one["dma_read_bytes"] > 26 * 26 * 8


def test_the_studies_that_ship_are_listed_on_the_page() -> None:
    from dlasim.sweeps.definition.studyfile import shipped_names

    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    assert all(f"| `{name}` |" in page for name in shipped_names())
