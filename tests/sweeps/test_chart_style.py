"""Charts as wide as a column, and in a style that somebody asks for."""

from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.charts import KINDS, canvas, draw, make
from dlasim.sweeps.charts.style import read_style, style
from dlasim.sweeps.results.sweep_result import SweepResult
from tests.chart_labels import check_labels


@pytest.fixture(scope="module")
def result(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return api.sweep(
        model, out=tmp_path_factory.mktemp("charts"), jobs=2, layers=True,
        pes=[16, 64, 100, 256], sram="16KiB..1MiB", parallel=["input", "output"], fusion="requant",
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", [{"width": "3in"}, {"width": "84mm", "style": {"font.size": 9}}])
def test_a_column_has_room_for_a_chart(result: SweepResult, kind: str, asked: dict[str, Any]) -> None:
    with style(read_style(**asked)):
        figure = make(result, kind, {"where": "pes == 64" if kind == "stacked" else None})
        assert figure.get_figwidth() == pytest.approx(3 if asked["width"] == "3in" else 84 / 25.4)
        check_labels(figure)


@pytest.mark.parametrize("kind", KINDS)
def test_a_style_sheet_is_followed(result: SweepResult, tmp_path: Path, kind: str) -> None:
    sheet = tmp_path / "paper.mplstyle"
    sheet.write_text('font.size: 6  # small\nfont.family: serif\naxes.labelcolor: "#123456"\n\n# end\n')
    with style(read_style(style=sheet)):
        figure = make(result, kind, {"where": "pes < 100"})
        check_labels(figure)
        labels = [axes.xaxis.label for axes in figure.axes if axes.get_xlabel()]
        assert {(label.get_size(), label.get_color(), label.get_family()[0]) for label in labels} == {
            (6, "#123456", "serif")
        }
        assert all(text.get_size() < 7 for text in canvas.visible_texts(figure))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"width": "84"}, "width must be 3in to 40in, in mm, cm, in or pt (got '84')"),
        ({"width": "2in"}, "width must be 3in"),
        ({"width": "9" * 400 + "mm"}, "width must be 3in"),
        ({"style": "papre"}, "style must be FILE.mplstyle or a name: unknown style 'papre'"),
        ({"style": "none.mplstyle"}, "none.mplstyle"),
        ({"style": {"font.sise": 7}}, "unknown rcParam 'font.sise'; did you mean font.size?"),
        ({"style": {"font.size": "large-ish"}}, "style: font.size: "),
        ({"style": {"font.size": 1e9}}, "style: font.size must be from 4 to 24 (got 1e+09)"),
        ({"style": {"savefig.dpi": 20000}}, "style: savefig.dpi must be from 30 to 1200 (got 20000)"),
        ({"style": {"legend.fontsize": 3000}}, "matplotlib cannot draw this chart in this style: "),
        ({"style": {"text.usetex": True}}, "style: text.usetex cannot be true"),
        (
            {"style": {"font.family": "No Such Face"}},
            "none of the fonts of font.family is installed: No",
        ),
        ({"style": {"figure.figsize": (1, 1)}}, "width must be 3in to 40in"),
    ],
)
def test_a_style_that_cannot_be_followed(
    result: SweepResult, tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as error:
        draw(result, "timeline", tmp_path / "chart.png", **asked)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())
