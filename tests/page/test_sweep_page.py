"""The pages of a sweep and of two runs in a browser: true to the table, and fluid with 10,000 points."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim.api import run, sweep
from dlasim.errors import InputError
from dlasim.sweeps.charts.pareto import front
from dlasim.sweeps.page.comparison import comparison_page
from dlasim.sweeps.page.sweep import sweep_page
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.results.sweep_tables import columns
from tests.page.conftest import WRITTEN

EVIL = "</script><img src=x onerror=window.hacked=1>,\"'\n"


@pytest.fixture(scope="module")
def table(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    out = tmp_path_factory.mktemp("sweep")
    axes = {"pes": [16, 64], "sram": "16KiB..64KiB", "parallel": ["input", "output"], "fusion": "requant"}
    return sweep(model, "mnist", out=out, jobs=1, **axes)


def changed(
    source: SweepResult, path: Path, change: Callable[[dict[str, Any]], Any], copies: int = 1
) -> SweepResult:
    """The table with every row changed; `copies` of each."""
    head, lines = read_csv(source.path)
    rows = []
    for line in list(lines) * copies:
        row: dict[str, Any] = dict(zip(head, line, strict=True))
        change(row)
        rows.append([row[name] for name in head])
    write_csv(path / "results.csv", head, rows)
    return SweepResult(path / "results.csv")


def selected(page: Any) -> int:
    return int(page.locator("#selected").get_attribute("data-value"))


def exported(page: Any) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.locator("#selection-csv").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shown_front(page: Any, panel: int) -> list[tuple[str, str]]:
    """What the arrow keys walk along: the texts of the points."""
    chart = page.locator("canvas.scatter").nth(panel)
    chart.focus()
    page.wait_for_function("node => node.front().length > 0", arg=chart.element_handle())
    return chart.evaluate("node => node.front()")


def test_counts_and_filters(show: Callable[..., Any], table: SweepResult) -> None:
    page = show(sweep_page(table))
    rows = list(table.rows())
    assert selected(page) == len(rows) == 24
    page.locator("[data-filter='pes'][data-value='16']").click()
    assert selected(page) == sum(row["pes"] != 16 for row in rows)
    page.locator("[data-filter='model'][data-value='mnist']").press("Enter")
    kept = [row for row in rows if row["pes"] != 16 and row["model"] != "mnist"]
    assert selected(page) == len(kept)
    assert [int(row["point"]) for row in exported(page)] == [row["point"] for row in kept]
    page.locator("#reset").click()
    assert selected(page) == len(rows)


def test_the_best_points_of_one_model_are_headlines(
    show: Callable[..., Any], table: SweepResult, tmp_path: Path
) -> None:
    model = next(iter(table))["model"]
    page = show(sweep_page(table, where=f"model == '{model}'"))
    rows = [row for row in table if row["model"] == model and row["status"] == "ok"]
    for name in ("cycles_total", "energy_nj"):
        least = min(rows, key=lambda row: row[name])
        card = page.locator(f"[data-figure='best.{name}']")
        assert float(card.get_attribute("data-value")) == least[name]


def test_points_without_time_are_not_the_best(
    show: Callable[..., Any], table: SweepResult, tmp_path: Path
) -> None:
    """Of two copies of each point one takes no time for transfers; its few cycles are no machine's."""

    def untimed(row: dict[str, Any]) -> None:
        seen.append(row)
        row["model"] = "mnist"
        if len(seen) % 2:
            row["timing"], row["cycles_total"] = "zero", 1

    seen: list[dict[str, Any]] = []
    shown = changed(table, tmp_path, untimed, copies=2)
    least = min(row["cycles_total"] for row in shown if row["timing"] == "full")
    card = show(sweep_page(shown)).locator("[data-figure='best.cycles_total']")
    assert float(card.get_attribute("data-value")) == least > 1


def test_area_and_memories_are_choices(show: Callable[..., Any], table: SweepResult) -> None:
    page = show(sweep_page(table))
    choices = page.locator("#front select").first.locator("option")
    names = choices.evaluate_all("nodes => nodes.map(node => node.value)")
    assert {"area_mm2", "area_kge", "sram_kib", "sram_bytes", "energy_nj", "cycles_total"} <= set(names)


def test_menus_of_figures_have_groups(show: Callable[..., Any], table: SweepResult) -> None:
    page = show(sweep_page(table))
    groups = page.locator("#front select").first.locator("optgroup")
    sizes = groups.evaluate_all("nodes => nodes.map(node => [node.label, node.children.length])")
    assert sum(size for _, size in sizes) > 30
    assert max(size for _, size in sizes) <= 16
    assert len({name for name, _ in sizes}) == len(sizes) >= 5
    assert page.locator("#front select").first.locator("> option").count() == 0


def test_cycles_by_kind_are_not_cut_off(show: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    """With many parameters a table is wider than the page; what a machine takes still is in view."""
    axes = {"pes": [32, 64], "vector_lanes": [4, 8], "dma_bandwidth": [4, 8], "dma_latency": [16, 64],
            "queue_depth": [2, 4], "mac_results": [4, 8], "sram_bandwidth": [8, 32]}  # fmt: skip
    where = [
        "pes == 32 or vector_lanes == 4",
        "dma_latency == 16 or dma_bandwidth == 4",
        "queue_depth == 4 or pes == 64",
    ]
    found = sweep("mnist", out=tmp_path, jobs=1, sram="32KiB", fusion="requant", where=where, **axes)
    page = show(sweep_page(found))
    page.set_viewport_size({"width": 1400, "height": 900})
    table = page.locator("#best .scroll").first.bounding_box()
    bar = page.locator("#best td[data-column='parts'] .stack").first.bounding_box()
    assert bar["x"] + bar["width"] <= table["x"] + table["width"]


def test_the_selection_is_the_table(show: Callable[..., Any], table: SweepResult) -> None:
    found = exported(show(sweep_page(table)))
    for theirs, ours in zip(found, table.rows(), strict=True):
        for name in ("model", "pes", "parallel", "cycles_total", "utilization", "sram_bytes", "cycles_stall"):
            assert theirs[name] == str(ours[name])


@pytest.mark.parametrize(
    "figures", [("pes", "cycles_total"), ("dma_read_bytes", "cycles_total"), ("pes", "utilization")]
)
def test_fronts_are_those_of_the_charts(
    show: Callable[..., Any], table: SweepResult, figures: tuple[str, str]
) -> None:
    page = show(sweep_page(table))
    x, y = figures
    page.get_by_label("To the right").select_option(x)
    page.get_by_label("Upwards").select_option(y)
    rows = list(table.rows())
    from dlasim.sweeps.charts.measures import describe

    for panel, model in enumerate(dict.fromkeys(row["model"] for row in rows)):
        page.wait_for_timeout(100)  # the frame in which charts are drawn
        expected = front([row for row in rows if row["model"] == model], describe(y), describe(x))
        found = [rows[number] for number in shown_front(page, panel)]
        assert {(row[x], row[y]) for row in found} == {(row[x], row[y]) for row in expected}


def test_box_selects_and_arrows_walk(show: Callable[..., Any], table: SweepResult) -> None:
    page = show(sweep_page(table))
    page.get_by_label("To the right").select_option("pes")
    chart = page.locator("canvas.scatter").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 70, box["y"] + 14)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 44, steps=4)
    page.mouse.up()
    few = {row["point"] for row in table.rows() if row["pes"] == 16}
    assert {int(row["point"]) for row in exported(page)} <= few
    assert 0 < selected(page) <= len(few)
    page.locator("#reset").click()
    page.wait_for_timeout(100)
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").is_visible()
    number = chart.evaluate("node => node.front()")[0]
    cycles = list(table.rows())[number]["cycles_total"]
    assert f"{cycles:,}" in page.locator("#chosen-point").inner_text()


def test_axis_filters(show: Callable[..., Any], table: SweepResult) -> None:
    page = show(sweep_page(table))
    chart = page.locator("#parallel-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 70, box["y"] + 20)  # the upper end of the first axis: the second model
    page.mouse.down()
    page.mouse.move(box["x"] + 70, box["y"] + 100, steps=4)
    page.mouse.up()
    assert selected(page) == 12
    assert {row["model"] for row in exported(page)} == {"mnist"}


def test_best_points_of_each_model(show: Callable[..., Any], table: SweepResult) -> None:
    page = show(sweep_page(table))
    for number, model in enumerate(("ds_cnn", "mnist")):
        cells = page.locator(f"#best-points-{number} td[data-column='cycles_total']")
        found = cells.evaluate_all("nodes => nodes.map(node => Number(node.dataset.value))")
        assert found == sorted(row["cycles_total"] for row in table.rows() if row["model"] == model)


def test_nothing_ran(show: Callable[..., Any], table: SweepResult, tmp_path: Path) -> None:
    empty = columns()[columns().index("reason") + 1 :]

    def refuse(row: dict[str, Any]) -> None:
        row |= dict.fromkeys(empty, "") | {"status": "refused", "reason": EVIL}

    page = show(sweep_page(changed(table, tmp_path, refuse)))
    assert "No point ran" in page.locator("#nothing-ran").inner_text()
    assert page.locator("#refused-table tbody tr").count() == len(table)
    assert page.locator("[data-figure='refused']").get_attribute("data-value") == str(len(table))
    assert page.evaluate("window.hacked") is None


def test_names_are_text(show: Callable[..., Any], table: SweepResult, tmp_path: Path) -> None:
    def rename(row: dict[str, Any]) -> None:
        row["model"] = row["label"] = f"{row['model']}{EVIL}"

    page = show(sweep_page(changed(table, tmp_path, rename)))
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert exported(page)[0]["model"] == f"ds_cnn{EVIL}"


def test_ten_thousand_points_stay_fluid(show: Callable[..., Any], table: SweepResult, tmp_path: Path) -> None:
    random = np.random.default_rng(2)

    def vary(row: dict[str, Any]) -> None:
        row["pes"] = int(random.integers(1, 2000))
        row["cycles_total"] = int(random.integers(1 << 16, 1 << 24))
        row["cycles_stall"] = int(random.integers(1, 1 << 16))

    page = show(sweep_page(changed(table, tmp_path, vary, copies=417)))
    assert selected(page) == 10_008
    # Lines are drawn in pieces: the page goes on answering, and a second filter does not wait for the first.
    frames = page.evaluate("""() => new Promise(done => {
        let frames = 0;
        const count = () => { frames += 1; if (frames < 8) requestAnimationFrame(count); else done(frames); };
        const [input, output] = document.querySelectorAll("[data-filter='parallel']");
        input.click();
        requestAnimationFrame(() => { output.click(); input.click(); count(); });
    })""")
    assert frames == 8
    kept = sum(row["parallel"] == "input" for row in table) * 417
    assert selected(page) == kept == 5_004


def test_too_many_points(table: SweepResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlasim.sweeps.page.sweep.MAX_POINTS", len(table))
    assert sweep_page(table)
    monkeypatch.setattr("dlasim.sweeps.page.sweep.MAX_POINTS", len(table) - 1)
    with pytest.raises(InputError, match="choose some with --where"):
        sweep_page(table)
    assert sweep_page(table, where="pes == 16 and sram == 16KiB")


def test_a_table_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="has no column point"):
        sweep_page(SweepResult(tmp_path / "results.csv"))


def test_two_runs(show: Callable[..., Any], model: Path) -> None:
    without_softmax = "CONV_2D,DEPTHWISE_CONV_2D,FULLY_CONNECTED,AVERAGE_POOL_2D"
    one = run(model, timing_only=True, sram_bytes=64 << 10, dla_ops=without_softmax)
    other = run(model, timing_only=True, pes=16, sram_bytes=16 << 10, dla_ops=without_softmax)
    before, after = one.report, json.loads(json.dumps(other.report))
    after["layers"].pop(0)
    page = show(comparison_page(before, after, ("a.json", EVIL)))
    assert page.evaluate("window.hacked") is None
    cells = page.locator("#layer-changes td[data-column='change']")
    changes = cells.evaluate_all("nodes => nodes.map(node => Number(node.dataset.value))")
    expected = [-before["layers"][0]["cycles"]]
    expected += [
        b["cycles"] - a["cycles"] for a, b in zip(before["layers"][1:], after["layers"], strict=True)
    ]
    assert changes == expected
    assert "only in A" in cells.first.inner_text()
    page.locator("#largest").click()
    assert int(cells.first.get_attribute("data-value")) == max(expected, key=abs)
    names = page.locator("#config-changes td[data-column='name']").all_inner_texts()
    assert names == ["pes", "sram_bytes"]
    used = page.locator("#figure-changes tr:has-text('PEs used') td[data-column='change']")
    points = 100 * (after["utilization"] - before["utilization"])
    assert used.inner_text() == f"{'+' if points > 0 else '−'}{abs(points):.1f} points"
    energy = page.locator("#figure-changes tr:has-text('energy') td[data-column='value-0']").first
    assert float(energy.get_attribute("data-value")) == before["energy_nj"]["total"]
    assert energy.inner_text().endswith(" µJ")
    on_cpu = page.locator("#layer-changes tr:has-text('SOFTMAX') td[data-column='tiles']")
    assert on_cpu.inner_text() == ""
    total = page.locator("#figure-changes tr:has-text('cycles') td[data-column='change']").first
    assert int(total.get_attribute("data-value")) == after["cycles"]["total"] - before["cycles"]["total"]


def test_a_workloads_page_is_about_machines(model: Path, tmp_path: Path, show: Any) -> None:
    axes: dict[str, Any] = {"pes": [8, 16, 64], "sram": "16KiB..64KiB", "fusion": "requant"}
    goals: dict[str, Any] = {"limits": "area < 4", "minimize": ["energy", "area"]}
    found = sweep(model, "mnist", out=tmp_path, jobs=1, **axes, **goals)
    decision = found.decide()
    page = show(sweep_page(found))
    assert page.locator("#answer-text li").all_inner_texts() == list(decision.sentences())
    assert page.locator("#sensitivity tbody tr").count() == len(list(decision.sensitivity()))
    titles = page.locator("#front .panel h3").all_inner_texts()
    assert titles == ["workload", "ds_cnn", "mnist"]
    walked = shown_front(page, 0)
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#best-points-0 tr.chosen")
    assert len(walked) == len(decision.front)
    marked = [page.locator(f"#best-points-{number} tr.chosen").count() for number in range(3)]
    assert marked == [1, 1, 1]


def test_figures_are_whole_on_a_phone(show: Callable[..., Any], tmp_path: Path) -> None:
    """An axis may shorten a name, but not a number with its unit."""
    goals: dict[str, Any] = {"minimize": "energy,area", "limits": "milliseconds < 1"}
    sizes = {"pes": [16, 64], "parallel": ["input", "output"], "sram": ["32KiB", "64KiB"]}
    found = sweep("mnist", "ds_cnn", out=tmp_path, jobs=1, fusion="requant", **goals, **sizes)
    page = show(sweep_page(found))
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    written = page.locator("#parallel-chart").evaluate(WRITTEN)
    assert any(text.endswith("µJ") for text in written)
    assert not [text for text in written if "…" in text and text[0].isdigit()]
