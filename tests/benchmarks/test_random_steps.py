"""The random steps to better machines vary every parameter of the machine's table that a plan depends on."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.memory_tables import KEYS
from dlasim.sim.configuration.parameters import Better

MACHINES = 400
# What every plan is the same for: the energy's constants, the clock, and whether anything takes time.
SAME_PLAN = {"clock_mhz", "timing", "technology"}


@pytest.fixture
def random_steps(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("random_steps")


def test_every_parameter_is_drawn(random_steps):
    machines = [random_steps.random_machine(np.random.default_rng(seed)) for seed in range(MACHINES)]
    values = {name: {getattr(machine, name) for machine in machines} for name in PARAMETERS}
    assert {name for name, found in values.items() if len(found) == 1} == SAME_PLAN


def test_every_parameter_that_can_be_better_gets_better(random_steps):
    changed = Counter()
    for seed in range(8 * MACHINES):
        rng = np.random.default_rng(seed)
        machine = random_steps.random_machine(rng)
        values = random_steps.ordered(machine)
        name = str(rng.choice(list(values)))
        step = random_steps.better(rng, machine, name)
        others = {other: value for other, value in random_steps.ordered(step).items() if other != name}
        assert others == {other: value for other, value in values.items() if other != name}
        changed[name] += step != machine
    known = {name for name, row in PARAMETERS.items() if row.better is not Better.NEITHER}
    known |= {f"memories.flash.{key}" for key, facts in KEYS.items() if facts.better is not Better.NEITHER}
    assert {name for name, count in changed.items() if count} == known | {"buses.axi"}
