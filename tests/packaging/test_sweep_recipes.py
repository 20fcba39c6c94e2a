"""The recipes for a column of sweeps and for a chart, followed to the letter in a copy of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.recipe import followed, rewrite, run, run_tests

COLUMN = """
import dlasim
from generators import figures_page

assert "`bytes_per_mac`" in figures_page.page()
report = dlasim.run("resnet8", timing_only=True, sram="16KiB").report
moved = report["dma_bytes"]["read"] + report["dma_bytes"]["write"]
assert report["bytes_per_mac"] == round(moved / report["macs"], 4) > 0
rows = list(dlasim.sweep("mnist", place=["dla", "cpu"], jobs=1))
found = [row["bytes_per_mac"] for row in rows]
assert found[0] > 0 and found[1] is None, found
"""
CHART = """
from pathlib import Path
from click.testing import CliRunner
import dlasim
from dlasim.cli import main

dlasim.sweep("mnist", pes=[32, 64], jobs=1, out="swept")
done = CliRunner().invoke(main, ["plot", "swept", "--kind", "energy", "-o", "energy.svg"])
assert done.exit_code == 0, done.output
assert "Energy of an inference" in Path("energy.svg").read_text()
help = CliRunner().invoke(main, ["plot", "--help"]).output
assert "energy" in help.split("Draw only rows")[0]
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row for the column; a module and a row for the chart."""
    place = tmp_path_factory.mktemp("recipe")
    followed("add-a-sweep-column.md", place, 1)
    return followed("add-a-chart.md", place, 2, is_copied=True)


def test_the_column_is_known_everywhere(tree: Path) -> None:
    run(tree, "-c", COLUMN)
    run_tests(tree, "tests/sim_machine/test_figures.py")


def test_the_chart_is_drawn(tree: Path) -> None:
    run(tree, "-c", CHART)


def test_a_wrong_getter_would_be_noticed(tree: Path) -> None:
    file = tree / "dlasim/sim/reports/figures.py"
    right = file.read_text(encoding="utf-8")
    rewrite(file, right.replace("(Unit.DMA_IN, Unit.DMA_OUT)", "(Unit.DMA_IN,)"))
    try:
        with pytest.raises(AssertionError):
            run(tree, "-c", COLUMN)
    finally:
        rewrite(file, right)
