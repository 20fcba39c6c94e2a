"""Charts: labels never meet, the same table gives the same picture, 100,000 rows are no trouble."""

import json
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.charts import KINDS, canvas, draw, make
from dlasim.sweeps.charts.pareto import front
from dlasim.sweeps.evaluate import FIGURES
from dlasim.sweeps.parameters import catalogue
from dlasim.sweeps.result import SweepResult
from dlasim.sweeps.sweep import columns
from dlasim.sweeps.table import write_csv


@pytest.fixture(scope="module")
def result(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return api.sweep(
        model, out=tmp_path_factory.mktemp("charts"), jobs=2, layers=True,
        pes=[16, 64, 100, 256], sram="16KiB..1MiB", parallel=["input", "output"],
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [None, "pes == 64 and parallel == 'output'", "sram == 16KiB"])
def test_labels_never_meet(result: SweepResult, kind: str, where: str | None) -> None:
    with canvas.style():
        figure = make(result, kind, {"where": where, "title": "a title that is neither short nor very long"})
        assert canvas.overlaps(figure) == []
        box = figure.bbox
        for text in canvas.visible_texts(figure):
            inner = text.get_window_extent(figure.canvas.get_renderer())
            assert inner.x0 >= box.x0 - 1
            assert inner.x1 <= box.x1 + 1, text.get_text()


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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_models_of_any_name_are_drawn(model: Path, tmp_path: Path, kind: str) -> None:
    odd = tmp_path / "a$\\frac{$ \u65e5\u672c & <b> -- \x1b[31m.tflite"
    odd.write_bytes(model.read_bytes())
    found = api.sweep(odd, out=tmp_path, layers=True, pes=[16, 64], sram=["16KiB", "1MiB"])
    draw(found, kind, tmp_path / "chart.svg")
    ElementTree.parse(tmp_path / "chart.svg")


def test_overlap_is_noticed() -> None:
    with canvas.style():
        figure, (axes,) = canvas.new(3, 3)
        axes.text(0.5, 0.5, "one text")
        axes.text(0.52, 0.5, "another")
        assert canvas.overlaps(figure) == [("one text", "another")]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("pie", {}, "unknown"),
        ("stacked", {"colour": "red"}, "no setting 'colour'"),
        ("stacked", {"segments": ["convs"]}, "segment 'convs'"),
        ("stacked", {"where": "pes == 1"}, "no row"),
        ("heatmap", {"x": "speed"}, "no column speed"),
        ("timeline", {"point": 4000}, "point 4000"),
        ("roofline", {"point": -1}, "point -1"),
    ],
)
def test_refused(
    result: SweepResult, tmp_path: Path, kind: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw(result, kind, tmp_path / "chart.png", **settings)
    with pytest.raises(InputError, match="ends in"):
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
    for kind in ("stacked", "heatmap", "pareto"):
        draw(result, kind, tmp_path / f"{kind}.png")
    assert time.perf_counter() - began < 120
