"""Layers of a plan in smaller tiles: both compute units at work, and the same results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.lowering import splitting
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.planning import refinement
from dlasim.compiler_shim.planning.plan_maker import PlanMaker
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa.instruction_rows import Unit
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation
from tests.compiler.cases import random_case, run_case

KIB = 1 << 10


def busy(plan, unit):
    """A row of cycles, 1 where the unit works."""
    cycles = np.zeros(int(plan.timeline.end.max()), bool)
    chosen = plan.costs.unit[: plan.operations] == unit
    spans = zip(plan.timeline.start[chosen].tolist(), plan.timeline.end[chosen].tolist(), strict=True)
    for start, end in spans:
        cycles[start:end] = True
    return cycles


def test_sums_of_resnet8_run_beside_convolutions(tmp_path):
    path = tmp_path / "resnet8.tflite"
    path.write_bytes(write_tflite(build_topology("resnet8")))
    config = DlaConfig(sram_bytes=256 * KIB)
    program = lower_for(load_model(path), config, CompileOptions(), False).program
    (run,) = Simulation(program, config, None).run().runs
    mac, vector = busy(run.plan, Unit.MAC), busy(run.plan, Unit.VECTOR)
    assert (mac & vector).sum() > 0.8 * vector.sum()


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_all_plans_in_smaller_tiles_are_bit_exact(first, tmp_path, monkeypatch):
    """Such plans win here wherever there is one."""
    made, time = [], PlanMaker.time

    def split(plan, parts):
        smaller = splitting.split_rows(plan, parts)
        made.extend([smaller] if smaller is not None else [])
        return smaller

    def prefer(maker, candidate):
        timed = time(maker, candidate)
        is_split = any(candidate.plan.nodes is each.nodes for each in made)
        return replace(timed, cycles=0) if is_split else timed

    monkeypatch.setattr(splitting, "MIN_HIDDEN_PART", 1 << 30)
    monkeypatch.setattr(refinement, "split_rows", split)
    monkeypatch.setattr(refinement, "hidden_cycles", lambda plan: 1 << 30)
    monkeypatch.setattr(PlanMaker, "time", prefer)
    split_cases = 0
    for seed in range(5_000 + first, 5_020 + first):
        made.clear()
        outcome = run_case(random_case(seed), tmp_path)
        assert not outcome.failure, (seed, outcome.failure)
        split_cases += bool(made)
    assert split_cases > 1
