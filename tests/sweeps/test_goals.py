"""Limits and objectives, and what a table comes to by them; compared with the definitions, pair by pair."""

import random
from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.definition.goals import read_goals
from dlasim.sweeps.results.csv_table import write_csv
from dlasim.sweeps.results.decision import Decision, broken_limits
from dlasim.sweeps.results.sweep_result import SweepResult

HEAD = ["point", "case", "model", "label", "pes", "sram_bytes", "status", "reason", "cycles_total",
        "milliseconds", "energy_nj", "area_mm2"]  # fmt: skip


def table(folder: Path, seed: int, count: int = 60) -> SweepResult:
    rng = random.Random(seed)
    rows = [
        [number, "", "net", f"m{number}", number % 8, number // 8, "ok", "", rng.randrange(100, 200),
         rng.randrange(1, 12), rng.randrange(1, 12), rng.randrange(1, 12)]
        for number in range(count)
    ]  # fmt: skip
    write_csv(folder / "results.csv", HEAD, rows)
    return SweepResult(folder / "results.csv")


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("milliseconds < 10", ("milliseconds", "<", 10)),
        ("milliseconds <= 2 s", ("milliseconds", "<=", 2000)),
        ("energy < 2mJ", ("energy_nj", "<", 2e6)),
        ("energy < 1.5 µJ", ("energy_nj", "<", 1500)),
        ("sram <= 64KiB", ("sram_bytes", "<=", 65536)),
        ("utilization > 0.5", ("utilization", ">", 0.5)),
        ("area < pes * 20", None),
        ("pes < 64 or sram < 64KiB", None),
    ],
)
def test_limits(text: str, edge: Any) -> None:
    (limit,) = read_goals([text], (), "x").limits
    assert limit.edge == (pytest.approx(edge) if edge is None else (*edge[:2], pytest.approx(edge[2])))


@pytest.mark.parametrize(
    ("limits", "minimize", "message"),
    [
        (["speed < 3"], [], "unknown name 'speed'"),
        (["milliseconds <"], [], "the end is missing"),
        (["milliseconds < 3 mA"], [], "is unexpected"),
        ([], ["utilization"], "of which more is better"),
        ([], ["parallel"], "is no figure to minimize"),
        ([], ["enrgy"], "did you mean energy?"),
        ([], ["energy,"], "'' is no figure to minimize"),
    ],
)
def test_mistakes(limits: list[str], minimize: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_goals(limits, minimize, "x")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(20))
def test_the_decision_by_its_definition(seed: int, tmp_path: Path) -> None:
    limits = ["milliseconds < 6", "area_mm2 < 8"]
    decision = Decision(table(tmp_path, seed), read_goals(limits, ["energy,area,milliseconds"], "x"))
    rows = list(SweepResult(tmp_path / "results.csv"))
    within = [row for row in rows if row["milliseconds"] < 6 and row["area_mm2"] < 8]

    def costs(row: dict[str, Any]) -> tuple[int, ...]:
        return row["energy_nj"], row["area_mm2"], row["milliseconds"]

    def beaten(row: dict[str, Any]) -> bool:
        return any(
            all(one <= mine for one, mine in zip(costs(other), costs(row), strict=True))
            and costs(other) != costs(row)
            for other in within
        )

    assert {costs(row) for row in decision.front} == {costs(row) for row in within if not beaten(row)}
    assert decision.winner is not None
    assert costs(decision.winner) == min(map(costs, within))
    binding = {limit.text for limit, _ in decision.binding}
    without_time = [row for row in rows if row["area_mm2"] < 8]
    without_area = [row for row in rows if row["milliseconds"] < 6]
    assert ("milliseconds < 6" in binding) == (min(map(costs, without_time)) < min(map(costs, within)))
    assert ("area_mm2 < 8" in binding) == (min(map(costs, without_area)) < min(map(costs, within)))
    for row in decision.machines:
        assert broken_limits(row) == {
            text
            for text, fails in zip(limits, (row["milliseconds"] >= 6, row["area_mm2"] >= 8), strict=True)
            if fails
        }
    best = min(rows, key=costs)
    text = " ".join(decision.sentences())
    assert ("bind together" in text) == (not binding and costs(best) != min(map(costs, within)))
    assert ("no limit binds" in text) == (costs(best) == min(map(costs, within)))
    assert all(f"{limit} binds" in text for limit in binding)


def test_no_machine_is_within(tmp_path: Path) -> None:
    decision = Decision(table(tmp_path, 0), read_goals(["milliseconds < 1"], ["energy"], "x"))
    assert decision.winner is None
    assert list(decision.sentences())[-1] == "no machine keeps to all limits; 60 of 60 break milliseconds < 1"


def test_sensitivity_is_to_the_nearest_values(tmp_path: Path) -> None:
    decision = Decision(table(tmp_path, 3, 64), read_goals([], ["energy"], "x"))
    winner = decision.winner
    assert winner is not None
    wanted = {("pes", winner["pes"] + step) for step in (-1, 1) if 0 <= winner["pes"] + step < 8}
    wanted |= {
        ("sram_bytes", winner["sram_bytes"] + step)
        for step in (-1, 1)
        if 0 <= winner["sram_bytes"] + step < 8
    }
    assert {(name, row[name]) for name, row in decision.sensitivity()} == wanted


def test_a_figure_that_a_row_does_not_have(tmp_path: Path) -> None:
    table(tmp_path, 0, 3)
    text = (tmp_path / "results.csv").read_text().splitlines()
    lines = [line.rsplit(",", 1)[0] + "," for line in text[1:]]
    (tmp_path / "results.csv").write_text("\n".join([text[0], *lines]) + "\n")
    with pytest.raises(InputError, match="needs area_mm2, which net does not have"):
        Decision(SweepResult(tmp_path / "results.csv"), read_goals(["area < 3"], ["energy"], "x"))
    with pytest.raises(InputError, match="has no column load"):
        Decision(SweepResult(tmp_path / "results.csv"), read_goals([], ["load"], "x"))


def test_machines_of_many_parameters_go_by_number(tmp_path: Path) -> None:
    """A list of more than ten values tells nobody which machine it is; the point's number does."""
    axes: dict[str, Any] = {"vector_lanes": [4, 8], "mac_results": [2, 4], "dma_latency": [32, 64],
                            "line_buffer": ["4KiB", "8KiB"], "sram_bandwidth": [8, 16],
                            "vector_requantizations": [2, 4]}  # fmt: skip
    result = api.sweep("mnist", out=tmp_path, jobs=1, fusion="none", minimize="energy", **axes)
    decision = result.decide()
    assert decision.winner is not None
    assert decision.name(decision.winner) == f"{decision.winner['label']} #{decision.winner['point']}"
    assert max(map(len, decision.sentences())) < 120
