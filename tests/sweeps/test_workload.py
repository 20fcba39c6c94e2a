"""Several networks on one machine: sums, rates and limits are rows of the table, by the machine."""

from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.definition.models import source
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.definition.studyfile import parse_study
from dlasim.sweeps.results.sweep_result import SweepResult

AXES: dict[str, Any] = {"sram": ["16KiB", "64KiB"], "fusion": "requant", "jobs": 1}
COUNTED = {"topology": "mnist", "count": 3, "label": "digits", "rate": 50}


def study(tmp_path: Path, model: Path, *more: str) -> Path:
    digits = '{topology = "mnist", count = 3, rate = 50, label = "digits", deadline_ms = 1}'
    text = f'models = ["{model}@20", {digits}]\n' + "\n".join(more)
    (tmp_path / "s.toml").write_text(text)
    return tmp_path / "s.toml"


def by_model(result: SweepResult) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result:
        found.setdefault(row["model"], []).append(row)
    return found


def test_sums_are_those_of_runs_of_each_network(model: Path, tmp_path: Path) -> None:
    rows = by_model(api.sweep(study(tmp_path, model), **AXES))
    for place, sram in enumerate(AXES["sram"]):
        options: Any = {"sram": sram, "fusion": "requant", "timing_only": True}
        one, other = (api.run(file, **options).report for file in (model, "mnist"))
        total = rows[WORKLOAD][place]
        assert total["cycles_total"] == one["cycles"]["total"] + 3 * other["cycles"]["total"]
        assert total["dma_read_bytes"] == one["dma_bytes"]["read"] + 3 * other["dma_bytes"]["read"]
        assert total["constants_bytes"] == sum(run["memory"]["constants_bytes"] for run in (one, other))
        assert total["sram_peak_bytes"] == max(run["sram_peak_bytes"] for run in (one, other))
        assert total["area_kge"] == one["area_kge"]["total"]
        energies = [run["energy_nj"]["total"] for run in (one, other)]
        assert total["energy_nj"] == pytest.approx(energies[0] + 3 * energies[1])
        busy = one["cycles"]["dla"] + 3 * other["cycles"]["dla"]
        assert total["utilization"] == pytest.approx((one["macs"] + 3 * other["macs"]) / 64 / busy, abs=1e-6)
        milliseconds = [run["cycles"]["total"] / 500e3 for run in (one, other)]
        assert total["load"] == pytest.approx((20 * milliseconds[0] + 50 * milliseconds[1]) / 1000)
        assert total["power_mw"] == pytest.approx((20 * energies[0] + 50 * energies[1]) / 1e6)


def test_rows_are_by_machine(model: Path, tmp_path: Path) -> None:
    found = api.sweep(study(tmp_path, model), **AXES)
    assert found.column("model") == ["ds_cnn", "digits", WORKLOAD] * 2
    assert found.column("machine") == [0, 0, 0, 1, 1, 1]
    assert len(set(found.column("point"))) == 6
    assert found.column("rate") == [20, 50, None] * 2


def test_without_rates_and_goals_tables_are_as_before(model: Path) -> None:
    found = api.sweep(model, "mnist", **AXES)
    assert found.column("model") == ["ds_cnn"] * 2 + ["mnist"] * 2
    assert not {"machine", "rate", "load", "outside"} & set(found.columns)


def test_limits_are_about_the_machine_or_the_network_that_they_name(model: Path, tmp_path: Path) -> None:
    rows = by_model(api.sweep(study(tmp_path, model), **AXES))
    together, alone = rows[WORKLOAD][0]["milliseconds"], rows["ds_cnn"][0]["milliseconds"]
    between = (together + alone) / 2
    limits = [f"milliseconds < {between}", f"ds_cnn: milliseconds < {between}"]
    found = api.sweep(study(tmp_path, model), limits=limits, **AXES)
    for row in found:
        broken = row["outside"].split("; ") if row["outside"] else []
        total = next(each for each in rows[WORKLOAD] if each["sram_bytes"] == row["sram_bytes"])
        assert (limits[0] in broken) == (total["milliseconds"] >= between)
        assert limits[1] not in broken
    assert any(found.column("outside"))


def test_a_deadline_is_a_limit_and_so_is_the_time_that_there_is(model: Path, tmp_path: Path) -> None:
    given = study(tmp_path, model)
    given.write_text(
        given.read_text().replace("deadline_ms = 1", "deadline_ms = 0.001").replace("@20", "@90000")
    )
    for row in api.sweep(given, **AXES):
        assert row["outside"] == "digits: milliseconds <= 0.001; load <= 1"


def test_a_machine_on_which_one_network_does_not_run(model: Path, tmp_path: Path) -> None:
    given = study(tmp_path, model, "where = [\"model != 'digits' or sram > 16KiB\"]")
    statuses = [(row["model"], row["status"], row["reason"]) for row in api.sweep(given, **AXES)]
    assert statuses[1] == (WORKLOAD, "refused", "a condition excludes digits")
    assert [status for _, status, _ in statuses[2:]] == ["ok"] * 3


def test_a_name_with_a_rate(tmp_path: Path) -> None:
    found = source("mobilenet_v1:alpha=0.5@12.5", tmp_path, "x")
    assert (found.label, found.rate) == ("mobilenet_v1:alpha=0.5", 12.5)
    (tmp_path / "a@3.tflite").write_bytes(b"")
    assert source("a@3.tflite", tmp_path, "x").rate == 0  # a file of that name is this file


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ('"mnist@0"', "rate must be a number above 0 (got '0')"),
        ('"mnist@fast"', "rate must be a number above 0 (got 'fast')"),
        ('"mnist@nan"', "rate must be a number above 0"),
        ('{topology = "mnist", count = 1.5}', "count must be a whole number above 0 (got 1.5)"),
        ('{topology = "mnist", rate = true}', "rate must be a number above 0 (got True)"),
        ('{topology = "mnist", deadline_ms = -1}', "deadline_ms must be a number above 0 (got -1)"),
    ],
)
def test_rates_that_are_none(model: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        parse_study(f"models = [{model}]", "s", tmp_path, "s")
    assert message in str(caught.value)


def test_no_network_may_have_the_name_of_all(tmp_path: Path) -> None:
    text = 'models = [{topology = "mnist", label = "workload", rate = 1}, "resnet8"]'
    with pytest.raises(InputError, match="give the network another label"):
        parse_study(text, "s", tmp_path, "s")
