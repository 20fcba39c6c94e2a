"""Six kinds of sweep, each page and each kind of chart of them: nothing overlaps, runs out or stays empty.

One model, four models, 5 and 500 machines, the board with and without the DLA, and one where nothing ran.
`--update-golden` leaves the pictures in out/pictures, to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.charts import KINDS, draw, make
from dlasim.sweeps.charts.style import style
from dlasim.sweeps.results.sweep_result import SweepResult
from tests.chart_labels import check_labels
from tests.page.conftest import Open

ROOT = Path(__file__).parents[2]
QUICK_PLANS = {"fusion": "requant"}
SWEEPS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "one-model": (
        ("ds_cnn",),
        {"pes": [16, 64, 256], "sram": "8KiB..64KiB", "parallel": ["input", "output"], **QUICK_PLANS},
    ),
    "four-models": (
        ("mnist", "ds_cnn", "autoencoder", "resnet8"),
        {"pes": [16, 64], "sram": ["32KiB", "128KiB"], "parallel": ["input", "output"], **QUICK_PLANS},
    ),
    "5-machines": (
        ("mnist",),
        {"sram": ["8KiB", "16KiB", "32KiB"], "parallel": ["input", "output"],
         "where": ["not (sram == 32KiB and parallel == 'input')"]},
    ),
    "500-machines": (
        ("mnist",),
        {"pes": [8, 16, 32, 64, 128], "sram": ["8KiB", "16KiB", "32KiB", "64KiB", "128KiB"],
         "parallel": ["input", "output"], "dma_bandwidth": [1, 2, 4, 8, 16], "dma_latency": [16, 64],
         **QUICK_PLANS},
    ),
    "prototype": (("paper_prototype", "ds_cnn"), {"cpu": ["ideal", "two_stage"], **QUICK_PLANS}),
    "nothing-ran": (("mnist",), {"sram": "1KiB", "tiling": "output-channel", "pes": [16, 64]}),
}  # fmt: skip
# Charts that these sweeps do not have, and what the refusal advises.
REFUSED = {
    ("500-machines", "stacked"): "choose some with --where",
    ("prototype", "pareto"): "--set figures=",
    **{("nothing-ran", kind): "none of 2 points ran; the first, 1K 16 O, was refused" for kind in KINDS},
}
COUNTS = {
    "one-model": 24,
    "four-models": 32,
    "5-machines": 5,
    "500-machines": 500,
    "prototype": 26,
    "nothing-ran": 2,
}


@pytest.fixture(scope="module")
def sweep_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SweepResult]:
    found: dict[str, SweepResult] = {}

    def swept(name: str) -> SweepResult:
        if name not in found:
            targets, axes = SWEEPS[name]
            found[name] = api.sweep(*targets, out=tmp_path_factory.mktemp(name), layers=True, jobs=1, **axes)
        return found[name]

    return swept


def folder_for_pictures(request: pytest.FixtureRequest) -> Path | None:
    if not request.config.getoption("--update-golden"):
        return None
    folder = ROOT / "out" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SWEEPS)
def test_a_chart_is_readable_or_refused_with_advice(
    name: str, kind: str, sweep_of: Callable[[str], SweepResult], request: pytest.FixtureRequest
) -> None:
    result = sweep_of(name)
    assert len(result) == COUNTS[name]
    if (name, kind) in REFUSED:
        with pytest.raises(InputError) as error:
            make(result, kind, {})
        assert REFUSED[name, kind] in str(error.value)
        assert "\n" not in str(error.value)
        return
    with style():
        figure = make(result, kind, {})
        check_labels(figure)
        marks = sum(len(axes.patches) + len(axes.collections) + len(axes.images) for axes in figure.axes)
        assert marks, "nothing is drawn"
    if (folder := folder_for_pictures(request)) is not None:
        draw(result, kind, folder / f"{name}-{kind}.png")


LOOKS = {
    "light": ({"color_scheme": "light"}, {"width": 1280, "height": 900}, "screen"),
    "dark": ({"color_scheme": "dark"}, {"width": 1280, "height": 900}, "screen"),
    "narrow": ({"color_scheme": "light"}, {"width": 390, "height": 800}, "screen"),
    "print": ({"color_scheme": "light"}, {"width": 720, "height": 1000}, "print"),
}
# Elements that stick out of the page to the right, other than in a box that scrolls; paper does not.
STICKING_OUT = """isPaper => [...document.querySelectorAll("body *")].filter(node => {
    const box = node.getBoundingClientRect();
    const end = document.documentElement.clientWidth + 1;
    return box.width && box.right > end && (isPaper || !node.closest(".scroll"));
}).map(node => node.outerHTML.slice(0, 120))"""
# Charts on canvas that have one colour only.
EMPTY = """() => [...document.querySelectorAll("canvas")].filter(node => {
    const image = node.getContext("2d").getImageData(0, 0, node.width, node.height);
    const data = new Uint32Array(image.data.buffer);
    return data.every(pixel => pixel === data[0]);
}).length"""


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", [*SWEEPS, "run", "two-runs"])
def test_a_page_fits_and_is_drawn(
    name: str, look: str, sweep_of: Callable[[str], SweepResult], show: Open, tmp_path: Path,
    model: Path, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    if name in SWEEPS:
        path = sweep_of(name).to_html(tmp_path / "page.html")
    else:
        run = api.run(model, timing_only=True, sram="32KiB")
        before = api.run(model, timing_only=True, sram="8KiB") if name == "two-runs" else None
        path = run.to_html(tmp_path / "page.html", before=before)
    settings, viewport, media = LOOKS[look]
    page = show(path.read_text(encoding="utf-8"), **settings)
    page.set_viewport_size(viewport)
    page.emulate_media(media=media)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_timeout(300)  # drawing in pieces
    if (folder := folder_for_pictures(request)) is not None:
        page.screenshot(path=folder / f"page-{name}-{look}.png", full_page=True)
    assert page.evaluate(STICKING_OUT, media == "print") == []
    assert page.evaluate(EMPTY) == 0
    ink, paper = page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    assert (brightness(ink) > brightness(paper)) == (look == "dark")
    assert page.locator("canvas, svg, .stack").count() or name == "nothing-ran"


def brightness(color: str) -> int:
    """Of a colour as `rgb(1, 2, 3)`."""
    return sum(int(part) for part in color.strip("rgba()").split(",")[:3])
