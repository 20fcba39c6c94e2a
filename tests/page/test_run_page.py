"""The page of a run in a browser: its values are the report's, and one can work with it."""

import csv
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dlasim.isa.instruction_rows import Unit
from dlasim.result import RunResult
from dlasim.sim.reports.figures import LAYER_FIGURES
from dlasim.sweeps.page.run import run_page
from dlasim.sweeps.page.spans import timeline
from tests.page.conftest import WRITTEN

EVIL = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'`\u2028&lt;"
PIXELS = """canvas => {
    const found = new Set();
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255)
        found.add('#' + [0, 1, 2].map(n => data[i + n].toString(16).padStart(2, '0')).join(''));
    return [...found];
}"""


@pytest.fixture(scope="module")
def text(result: RunResult) -> str:
    loaded = result.loaded
    return run_page(result.report, loaded.program, result.inference, loaded.lowered, "dlasim run ds_cnn")


def values(page: Any, selector: str, name: str) -> dict[str, float]:
    """The exact values behind what the page shows, by name."""
    script = "(nodes, name) => nodes.map(node => [node.dataset[name], Number(node.dataset.value)])"
    return dict(page.locator(selector).evaluate_all(script, name))


def column(page: Any, name: str) -> list[str]:
    return page.locator(f"#layers td[data-column='{name}']").evaluate_all("n => n.map(e => e.dataset.value)")


def layer_value(layer: dict[str, Any], name: str) -> Any:
    for part in name.split("."):
        layer = layer[part]
    return layer


def test_headlines_are_the_reports(show: Callable[..., Any], text: str, result: RunResult) -> None:
    found = values(show(text), "#overview [data-figure]", "figure")
    report = result.report
    assert found["cycles.total"] == report["cycles"]["total"]
    assert found["time"] == pytest.approx(report["cycles"]["total"] / report["config"]["clock_mhz"] / 1e6)
    assert found["cpu_share"] == pytest.approx(1 - report["cycles"]["dla"] / report["cycles"]["total"])
    assert found["utilization"] == report["utilization"]
    assert found["dma"] == sum(report["dma_bytes"].values())
    assert found["sram_peak_bytes"] == report["sram_peak_bytes"]


def test_parts_add_up_to_the_total(show: Callable[..., Any], text: str, result: RunResult) -> None:
    found = values(show(text), "#overview [data-part]", "part")
    expected = {kind: count for kind, count in result.report["cycles"]["by_kind"].items() if count}
    assert expected.items() <= found.items()
    assert sum(found.values()) == result.report["cycles"]["total"]


def test_layers_are_the_reports(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    for figure in LAYER_FIGURES:
        if figure.name in ("kind", "operator"):
            continue  # beside the name
        for cell, layer in zip(column(page, figure.name), result.report["layers"], strict=True):
            value = layer_value(layer, figure.name)
            assert cell in ("", str(value)) or float(cell) == value
            assert cell or layer["unit"] == "cpu" or not layer["macs"]
    lowered = result.loaded.lowered
    assert lowered is not None
    assert column(page, "why") == [layer.reason for layer in lowered.network.layers]
    small = page.locator("#layers td[data-column='name'] small").all_inner_texts()
    assert small == [layer["operator"] for layer in result.report["layers"]]


def test_all_figures_and_the_machine(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    names = page.locator("#all-figures td[data-column='name']").all_inner_texts()
    cells = page.locator("#all-figures td[data-column='value']")
    found = dict(zip(names, cells.evaluate_all("n => n.map(e => Number(e.dataset.value))"), strict=True))
    for name in ("cycles.total", "cycles.stall", "memory.constants_bytes", "units.MAC.work"):
        assert found[name] == layer_value(result.report, name)
    config = page.locator("#config [data-config]")
    shown = dict(config.evaluate_all("nodes => nodes.map(n => [n.dataset.config, n.dataset.value])"))
    assert shown == {name: f"{value:g}" if isinstance(value, float) else str(value)
                     for name, value in result.report["config"].items()}  # fmt: skip


def test_table_sorts_by_mouse_and_keyboard(show: Callable[..., Any], text: str) -> None:
    page = show(text)
    head = page.locator("#layers [data-sort='cycles']")
    before = [int(cell) for cell in column(page, "cycles")]
    head.click()
    assert [int(cell) for cell in column(page, "cycles")] == sorted(before, reverse=True)
    head.press("Enter")
    assert [int(cell) for cell in column(page, "cycles")] == sorted(before)
    assert page.locator("#layers th[aria-sort='ascending']").inner_text().startswith("cycles")


def test_filter(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    names = column(page, "name")
    page.locator("#layer-filter").fill("depthwise_conv")
    chosen = [layer["name"] for layer in result.report["layers"] if layer["operator"] == "DEPTHWISE_CONV_2D"]
    assert column(page, "name") == chosen != []
    page.locator("#layer-filter").fill("")
    assert column(page, "name") == names


def test_timeline_zooms(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    total = result.report["cycles"]["total"]
    window = page.locator("#window")

    def stretch() -> tuple[int, int]:
        _, start, _, end = window.inner_text().replace(",", "").split()
        return int(start), int(end)

    assert stretch() == (0, total)
    page.locator("#zoom-in").click()
    start, end = stretch()
    assert end - start == pytest.approx(total / 2, abs=2)
    chart = page.locator("#timeline-chart")
    chart.focus()
    page.keyboard.press("ArrowLeft")
    assert stretch()[0] < start
    page.keyboard.press("+")
    assert stretch()[1] - stretch()[0] == pytest.approx(total / 4, abs=2)
    page.keyboard.press("0")
    assert stretch() == (0, total)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 60, steps=4)
    page.mouse.up()
    start, end = stretch()
    assert end - start == pytest.approx(total * 200 / (box["width"] - 74), rel=0.02)
    page.locator("#sram-chart").dblclick(position={"x": 200, "y": 100})
    assert stretch() == (0, total)


def length(page: Any) -> int:
    """How many cycles the timeline shows."""
    _, start, _, end = page.locator("#window").inner_text().replace(",", "").split()
    return int(end) - int(start)


def test_the_wheel_zooms_and_moves(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    total = result.report["cycles"]["total"]
    chart = page.locator("#timeline-chart")
    chart.scroll_into_view_if_needed()
    chart.hover(position={"x": 500, "y": 60})
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "document.querySelector('#window').textContent.includes('cycles') && scrollY === " + str(before)
    )
    zoomed = length(page)
    assert zoomed < total
    first = page.locator("#window").inner_text()
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Shift")
    assert abs(length(page) - zoomed) <= 1
    assert page.locator("#window").inner_text() != first
    for _ in range(20):
        page.mouse.wheel(0, 300)
    page.wait_for_function("scrollY > " + str(before))  # everything is shown, so the wheel scrolls the page
    assert length(page) == total


def busy_of(result: RunResult, first: float, last: float) -> dict[str, float]:
    """Busy cycles of each unit in a stretch of time, from the run itself."""
    (run,) = result.inference.runs
    timeline, units = run.plan.timeline, run.plan.costs.unit[: run.plan.operations]
    inside = np.clip(np.minimum(timeline.end, last) - np.maximum(timeline.start, first), 0, None)
    return {unit.name: float(inside[units == unit].sum()) for unit in Unit}


def test_a_stretch_of_time_has_sums(show: Callable[..., Any], text: str, result: RunResult) -> None:
    """Of everything, of what is shown, and of what is being dragged over."""
    page = show(text)
    total = result.report["cycles"]["total"]
    sums = lambda: {k: v for k, v in values(page, "#sums [data-lane]", "lane").items() if k != "CPU"}  # noqa: E731
    names = {lane["name"] for lane in timeline(result.loaded.program, result.inference)["lanes"]}
    whole = busy_of(result, 0, total)
    assert names - {"CPU"} <= set(whole)
    assert sums() == {name: whole[name] for name in sums()}
    chart = page.locator("#timeline-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 60, steps=4)
    page.wait_for_function("!document.querySelector('#sums caption').textContent.includes('from 0 ')")
    for _ in range(2):  # while it is dragged over, and when it is all that is shown
        words = page.locator("#sums caption").inner_text().replace(",", "").split()
        first, last = int(words[-3]), int(words[-1])
        assert last - first == pytest.approx(total * 200 / (box["width"] - 74), rel=0.02)
        part = busy_of(result, first, last)
        assert sums() == {name: part[name] for name in sums()}
        page.mouse.up()
        page.wait_for_timeout(100)


def test_names_stand_on_bars_that_have_room(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    chart = page.locator("#timeline-chart")
    names = {layer["name"] for layer in result.report["layers"]}
    whole = [name for name in chart.evaluate(WRITTEN) if name in names]
    assert whole, "the longest layer has room"
    # Of those without constants: a load that is made long before would be a part of the span.
    sums = [layer for layer in result.report["layers"] if layer["operator"] in ("ADD", "AVERAGE_POOL_2D")]
    short = min(sums, key=lambda layer: layer["busy_cycles"])["name"]
    assert short not in whole
    page.locator("#layers tbody tr").nth(
        [layer["name"] for layer in result.report["layers"]].index(short)
    ).click()
    page.locator("#zoom-layer").click()
    assert short in chart.evaluate(WRITTEN), "zoomed in, it has"


def test_layers_can_be_found(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    numbers = [number for number, layer in enumerate(result.report["layers"]) if "depthwise" in layer["name"]]
    field = page.locator("#find-layer")
    field.fill("DEPTHWISE")
    assert page.locator("#found").inner_text() == f"{len(numbers)} layers"
    total = length(page)
    found = []
    for _ in numbers:
        field.press("Enter")
        found.append(int(page.locator("#network-chart .row.chosen").get_attribute("data-layer")))
    assert found == numbers
    assert length(page) < total
    field.press("Enter")
    assert int(page.locator("#network-chart .row.chosen").get_attribute("data-layer")) == numbers[0]
    field.fill("no such layer")
    assert page.locator("#found").inner_text() == "0 layers"
    field.press("Enter")
    assert page.locator("#network-chart .row.chosen").count() == 0
    field.fill("")
    assert page.locator("#found").inner_text() == ""


def test_letters_on_a_phone_can_be_read(show: Callable[..., Any], text: str) -> None:
    page = show(text)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(100)
    heights = page.locator("svg text").evaluate_all("""nodes => nodes.map(
        node => parseFloat(getComputedStyle(node).fontSize) * node.ownerSVGElement.getScreenCTM().a)""")
    assert len(heights) > 20
    assert min(heights) > 10
    wide = page.locator("svg").evaluate_all("nodes => nodes.map(n => n.getBoundingClientRect().width)")
    assert max(wide) <= 390


def test_a_layer_is_marked_everywhere(show: Callable[..., Any], text: str) -> None:
    page = show(text)
    page.locator("#layers tbody tr").nth(2).press("Enter")
    for place in ("#layers tr.chosen", "#network-chart .row.chosen", "#roofline-chart .mark.chosen"):
        assert page.locator(place).count() == 1
    assert page.locator("#network-chart .row.chosen").get_attribute("data-layer") == "2"
    whole = page.locator("#window").inner_text()
    page.locator("#zoom-layer").click()  # weights may be prefetched, so a layer may begin in cycle 0
    assert page.locator("#window").inner_text() != whole


def test_charts_have_the_colours_of_the_kinds(show: Callable[..., Any], text: str) -> None:
    page = show(text)
    for chart in ("#timeline-chart", "#sram-chart"):
        assert {"#0072b2", "#009e73"} <= set(page.locator(chart).evaluate(PIXELS))


def test_roofline_names_on_hover_and_focus(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    marks = page.locator("#roofline-chart .mark")
    assert marks.count() == sum(
        layer["macs"] > 0 and layer["unit"] == "dla" for layer in result.report["layers"]
    )
    marks.first.focus()
    number = int(marks.first.get_attribute("data-layer"))
    assert page.locator("#tip").inner_text().startswith(result.report["layers"][number]["name"])


def test_theme(show: Callable[..., Any], text: str) -> None:
    page = show(text, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.locator("#theme").click()
    assert page.locator("html").get_attribute("data-theme") == "light"
    assert page.evaluate(background) != dark
    page.locator("#theme").press("Enter")
    assert page.evaluate(background) == dark


def test_csv(show: Callable[..., Any], text: str, result: RunResult) -> None:
    page = show(text)
    with page.expect_download() as download:
        page.locator("#layers-csv").click()
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8").splitlines()))
    assert [int(row["cycles"]) for row in rows] == [layer["cycles"] for layer in result.report["layers"]]
    assert [row["name"] for row in rows] == [layer["name"] for layer in result.report["layers"]]
    assert {row["kind"] for row in rows} == {layer["kind"] for layer in result.report["layers"]}


def test_print(show: Callable[..., Any], text: str) -> None:
    page = show(text, color_scheme="dark")
    assert page.pdf(format="A4", print_background=True).startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("header.bar").is_visible()
    assert page.locator("#layers tbody tr").last.is_visible()


def test_keyboard_reaches_everything(show: Callable[..., Any], text: str) -> None:
    page = show(text)
    reached = set()
    for _ in range(160):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className.baseVal"))
    assert {"theme", "layer-filter", "layers-csv", "zoom-in", "timeline-chart", "sram-chart"} <= reached
    assert {"mark", "row"} <= reached


def test_names_are_text(show: Callable[..., Any], result: RunResult) -> None:
    report = json.loads(json.dumps(result.report))
    report["program"] = EVIL
    for layer in report["layers"]:
        layer["name"] = layer["operator"] = EVIL
    report["warnings"] = [EVIL]
    page = show(run_page(report, result.loaded.program, result.inference, result.loaded.lowered, EVIL))
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.title().startswith(EVIL[:60])
    shown = EVIL.replace("\u2028", "?")
    assert column(page, "name") == [shown] * len(report["layers"])
    assert page.locator("#command-text").inner_text() == shown
    page.locator("#network-chart .row").first.hover()
    assert page.locator("#tip").inner_text().startswith(EVIL[:20])
    assert page.evaluate("window.hacked") is None


def test_the_policy_stops_what_is_not_the_pages_own(show: Callable[..., Any], text: str) -> None:
    page = show(text)
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_a_report_alone(show: Callable[..., Any], result: RunResult) -> None:
    page = show(run_page(result.report))
    assert "A report has no timeline" in page.locator("#timeline .note").inner_text()
    assert len(column(page, "cycles")) == len(result.report["layers"])


def test_size(text: str) -> None:
    assert len(text.encode()) < 500_000
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
