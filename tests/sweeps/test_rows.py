"""A row says what `dlasim run --timing-only` says of the same machine, wherever it was worked out."""

import importlib.util
import json
import random
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Inference, time_compiled
from dlasim.sim.reports.figure_parts import KINDS
from dlasim.sim.reports.report_types import SweepRow
from dlasim.sim.timing.stream_timer import StreamTimer
from dlasim.sweeps.evaluation import evaluate
from dlasim.sweeps.results.sweep_result import SweepResult, open_results

AXES = {
    "pes": [16, 64], "sram_bytes": [16 << 10, 128 << 10], "parallel": ["input", "output"],
    "fusion": ["none", "full"], "dma_latency": [0, 64],
}  # fmt: skip


@pytest.fixture(scope="module")
def result(model: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return api.sweep(model, out=tmp_path_factory.mktemp("rows"), jobs=2, layers=True, **AXES)


def report_of_run(model: Path, row: dict[str, Any]) -> dict[str, Any]:
    names = ("pes", "sram_bytes", "parallel", "dma_latency", "fusion", "depthwise", "tiling", "place")
    return api.run(model, timing_only=True, **{name: row[name] for name in names}).report


def assert_row_equals(row: dict[str, Any], result: SweepResult, report: dict[str, Any]) -> None:
    cycles, units = report["cycles"], report["units"]
    for name in ("total", "dla", "cpu", "overlap", "stall", "dma"):
        assert row[f"cycles_{name}"] == cycles[name]
    assert {kind: row[f"cycles_{kind.lower()}"] for kind in KINDS} == cycles["by_kind"]
    assert row["macs"] == report["macs"]
    assert row["utilization"] == report["utilization"]
    assert (row["dma_read_bytes"], row["dma_write_bytes"]) == tuple(report["dma_bytes"].values())
    assert row["sram_peak_bytes"] == report["sram_peak_bytes"]
    energy = dict(report["energy_nj"])
    assert (row["energy_nj"], row["energy_uncertainty_nj"]) == (
        energy.pop("total"),
        energy.pop("uncertainty"),
    )
    assert {part: row[f"energy_{part}_nj"] for part in energy} == energy
    assert row["sram_kib"] == report["sram_kib"]["total"] > row["sram_bytes"] / 1024
    area = dict(report["area_kge"])
    assert row["area_kge"] == area.pop("total")
    assert {part: row[f"area_{part}_kge"] for part in area} == area
    area = dict(report["area_mm2"])
    assert row["area_mm2"] == area.pop("total") > 0
    assert {part: row[f"area_{part}_mm2"] for part in area} == area
    for name, amount in report["memory"].items():
        assert row[name] == amount
    for unit, terms in units.items():
        assert {term: row[f"unit_{unit.lower()}_{term}"] for term in terms} == terms
    for name, value in report["config"].items():
        assert name == "name" or row[name] == value
    layers = [layer for layer in result.layers if layer["point"] == row["point"]]
    assert [layer["cycles"] for layer in layers] == [layer["cycles"] for layer in report["layers"]]
    assert [layer["energy_nj"] for layer in layers] == [layer["energy_nj"] for layer in report["layers"]]
    assert [layer["dma_read_bytes"] for layer in layers] == [x["dma_bytes"]["read"] for x in report["layers"]]


def test_rows_equal_the_report(model: Path, result: SweepResult) -> None:
    rows = list(result)
    assert len(rows) == len(result) == 32
    assert {row["status"] for row in rows} == {"ok"}
    for row in random.Random(0).sample(rows, 8):
        assert_row_equals(row, result, report_of_run(model, row))


def test_a_plan_that_serves_several_sizes_is_simulated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them has as much as the compiler can use, but the fastest plan takes less."""
    simulated = []

    def counted(program: Program, config: DlaConfig, timer: StreamTimer) -> Inference:
        simulated.append(config.sram_bytes)
        return time_compiled(program, config, timer)

    monkeypatch.setattr(evaluate, "time_compiled", counted)
    path = tmp_path / "mnist.tflite"
    path.write_bytes(write_tflite(build_topology("mnist")))
    sizes = [size << 10 for size in (32, 40, 48)]
    result = api.sweep(path, out=tmp_path / "rows", jobs=1, layers=True, sram_bytes=sizes)
    rows = list(result)
    assert simulated == sizes[:1]
    assert len({row["energy_sram_nj"] for row in rows}) == 3
    for row in rows:
        assert_row_equals(row, result, report_of_run(path, row))


@pytest.mark.parametrize(("objective", "plans"), [("cycles", 2), ("energy", 12)])
def test_clocks_and_technologies_share_a_plan(
    model: Path, monkeypatch: pytest.MonkeyPatch, objective: str, plans: int
) -> None:
    """Unless energies decide about the plan. Each row is that of a run of its own."""
    made: list[int] = []
    find = evaluate.fastest_plan

    def counted(network: Any, config: DlaConfig, *others: Any) -> Any:
        made.append(config.sram_bytes)
        return find(network, config, *others)

    monkeypatch.setattr(evaluate, "fastest_plan", counted)
    axes = {"sram_bytes": [8 << 10, 16 << 10], "clock_mhz": [100, 250.5, 400], "technology": ["45nm", "22nm"]}
    result = api.sweep(model, jobs=1, layers=True, objective=objective, fusion="requant", **axes)
    assert len(made) == plans
    for row in result:
        machine = {name: row[name] for name in axes}
        run = api.run(model, timing_only=True, objective=objective, fusion="requant", **machine)
        assert_row_equals(row, result, run.report)
        figures = dict(zip(evaluate.FIGURES, evaluate.row_figures(run.report), strict=True))
        assert {name: row[name] for name in figures} == figures


def test_sram_that_changes_no_program_changes_its_energy(model: Path) -> None:
    """Both have more than the compiler can use; the second is not compiled again."""
    rows = list(api.sweep(model, jobs=1, layers=True, sram_bytes=[1 << 20, 4 << 20]))
    assert rows[0]["cycles_total"] == rows[1]["cycles_total"]
    assert rows[0]["energy_sram_nj"] < rows[1]["energy_sram_nj"]
    for row in rows:
        energy = api.run(model, timing_only=True, sram_bytes=row["sram_bytes"]).report["energy_nj"]
        assert (row["energy_nj"], row["energy_sram_leakage_nj"]) == (energy["total"], energy["sram_leakage"])


def test_a_technology_is_known_by_its_content(model: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    energies = []
    for constant in (1, 2):
        own.write_text(f"[constants]\nmac_pj = {constant}\n")
        row = next(iter(api.sweep(model, jobs=1, cache=tmp_path / "cache", technology=str(own))))
        energies.append(row["energy_mac_nj"])
        assert row["technology"] == str(own)
    assert energies[1] == pytest.approx(2 * energies[0], rel=1e-5)


def test_jobs_and_order_change_nothing(model: Path, result: SweepResult, tmp_path: Path) -> None:
    alone = api.sweep(model, out=tmp_path, jobs=1, layers=True, **AXES)
    assert alone.path.read_bytes() == result.path.read_bytes()
    assert alone.layers.path.read_bytes() == result.layers.path.read_bytes()


def test_points_that_cannot_work_say_why(model: Path) -> None:
    found = api.sweep(model, sram="1KiB,1MiB", pes=[64, 100], parallel="8x8,output", jobs=1)
    reasons = {(row["sram_bytes"], row["pes"], row["parallel"]): row["reason"] for row in found}
    assert reasons[1 << 20, 64, "8x8"] == reasons[1 << 20, 100, "output"] == ""
    assert "64 PEs, but pes is 100" in reasons[1 << 20, 100, "8x8"]
    with pytest.raises(InputError, match=r"layer .* needs \d+ bytes"):
        api.run(model, timing_only=True, sram_bytes=1 << 10, tiling="output-channel")
    lost = api.sweep(model, sram="1KiB", tiling="output-channel", jobs=1)
    assert "needs" in next(lost.rows())["reason"]


def test_result_object(result: SweepResult) -> None:
    assert result.columns[:4] == ["point", "case", "model", "label"]
    assert len(set(result.columns)) == len(result.columns)
    assert result.column("pes")[:2] == [16, 16]
    best = result.best()
    assert best is not None
    assert best["cycles_total"] == min(result.column("cycles_total"))
    assert open_results(result.path.parent).columns == result.columns
    with pytest.raises(InputError, match="unknown column"):
        result.column("nothing")
    with pytest.raises(InputError, match=r"no results\.csv"):
        open_results(result.path.parent / "cache")


def frame_of(result: SweepResult, library: str) -> Any:
    """The result as a data frame of that library."""
    module = pytest.importorskip(library, reason=f"{library} is not installed: nothing to convert to")
    frame = result.to_pandas() if library == "pandas" else result.to_polars()
    assert isinstance(frame, module.DataFrame)
    return frame


def cells_of(frame: Any, name: str) -> list[Any]:
    """A frame's column in plain Python; what is missing as None."""
    cells = frame[name].to_list()
    return [None if cell != cell or cell is None else cell for cell in cells]  # NaN differs from itself


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_hold_what_rows_tell(result: SweepResult, library: str) -> None:
    for table in (result, result.layers):
        frame = frame_of(table, library)
        assert list(frame.columns) == table.columns
        assert len(frame) == len(table)
        for name in table.columns:
            assert cells_of(frame, name) == table.column(name), name


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_a_frame_has_one_type(tmp_path: Path, library: str) -> None:
    table = tmp_path / "results.csv"
    table.write_text("label,cycles_total,utilization,reason\n8,,1,\n9,7,0.5,no\n10,8,,x\n")
    frame = frame_of(open_results(table), library)
    assert cells_of(frame, "label") == ["8", "9", "10"]
    assert cells_of(frame, "cycles_total") == [None, 7, 8]
    assert cells_of(frame, "utilization") == [1.0, 0.5, None]
    assert str(frame["utilization"].dtype).lower() == "float64"


def test_frames_that_are_missing_are_told(result: SweepResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas is not installed"):
        result.to_pandas()
    if importlib.util.find_spec("polars"):
        assert type(result.frame()).__module__.startswith("polars.")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match="neither pandas nor polars is installed"):
        result.frame()


def test_versions_and_hashes(result: SweepResult) -> None:
    import hashlib

    about = json.loads(result.path.with_name("sweep.json").read_text())
    assert about["results_sha256"] == hashlib.sha256(result.path.read_bytes()).hexdigest()
    assert about["statuses"] == {"ok": 32, "refused": 0, "failed": 0}
    assert len(set(result.column("key"))) == 32
    assert set(result.column("version")) == {about["versions"]["dlasim"]}


def test_the_types_of_the_best_row_are_found() -> None:
    assert get_type_hints(SweepResult.best)["return"] == SweepRow | None
