"""The formulas of the design on whole networks, and how time reacts to the machine's parameters."""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.configuration.sizes import MIB
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing import cost
from dlasim.sim.timing.accounting import account_cycles
from dlasim.sim.timing.formulas import lane_cycles
from dlasim.sim.timing.plan import plan_stream
from tests.sim_timing.streams import KINDS, Sizes, random_config, random_limits, random_stream


@dataclass(frozen=True)
class Layer:
    """A convolution; `depthwise` ones have as many outputs as inputs."""

    out: int
    kernel: int
    inputs: int
    outputs: int
    depthwise: bool = False


def mobilenet() -> list[Layer]:
    """MobileNetV1 1.0 at 224 x 224, its convolutions."""
    pointwise = [(112, 32, 64), (56, 64, 128), (56, 128, 128), (28, 128, 256), (28, 256, 256), (14, 256, 512)]
    pointwise += [(14, 512, 512)] * 5 + [(7, 512, 1024), (7, 1024, 1024)]
    layers = [Layer(112, 3, 3, 32)]
    for size, inputs, outputs in pointwise:
        layers += [Layer(size, 3, inputs, inputs, depthwise=True), Layer(size, 1, inputs, outputs)]
    return layers


def stream_of(layer: Layer) -> np.ndarray:
    """The layer as one operation, in an SRAM that is large enough."""
    numbers = {
        "IN_CHANNELS": layer.inputs,
        "OUT_CHANNELS": layer.outputs,
        "IN_PIXEL_STRIDE": layer.inputs,
        "IN_ROW_STRIDE": layer.inputs * layer.out,
        "OUT_PIXEL_STRIDE": layer.outputs,
        "OUT_ROW_STRIDE": layer.outputs * layer.out,
        "OUT_ADDR": 16 * MIB,
    }
    pairs = {"OUT_SIZE": layer.out, "IN_SIZE": layer.out, "KERNEL": layer.kernel, "PAD": layer.kernel // 2}
    words = [codec.encode_cfg(name, value) for name, value in numbers.items()]
    words += [codec.encode_cfg(name, value | value << 16) for name, value in pairs.items()]
    words += [codec.encode("OP_DEPTH_CONV" if layer.depthwise else "OP_CONV"), codec.encode("HALT")]
    return np.array(words, np.uint64)


def total(config: DlaConfig, layer: Layer) -> int:
    plan = plan_stream(config, stream_of(layer), reset_file())
    assert plan.fault is None
    assert plan.macs == layer.out**2 * layer.kernel**2 * layer.outputs * (
        1 if layer.depthwise else layer.inputs
    )
    return plan.timeline.total


# PAPERS' plain model of the evaluation, 256 MiB, in millions of cycles: (CONV input, CONV output, DEPTH).
PUBLISHED = {64: (12.44, 8.77, 0.33), 128: (8.63, 4.75, 0.23)}


@pytest.mark.parametrize("pes", [64, 128])
@pytest.mark.parametrize("parallel", ["input", "output"])
def test_the_paper_preset_gives_the_papers_cycles(pes, parallel):
    machine = preset("paper").replace(pes=pes, parallel=parallel, sram_bytes=256 * MIB)
    convolutions = sum(total(machine, layer) for layer in mobilenet() if not layer.depthwise)
    depthwise = sum(total(machine, layer) for layer in mobilenet() if layer.depthwise)
    expected = PUBLISHED[pes][0 if parallel == "input" else 1]
    assert round(convolutions / 1e6, 2) == expected
    assert round(depthwise / 1e6, 2) == PUBLISHED[pes][2]


# Steps of an 8x8 array that takes four together, after `npu_performance.py` of Vela 5.2: its part-kernel
# traversal takes four taps of 8 channels, its depth-first one 32 channels of a tap. (taps, channels, steps)
VELAS_STEPS = (
    (9, 3, 12),
    (9, 16, 24),
    (9, 32, 36),
    (9, 64, 72),
    (1, 8, 4),
    (1, 32, 4),
    (1, 144, 20),
    (40, 1, 40),
)


def test_steps_in_fours_are_velas():
    machine = preset("paper").replace(parallel="8x8", mac_step_group=4)
    for taps, channels, steps in VELAS_STEPS:
        assert lane_cycles(cost.unit_costs(machine, "OP_CONV"), 1, taps, channels, 8) == steps
    assert lane_cycles(cost.unit_costs(machine, "OP_DEPTH_CONV"), 1, 9, 1, 16) == 2 * 12


def test_pixels_in_parallel_and_weights_that_load():
    """Turns of 2x2 pixels; a step takes no less than its 64 weights, at 8 in a cycle."""
    machine = preset("paper").replace(parallel="8x8x4", sram_bytes=32 * MIB)
    layer = Layer(7, 1, 64, 64)
    assert total(machine, layer) == 16 * 8 * 8
    assert total(machine.replace(mac_weights=8), layer) == 16 * 8 * 8
    assert total(machine.replace(mac_weights=2), layer) == 32 * 8 * 8
    blocks = machine.replace(mac_weights=8, accumulators=10)
    assert total(blocks, layer) == (10 + 8) * 8 * 8  # a block of 10 turns, one of 6


def test_the_paper_preset_spends_nothing_beyond_the_work():
    rng = random.Random(1)
    paper = preset("paper").replace(sram_bytes=MIB)
    for _ in range(100):
        plan = plan_stream(paper, random_stream(rng, 5), reset_file())
        for unit in plan.account.units:
            assert unit.busy == unit.work
        assert plan.account.units[0].busy == plan.account.units[1].busy == 0
        assert plan.account.issue_busy == 0


@pytest.mark.parametrize("parallel", ["input", "output", "8x8", "4x32"])
def test_design_formulas_by_hand(parallel):
    rng = random.Random(parallel)
    machine = preset("paper").replace(parallel=parallel, sram_bytes=256 * MIB)
    inputs, outputs = {"input": (64, 1), "output": (1, 64), "8x8": (8, 8), "4x32": (4, 32)}[parallel]
    for _ in range(100):
        layer = Layer(rng.randint(1, 9), rng.choice([1, 3]), rng.randint(1, 300), rng.randint(1, 300))
        groups = -(-layer.inputs // inputs) * -(-layer.outputs // outputs)
        assert total(machine, layer) == layer.out**2 * layer.kernel**2 * groups
    for channels in (1, 31, 32, 64, 65, 200):
        lanes = 64 if parallel in ("input", "output") else outputs
        layer = Layer(5, 3, channels, channels, depthwise=True)
        assert total(machine, layer) == 25 * 9 * -(-channels // lanes)


def test_accounts_add_up():
    """Each unit's parts, the four overlaps, issue, and the cycles by owner each cover the total once."""
    rng = random.Random(2)
    for number in range(400):
        limits = random_limits(rng) if rng.random() < 0.5 else {}
        config = random_config(rng, dma_shared_bandwidth=rng.choice([0, 2, 9]), **limits)
        words = random_stream(rng, rng.randint(0, 30))
        if number % 3 == 0:
            words = words[: rng.randint(0, len(words))]
        plan = plan_stream(config, words, reset_file())
        account = plan.account
        for unit in account.units:
            assert unit.total == account.total == plan.timeline.total
            assert min(getattr(unit, name) for name in type(unit).__slots__) >= 0
        assert account.only_compute + account.only_dma + account.both + account.neither == account.total
        assert account.issue_busy + account.stall_wait + account.stall_queue == account.total
        owned = account_cycles(plan.timeline, plan.costs).owned
        assert int(owned.sum()) == account.only_compute + account.both
        assert (owned >= 0).all()
        doubled = account + account
        assert doubled.total == 2 * account.total
        assert doubled.units[2].total == doubled.total


def test_the_cycle_of_each_word_follows_from_issue_and_blocking():
    rng = random.Random(3)
    for _ in range(100):
        config = random_config(rng)
        plan = plan_stream(config, random_stream(rng, rng.randint(1, 9)), reset_file())
        reached = [plan.reached(config, word) for word in range(len(plan.stream.words) + 1)]
        assert reached[0] == 0
        assert reached[-1] == plan.timeline.total
        assert reached == sorted(reached)
        for position, issued in zip(
            plan.stream.positions.tolist(), plan.timeline.issued.tolist(), strict=True
        ):
            assert reached[position + 1] == issued, "an operation is issued when its word is done"


def test_planning_is_deterministic_and_blind_to_the_host():
    rng = random.Random(4)
    config = random_config(rng, dma_shared_bandwidth=5)
    words = random_stream(rng, 50)
    first, second = (plan_stream(config, words.copy(), reset_file(), {1: 1 << 30}) for _ in range(2))
    assert first.timeline.total == second.timeline.total
    assert first.timeline.end.tolist() == second.timeline.end.tolist()
    assert first.account == second.account


FASTER = {
    "dma_latency": lambda config: max(config.dma_latency - 1, 0),
    "dma_bandwidth": lambda config: config.dma_bandwidth * 2,
    "dma_burst_overhead": lambda config: max(config.dma_burst_overhead - 1, 0),
    "vector_lanes": lambda config: config.vector_lanes + 1,
    "issue_cycles": lambda config: max(config.issue_cycles - 1, 0),
    "check_cycles": lambda config: max(config.check_cycles - 1, 0),
    "queue_depth": lambda config: config.queue_depth + 1,
    "mac_fill": lambda config: max(config.mac_fill - 1, 0),
    "vector_drain": lambda config: max(config.vector_drain - 1, 0),
}
LESS_LIMITED = {
    "sram_bandwidth": lambda config: config.sram_bandwidth * 2,
    "sram_ports": lambda config: config.sram_ports + 1,
    "sram_banks": lambda config: config.sram_banks + 1,
    "line_buffer_bytes": lambda config: config.line_buffer_bytes * 2,
    "weight_buffer_bytes": lambda config: config.weight_buffer_bytes * 2,
    "mac_results": lambda config: config.mac_results * 2,
    "vector_requantizations": lambda config: config.vector_requantizations * 2,
    "vector_divisions": lambda config: config.vector_divisions * 2,
}


@pytest.mark.parametrize("name", FASTER)
def test_a_better_machine_is_never_slower(name):
    """With nothing shared every time is a maximum of sums of durations, so it cannot fall when one rises."""
    rng = random.Random(name)
    for _ in range(60):
        config = random_config(rng)
        words = random_stream(rng, 12)
        better = config.replace(**{name: FASTER[name](config)})
        before, after = (plan_stream(c, words, reset_file()).timeline for c in (config, better))
        assert after.total <= before.total
        assert (after.end <= before.end).all()


@pytest.mark.parametrize("name", LESS_LIMITED)
def test_a_lower_limit_never_makes_an_operation_alone_slower(name):
    rng, faster = random.Random(name), 0
    kinds = tuple(kind for kind in KINDS if not kind.startswith("OP_DMA"))
    for _ in range(300):
        config = random_config(rng, **random_limits(rng))
        words = random_stream(rng, 1, Sizes(rows=12, columns=12, channels=20), kinds)
        better = config.replace(**{name: LESS_LIMITED[name](config)})
        before, after = (plan_stream(c, words, reset_file()).timeline.total for c in (config, better))
        assert after <= before
        faster += after < before
    assert faster > 2


@pytest.mark.parametrize("parallel", ["input", "output"])
def test_more_pes_never_take_more_work(parallel):
    rng = random.Random(parallel)
    for _ in range(60):
        # Weights for more PEs take longer to load, where that takes time.
        config = random_config(rng, parallel=parallel, pes=rng.randint(1, 9), mac_weights=0)
        words = random_stream(rng, 12)
        more = config.replace(pes=config.pes + 1)
        before, after = (plan_stream(c, words, reset_file()).timeline for c in (config, more))
        assert (after.end <= before.end).all()


def test_input_pixels_that_no_window_meets_do_not_cross_the_ports():
    """With a port of one byte per cycle, work and stall together are the bytes."""
    rng = random.Random(5)
    machine = DlaConfig(pes=64, parallel="input", sram_bytes=MIB, sram_bandwidth=1, sram_ports=1)
    skipped = 0
    for _ in range(300):
        outs, kernel, stride, dilation = (
            [rng.randint(1, most) for _ in range(2)] for most in (4, 3, 4, 4)
        )  # fmt: skip
        met = [
            {o * s + k * d for o in range(outs[axis]) for k in range(kernel[axis])}
            for axis, (s, d) in enumerate(zip(stride, dilation, strict=True))
        ]
        ins = [max(axis) + 1 for axis in met]
        words = [
            codec.encode_cfg(name, pair[0] | pair[1] << 16)
            for name, pair in (
                ("OUT_SIZE", outs), ("KERNEL", kernel), ("STRIDE", stride), ("DILATION", dilation),
                ("IN_SIZE", ins))
        ]  # fmt: skip
        strides = {"IN_PIXEL_STRIDE": 64, "IN_ROW_STRIDE": 64 * ins[1], "OUT_PIXEL_STRIDE": 1}
        strides |= {"OUT_ROW_STRIDE": outs[1], "IN_CHANNELS": 64, "OUT_ADDR": MIB // 2}
        words += [codec.encode_cfg(name, value) for name, value in strides.items()]
        words += [codec.encode("OP_CONV"), codec.encode("HALT")]
        plan = plan_stream(machine, np.array(words, np.uint64), reset_file())
        assert plan.fault is None
        weights, results = 64 * kernel[0] * kernel[1], outs[0] * outs[1]
        crossed = 64 * len(met[0]) * len(met[1]) + weights + results
        assert int(plan.costs.work[0] + plan.costs.sram_stall[0]) == crossed
        skipped += any(len(axis) < max(axis) + 1 for axis in met)
    assert skipped > 50


@pytest.mark.parametrize(
    ("run_bytes", "sram_gap", "cycles"),
    [
        (4, 0, 20 + 3 * 2),  # 160 bytes: 20 beats, 3 bursts of 64
        (4, 1, 40 + 3 * 2),  # a beat for each of 40 runs
        (8, 1, 40 + 5 * 2),  # a beat lies in two runs at most
        (12, 1, 60 + 8 * 2),  # 480 bytes
    ],
)
def test_touching_runs_share_beats_that_lie_in_two_of_them_at_most(run_bytes, sram_gap, cycles):
    """Two planes of 20 runs that touch in system memory; requests take no notice of the SRAM."""
    sizes = {"BYTES": run_bytes, "STRIDE": run_bytes, "SRAM_STRIDE": run_bytes + sram_gap}
    values = {f"DMA_IN_RUN_{name}": value for name, value in sizes.items()}
    values |= {"DMA_IN_RUNS": 20, "DMA_IN_PLANES": 2, "DMA_IN_PLANE_STRIDE": 20 * run_bytes}
    values |= {"DMA_IN_PLANE_SRAM_STRIDE": 20 * (run_bytes + sram_gap)}
    words = [codec.encode_cfg(name, value) for name, value in values.items()]
    words += [codec.encode("OP_DMA_READ"), codec.encode("HALT")]
    config = DlaConfig(dma_bandwidth=8, dma_burst_bytes=64, dma_burst_overhead=2)
    assert plan_stream(config, np.array(words, np.uint64), reset_file()).costs.work.tolist() == [cycles]
