"""What the functions take and return: inputs of every form, results that show and draw themselves."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.errors import InputError
from dlasim.inputs import prepare_inputs
from dlasim.result import RunResult
from dlasim.rows import frames
from dlasim.rows.row_table import RowTable
from dlasim.sweeps.page.sources import page_of

DOCUMENTED = ["dlasim.api", "dlasim.result", "dlasim.rows.row_table", "dlasim.sim.configuration.config"]
DOCUMENTED += ["dlasim.sweeps.results.sweep_result"]


@pytest.fixture(scope="module")
def result() -> RunResult:
    return dlasim.run("mnist", parallel="8x8", sram="32KiB")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_of_docstrings_are_true(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed


def test_a_built_in_network_needs_no_file(tmp_path: Path) -> None:
    file = dlasim.model("mobilenet_v1", tmp_path / "small.tflite", alpha=0.25, resolution=96)
    named, written = (
        dlasim.run(model, timing_only=True) for model in ("mobilenet_v1:alpha=0.25,resolution=96", file)
    )
    assert named.report["cycles"] == written.report["cycles"]
    assert dlasim.explain("resnet8").column("name") == dlasim.run("resnet8").layers.column("name")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnt8", "'resnt8' is neither a file nor a built-in network; did you mean resnet8?"),
        ("resnet8:alpha=2", "resnet8 has no alpha"),
        ("resnet8.tflite", "cannot read resnet8.tflite: No such file"),
    ],
)
def test_a_wrong_name_is_one_line(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for verb in (dlasim.run, dlasim.compile, dlasim.inspect, dlasim.explain, dlasim.verify):
        with pytest.raises(InputError, match=re.escape(message)):
            verb(name)


def test_inputs_of_every_form_are_one_input(tmp_path: Path) -> None:
    image = np.linspace(-1, 1, 784).reshape(28, 28)
    np.save(tmp_path / "x.npy", image)
    (name,) = (tensor.name for tensor in dlasim.compile("mnist").program.inputs)
    forms = (image, [image], (image,), {name: image}, tmp_path / "x.npy", [image.tolist()])
    (first, *others) = (dlasim.run("mnist", inputs=form).outputs[0] for form in forms)
    assert all((first == other).all() for other in others)
    assert not (first == dlasim.run("mnist").outputs[0]).all()


def test_inputs_by_name_may_come_in_any_order() -> None:
    (one,) = dlasim.compile("mnist").program.inputs
    expected = (one, dataclasses.replace(one, name="mask"))
    arrays = [np.full(one.shape, value, np.int8) for value in (3, 40)]
    found = prepare_inputs(expected, {"mask": arrays[1], one.name: arrays[0]})
    assert [array.flat[0] for array in found] == [3, 40]
    with pytest.raises(InputError, match=r"the model takes 2 inputs \(.*\), got 1"):
        prepare_inputs(expected, {"mask": arrays[1]})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"imput": np.zeros((28, 28))}, "unknown input 'imput'; did you mean input?"),
        (np.zeros((27, 28)), "expected int8 [1, 28, 28, 1]"),
        (["a.npy", "b.npy"], "the model takes 1 input (input), got 2"),
        ([[[0.0], [0.0, 1.0]]], "cannot make an array of an input of type list"),
        (object(), "expected int8 [1, 28, 28, 1]"),
    ],
)
def test_wrong_inputs_are_one_line(inputs: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        dlasim.run("mnist", inputs=inputs)
    assert "\n" not in str(caught.value)


def test_short_names_work_everywhere() -> None:
    bytes_of = [
        dlasim.run("mnist", sram="64KiB", timing_only=True).report["config"]["sram_bytes"],
        dlasim.compile("mnist", sram="64KiB").program.requirement.sram_bytes,
        dlasim.DlaConfig().replace(sram="64KiB").sram_bytes,
        dlasim.DlaConfig(sram_bytes="64KiB").sram_bytes,
        dlasim.sweep("mnist", sram="64KiB", jobs=1).column("sram_bytes")[0],
    ]
    assert bytes_of == [1 << 16] * 5
    with pytest.raises(InputError, match="sram_bytes is given twice, also as sram"):
        dlasim.run("mnist", sram_bytes=1, sram=1)


def test_a_machine_is_a_preset_or_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text("pes = 16\nsram = '64KiB'\n")
    file, preset = (
        dlasim.run("mnist", machine, timing_only=True).report["config"]
        for machine in (tmp_path / "machine.toml", "nvdla-small")
    )
    assert (file["pes"], file["sram_bytes"], preset["name"]) == (16, 1 << 16, "nvdla-small")
    with pytest.raises(InputError, match="unknown preset 'nvdla-smal'; did you mean nvdla-small"):
        dlasim.run("mnist", "nvdla-smal")


def test_operators_for_the_dla_are_text_or_a_list() -> None:
    forms = ("conv_2d,ADD", "CONV_2D+ADD", ["CONV_2D", "add"], frozenset({"CONV_2D", "ADD"}))
    first, *others = (
        dlasim.run("resnet8", dla_ops=form, timing_only=True).report["cycles"] for form in forms
    )
    assert all(cycles == first for cycles in others)
    for wrong in (3, [3]):
        with pytest.raises(InputError, match="dla_ops must be"):
            dlasim.run("resnet8", dla_ops=wrong)


def test_a_result_shows_itself(result: RunResult) -> None:
    shown = repr(result)
    assert len(shown) < 200
    assert f"{result.cycles:,} cycles" in shown
    assert "\n" not in shown
    page = result._repr_html_()
    assert f'<td style="text-align:left">{result.cycles:,}</td>' in page
    assert all(layer["name"] in page for layer in result.layers)
    assert page.count("<table>") == page.count("</table>") == 2


def test_layers_are_rows_and_a_data_frame(result: RunResult) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed: there are no data frames")
    assert isinstance(result.layers, RowTable)
    first = result.report["layers"][0]
    assert result.layers[0]["dma_read_bytes"] == first["dma_bytes"]["read"]
    frame = result.layers.frame()
    assert frame["cycles"].tolist() == [layer["cycles"] for layer in result.report["layers"]]
    assert list(frame.columns) == result.layers.columns
    assert str(result.layers).splitlines()[0].split()[:2] == ["name", "operator"]
    assert json.loads(json.dumps(dlasim.explain("mnist")))[0]["name"] == result.layers[0]["name"]


def test_rows_escape_what_files_say() -> None:
    rows = RowTable([{"name": "<script>\x1b[31m", "cycles": 1}])
    assert "<script>" not in rows._repr_html_()
    assert "\x1b" not in str(rows)
    assert repr(RowTable()) == "<no rows>"
    with pytest.raises(InputError, match="unknown column 'cycle'; did you mean cycles"):
        rows.column("cycle")


def test_without_a_library_for_frames_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_import", lambda name: None)
    with pytest.raises(InputError, match="neither pandas nor polars is installed"):
        dlasim.explain("mnist").frame()


@pytest.mark.parametrize("kind", ["utilization", "roofline", "timeline", "stacked"])
def test_a_result_draws_charts(result: RunResult, kind: str, tmp_path: Path) -> None:
    chart = result.plot(kind)
    assert chart._repr_png_().startswith(b"\x89PNG")
    assert chart.save(tmp_path / "chart.svg").read_text(encoding="utf-8").count("<svg") == 1
    assert repr(chart).startswith(f"<Chart {kind};")


def test_a_timeline_of_the_board_does_not_call_its_cpu_an_estimate() -> None:
    notes = []
    for host in ("none", "riscv"):
        chart = dlasim.run("mnist", host=host, timing_only=True).plot("timeline")
        notes.append(chart.figure.get_suptitle())
    assert "estimate" in notes[0]
    assert "estimate" not in notes[1]


def test_a_trace_is_what_the_command_writes(result: RunResult, tmp_path: Path) -> None:
    path = result.trace(tmp_path / "trace.json")
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["name"] for event in events} >= {
        layer["name"] for layer in result.layers if layer["unit"] == "dla" and layer["cycles"]
    }


def test_a_page_is_what_the_command_writes(result: RunResult, tmp_path: Path) -> None:
    page = result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert all(layer["name"] in page for layer in result.layers)


def test_outputs_become_real_numbers(result: RunResult) -> None:
    (described,) = result.loaded.program.outputs
    (real,) = result.real_outputs
    assert real.dtype == np.float32
    assert (np.round(real / described.scale) + described.zero_point == result.outputs[0]).all()
    assert abs(real.sum() - 1) < 0.02, "a softmax adds up to one"


def test_a_sweep_shows_and_draws_itself(tmp_path: Path) -> None:
    found = dlasim.sweep("mnist", pes=[16, 32], jobs=1, layers=True)
    assert found.plot("stacked").save(tmp_path / "bars.png").stat().st_size > 1000
    page = found._repr_html_()
    assert page.count("<tr>") == 3
    assert all(f"{cycles:,}" in page for cycles in found.column("cycles_total"))


def test_a_sweep_and_a_difference_are_pages(result: RunResult, tmp_path: Path) -> None:
    """Of results as of files: the pages are those of `dlasim report`."""
    found = dlasim.sweep("mnist", pes=[16, 32], jobs=1, out=tmp_path / "sweep")
    page = found.to_html(tmp_path / "sweep.html", where="pes == 16")
    assert page.read_text() == page_of([str(tmp_path / "sweep")], "pes == 16")
    runs = {"before": dlasim.run("mnist", pes=16, timing_only=True), "after": result}
    files = {}
    for name, run in runs.items():
        files[name] = tmp_path / f"{name}.json"
        files[name].write_text(json.dumps(run.report))
    page_text = page_of([str(path) for path in files.values()])
    for name, path in files.items():
        page_text = page_text.replace(str(path), name)
    assert result.to_html(tmp_path / "two.html", before=runs["before"]).read_text() == page_text
