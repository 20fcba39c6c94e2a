"""Every kind of chart and page can be drawn of every built-in network, and names nothing twice.

The MobileNets are variants with fewer channels and pixels, which have the same layers. ResNet-50 is slow to
make; the default run leaves it out.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dlasim
from dlasim.compiler_shim.topologies import topology_names
from dlasim.isa.file_records import LayerKind
from dlasim.result import RunResult
from dlasim.sweeps.charts import KINDS, canvas, make, palette
from dlasim.sweeps.charts.report_table import report_table
from dlasim.sweeps.charts.style import style
from dlasim.sweeps.page.sweep import sweep_page
from dlasim.sweeps.results.sweep_result import SweepResult

VARIANTS = {
    "mobilenet_v1": "mobilenet_v1:alpha=0.25,resolution=96",
    "mobilenet_v2": "mobilenet_v2:alpha=0.35,resolution=96",
    "resnet50": "resnet50:resolution=64",
    "smollm2": "smollm2:layers=1,classes=1000",
}
NETWORKS = [
    pytest.param(VARIANTS.get(name, name), id=name, marks=[pytest.mark.slow] * (name == "resnet50"))
    for name in topology_names()
]
OF_A_RUN = ("utilization", "roofline", "timeline", "stacked")
OF_A_SWEEP = [kind for kind in KINDS if kind not in OF_A_RUN]


@cache
def timed(network: str) -> RunResult:
    return dlasim.run(network, timing_only=True, fusion="requant")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SweepResult]:
    @cache
    def sweep(network: str) -> SweepResult:
        axes: dict[str, Any] = {
            "sram": ["128KiB", "256KiB"],
            "fusion": "requant",
            "parallel": ["8x8", "8x16"],
        }
        return dlasim.sweep(network, out=tmp_path_factory.mktemp("swept"), layers=True, jobs=1, **axes)

    return sweep


def check(figure: Any) -> None:
    assert canvas.overlaps(figure) == []
    width, height = figure.get_size_inches()
    assert max(width, height) <= 10, "longer than a page"
    assert sum(len(axes.patches) + len(axes.collections) + len(axes.images) for axes in figure.axes)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_chart_of_a_run(network: str) -> None:
    result = timed(network)
    table = report_table(result.report, Path(network))
    table.ran = (result.loaded.program, result.inference)
    for kind in OF_A_RUN:
        with style():
            figure = make(table, kind, {})
            check(figure)
            names = [text.get_text() for axes in figure.axes for text in axes.texts if kind == "timeline"]
            assert len(set(names)) == len(names)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_chart_and_the_page_of_a_sweep(
    network: str, swept: Callable[[str], SweepResult], show: Callable[..., Any]
) -> None:
    result = swept(network)
    for kind in OF_A_SWEEP:
        with style():
            check(make(result, kind, {}))
    page = show(sweep_page(result))
    assert page.locator("canvas.scatter").count() == 1


@pytest.mark.parametrize("network", NETWORKS)
def test_the_page_of_a_run_and_of_two(network: str, show: Callable[..., Any], tmp_path: Path) -> None:
    result = timed(network)
    page = show(result.to_html(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.locator("#layers tbody tr").count() == len(result.report["layers"])
    assert page.locator("#timeline-chart").count() == 1
    page = show(result.to_html(tmp_path / "two.html", before=result).read_text(encoding="utf-8"))
    assert page.locator("#layer-changes tbody tr").count() == len(result.report["layers"])


def test_every_kind_of_layer_has_its_look() -> None:
    kinds = {kind.name for kind in LayerKind if kind is not LayerKind.HOST} | {palette.HOST, palette.STALL}
    assert set(palette.KINDS) == kinds
    assert len({color for color, *_ in palette.KINDS.values()}) == len(kinds)
