"""The two numbers of cycles of a layer: attributed ones add up, and in its busy ones no layer computes faster
than the PEs can."""

import re
from functools import cache

import numpy as np
import pytest

import dlasim
from dlasim.cli.summary import print_summary
from dlasim.compiler_shim.topologies import topology_names
from dlasim.isa.instruction_rows import Unit
from dlasim.result import RunResult
from dlasim.sim.configuration.machine_files import preset, preset_names
from dlasim.sim.timing.accounting import ACCOUNT, account_cycles
from dlasim.sim.timing.stream_columns import Costs
from dlasim.sim.timing.timeline import Timeline
from dlasim.sweeps.charts.roofs import bytes_per_cycle, roofline_point
from tests.compiled import counted, in_python

# Of the networks that take seconds, variants with the same layers but fewer channels and pixels.
VARIANTS = {
    "mobilenet_v1": "mobilenet_v1:alpha=0.25,resolution=96",
    "mobilenet_v2": "mobilenet_v2:alpha=0.35,resolution=96",
    "resnet50": "resnet50:resolution=64",
    "smollm2": "smollm2:layers=1,classes=1000",
}
DEFAULT = "default"
QUICK = ("mnist", "resnet8")  # on every preset; of the others the default run has the default machine
BIG = ("resnet50",)  # making it takes a minute
PAIRS = [
    pytest.param(
        VARIANTS.get(name, name), machine, id=f"{name}-{machine}",
        marks=[pytest.mark.slow] * (name in BIG or (machine != DEFAULT and name not in QUICK)),
    )
    for name in topology_names()
    for machine in preset_names()
]  # fmt: skip


@cache
def timed(network: str, machine: str, **changes: str) -> RunResult:
    return dlasim.run(network, preset(machine), timing_only=True, **changes)


def check(result: RunResult) -> None:
    report = result.report
    pes, machine = report["config"]["pes"], report["config"]
    layers = [layer for layer in result.layers if layer["unit"] == "dla"]
    assert sum(layer["cycles"] for layer in layers) + report["cycles"]["stall"] == report["cycles"]["dla"]
    assert sum(report["cycles"]["by_kind"].values()) + report["cycles"]["stall"] == report["cycles"]["dla"]
    for layer in layers:
        assert layer["cycles"] <= layer["busy_cycles"] <= report["cycles"]["dla"], layer["name"]
        assert layer["macs"] <= pes * layer["busy_cycles"], layer["name"]
        if layer["macs"]:
            assert layer["utilization"] == round(layer["macs"] / (pes * layer["busy_cycles"]), 6)
            intensity, speed = roofline_point(layer, machine)
            assert speed <= pes, layer["name"]
            if intensity is not None and bytes_per_cycle(machine):
                assert speed <= intensity * bytes_per_cycle(machine) * (1 + 1e-9), layer["name"]


@pytest.mark.parametrize(("network", "machine"), PAIRS)
def test_no_layer_is_above_a_roof(network: str, machine: str) -> None:
    check(timed(network, machine))


def test_no_layer_of_chains_is_above_a_roof() -> None:
    """On a grid a transformer's layers overlap most: by attributed cycles some reach 159 % of the PEs."""
    result = dlasim.run("vit", parallel="8x32", timing_only=True)
    check(result)
    pes = result.report["config"]["pes"]
    assert any(layer["macs"] > pes * layer["cycles"] for layer in result.layers), "nothing overlaps"


def test_busy_cycles_are_those_in_which_an_operation_of_the_layer_runs() -> None:
    """Counted cycle by cycle, for layers on one unit and on both."""
    for result in (timed("mnist", DEFAULT), dlasim.run("vit", sram="64KiB", timing_only=True)):
        program = result.loaded.program
        numbers = program.layer_of_words()
        expected = np.zeros(len(program.layers), np.int64)
        for run in result.inference.runs:
            plan = run.plan
            works = np.zeros((len(program.layers), plan.timeline.total), bool)
            layers = numbers[run.first_word :][plan.stream.positions[: plan.operations]]
            for operation in np.flatnonzero(plan.costs.unit[: plan.operations] >= Unit.MAC):
                start, end = plan.timeline.start[operation], plan.timeline.end[operation]
                works[layers[operation], start:end] = True
            expected += works.sum(axis=1)
        assert result.layers.column("busy_cycles") == expected.tolist()


@pytest.mark.parametrize(
    ("spans", "busy", "owned"),
    [
        ([], [0, 0, 0, 0], []),
        (
            [("MAC", 0, 5, -1), ("VECTOR", 3, 8, -1), ("MAC", 7, 9, 0), ("VECTOR", 8, 25, 0)],
            [8, 18, 0, 0],
            [5, 3, 1, 16],
        ),
        ([("VECTOR", 7, 7, 2), ("MAC", 0, 4, 1), ("DMA_IN", 2, 9, 2)], [0, 0, 4, 0], [0, 4, 0]),
    ],
)
def test_what_overlaps_counts_once(
    spans: list[tuple[str, int, int, int]], busy: list[int], owned: list[int]
) -> None:
    """Of no layer, and of three; and by operation."""
    unit, start, end, layers = np.array([(Unit[name], *rest) for name, *rest in spans]).reshape(-1, 4).T
    nothing = np.zeros(len(spans), np.int64)
    costs = Costs(unit, *[nothing] * 10)
    timeline = Timeline(start, start, end, nothing, (), np.zeros((0, 4), np.int64), 0, 25)
    for run in (counted(ACCOUNT), in_python(ACCOUNT)):
        with run:
            found = account_cycles(timeline, costs, layers, 3)
        assert (found.busy.tolist(), found.owned.tolist()) == (busy, owned)


def rows_of(text: str, head: str) -> list[dict[str, str]]:
    """The table whose head begins so, by columns."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(head))
    places = [match.span() for match in re.finditer("─+", lines[first + 1])]
    names = [lines[first][start:end].strip() for start, end in places]
    rows = []
    for line in lines[first + 2 :]:
        if not line.strip():
            break
        rows.append({name: line[start:end].strip() for name, (start, end) in zip(names, places, strict=True)})
    return rows


@pytest.mark.parametrize("head", ["layer ", "kind "])
def test_the_printed_use_is_that_of_the_printed_cycles(head: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = timed("resnet8", DEFAULT)
    print_summary(result.report)
    rows = [row for row in rows_of(capsys.readouterr().out, head) if row["used"]]
    assert len(rows) > 2
    for row in rows:
        macs, busy = (int(row[name].replace(",", "")) for name in ("MACs", "busy"))
        share = 100 * macs / (result.report["config"]["pes"] * busy)
        assert row["used"] == f"{share:.1f} %"
        assert share <= 100
