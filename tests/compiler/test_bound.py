"""No plan takes fewer cycles than the bound that its report has, on machines drawn at random."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import first_and_steady
from dlasim.sim.reports.measured import Measured
from dlasim.sim.timing.lower_bound import find_bound
from tests.sim_timing.jobs import ANSWER

NAMES = ("mnist", "autoencoder", "ds_cnn", "resnet8")
BATCH = 50


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Built-in networks, partitioned."""
    found = {}
    for name in NAMES:
        path = tmp_path_factory.mktemp("networks") / f"{name}.tflite"
        path.write_bytes(write_tflite(build_topology(name)))
        found[name] = load_model(path)
    return found


@pytest.mark.parametrize("batch", range(10))
def test_no_plan_is_below_the_bound(batch, networks, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    random_machine = importlib.import_module("random_steps").random_machine
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        name, machine = NAMES[number % len(NAMES)], random_machine(np.random.default_rng((7, number)))
        options = CompileOptions(weights="keep" if number % 5 == 0 else "reload")
        try:
            program = lower_for(networks[name], machine, options, with_constants=False).program
        except InputError:  # too little SRAM
            continue
        measured = Measured(program, machine, first_and_steady(program, machine)[1], {})
        assert measured.bound.cycles <= measured.inference.total_cycles, (number, name, machine.label)


def test_weights_cross_the_ports_once(networks):
    """A fully connected layer of 640 x 128 reads 80 KiB of weights through one port of 8 bytes."""
    machine = DlaConfig().replace(parallel="16x16", sram_bandwidth=8, sram_ports=1)
    program = lower_for(networks["autoencoder"], machine, CompileOptions(weights="keep"), False).program
    first = program.work[program.work["layer"] == 0]
    weights, results = 640 * 128, 128
    expected = -(-(weights + results) // 8) + ANSWER + machine.mac_fill + machine.mac_drain
    assert find_bound(machine, first).units["MAC"] == expected
