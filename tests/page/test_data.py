"""What pages show is bounded, complete and true to the run; whatever is wrong with a file is one line."""

import html.parser
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim.api import run
from dlasim.cli import main
from dlasim.errors import InputError
from dlasim.result import RunResult
from dlasim.sim.reports.occupancy import access_ends, operand_accesses
from dlasim.sweeps.page.buffers import joined, sram_map
from dlasim.sweeps.page.comparison import matched
from dlasim.sweeps.page.document import document, encode
from dlasim.sweeps.page.network import network_graph
from dlasim.sweeps.page.sources import page_of
from dlasim.sweeps.page.spans import MAX_SPANS, bounded, timeline


def test_data_never_end_their_element() -> None:
    hostile = ["</script>", "<!--", "\u2028", "\ud800", "]]>", "&amp;", float("nan"), math.inf]
    text = encode({"</script>": hostile})
    assert not set("<>&\u2028") & set(text)
    text.encode()
    assert json.loads(text)["</script>"][:3] == ["</script>", "<!--", "?"]
    assert json.loads(text)["</script>"][-2:] == [None, None]


def test_a_page_has_the_elements_of_its_template_only() -> None:
    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            found.append(tag)

    found: list[str] = []

    parser = Tags()
    parser.feed(document("</title><b>", {"page": "run", "evil": "</script><b>"}))
    assert "b" not in found
    assert found.count("script") == 2


def test_timeline_holds_every_cycle(result: RunResult) -> None:
    found = timeline(result.loaded.program, result.inference)
    assert found["resolution"] == 0
    lanes = {lane["name"]: lane for lane in found["lanes"]}
    units = result.report["units"]
    for name in ("MAC", "VECTOR", "DMA_IN", "DMA_OUT"):
        idle = sum(units[name][term] for term in ("idle_issue", "idle_wait", "idle_queue"))
        assert sum(lanes[name]["length"]) == result.report["cycles"]["dla"] - idle
    assert sum(lanes["CPU"]["length"]) == result.report["cycles"]["cpu"]


def test_a_million_operations_become_few_spans() -> None:
    random = np.random.default_rng(1)
    lanes = {}
    for lane in ("MAC", "DMA_IN"):
        lengths = random.integers(0, 90, 500_000)
        starts = np.cumsum(lengths + random.integers(0, 30, 500_000)) - lengths
        layers = np.arange(500_000) // 625
        layers[::3] = random.integers(0, 800, len(layers[::3]))  # worked on in turns
        lanes[lane] = np.stack((starts, starts + lengths, layers, np.ones(500_000, np.int64)), axis=1)
    began = time.process_time()
    shown, resolution = bounded(lanes)
    assert time.process_time() - began < 10
    assert MAX_SPANS / 4 < sum(map(len, shown.values())) <= MAX_SPANS
    for lane, spans in shown.items():
        assert spans[:, 3].sum() == 500_000
        assert spans[0, 0] == lanes[lane][0, 0]
        assert spans[-1, 1] == lanes[lane][:, 1].max()
        assert np.all(spans[1:, 0] >= spans[:-1, 0])
        assert resolution < lanes[lane][-1, 1] / 1000


@pytest.mark.parametrize("sram", [16 << 10, 64 << 10, 512 << 10])
def test_no_byte_of_sram_belongs_to_two_buffers(model: Path, sram: int) -> None:
    done = run(model, timing_only=True, sram_bytes=sram)
    found = sram_map(done.loaded.program, done.inference)
    assert found is not None
    assert found["left_out"] == 0
    assert max(found["end"]) <= sram
    rows = list(zip(*(found[name] for name in ("address", "end", "from", "until")), strict=True))
    for number, (address, end, begin, until) in enumerate(rows):
        assert end > address
        assert 0 <= begin < until <= done.report["cycles"]["total"]
        for other_address, other_end, other_begin, other_until in rows[number + 1 :]:
            apart = other_end <= address or end <= other_address
            if apart or other_until <= begin or until <= other_begin:
                continue
            # A buffer lasts until its last reader ends, also where that one reads other bytes of it. Those
            # that both have must be dead when the later one is written.
            first, last = max(address, other_address), min(end, other_end)
            assert last_use(done, first, last, before=max(begin, other_begin)) <= max(begin, other_begin)


def last_use(done: RunResult, first: int, last: int, before: int) -> int:
    """The end of the last operation that begins before a cycle and reads or writes in a range of the SRAM."""
    ends = [0]
    for part in done.inference.runs:
        table, timeline = operand_accesses(part), part.plan.timeline
        operation, address = table[:, 0], table[:, 2]
        touches = (address < last) & (first < access_ends(table))
        touches &= timeline.start[operation] + part.start < before
        ends += (timeline.end[operation[touches]] + part.start).tolist()
    return max(ends)


def test_pieces_of_a_buffer_are_joined() -> None:
    first, second = [0, 64, 0, 90, 3, 0], [64, 128, 10, 90, 3, 0]  # rows of one output
    weights = [[200, 264, 0, 20, 3, 1], [264, 328, 10, 30, 3, 1]]  # a double buffer stays two
    again = [0, 64, 95, 99, 3, 0]
    found = joined(np.array([first, second, *weights, again], np.int64)).tolist()
    assert sorted(found) == sorted([[0, 128, 0, 90, 3, 0], *weights, again])


def test_graph_has_an_edge_for_every_input(result: RunResult) -> None:
    assert result.loaded.lowered is not None
    network = result.loaded.lowered.network
    graph = network_graph(network)
    edges = {(start, end) for start, end, _ in graph["edges"]}
    count = len(network.layers)
    assert edges == {(number - 1, number) for number in range(count + 1)}  # ds_cnn is a chain
    assert set(graph["lane"]) == {0}


def test_shortcuts_have_lanes_of_their_own(tmp_path: Path) -> None:
    from dlasim.compiler_shim.tflite.writer import write_tflite
    from dlasim.compiler_shim.topologies import build_topology

    path = tmp_path / "resnet8.tflite"
    path.write_bytes(write_tflite(build_topology("resnet8")))
    lowered = run(path, timing_only=True).loaded.lowered
    assert lowered is not None
    graph = network_graph(lowered.network)
    names = [layer.name for layer in lowered.network.layers]

    def read_by(name: str) -> list[str]:
        return sorted(names[start] for start, end, _ in graph["edges"] if end == names.index(name))

    assert read_by("stage_1/add") == ["conv_0", "stage_1/conv_2"]
    assert read_by("stage_2/add") == ["stage_2/conv_2", "stage_2/shortcut"]
    for start, end, lane in graph["edges"]:
        between = [row for row in range(start + 1, min(end, len(names))) if graph["lane"][row] == lane]
        assert not between, f"an edge of lane {lane} passes through {between}"


def test_layers_are_matched_by_name() -> None:
    assert matched(["a", "b", "c"], ["a", "x", "c"]) == [(0, 0), (1, None), (None, 1), (2, 2)]
    assert matched(["a", "a"], ["a"]) == [(0, 0), (1, None)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda report: report.update(schema="other/1"), "schema 'other/1'"),
        (lambda report: report["cycles"].update(total="<b>"), "cycles.total is '<b>'"),
        (lambda report: report["cycles"].update(total=float("inf")), "cycles.total is 'inf'"),
        (lambda report: report["cycles"].update(total=float("nan")), "cycles.total is 'nan'"),
        (lambda report: report["cycles"].update(total=10**400), "cycles.total is '1000"),
        (lambda report: report["config"].update(pes=-1), "pes must be"),
        (lambda report: report["layers"][0].pop("cycles"), "layers[0].cycles is 'None'"),
        (lambda report: report["units"]["MAC"].update(work=[]), "units.MAC.work is '[]'"),
        (lambda report: report.update(layers=7), "no such structure"),
        (lambda report: report.pop("cpu"), "no such structure"),
    ],
)
def test_damaged_reports(result: RunResult, tmp_path: Path, change: Any, message: str) -> None:
    report = json.loads(json.dumps(result.report))
    change(report)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    with pytest.raises(InputError) as caught:
        page_of([str(path)])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cell", ["many", "81=2", "nan", "inf", "1e30", "9" * 5000])
@pytest.mark.parametrize("column", ["sram_bytes", "cycles_total", "point"])
def test_damaged_tables(column: str, cell: str, tmp_path: Path) -> None:
    """A size that was text used to be an internal error."""
    cells = {
        "point": "0", "model": "m", "label": "16 O", "status": "ok", "reason": "", "cycles_total": "7",
        "sram_bytes": "64", "pes": "1",
    }  # fmt: skip
    table = tmp_path / "results.csv"
    table.write_text("".join(",".join(row) + "\n" for row in (cells, cells.values())))
    page_of([str(table)])
    damaged = cells | {column: cell}
    table.write_text("".join(",".join(row) + "\n" for row in (damaged, damaged.values(), cells.values())))
    with pytest.raises(InputError, match=f"{column} must be a number") as caught:
        page_of([str(table)])
    assert len(str(caught.value)) < 300


def call(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


def test_commands(model: Path, tmp_path: Path) -> None:
    page, report = tmp_path / "page.html", tmp_path / "run.json"
    assert call("run", model, "--timing-only", "--html", page, "--report", report).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert call("report", report, "-o", page).exit_code == 0
    assert call("report", report, report, "-o", page).exit_code == 0
    refused = {
        "cannot write": ("report", report, "-o", report),
        "two runs or one sweep": ("report", report, report, report, "-o", page),
        "a report has none": ("report", report, "--where", "pes == 1", "-o", page),
        "cannot read": ("report", tmp_path / "missing.json", "-o", page),
        "no results.csv": ("report", tmp_path, "-o", page),
    }
    before = page.read_bytes()
    for message, arguments in refused.items():
        result = call(*arguments)
        assert result.exit_code == 2, result.stderr
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert page.read_bytes() == before
