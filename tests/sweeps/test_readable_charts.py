"""What makes charts readable: equal layers are one, grids are an axis, each model has the room that it needs,
and every kind of layer has a colour that every reader tells from the others."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sim.configuration.sizes import KIB
from dlasim.sweeps.charts import canvas, make, palette
from dlasim.sweeps.charts.layers import MAX_LAYERS, common_name, distinct_names, grouped
from dlasim.sweeps.charts.roofline import MAX_NAMED
from dlasim.sweeps.charts.style import style
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.sweeps.results.sweep_result import SweepResult

GRIDS = ["8x8", "8x16", "16x16", "4x16"]


@pytest.fixture(scope="module")
def grids(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """A CNN and a transformer, which takes many times as many cycles, on grids."""
    out = tmp_path_factory.mktemp("grids")
    return api.sweep("ds_cnn", "vit", out=out, jobs=1, layers=True, parallel=GRIDS, sram=["64KiB", "128KiB"],
                     fusion="requant")  # fmt: skip


def drawn(result: Any, kind: str, **settings: Any) -> Any:
    with style():
        figure = make(result, kind, settings)
        figure.canvas.draw()
    return figure


def test_a_heat_map_over_grids_has_no_empty_cell(grids: SweepResult) -> None:
    figure = drawn(grids, "heatmap")
    pictures = [image for axes in figure.axes for image in axes.images]
    assert len(pictures) == 2
    for picture in pictures:
        assert picture.get_array().shape == (len(GRIDS), 2)
        assert not np.ma.is_masked(picture.get_array())
        assert np.isfinite(picture.get_array()).all()
    ticks = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert ticks == ["4x16", "8x8", "8x16", "16x16"]  # by the PEs that they have
    assert figure.axes[0].get_ylabel() == "grid of PEs"


def test_modes_and_pes_are_still_axes(tmp_path: Path) -> None:
    found = api.sweep("mnist", out=tmp_path, jobs=1, pes=[32, 64], sram=["16KiB", "32KiB"],
                      parallel=["input", "output"])  # fmt: skip
    figure = drawn(found, "heatmap")
    assert [axes.get_title() for axes in figure.axes if axes.images] == [
        "mnist, input parallel",
        "mnist, output parallel",
    ]


@pytest.mark.parametrize("figures", [["cycles", "energy"], ["cycles", "dma", "energy"]])
def test_each_models_points_take_most_of_its_panel(grids: SweepResult, figures: list[str]) -> None:
    figure = drawn(grids, "pareto", figures=figures)
    for axes in figure.axes:
        dots = np.concatenate([points.get_offsets() for points in axes.collections])
        places = axes.transData.transform(dots)[:, 0]
        least = 4 * KIB if "DMA bytes" in axes.get_title() else 0  # which an axis of bytes shows at least
        if np.ptp(dots[:, 0]) > least:
            assert np.ptp(places) > 0.8 * axes.get_window_extent().width


def test_labels_of_a_front_are_whole(tmp_path: Path) -> None:
    axes = {"mac_results": [4, 8], "sram_bandwidth": [8, 32], "sram_ports": [2, 4]}
    found = api.sweep("mnist", out=tmp_path, jobs=1, sram=["16KiB", "32KiB"], parallel=GRIDS[:2], **axes)
    figure = drawn(found, "pareto", figures=["cycles", "energy"])
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts
    assert not any("…" in text for text in texts)
    assert canvas.overlaps(figure) == []


def test_dots_have_the_colour_of_a_parameter_and_a_line_the_limit(grids: SweepResult) -> None:
    limit = 0.2
    figure = drawn(grids, "pareto", x="energy", y="milliseconds", color="sram", limit=f"milliseconds={limit}")
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["64K SRAM", "128K SRAM"]
    assert "limit: 0.2 ms" in legend
    box = figure.legends[0].get_window_extent(figure.canvas.get_renderer())
    assert figure.bbox.x0 <= box.x0
    assert box.x1 <= figure.bbox.x1, "the legend is cut off"
    for axes in figure.axes:
        assert any(np.all(np.asarray(line.get_ydata()) == limit) for line in axes.lines)
    colors = {tuple(points.get_facecolor()[0][:3]) for points in figure.axes[0].collections[:2]}
    assert len(colors) == 2


@pytest.mark.parametrize("limit", [50.0, 0.0001, -1.0])
def test_a_limit_far_from_all_points_is_seen(grids: SweepResult, limit: float) -> None:
    figure = drawn(
        grids, "pareto", x="milliseconds", y="energy", limit=f"milliseconds={limit}", where="pes < 99"
    )
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low <= limit <= high or (axes.get_xscale() == "log" and limit < 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": "milliseconds"}, "limit milliseconds is not a figure of the chart; it has cycles_total"),
        (
            {"limit": "cycles=soon"},
            r"limit must be FIGURE=NUMBER, such as milliseconds=10 \(got 'cycles=soon'\)",
        ),
        ({"limit": "cycles=nan"}, "limit must be FIGURE=NUMBER"),
        ({"limit": "speed=3"}, "no column speed"),
        ({"color": "speed"}, "no column speed"),
        ({"color": "point"}, "point has 16 values, but a chart has at most 8 colours"),
    ],
)
def test_a_wrong_setting_is_one_line(grids: SweepResult, settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        drawn(grids, "pareto", **settings)
    assert "\n" not in str(error.value)


def test_a_short_logarithmic_axis_has_enough_ticks() -> None:
    with style():
        _, axes = canvas.new(4, 3)
        axes.set_xlim(1.4, 8)
        canvas.log_axis(axes.xaxis, 10, str)
        low, high = axes.get_xlim()
        assert sum(low <= tick <= high for tick in axes.get_xticks()) >= 5


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["patches"], "patches"),
        ([f"block_{n}/mlp/expand" for n in range(12)], "12 x mlp/expand"),
        ([f"block_{n}/norm_{k}/centred" for n in range(2) for k in (1, 2)], "4 x norm_1…2/centred"),
        ([f"pointwise_{n}" for n in (4, 6, 7, 8)], "4 x pointwise_4,6…8"),
        ([f"pointwise_{n}" for n in (1, 3, 5, 7)], "4 x pointwise_*"),
        (["net/block_1/add", "net/block_2/add"], "2 x net/block_1…2/add"),
        (["s1/c2", "s2/c1"], "2 x c1…2"),
        (["a1b1", "a2b2"], "2 x a*b*"),
        (["1", "2"], "2 x 1…2"),
    ],
)
def test_what_equal_layers_are_called(names: Sequence[str], expected: str) -> None:
    assert common_name(names) == expected


def test_equal_layers_become_one_and_nothing_is_lost(grids: SweepResult) -> None:
    points = {row["model"]: row["point"] for row in grids}
    layers = [layer for layer in grids.layers.rows() if layer["point"] == points["vit"]]
    found = grouped(layers)
    assert sum(row["members"] for row in found) == len(layers) > 3 * len(found)
    for name in ("cycles", "busy_cycles", "macs", "dma_read_bytes"):
        assert sum(row[name] for row in found) == sum(layer[name] for layer in layers)
    expand = next(row for row in found if row["name"].endswith("mlp/expand"))
    assert expand["name"] == "4 x mlp/expand"
    alike = [layer for layer in layers if layer["name"].endswith("mlp/expand")]
    assert expand["utilization"] == pytest.approx(alike[0]["utilization"], rel=0.1)
    assert len(layers) > MAX_LAYERS


def test_only_layers_that_cost_as_much_are_equal() -> None:
    layer = {"kind": "CONV", "unit": "dla", "macs": 100, "pes": 1, "utilization": 1.0}
    layer |= {"cycles": 1, "tiles": 1, "dma_read_bytes": 0, "dma_write_bytes": 0}
    rows = [
        {**layer, "name": f"conv_{number}", "busy_cycles": busy}
        for number, busy in enumerate((100, 105, 200))
    ]
    assert [row["name"] for row in grouped(rows)] == ["2 x conv_0…1", "conv_2"]
    assert [row["name"] for row in grouped([{**rows[0], "macs": 99}, rows[1]])] == ["conv_0", "conv_1"]


def test_charts_of_layers_begin_with_those_that_cost_most(grids: SweepResult) -> None:
    figure = drawn(grids, "utilization", where="model == 'vit'")
    left, right = figure.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert len(names) < 50
    assert any(name.startswith("4 x ") for name in names)
    widths: dict[float, float] = {}
    for bar in right.patches:
        if bar.get_alpha() is None:
            widths[round(bar.get_y(), 3)] = bar.get_width()
    ordered = [widths[place] for place in sorted(widths)]
    assert all(one >= other for one, other in pairwise(ordered))
    figure = drawn(grids, "roofline", where="model == 'vit'")
    lines = sum(text.get_text().count("\n") + 1 for text in figure.axes[0].texts)
    assert 4 < lines <= MAX_NAMED + 2  # and the names of the roofs


def test_no_point_is_drawn_above_a_roof(grids: SweepResult) -> None:
    for model in ("ds_cnn", "vit"):
        (axes,) = drawn(grids, "roofline", where=f"model == '{model}' and parallel == '16x16'").axes
        dots = np.concatenate([points.get_offsets() for points in axes.collections])
        assert (dots[:, 1] <= 256 * (1 + 1e-9)).all()


def test_a_table_without_busy_cycles_says_what_to_do(grids: SweepResult, tmp_path: Path) -> None:
    for name in ("results.csv", "layers.csv"):
        head, lines = read_csv(grids.path.with_name(name))
        kept = [place for place, column in enumerate(head) if column not in ("busy_cycles", "cycles_other")]
        rows = [[line[place] for place in kept] for line in lines]
        write_csv(tmp_path / name, [head[place] for place in kept], rows)
    old = SweepResult(tmp_path / "results.csv")
    with pytest.raises(
        InputError, match="has no column busy_cycles: this chart needs it; run the sweep again"
    ):
        drawn(old, "roofline")
    drawn(old, "stacked", where="model == 'ds_cnn'")


def test_names_tell_layers_apart() -> None:
    full = ["stage_1/conv_1", "stage_2/conv_1", "stage_1/add", "pool", "pool"]
    assert distinct_names(full, 26) == ["stage_1/conv_1", "stage_2/conv_1", "add", "pool (3)", "pool (4)"]


# Colours as people with a kind of colour blindness see them: Machado, Oliveira and Fernandes (2009), table 1.
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ]),
    "tritanopia": np.array([
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900],
    ]),
}  # fmt: skip
TO_XYZ = np.array([
    [0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041],
])  # fmt: skip
APART = 15.0  # in CIELAB, where 2 can just be seen


def lab(color: str, vision: np.ndarray) -> np.ndarray:
    """A colour of sRGB in CIELAB (D65), as one with that vision sees it."""
    coded = np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(vision @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISIONS)
def test_everybody_tells_the_colours_apart(vision: str) -> None:
    """From each other and from the light and the dark background of a page."""
    seen = {kind: lab(color, VISIONS[vision]) for kind, (color, *_) in palette.KINDS.items()}
    for (one, here), (other, there) in combinations(seen.items(), 2):
        assert np.linalg.norm(here - there) > APART, (one, other)
    for background in ("#ffffff", "#1c252d"):
        for kind, here in seen.items():
            assert np.linalg.norm(here - lab(background, VISIONS[vision])) > APART, (kind, background)


@pytest.mark.parametrize("kind", palette.KINDS)
def test_a_name_on_a_bar_can_be_read(kind: str) -> None:
    color, *_ = palette.KINDS[kind]
    text = {"black": "#000000", "white": "#ffffff"}[palette.text_color(color)]
    assert abs(lab(color, np.eye(3))[0] - lab(text, np.eye(3))[0]) > 40  # of lightness
