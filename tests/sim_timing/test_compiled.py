"""The costs of operations and the issue stage's walk: the same compiled as in plain Python."""

import random
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.timing import compiled_columns, compiled_costs, cost
from dlasim.sim.timing.compiled_columns import READ, read_columns
from dlasim.sim.timing.compiled_costs import COSTS
from dlasim.sim.timing.cost import Costs, stream_costs
from dlasim.sim.timing.duration import least_cycles
from dlasim.sim.timing.issue import WALK
from dlasim.sim.timing.plan import plan_stream
from dlasim.sim.timing.timeline import Timeline, WalkedStream
from dlasim.sim.timing.walk_columns import UnitOrder, WalkColumns, list_columns
from tests.compiled import counted, in_python
from tests.sim_timing.stepped import SteppedMachine
from tests.sim_timing.streams import (
    WITH_UNPACKING,
    random_config,
    random_limits,
    random_memories,
    random_stream,
)
from tests.sim_timing.test_stepped import assert_equal

STREAMS = 100


def random_cases(seed: int):
    rng = random.Random(seed)
    for _ in range(STREAMS):
        timing = rng.choice(["full", "full", "full", "macs", "zero"])
        limits = random_limits(rng) if rng.random() < 0.5 else {}
        bus = {"dma_shared_bandwidth": rng.choice([0, 0, 1, 5, 9])}
        bus = random_memories(rng) if rng.random() < 0.4 else bus
        config = random_config(rng, timing=timing, **bus, **limits)
        words = random_stream(rng, rng.randint(0, 40), kinds=WITH_UNPACKING)
        if rng.random() < 0.2:
            words = np.insert(words, rng.randrange(len(words)), np.uint64(0))
        yield config, words


def assert_same(one: Timeline, other: Timeline) -> None:
    for field in fields(Timeline):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


@pytest.mark.parametrize("seed", range(3))
def test_same_timeline_as_in_python(seed):
    cases = list(random_cases(seed))
    with in_python(COSTS, WALK):
        plain = [plan_stream(config, words, reset_file()).timeline for config, words in cases]
    with counted(WALK) as calls:
        for (config, words), timeline in zip(cases, plain, strict=True):
            assert_same(plan_stream(config, words, reset_file()).timeline, timeline)
    assert len(calls) == STREAMS


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any] | None]:
    """What the routine found for each stream; None where it left the costs to NumPy."""
    found: list[dict[str, Any] | None] = []

    def recorded(*arguments: Any) -> dict[str, Any] | None:
        found.append(compiled_costs.find_costs(*arguments))
        return found[-1]

    monkeypatch.setattr(cost, "find_costs", recorded)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_same_costs_as_by_numpy(seed, answers):
    cases = list(random_cases(seed))
    with in_python(COSTS):
        plain = [plan_stream(config, words, reset_file()).costs for config, words in cases]
    assert not answers
    with counted(COSTS) as calls:
        for (config, words), costs in zip(cases, plain, strict=True):
            found = plan_stream(config, words, reset_file()).costs
            for field in fields(Costs):
                one, other = getattr(found, field.name), getattr(costs, field.name)
                assert one.dtype == other.dtype, field.name
                assert np.array_equal(one, other), field.name
    assert len(calls) == STREAMS
    assert len(answers) == STREAMS
    assert all(answer is not None for answer in answers)


@pytest.mark.parametrize("seed", range(3))
def test_same_columns_as_by_numpy(seed):
    """Those that the walk reads of a stream, in plain Python and compiled."""
    found = calls = 0
    for config, words in random_cases(seed):
        stream = decode_stream(words, reset_file(), config.fingerprint)
        if stream.fault is not None:
            continue
        with in_python(COSTS):
            costs = stream_costs(config, stream, len(stream), stream.batches())
        expected = list_columns(config, stream, costs, UnitOrder(costs.unit), len(stream.words))
        with in_python(READ):
            plain = read_columns(config, words)
        with counted(READ) as names:
            compiled = read_columns(config, words)
        calls += len(names)
        for columns in (plain, compiled):
            assert (columns is not None) == (config.timing == "full")
            if columns is not None:
                found += 1
                for field in fields(WalkColumns):
                    one, other = getattr(columns, field.name), getattr(expected, field.name)
                    assert np.array_equal(one, other), field.name
    assert found > STREAMS // 2  # the others have a fault, or leave costs out
    assert calls > found // 2


@pytest.mark.parametrize("seed", range(3))
def test_no_walk_is_shorter_than_the_busiest_unit(seed):
    """Also where latencies of several transfers overlap."""
    rng, closest = random.Random(seed), 0.0
    for _ in range(STREAMS):
        config, words = random_config(rng, **random_memories(rng)), random_stream(rng, rng.randint(1, 30))
        columns = read_columns(config, words)
        assert columns is not None
        total, least = WalkedStream(config, columns).total, least_cycles(columns)
        assert least <= total
        closest = max(closest, least / total)
    assert closest > 0.9


MAX_NUMBER = 1 << 62  # where numbers are cut
WHOLE = 255 * 255  # pixels
FEW = {"OUT_SIZE": 0x00FF_00FF, "IN_CHANNELS": 1 << 14, "OUT_CHANNELS": 1 << 14}


def test_columns_of_operations_that_64_bits_cannot_hold_are_for_numpy():
    registers = FEW | {"KERNEL": 0xFFFF_FFFF}
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    words += [codec.encode("OP_POOL", mode=0), codec.encode("HALT")]
    with counted(READ) as calls:
        assert read_columns(DlaConfig(), np.array(words, np.uint64)) is None
    assert calls


def test_columns_of_streams_that_64_bits_cannot_hold_are_for_numpy(monkeypatch):
    config, words = DlaConfig(), random_stream(random.Random(1), 20)
    columns = read_columns(config, words)
    assert columns is not None
    for most in (int(columns.cycles), int(columns.cycles) - 1):
        monkeypatch.setattr(compiled_columns, "_MAX_TOTAL", most)
        with in_python(READ):
            assert (read_columns(config, words) is None) == (most < columns.cycles)


def costs_of(instruction: str, registers: dict[str, int], config: DlaConfig) -> Costs:
    """The costs of one operation with these values in its registers, legal or not."""
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    words += [codec.encode(instruction), codec.encode("HALT")]
    stream = decode_stream(np.array(words, np.uint64), reset_file(), 0)
    with counted(COSTS) as calls:
        costs = stream_costs(config, stream, 1, stream.batches())
    assert len(calls) == 1
    return costs


@pytest.mark.parametrize("size", ["KERNEL", "IN_CHANNELS", "OUT_CHANNELS"])
def test_costs_of_mac_that_64_bits_cannot_hold_are_for_python(size, answers):
    """Windows of the whole input, on as many channels as registers can say."""
    large = {"KERNEL": 0xFFFF_FFFF, "IN_CHANNELS": (1 << 24) - 1, "OUT_CHANNELS": (1 << 24) - 1}
    sizes = FEW | {size: large[size]}
    costs = costs_of("OP_CONV", sizes, DlaConfig())
    height, width = sizes.get("KERNEL", 0x0001_0001) & 0xFFFF, sizes.get("KERNEL", 0x0001_0001) >> 16
    macs = WHOLE * height * width * sizes["IN_CHANNELS"] * sizes["OUT_CHANNELS"]
    assert costs.macs.tolist() == [min(macs, MAX_NUMBER)]
    assert macs >= 1 << 44
    assert answers == [None]


@pytest.mark.parametrize(
    ("kernel", "channels"), [(0xFFFF_FFFF, 1 << 14), (0xFFFF_FFFF, (1 << 24) - 1), (0x0400_0400, 1 << 14)]
)
def test_costs_of_vector_that_64_bits_cannot_hold_are_for_python(kernel, channels, answers):
    """A lane takes a cycle for each tap of each pixel."""
    registers = FEW | {"KERNEL": kernel, "OUT_CHANNELS": channels}
    costs = costs_of("OP_POOL", registers, DlaConfig(vector_lanes=4))
    work = WHOLE * (kernel & 0xFFFF) * (kernel >> 16) * -(-channels // 4)
    assert costs.work.tolist() == [min(work, MAX_NUMBER)]
    assert work >= 1 << 44
    assert answers == [None]


@pytest.mark.parametrize(("instruction", "prefix"), [("OP_DMA_READ", "DMA_IN"), ("OP_DMA_WRITE", "DMA_OUT")])
@pytest.mark.parametrize(
    ("run_bytes", "runs", "planes"),
    [
        (0x7FFF_FFFF, (1 << 24) - 1, (1 << 24) - 1),  # 2^79 bytes
        (0x7FFF_FFFF, (1 << 24) - 1, 1),
        (0x7FFF_FFFF, 1, (1 << 24) - 1),
        (1, (1 << 24) - 1, (1 << 24) - 1),
        (1 << 20, 1 << 10, (1 << 10) + 1),  # just beyond what the routine takes
    ],
)
def test_costs_of_dma_that_64_bits_cannot_hold_are_for_python(
    instruction, prefix, run_bytes, runs, planes, answers
):
    """Runs that do not touch each other, eight bytes a cycle."""
    sizes = {f"{prefix}_RUN_BYTES": run_bytes, f"{prefix}_RUNS": runs, f"{prefix}_PLANES": planes}
    costs = costs_of(instruction, sizes, DlaConfig(dma_bandwidth=8))
    assert costs.dma_bytes.tolist() == [min(run_bytes * runs * planes, MAX_NUMBER)]
    assert costs.work.tolist() == [min(-(-run_bytes // 8) * runs * planes, MAX_NUMBER)]
    assert answers == [None]


@pytest.mark.parametrize("shared", [0, 5])
def test_equal_to_the_machine_stepped_by_cycles(shared):
    rng = random.Random(shared)
    with counted(WALK) as calls:
        for _ in range(STREAMS):
            config = random_config(rng, dma_shared_bandwidth=shared)
            words = random_stream(rng, rng.randint(1, 9), kinds=WITH_UNPACKING)
            plan = plan_stream(config, words, reset_file())
            assert_equal(plan, SteppedMachine(config, words).run())
    assert len(calls) == STREAMS


def test_time_that_64_bits_cannot_hold_is_for_python():
    sizes = {"KERNEL": 0xFFFF_FFFF, "OUT_CHANNELS": 1 << 15, "IN_CHANNELS": 1 << 15, "OUT_ADDR": 1 << 16}
    words = [codec.encode_cfg(name, value) for name, value in sizes.items()]
    words += [codec.encode("OP_POOL", mode=0)] * 70_000 + [codec.encode("HALT")]
    config = DlaConfig(vector_lanes=1)
    with counted(WALK) as calls:
        plan = plan_stream(config, np.array(words, np.uint64), reset_file())
    assert plan.fault is None
    assert plan.timeline.total == 1 << 62
    assert not calls
