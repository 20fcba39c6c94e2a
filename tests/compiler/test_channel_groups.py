"""Chains in groups of channels: the same results, and weights that are loaded side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.lowering import states
from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS
from dlasim.compiler_shim.lowering.addresses.tensor_packing import PACK
from dlasim.compiler_shim.lowering.emission import emitter
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.segments import group_search, known_chains
from dlasim.compiler_shim.lowering.states import CHOOSE
from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies.builder import NetworkBuilder
from dlasim.isa.instruction_rows import Unit
from dlasim.machine_code import ROUTINES
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.races import check_program
from tests.compiled import in_python
from tests.compiler.cases import program_cycles, run_case, striped_case
from tests.compiler.placed import place

KIB = 1 << 10
SLOW_BUS = DlaConfig().replace(dma_bandwidth=2, sram_bytes=256 * KIB)


def classifier(build, source, wide=200, classes=400):
    """What ends an image classifier: much work, and then many weights."""
    x = build.mean("pool", build.conv("wide", source, wide, activation="RELU6"))
    return build.fully_connected("logits", x, classes)


def large_classifier(build, source):
    """That of MobileNetV2."""
    return classifier(build, source, 1280, 1000)


def residual(build, source):
    """An expansion, a depthwise convolution that leaves no row whole, and a projection."""
    x = build.conv("expand", source, 200, activation="RELU6")
    return build.conv("project", build.depthwise("depthwise", x, 3, 2, "RELU6"), 72)


def apart(build, source):
    """A chain whose last node keeps channels apart, too: its groups are stored one after the other."""
    return build.depthwise("depthwise", build.conv("expand", source, 200), 3, 1)


def summing(build, source):
    """A chain whose first node keeps channels apart."""
    return build.conv("project", build.depthwise("depthwise", source, 3, 1), 72)


def write(make, folder, channels=96):
    """The network as a file: an image of 7x7 pixels with many channels goes in."""
    build = NetworkBuilder("groups", 1)
    samples = np.random.default_rng(2).integers(-128, 128, (2, 7, 7, channels)).astype(np.int8)
    source = build.input((7, 7, channels), Quantization((1 / 128,), (0,)), samples)
    path = folder / "groups.tflite"
    path.write_bytes(write_tflite(build.finish(make(build, source))))
    return path


@pytest.fixture
def prefer_groups(monkeypatch):
    """Groups of channels win wherever they are possible; how many chains there are is counted. The search is
    that of plain Python."""
    find, chosen = known_chains.cut_groups, []

    def cheapest(chain, budget):
        best = chain.best
        rows, cycles, best.rows = best.rows, best.cycles, 0
        find(chain, budget)
        if best.group_channels:
            chosen.append(best.group_channels)
            best.cycles = int(chain.count < 3)  # the longest chain is free
        else:
            best.rows, best.cycles = rows, cycles

    monkeypatch.setattr(group_search, "may_gain", lambda chain: True)
    monkeypatch.setattr(known_chains, "cut_groups", cheapest)
    for name in ("_is_done", "_fits_whole"):
        monkeypatch.setattr(states, name, lambda *_: False)
    with in_python(PACK, CHOOSE):
        yield chosen


@pytest.fixture
def without_groups(monkeypatch):
    """No chain in groups of channels; returns what begins that."""

    def begin():
        monkeypatch.setattr(group_search, "may_gain", lambda chain: False)
        for routine in (PACK, CHOOSE):
            monkeypatch.setattr(routine, "_run", routine.function)

    return begin


@pytest.mark.parametrize("sram_kib", [64, 128, 1024])
@pytest.mark.parametrize("parallel", ["output", "input", "8x8"])
@pytest.mark.parametrize("make", [classifier, residual, apart, summing])
def test_results_are_bit_exact(make, parallel, sram_kib, tmp_path, prefer_groups):
    path, config = write(make, tmp_path), DlaConfig().replace(parallel=parallel, sram_bytes=sram_kib * KIB)
    lowered = lower_for(load_model(path), config, CompileOptions(place="dla"))
    assert has_groups(path, config)
    assert not check_program(lowered.program).races
    assert verify(path, lowered, config, runs=2).passed


def has_groups(path, config):
    """Whether the cheapest plan by estimates has chains in groups of channels."""
    policy = Policy(config, CompileOptions(place="dla"))
    plan = SramPlanner(place(load_model(path), policy), policy).plan(config.sram_bytes)
    return bool(plan.segments[:, SEGMENT_SLOTS["groups"]].any())


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_networks_are_bit_exact(first, tmp_path, prefer_groups):
    grouped = 0
    for seed in range(7_000 + first, 7_020 + first):
        prefer_groups.clear()
        case = striped_case(seed)  # with few PEs: groups have at least as many channels
        outcome = run_case(replace(case, machine=case.machine | {"pes": 1 + seed % 4}), tmp_path)
        assert not outcome.failure, (seed, outcome.failure)
        grouped += bool(prefer_groups)
    assert grouped > 1


@pytest.mark.parametrize("make", [classifier, residual, apart])
def test_compiled_and_plain_emission_write_the_same(make, tmp_path, prefer_groups, monkeypatch):
    network = load_model(write(make, tmp_path))
    options = CompileOptions(place="dla")
    programs = [lower_for(network, SLOW_BUS, options).program]
    with in_python(*ROUTINES):
        programs.append(lower_for(network, SLOW_BUS, options).program)
    monkeypatch.setattr(emitter, "_OPERATIONS_AT_A_TIME", 1)
    programs.append(lower_for(network, SLOW_BUS, options).program)
    assert prefer_groups
    for other in programs[1:]:
        for name in ("commands", "spans", "debug", "constants"):
            assert np.array_equal(getattr(programs[0], name), getattr(other, name)), name


def test_weights_of_the_last_layer_load_while_the_one_before_computes(tmp_path):
    network = load_model(write(large_classifier, tmp_path, channels=320))
    config = DlaConfig().replace(sram_bytes=256 * KIB)
    program = lower_for(network, config, CompileOptions(place="dla"), with_constants=False).program
    (run,) = Simulation(program, config, None).run().runs
    plan, names = run.plan, [layer.name for layer in program.layers]
    spans, words = program.spans, plan.stream.positions[: plan.operations]
    layer = spans["layer"][np.searchsorted(spans["first_word"], words, side="right") - 1]
    end, unit = plan.timeline.end[: plan.operations], plan.costs.unit[: plan.operations]
    loads = end[(unit == Unit.DMA_IN) & (layer == names.index("logits"))]
    computed = end[(unit == Unit.MAC) & (layer == names.index("wide"))].max()
    assert (loads < computed).mean() > 0.6


def test_a_chain_in_groups_is_chosen_where_it_saves_time(tmp_path, without_groups):
    network = load_model(write(large_classifier, tmp_path, channels=320))
    config, options = DlaConfig().replace(sram_bytes=256 * KIB), CompileOptions(place="dla")
    chosen = program_cycles(lower_for(network, config, options, False).program, config)
    without_groups()
    without = program_cycles(lower_for(network, config, options, False).program, config)
    assert chosen < 0.9 * without


def test_a_plan_without_groups_is_a_candidate_beside_one_with_them(tmp_path, without_groups):
    """Here all weights are prefetched, which the estimate of a chain does not see."""
    network = load_model(write(large_classifier, tmp_path, channels=320))
    config, options = DlaConfig().replace(sram_bytes=2048 * KIB), CompileOptions(place="dla")
    chosen = program_cycles(lower_for(network, config, options, False).program, config)
    without_groups()
    assert chosen <= program_cycles(lower_for(network, config, options, False).program, config)
