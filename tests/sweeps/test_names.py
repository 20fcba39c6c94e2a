"""Names of files that a spreadsheet, a terminal or a reader would take for something else."""

from __future__ import annotations

import csv
import shutil
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner

import dlasim
from dlasim.cli import main
from dlasim.sweeps.results.csv_table import read_csv, write_csv

FORMULAS = ("=1+1", "+1", "-1", "@x", "'=1+1", "''-1", "\tx", "'plain", "plain", "", "a=b", "'")
TURNED = "a\u202egpj\u200f\u2066\x1b[31m\u200e"


def test_no_cell_is_a_formula_and_each_reads_back_as_it_was(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["name", "number"], [[name, -1.5] for name in FORMULAS])
    with (tmp_path / "t.csv").open(newline="") as file:
        stored = [row[0] for row in csv.reader(file)][1:]
    assert not [cell for cell in stored if cell.startswith(("=", "+", "-", "@", "\t"))]
    head, rows = read_csv(tmp_path / "t.csv")
    assert head == ["name", "number"]
    assert list(rows) == [[name, "-1.5"] for name in FORMULAS]


@pytest.mark.parametrize("name", ["=1+1", "@x", "-x"])
def test_a_model_named_as_a_formula(name: str, model: Path, tmp_path: Path) -> None:
    shutil.copy(model, tmp_path / f"{name}.tflite")
    result = dlasim.sweep(str(tmp_path / f"{name}.tflite"), pes=[8, 16], out=tmp_path / "sw")
    assert f",'{name}," in (tmp_path / "sw" / "results.csv").read_text()
    assert result.column("model") == [name, name]
    plot = CliRunner().invoke(
        main, ["plot", str(tmp_path / "sw"), "--kind", "timeline", "--where", f'model == "{name}"']
    )
    assert plot.exit_code == 0, plot.output


def test_no_name_turns_text_around(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, f"{TURNED}.tflite")
    runner = CliRunner()
    commands = [
        ["sweep", f"{TURNED}.tflite", "--pes", "8,16", "-o", "sw"],
        ["plot", "sw", "-o", "chart.svg"],
        ["report", "sw", "-o", "sweep.html"],
        ["run", f"{TURNED}.tflite", "--report", "layers.csv", "--html", "run.html", "--trace", "trace.json"],
        ["run", f"{TURNED}.tflite", "--report", "report.json"],
        ["plot", "report.json", "-o", "layers.svg"],
        ["inspect", f"{TURNED}.tflite"],
        ["explain", f"{TURNED}.tflite"],
    ]
    texts = []
    for command in commands:
        result = runner.invoke(main, command)
        assert result.exit_code == 0, (command, result.output)
        texts.append(result.output)
    written = ("sw/results.csv", "chart.svg", "sweep.html", "layers.csv", "run.html", "layers.svg")
    texts += [Path(name).read_text() for name in written]
    for text in texts:
        assert not {c for c in text if unicodedata.category(c) in ("Cf", "Cc")} - set("\n\r\t")
    assert "a?gpj" in texts[0]
