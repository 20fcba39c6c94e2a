"""One machine at a time: the figures of a run of its own, whatever evaluates it, and kept between calls."""

from pathlib import Path
from typing import Any

import pytest

import dlasim
from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.evaluation import evaluate
from dlasim.sweeps.evaluation.explorer import Explorer

MACHINES: list[dict[str, Any]] = [
    {"parallel": "8x8", "sram": "64KiB"}, {"pes": 16, "sram": "16KiB", "mac_results": 1}, {"pes": 32},
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_figures_are_those_of_a_run(model: Path, machine: dict[str, Any]) -> None:
    with Explorer(model, fusion="requant") as explorer:
        found = explorer(**machine)
    report = api.run(model, timing_only=True, fusion="requant", **machine).report
    assert found.ran
    assert found.cycles == report["cycles"]["total"]
    assert found.energy_nj == report["energy_nj"]["total"]
    assert found["dma_read_bytes"] == found.row["dma_read_bytes"] == report["dma_bytes"]["read"]
    assert found.area_kge == report["area_kge"]["total"]
    assert len(found.networks) == 1


def test_many_are_in_order_and_the_same_on_all_cores(model: Path) -> None:
    with Explorer([model, "mnist"], fusion="requant", jobs=2) as explorer:
        found = explorer.many(MACHINES * 2)
        alone = [explorer(**machine) for machine in MACHINES]
    with Explorer([model, "mnist"], fusion="requant", jobs=1) as explorer:
        here = explorer.many(MACHINES)
    rows = [dict(each.row) | {"machine": 0} for each in (*found, *alone, *here)]
    assert rows == rows[:3] * 4
    assert [len(each.networks) for each in found] == [2] * 6


def test_a_cache_is_that_of_sweeps(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.sweep(model, pes=[16, 32], fusion="requant", jobs=1, out=tmp_path / "sweep", cache=tmp_path / "cache")

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(evaluate, "timing_entry", never)
    with Explorer(model, fusion="requant", cache=tmp_path / "cache") as explorer:
        assert explorer(pes=16).cycles > explorer(pes=32).cycles


def test_a_machine_that_cannot_be_and_one_outside(model: Path) -> None:
    with Explorer({str(model): 5}, limits="milliseconds < 0.5", fusion="requant") as explorer:
        refused, outside = explorer(pes=3, parallel="8x8"), explorer(pes=4)
        assert not refused.ran
        assert not refused.is_within
        assert "but pes is 3" in refused.reason
        with pytest.raises(InputError, match="but pes is 3"):
            assert refused.cycles
        assert outside.ran
        assert outside.outside == ("milliseconds < 0.5",)
        assert outside["load"] == pytest.approx(5 * outside.milliseconds / 1000)
        assert "outside milliseconds < 0.5" in repr(outside)


@pytest.mark.parametrize(
    ("workload", "choice", "message"),
    [
        ("nothing", {}, "'nothing' is neither a file nor a built-in network"),
        ([], {}, "has no models"),
        ("mnist", {"speed": 1}, "unknown parameter 'speed'"),
        ("mnist", {"pes": "many"}, "pes must be a whole number (got 'many')"),
        ("paper", {}, "has cases"),
        ({"mnist": -1}, {}, "rate must be a number above 0"),
    ],
)
def test_mistakes(workload: Any, choice: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught, Explorer(workload) as explorer:
        explorer(**choice)
    assert message in str(caught.value)


def test_it_is_in_the_package() -> None:
    assert dlasim.Explorer is Explorer
