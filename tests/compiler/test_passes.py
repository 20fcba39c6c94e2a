"""The passes of the planner: the page lists them, and they spend about the same effort on every network."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import COMPILER_OPTIONS, CompileOptions
from dlasim.compiler_shim.planning.passes import PASSES
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation

ROOT = Path(__file__).parents[2]
PAGE, MEASURED = ROOT / "docs" / "planner.md", ROOT / "benchmarks" / "compared" / "passes.csv"
EFFORTS = COMPILER_OPTIONS["effort"].choices
MOST_PLANS, MOST_LAYERS = 60, 700  # that are timed, of small networks and of others


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.run.__name__)
def test_the_page_lists_every_pass(each):
    assert each.row in PAGE.read_text().splitlines()


def test_what_each_pass_costs_is_measured():
    with MEASURED.open(newline="") as file:
        measured = [row["pass"] for row in csv.DictReader(file)]
    assert measured == [each.run.__name__ for each in PASSES]


@pytest.mark.parametrize("name", ["mnist", "autoencoder", "ds_cnn", "resnet8", "mobilenet_v1"])
def test_no_network_gets_many_more_plans_than_others(name, tmp_path, monkeypatch):
    """ResNet8 got 190 plans while networks of up to 16 layers were special."""
    path, steps, time = tmp_path / f"{name}.tflite", [], PlanSearch.time

    def count(search, candidate):
        steps.append(len(candidate.plan.steps))
        return time(search, candidate)

    path.write_bytes(write_tflite(build_topology(name)))
    monkeypatch.setattr(PlanSearch, "time", count)
    lower_for(
        load_model(path), DlaConfig().replace(parallel="8x8", sram_bytes=100_000), CompileOptions(), False
    )
    assert len(steps) <= MOST_PLANS
    assert sum(steps) <= max(MOST_LAYERS, 32 * steps[0])


@pytest.mark.parametrize("name", ["autoencoder", "ds_cnn", "vit"])
def test_more_effort_times_more_plans_and_never_loses(name, tmp_path, monkeypatch):
    path, counts, time = tmp_path / f"{name}.tflite", dict.fromkeys(EFFORTS, 0), PlanSearch.time

    def count(search, candidate):
        counts[search.maker.options.effort] += 1
        return time(search, candidate)

    path.write_bytes(write_tflite(build_topology(name)))
    monkeypatch.setattr(PlanSearch, "time", count)
    network, machine = load_model(path), DlaConfig().replace(parallel="8x8", sram_bytes=40 << 10)
    cycles = {}
    for effort in EFFORTS:
        program = lower_for(network, machine, CompileOptions(effort=effort), False).program
        cycles[effort] = Simulation(program, machine, None).run().total_cycles
    assert 1.6 * counts["quick"] < counts["usual"] < counts["thorough"]
    assert cycles["thorough"] <= min(cycles["quick"], cycles["usual"])
