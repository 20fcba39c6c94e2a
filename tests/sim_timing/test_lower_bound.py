"""The lower bound of an inference, and what layers lose against it."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph, load_model, lower_for
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.compiler_shim.topologies.builder import NetworkBuilder
from dlasim.compiler_shim.topologies.calibration import calibration_inputs
from dlasim.errors import InputError
from dlasim.isa import container
from dlasim.isa.instruction_rows import UNITS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.reports.losses import FIRST_LOAD, ISSUE, TRANSFERS, find_losses
from dlasim.sim.reports.measured import Measured
from tests.compiler.cases import lower_with_enough, random_case, write_model
from tests.sim_timing.jobs import ANSWER

CASES = 30
WAITS = (FIRST_LOAD, TRANSFERS, ISSUE)


def measured(network, config, options=None):
    program = lower_for(network, config, options or CompileOptions(), with_constants=False).program
    return Measured(program, config, Simulation(program, config, None).run(), {})


@pytest.fixture(scope="module")
def mnist(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "mnist.tflite"
    path.write_bytes(write_tflite(build_topology("mnist")))
    return path


def test_the_bound_of_mnist_by_hand(mnist):
    # Two 3x3 convolutions, 1 to 8 and 8 to 16 channels, each with a 2x2 pool; 400 to 32 to 10.
    pes, lanes, bandwidth = 32, 4, 2
    config = DlaConfig(
        pes=pes, vector_lanes=lanes, dma_bandwidth=bandwidth, mac_fill=3, mac_drain=5, mac_results=0
    )
    run = measured(load_model(mnist), config, CompileOptions(place="dla"))
    shapes = [value.shape for value in run.program.tensors]
    assert (1, 28, 28, 1) in shapes
    convolutions = 26 * 26 * 9 * 1 * ceil(8 / pes) + 11 * 11 * 9 * 8 * ceil(16 / pes)
    dense = 400 * ceil(32 / pes) + 32 * ceil(10 / pes)
    pools = 13 * 13 * 4 * ceil(8 / lanes) + 5 * 5 * 4 * ceil(16 / lanes)
    weights = 72 + 8 * 12 + 72 * 16 + 16 * 12 + 400 * 32 + 32 * 12 + 320 + 10 * 12
    # Three passes over 10 channels, three cycles between them, and for the reciprocal seven products of four
    # cycles; a table of 1,024 bytes.
    softmax, table = 3 * ceil(10 / lanes) + 3 + 7 * 4, 1024
    assert not run.inference.host
    expected = {
        "MAC": convolutions + dense + 4 * (ANSWER + 3 + 5),
        "VECTOR": pools + softmax + 3 * (ANSWER + 2 + 8),
        "DMA_IN": ceil((weights + table + 28 * 28) / bandwidth),
        "DMA_OUT": ceil(10 / bandwidth),
    }
    assert run.bound.units == expected
    assert max(expected, key=expected.__getitem__) == run.bound.unit == "MAC"
    # A byte comes before anything is computed, and another one leaves after it, each after a latency of 64
    # cycles and through the ports.
    assert run.bound.cycles == 65 + ANSWER + expected["MAC"] + 65 + ANSWER


def test_nothing_is_beside_an_operator_that_needs_all_before_and_gives_all_after(tmp_path):
    """Convolutions, SOFTMAX on the CPU, and another convolution."""
    network = NetworkBuilder("between", 0)
    shape = (16, 16, 8)
    image = network.input(shape, Quantization((1 / 128,), (0,)), calibration_inputs(shape, 0))
    attention = network.softmax("softmax", network.conv("first", image, 16, 3))
    path = tmp_path / "between.tflite"
    path.write_bytes(write_tflite(network.finish(network.conv("second", attention, 24, 3))))
    options = CompileOptions(dla_ops=frozenset({"CONV_2D"}))
    run = measured(load_model(path), DlaConfig(mac_results=0), options)
    assert len(run.program.streams) == 2
    (softmax,) = run.inference.host
    ends = ANSWER + 10  # of which 10 are fill and drain
    first, second = 16 * 16 * 9 * 8 + ends, 16 * 16 * 9 * 16 + ends  # 64 lanes
    transfer = 64 + 1 + ANSWER  # of the first byte, and of the last one
    least = transfer + first + softmax.end - softmax.start + second
    assert run.bound.units["MAC"] == first + second
    assert least <= run.bound.cycles <= least + transfer < run.inference.total_cycles


def test_each_transfer_of_the_bound_has_its_latency():
    # 264,192 weights, 12 bytes for each of 1,672 channels, and 640 inputs: five times 64 KiB hold them.
    network = partition(build_topology("autoencoder"))
    sizes = 264_192 + 12 * 1_672 + 640
    beats, latency = ceil(sizes / 8), 64 + ANSWER
    store = latency + 1
    for sram_kib, transfers in ((64, 5), (512, 1)):
        config = DlaConfig().replace(sram_bytes=sram_kib << 10)
        assert measured(network, config).bound.cycles == latency * transfers + beats + store
    overlapping = {"memories.slow.regions": "constants", "memories.slow.outstanding": 2}
    config = DlaConfig().replace(sram_bytes=64 << 10, **overlapping)
    assert measured(network, config).bound.cycles == latency + beats + store


@pytest.mark.parametrize("seed", range(CASES))
def test_no_plan_is_faster_than_its_bound(seed, tmp_path):
    case = random_case(seed)
    network, machine = load_model(write_model(case, tmp_path)), DlaConfig().replace(**case.machine)
    lowered, config = lower_with_enough(network, machine, CompileOptions(**case.options))
    run = Measured(lowered.program, config, Simulation(lowered.program, config, None).run(), {})
    assert run.bound is not None
    assert run.inference.total_cycles >= run.bound.cycles
    for unit, account in zip(UNITS, run.account.units if run.account else (), strict=False):
        assert account.busy >= run.bound.units.get(unit.name, 0), unit


def test_a_program_in_a_file_has_the_same_bound(mnist, tmp_path):
    file = tmp_path / "program.bin"
    file.write_bytes(container.write(api.compile(mnist).program))
    reports = [api.run(path, timing_only=True).report for path in (mnist, file)]
    assert reports[0]["bound_cycles"] == reports[1]["bound_cycles"] > 0
    assert reports[0]["bound_ratio"] == reports[1]["bound_ratio"] >= 1


def test_losses_and_compulsory_work_are_all_that_a_layer_takes(mnist):
    run = measured(load_model(mnist), DlaConfig(sram_bytes=8 << 10))
    losses = find_losses(run.program, run.config, run.inference)
    compulsory = run.bound.units["MAC"] + run.bound.units["VECTOR"]
    computing = sum(loss.compute_cycles for loss in losses)
    waits = sum(loss.compulsory_waits for loss in losses)
    waiting = waits + sum(loss.by_cause[cause] for loss in losses for cause in WAITS)
    assert sum(loss.total for loss in losses) + waits + compulsory == computing + waiting
    last = max(
        int(stream.plan.timeline.end[stream.plan.costs.unit >= 2].max()) for stream in run.inference.runs
    )
    assert waiting + run.account.only_compute + run.account.both == last


def test_explain_names_the_limit_and_what_helps(mnist):
    rows = api.explain(mnist, dma_bandwidth=1, sram_bytes=8 << 10)
    (dense,) = (row for row in rows if row["name"] == "dense_0")
    assert dense["limit"] == "bandwidth"
    assert "DMA bandwidth" in dense["advice"]
    assert dense["lost_cycles"] + dense["compulsory_wait_cycles"] > 10_000
    assert dense["compulsory_wait_cycles"] > 9_000
    assert rows.report["bound_unit"] == "DMA_IN"


def test_transfers_that_every_plan_makes_are_no_loss():
    """A network that takes 1.03 times its bound, which is that of its weights on the bus, loses little."""
    rows = api.explain("autoencoder")
    assert rows.report["bound_ratio"] < 1.05
    assert 0 < sum(row["lost_cycles"] for row in rows) < 0.06 * rows.report["cycles"]["total"]
    assert {row["limit"] for row in rows} == {"bandwidth"}


def test_a_first_load_is_no_lack_of_sram(tmp_path):
    """What the first layer waits for does not depend on the SRAM, but on the bandwidth."""
    path = api.model("ds_cnn", str(tmp_path / "ds_cnn.tflite"))
    first, larger, faster = (
        api.explain(path, **machine)[0] for machine in ({}, {"sram_bytes": 4 << 20}, {"dma_bandwidth": 64})
    )
    assert first["limit"] == larger["limit"] == "first load"
    assert first["lost_cycles"] == larger["lost_cycles"] > faster["lost_cycles"]
    assert "bandwidth" in first["advice"]
    assert "SRAM" not in first["advice"]


def test_no_more_sram_is_advised_than_a_program_uses(mnist):
    """With 512 KiB the program is that of any larger SRAM; a part of the channels is what a larger tile
    would mend, not one that has all of them."""
    enough, few = api.explain(mnist), api.explain("mobilenet_v2", sram_bytes=64 << 10)
    assert {row["limit"] for row in enough} >= {"tile shape", "launch"}
    assert not [row["name"] for row in enough if "SRAM," in row["advice"]]
    advice = {row["name"]: row["advice"] for row in few}
    assert advice["logits"] == "more SRAM, for tiles of a multiple of 64 output channels"
    assert advice["block_1/expand"] == "more SRAM, for fewer tiles or stripes"


def test_all_operators_that_nothing_runs_are_named(mnist):
    graph = load_graph(mnist)
    operators = tuple(
        replace(operator, kind="SIN" if operator.kind == "FULLY_CONNECTED" else operator.kind)
        for operator in graph.operators
    )
    with pytest.raises(InputError) as caught:
        partition(replace(graph, operators=operators))
    assert str(caught.value).count("SIN") == 2
    assert "\n" not in str(caught.value)


def test_results_that_leave_late_are_a_loss_at_the_output_stage(mnist):
    """What a layer's results take in all is no loss; what the last block's take after the work is one."""
    compulsory = {}
    for rate in (0.25, 4):
        run = measured(load_model(mnist), DlaConfig(mac_results=rate, accumulators=256))
        losses = find_losses(run.program, run.config, run.inference)
        stalls = sum(int(each.plan.costs.output_stall.sum()) for each in run.inference.runs)
        lost = sum(loss.by_cause["output stage"] for loss in losses)
        assert 0 < lost <= stalls
        compulsory[rate] = stalls - lost
        assert any(loss.cause == "output stage" for loss in losses)
    assert compulsory[0.25] > 10 * compulsory[4]
