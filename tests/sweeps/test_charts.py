"""Charts: labels never meet, the same table gives the same picture, 100,000 rows are no trouble."""

import json
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.charts import KINDS, canvas, draw, make
from dlasim.sweeps.charts.data import labels
from dlasim.sweeps.charts.measures import describe, writer
from dlasim.sweeps.charts.pareto import front
from dlasim.sweeps.charts.stacked import _by_length
from dlasim.sweeps.charts.style import style
from dlasim.sweeps.definition.axes import catalogue
from dlasim.sweeps.evaluation.evaluate import FIGURES
from dlasim.sweeps.results.csv_table import write_csv
from dlasim.sweeps.results.report_file import open_table
from dlasim.sweeps.results.sweep_result import SweepResult
from dlasim.sweeps.results.sweep_tables import columns
from tests.chart_labels import check_labels

QUICK_PLANS = {"fusion": "requant"}


@pytest.fixture(scope="module")
def result(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return api.sweep(
        model, out=tmp_path_factory.mktemp("charts"), jobs=2, layers=True,
        pes=[16, 64, 100, 256], sram="16KiB..1MiB", parallel=["input", "output"], **QUICK_PLANS,
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [None, "pes == 64 and parallel == 'output'", "sram == 16KiB"])
def test_labels_never_meet(result: SweepResult, kind: str, where: str | None) -> None:
    with style():
        figure = make(result, kind, {"where": where, "title": "a title that is neither short nor very long"})
        check_labels(figure)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_files(result: SweepResult, tmp_path: Path, kind: str, ending: str) -> None:
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    pictures = []
    for name in ("one", "two"):
        draw(result, kind, tmp_path / f"{name}.{ending}", where="pes < 100")
        pictures.append((tmp_path / f"{name}.{ending}").read_bytes())
    assert pictures[0].startswith(start)
    assert pictures[0] == pictures[1]


@pytest.fixture(scope="module")
def oddly_named(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    folder = tmp_path_factory.mktemp("odd")
    odd = folder / "a$\\frac{$ \u65e5\u672c & <b> -- \x1b[31m.tflite"
    odd.write_bytes(model.read_bytes())
    axes = {"pes": [16, 64], "sram": ["16KiB", "1MiB"]}
    return api.sweep(odd, out=folder, layers=True, jobs=1, **axes, **QUICK_PLANS)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_models_of_any_name_are_drawn(oddly_named: SweepResult, tmp_path: Path, kind: str) -> None:
    draw(oddly_named, kind, tmp_path / "chart.svg")
    ElementTree.parse(tmp_path / "chart.svg")


def test_overlap_is_noticed() -> None:
    with style():
        figure, axes = canvas.new(3, 3)
        axes.text(0.5, 0.5, "one text")
        axes.text(0.52, 0.5, "another")
        assert canvas.overlaps(figure) == [("one text", "another")]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("pie", {}, "unknown"),
        ("stacked", {"colour": "red"}, "unknown setting 'colour'; known are where"),
        ("stacked", {"segments": ["convs"]}, "segment 'convs'"),
        ("stacked", {"where": "pes == 1"}, "no row"),
        ("heatmap", {"x": "speed"}, "no column speed"),
        ("heatmap", {"value": "cycle"}, "no column cycle.*cycles"),
        ("pareto", {"figures": ["cycles"]}, "two or three"),
        ("pareto", {"figures": ["cycles", "dma"], "x": "energy"}, "figures excludes x and y"),
        ("pareto", {"x": "energy", "y": "energy_nj"}, "two or three different"),
        ("pareto", {"figures": ["cycles", "cycles_total"]}, "two or three different"),
        ("pareto", {"where": "sram == 16KiB and pes == 64"}, "do not vary"),
        ("stacked", {"panel": "speed"}, "speed is not a parameter"),
        ("stacked", {"panels": [{"title": "none", "where": "pes == 1"}]}, "any of the 1 panels"),
        ("timeline", {"point": 4000}, "point 4000"),
        ("roofline", {"point": -1}, "point -1"),
    ],
)
def test_refused(
    result: SweepResult, tmp_path: Path, kind: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw(result, kind, tmp_path / "chart.png", **settings)
    with pytest.raises(InputError, match=r"must end in \.png, \.svg or \.pdf"):
        draw(result, "stacked", tmp_path / "chart.gif")


def test_front_is_what_nothing_beats() -> None:
    rows = [{"a": a, "b": b} for a, b in ((1, 9), (2, 5), (2, 6), (3, 5), (4, 1), (1, 9))]
    assert [(row["a"], row["b"]) for row in front(rows, "a", "b")] == [(4, 1), (2, 5), (1, 9)]


@pytest.mark.slow
def test_a_hundred_thousand_points(tmp_path: Path) -> None:
    head = columns()
    fixed = {name: parameter.default for name, parameter in catalogue().items()}

    def rows() -> Any:
        for number in range(100_000):
            pes, sram, mode = (
                16 + number % 250,
                1 << (12 + number // 250 % 17),
                ("input", "output")[number % 2],
            )
            values = {**fixed, "pes": pes, "sram_bytes": sram, "parallel": mode}
            cycles = 10**9 // pes + 10**12 // sram + number % 1000
            figures = [cycles, 1.0, cycles, 0, *[number] * (len(FIGURES) - 4)]
            yield [
                number,
                "",
                "model",
                f"{sram} {pes}",
                *values.values(),
                "ok",
                "",
                *figures,
                "0",
                f"{number:032x}",
            ]

    write_csv(tmp_path / "results.csv", head, rows())
    (tmp_path / "sweep.json").write_text(json.dumps({}))
    result = SweepResult(tmp_path / "results.csv")
    assert len(result) == 100_000
    began = time.perf_counter()
    with pytest.raises(InputError, match=r"100,000 bars are too many to read.*they differ in SRAM"):
        draw(result, "stacked", tmp_path / "stacked.png")
    for kind in ("heatmap", "pareto"):
        draw(result, kind, tmp_path / f"{kind}.png")
    assert time.perf_counter() - began < 120


@pytest.fixture(scope="module")
def several(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """Two models of which one takes fewer cycles everywhere, on machines with an axis that no chart shows."""
    return api.sweep(
        "ds_cnn", "autoencoder", out=tmp_path_factory.mktemp("several"), jobs=1, layers=True,
        pes=[16, 64], sram=["32KiB", "64KiB"], vector_lanes=[4, 16],
    )  # fmt: skip


def texts_of(result: Any, kind: str, **settings: Any) -> list[str]:
    with style():
        figure = make(result, kind, settings)
        figure.canvas.draw()
        return [text.get_text() for text in canvas.visible_texts(figure)]


@pytest.mark.parametrize("kind", ["stacked", "heatmap", "pareto"])
def test_each_model_has_a_panel_of_its_own(several: SweepResult, kind: str) -> None:
    with style():
        figure = make(several, kind, {})
    for name in ("ds_cnn", "autoencoder"):
        assert any(name in axes.get_title("left") + axes.get_title() for axes in figure.axes), name


def test_a_title_of_ones_own_hides_no_model(several: SweepResult) -> None:
    where = "model == 'ds_cnn' and sram == 32KiB"
    for kind in ("stacked", "heatmap", "pareto"):
        texts = " ".join(texts_of(several, kind, title="mine", where=where))
        assert "mine" in texts
        assert "ds_cnn" in texts


def test_a_heat_map_states_what_it_hides_and_shows_each_models_least(several: SweepResult) -> None:
    texts = texts_of(several, "heatmap", panel="parallel")
    assert "each cell: the least over vector lanes (4, 16)" in texts
    for name in ("ds_cnn", "autoencoder"):
        rows = [row for row in several if row["model"] == name]
        cells = {(row["pes"], row["sram_bytes"]): [] for row in rows}
        for row in rows:
            cells[row["pes"], row["sram_bytes"]].append(row["cycles_total"])
        write = writer([min(cycles) for cycles in cells.values()])
        for cycles in cells.values():
            assert write(min(cycles)) in texts


def test_more_is_better_where_it_is(several: SweepResult) -> None:
    assert "the most over" in " ".join(texts_of(several, "heatmap", value="utilization", panel="parallel"))
    rows = [{"utilization": used, "pes": pes} for used, pes in ((0.2, 64), (0.9, 16), (0.5, 32), (0.95, 32))]
    best = front(rows, describe("utilization"), describe("pes"))
    assert [row["utilization"] for row in best] == [0.9, 0.95]
    note = " ".join(texts_of(several, "pareto", value="utilization"))
    assert "utilisation of the PEs: more is better" in note


def test_fronts_over_any_figures(several: SweepResult) -> None:
    figures = ["cycles", "dma", "sram_peak_bytes"]
    titles = texts_of(several, "pareto", figures=figures)
    assert "ds_cnn: cycles against DMA bytes" in titles
    assert "autoencoder: cycles against SRAM peak" in titles
    ticks = [text for text in titles if re.fullmatch(r"[\d.]+K", text)]
    assert ticks, "sizes are in KiB"
    assert all(re.fullmatch(r"\d+K", text) for text in ticks), "at round numbers of them"


def test_energies_have_the_unit_that_fits(several: SweepResult) -> None:
    texts = texts_of(several, "pareto", figures=["cycles", "energy"])
    ticks = [text for text in texts if text.endswith("J")]
    assert ticks
    assert all(re.fullmatch(r"\d+(\.\d)? (nJ|µJ|mJ)", text) for text in ticks), ticks
    cells = texts_of(several, "heatmap", value="energy", panel="parallel")
    least = min(row["energy_nj"] for row in several)
    assert any(f"{least / 1e3:.1f} µJ"[:3] in text for text in cells if text.endswith("µJ"))


def test_areas_and_memories_have_the_unit_that_fits() -> None:
    assert describe("area_kge").writer([1131.8])(1131.8) == "1.13 MGE"
    assert describe("area_kge").writer([873])(873) == "873 kGE"
    assert describe("sram_kib").writer([560])(560) == "560 KiB"
    assert describe("area_kge").axis == "logic area"


def test_labels_tell_bars_apart_and_repeat_nothing(several: SweepResult) -> None:
    rows = [row for row in several if row["model"] == "ds_cnn"]
    names = labels(rows)
    assert len(set(names)) == len(rows)
    assert names[0] == "32K 16, vector lanes 4"
    alike = [
        {**rows[0], "case": "a" * 60, "point": 1},
        {**rows[0], "case": "a" * 30 + "b" + "a" * 29, "point": 2},
    ]
    assert len(set(labels(alike))) == 2
    assert labels(rows[:1]) == [""]


def test_one_far_bar_does_not_flatten_the_others() -> None:
    from dlasim.sweeps.charts.stacked import _end

    assert _end([42e6, 1.2e6, 1.1e6, 0.9e6]) < 1.5e6
    assert _end([4.0, 3.0, 2.0]) == 4.0
    assert _end([200e3, 190e3, 757.0]) == 200e3  # of few short bars the others are not the exception
    assert _end([0.0]) == 1.0


def test_bars_too_short_to_see_get_a_scale_of_their_own(several: SweepResult) -> None:
    rows = [row for row in several if row["model"] == "ds_cnn"]
    lengths = [12e6, 23e6, 4e6, 7e6, 3e6, 5e6, 31e3, 104e3]  # of a board with and without the DLA
    assert len(rows) == len(lengths)
    by_row = dict(zip(map(id, rows), lengths, strict=True))
    (above, long), (below, short) = _by_length("ds_cnn", rows, by_row)
    assert [by_row[id(row)] for row in long] == lengths[:6]
    assert [by_row[id(row)] for row in short] == lengths[6:]
    assert (above, below) == (
        "ds_cnn: more than 104k cycles",
        "ds_cnn: at most 104k cycles, on a scale of their own",
    )
    assert len(_by_length("ds_cnn", rows[:6], by_row)) == 1
    assert len(_by_length("ds_cnn", rows[:1], by_row)) == 1


def test_labels_of_a_front_keep_clear_of_its_line() -> None:
    with style():
        figure, axes = canvas.new(4, 3)
        axes.set_xlim(0, 4)
        axes.set_ylim(0, 4)
        corners = [(1, 3), (2, 3), (2, 1), (3.5, 1)]
        points = [
            (1, 3, "32K 8 O, DMA bandwidth 16, DMA latency 16"),
            (2, 1, "32K 16 O"),
            (3.5, 1, "32K 32 O"),
        ]
        canvas.lay_out(figure)
        canvas.place_labels(figure, axes, points, canvas.BELOW, line=corners)
        boxes = [text.get_window_extent() for text in axes.texts]
        assert len(boxes) == 3
        for one, other in pairwise(axes.transData.transform(corners)):
            for share in np.linspace(0, 1, 200):
                x, y = one + share * (other - one)
                assert not any(box.contains(x, y) for box in boxes)


def test_a_front_says_once_what_its_labels_share(several: SweepResult) -> None:
    texts = texts_of(several, "pareto", where="model == 'ds_cnn'")
    assert any("the points with labels have" in text and "vector lanes" in text for text in texts)
    assert not any(text.startswith("32K") and "vector lanes" in text for text in texts)


def test_one_cell_has_no_scale_of_colours(tmp_path: Path) -> None:
    found = api.sweep("mnist", out=tmp_path, jobs=1)
    with style():
        assert len(make(found, "heatmap", {}).axes) == 1


def test_names_below_a_heat_map_lie_flat_where_there_is_room(several: SweepResult) -> None:
    with style():
        figure = make(several, "heatmap", {"where": "model == 'ds_cnn'"})
        assert {label.get_rotation() for label in figure.axes[0].get_xticklabels()} == {0}
        figure, axes = canvas.new(2, 2)
        axes.set_xticks([0, 1, 2], ["a name that is long", "another that is long", "and a third"])
        canvas.rotate_crowded_labels(figure, [axes.xaxis])
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {90}


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([13e6, 9.19e6], ["13.0M", "9.2M"]),
        ([42e6, 757], ["42.0M", "757"]),
        ([1.5e6, 12e3], ["1.50M", "12.0k"]),
        ([16, 5, 0], ["16", "5", "0"]),
        ([999_999], ["1.00M"]),
    ],
)
def test_numbers_of_a_chart_have_the_same_digits(values: list[float], texts: list[str]) -> None:
    assert [writer(values)(value) for value in values] == texts


def test_bars_stand_in_pairs(several: SweepResult) -> None:
    with style():
        figure = make(several, "stacked", {"pair": "vector_lanes", "where": "model == 'ds_cnn'"})
        (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "32K 16",
        "64K 16",
        "32K 64",
        "64K 64",
    ] or [label.get_text() for label in axes.get_yticklabels()] == ["32K 16", "32K 64", "64K 16", "64K 64"]
    assert sum(text.get_text().endswith("  16") for text in axes.texts) == 4


def test_panels_share_their_scale_and_skip_what_did_not_run(several: SweepResult) -> None:
    panels = [{"title": f"{pes} PEs", "where": f"pes == {pes}"} for pes in (16, 64, 128)]
    with style():
        figure = make(several, "stacked", {"panels": panels, "where": "model == 'ds_cnn'"})
    assert [axes.get_title("left") for axes in figure.axes] == ["16 PEs", "64 PEs"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


def test_roofs_have_names_and_so_have_layers(several: SweepResult) -> None:
    texts = texts_of(several, "roofline", where="model == 'ds_cnn' and pes == 64")
    assert "computing: 64 MACs per cycle" in texts
    assert "DMA: 8 bytes per cycle" in texts
    assert "conv_0" in texts


def test_layers_have_whole_names_and_none_is_left_out(model: Path, tmp_path: Path) -> None:
    without_softmax = "CONV_2D+FULLY_CONNECTED+AVERAGE_POOL_2D+ADD"
    found = api.sweep("resnet8", out=tmp_path, layers=True, jobs=1, dla_ops=without_softmax)
    texts = texts_of(found, "utilization")
    assert {layer["name"] for layer in found.layers} <= set(texts)
    assert "stage_1/add" in texts
    assert texts.count("no MACs") == 4
    kinds = {layer["kind"] for layer in found.layers if layer["unit"] == "dla"}
    assert kinds | {"CPU"} <= set(texts)
    assert {"CONV", "ELTWISE", "CPU"} <= set(texts_of(found, "timeline"))


def test_a_point_says_why_it_was_chosen(several: SweepResult) -> None:
    title = " ".join(texts_of(several, "utilization")).replace("\n", " ")
    assert "the fewest cycles of 16 points and of all models" in title


def test_a_report_is_drawn_too(tmp_path: Path) -> None:
    result = api.run(api_model(tmp_path), timing_only=True)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(result.report))
    table = open_table(path)
    for kind in ("stacked", "utilization", "roofline"):
        draw(table, kind, tmp_path / f"{kind}.png")
    assert "conv_0" in texts_of(table, "utilization")
    with pytest.raises(InputError, match="--trace"):
        draw(table, "timeline", tmp_path / "timeline.png")
    for text in ("[]", "{", "{}", '{"schema": "dlasim.report/1"}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(InputError, match="is not a report"):
            open_table(path)


def api_model(folder: Path) -> Path:
    from dlasim.compiler_shim.tflite.writer import write_tflite
    from dlasim.compiler_shim.topologies import build_topology

    path = folder / "resnet8.tflite"
    path.write_bytes(write_tflite(build_topology("resnet8")))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_ran_the_first_reason_is_told(tmp_path: Path, kind: str) -> None:
    found = api.sweep("resnet8", out=tmp_path, jobs=1, layers=True, sram="1KiB", tiling="output-channel")
    with pytest.raises(InputError, match=r"none of 1 point ran.*needs .* bytes of SRAM"):
        draw(found, kind, tmp_path / "chart.png")
    assert not (tmp_path / "chart.png").exists()


def test_goals_of_the_study_are_lines_and_axes(tmp_path: Path) -> None:
    """Machines outside a limit are crosses on no front; a setting of the axes is not overruled."""
    head = columns(more=["outside"])
    rows = []
    for number in range(12):
        row: dict[str, Any] = dict.fromkeys(head, "")
        row |= {"point": number, "model": "net", "label": f"m{number}", "status": "ok", "pes": number + 1,
                "sram_bytes": 1024, "parallel": "output", "cycles_total": 100 - number,
                "milliseconds": 12 - number, "energy_nj": 50 + (number - 6) ** 2, "area_kge": 10 + number,
                "outside": "milliseconds < 8" if 12 - number >= 8 else ""}  # fmt: skip
        rows.append([row[name] for name in head])
    write_csv(tmp_path / "results.csv", head, rows)
    about = {"limits": ["milliseconds < 8"], "minimize": ["energy_nj", "area_kge"]}
    (tmp_path / "sweep.json").write_text(json.dumps(about))
    result = SweepResult(tmp_path / "results.csv")
    with style():
        drawn = make(result, "pareto", {}).axes[0]
        timed = make(result, "pareto", {"x": "energy", "y": "milliseconds"}).axes[0]
    assert (drawn.get_ylabel(), drawn.get_xlabel()) == ("logic area", "energy")
    dots = dict(zip(*reversed(drawn.get_legend_handles_labels()), strict=True))
    assert len(dots["outside a limit"].get_offsets()) == 5
    assert len(dots["points"].get_offsets()) == 7
    lines = dict(zip(*reversed(timed.get_legend_handles_labels()), strict=True))
    assert list(lines["limit: 8 ms"].get_ydata()) == [8, 8]
