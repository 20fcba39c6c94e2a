"""The costs of operations and the issue stage's walk: the same compiled as in plain Python."""

import random
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import OPERANDS
from dlasim.native.storage import plain
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.timing import read_columns, stream_timer
from dlasim.sim.timing.contention import SPEED_STEPS, Walk
from dlasim.sim.timing.issue import WALK
from dlasim.sim.timing.plan import plan_stream
from dlasim.sim.timing.read_columns import READ, WordReader
from dlasim.sim.timing.stream_columns import Costs, StreamColumns
from dlasim.sim.timing.stream_timer import StreamTimer
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


def assert_same(one: Any, other: Any) -> None:
    for field in fields(one):
        mine, its = np.asarray(getattr(one, field.name)), np.asarray(getattr(other, field.name))
        assert mine.dtype == its.dtype, field.name
        assert np.array_equal(mine, its), field.name


@pytest.mark.parametrize("seed", range(3))
def test_same_timeline_and_costs_as_in_python(seed):
    cases = list(random_cases(seed))
    with in_python(READ, WALK):
        plain = [plan_stream(config, words, reset_file()) for config, words in cases]
    with counted(READ) as reads, counted(WALK) as walks:
        for (config, words), plan in zip(cases, plain, strict=True):
            found = plan_stream(config, words, reset_file())
            assert_same(found.timeline, plan.timeline)
            assert_same(found.costs, plan.costs)
    assert len(walks) == STREAMS
    assert len(reads) >= 2 * STREAMS  # to count, and to fill the columns


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """The class of each record that a plain object has taken the place of, since its numbers may need more
    than 64 bits."""
    made: list[type] = []

    def recorded(kind: type) -> Any:
        made.append(kind)
        return plain(kind)

    monkeypatch.setattr(stream_timer, "plain", recorded)
    return made


def configured(registers: dict[str, int]) -> list[int]:
    """The words that write these values to registers."""
    return [codec.encode_cfg(name, value) for name, value in registers.items()]


def columns_of(config: DlaConfig, words: NDArray[np.uint64]) -> StreamColumns:
    return StreamTimer(config).walk(words).columns


@pytest.mark.parametrize("seed", range(3))
def test_same_columns_with_numbers_of_any_size(seed, monkeypatch, any_size):
    """Also where no word of an operation is kept."""
    for config, words in random_cases(seed):
        stream = decode_stream(words, reset_file(), config.fingerprint)
        words = words[: len(stream.words)]
        compiled = columns_of(config, words)
        with monkeypatch.context() as patch:
            patch.setattr(read_columns, "_MAX_WORDS", 0)
            patch.setattr(stream_timer, "reading_machine", read_columns.ReadingMachine)
            assert_same(columns_of(config, words), compiled)
        assert not any_size
        with monkeypatch.context() as patch:
            patch.setattr(read_columns, "is_moderate_machine", lambda words, buses: False)
            patch.setattr(stream_timer, "reading_machine", read_columns.ReadingMachine)
            assert_same(columns_of(config, words), compiled)
        assert any_size == [WordReader]
        any_size.clear()


@pytest.mark.parametrize(("shared", "steps"), [(0, 1), (1, SPEED_STEPS)])
def test_walks_that_64_bits_may_not_hold_are_for_python(shared, steps, monkeypatch, any_size):
    """They find the same. Where transfers share a bus, numbers are fractions of cycles."""
    rng = random.Random(shared)
    for _ in range(STREAMS):
        config = random_config(rng, dma_bandwidth=8, dma_shared_bandwidth=shared)
        words = random_stream(rng, rng.randint(1, 30), kinds=WITH_UNPACKING)
        compiled = plan_stream(config, words, reset_file())
        most = int(compiled.costs.total.sum()) + compiled.timeline.issue_busy
        for last in [most * steps] + [most + 1] * (not shared):
            with monkeypatch.context() as patch:
                patch.setattr(stream_timer, "LAST_CYCLE", last)
                assert_same(plan_stream(config, words, reset_file()).timeline, compiled.timeline)
            assert (Walk in any_size) == (last == most * steps)
            any_size.clear()


@pytest.mark.parametrize("seed", range(3))
def test_same_cycles_in_columns_of_other_streams(seed):
    """Columns and records are those of the streams before, longer ones and shorter ones."""
    rng = random.Random(seed)
    for _ in range(STREAMS // 10):
        config = random_config(rng, **random_memories(rng))
        streams = [random_stream(rng, rng.choice([0, 3, 30, 300])) for _ in range(10)]
        streams += rng.sample(streams, 5)
        ends = np.cumsum([len(words) for words in streams]).tolist()
        places = [(end - len(words), len(words)) for end, words in zip(ends, streams, strict=True)]
        fresh = [StreamTimer(config).walk(words) for words in streams]
        timer = StreamTimer(config)
        assert timer.cycles(np.concatenate(streams), places) == [each.total for each in fresh]
        for words, other in zip(streams, fresh, strict=True):
            walked = timer.walk(words)
            assert_same(walked.columns, other.columns)
            assert_same(walked.timeline(), other.timeline())


@pytest.mark.parametrize("instruction", [row.mnemonic for row in INSTRUCTIONS if row.is_operation])
def test_costs_that_are_known_serve_only_equal_operations(instruction):
    """Between two operations one register changes: the second costs what it does alone."""
    rng, matter = random.Random(instruction), set[str]()
    for _ in range(20):
        config = random_config(rng, dma_bandwidth=8, **random_limits(rng))
        numbers = {row.name: rng.choice([1, 2, 3]) for row in OPERANDS[1:]}
        numbers |= {row.name: numbers[row.name] * 0x10001 for row in OPERANDS[1:] if len(row.fields) > 1}
        numbers |= {"DMA_IN_REGION": 0, "DMA_OUT_REGION": 0, "IN_SIZE": 0x100010}
        written, operation = configured(numbers), codec.encode(instruction)
        for name, number in numbers.items():
            change = configured({name: number * 2 if number else 1})
            words = [*written, operation, *change, operation, codec.encode("HALT")]
            both = columns_of(config, np.array(words, np.uint64)).costs()
            alone = columns_of(config, np.array([*written, *change, *words[-2:]], np.uint64)).costs()
            for column in ("work", "output_stall", "sram_stall", "macs", "dma_bytes", "sram_bytes", "memory"):
                before, after = getattr(both, column).tolist()
                assert [after] == getattr(alone, column).tolist(), (name, column)
                matter |= {name} if before != after else set()
    assert matter


def least_cycles(columns):
    """What the busiest unit takes for its operations. The latencies of transfers may overlap."""
    first, cycles = columns.first[Unit.MAC], columns.totals.copy()
    cycles[:first] = columns.actives[:first]
    ends = [*columns.first[1:], len(cycles)]
    return max(int(cycles[start:end].sum()) for start, end in zip(columns.first, ends, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_no_walk_is_shorter_than_the_busiest_unit(seed):
    """Also where latencies of several transfers overlap."""
    rng, closest = random.Random(seed), 0.0
    for _ in range(STREAMS):
        config, words = random_config(rng, **random_memories(rng)), random_stream(rng, rng.randint(1, 30))
        walked = StreamTimer(config).walk(words)
        total, least = walked.total, least_cycles(walked.columns)
        assert least <= total
        closest = max(closest, least / total)
    assert closest > 0.9


MAX_NUMBER = 1 << 62  # where numbers are cut
WHOLE = 255 * 255  # pixels
FEW = {"OUT_SIZE": 0x00FF_00FF, "IN_CHANNELS": 1 << 14, "OUT_CHANNELS": 1 << 14}


def test_streams_that_64_bits_cannot_hold_are_for_python(monkeypatch, any_size):
    config, words = DlaConfig(), random_stream(random.Random(1), 20)
    columns = columns_of(config, words)
    cycles = int(columns.totals.sum())
    for most, made in ((cycles, []), (cycles - 1, [WordReader])):
        monkeypatch.setattr(read_columns, "_MAX_TOTAL", most)
        with in_python(READ):
            assert_same(columns_of(config, words), columns)
        assert any_size == made


def costs_of(instruction: str, registers: dict[str, int], config: DlaConfig) -> Costs:
    """The costs of one operation with these values in its registers, legal or not."""
    words = [*configured(registers), codec.encode(instruction), codec.encode("HALT")]
    return columns_of(config, np.array(words, np.uint64)).costs()


@pytest.mark.parametrize("size", ["KERNEL", "IN_CHANNELS", "OUT_CHANNELS"])
def test_costs_of_mac_that_64_bits_cannot_hold_are_for_python(size, any_size):
    """Windows of the whole input, on as many channels as registers can say."""
    large = {"KERNEL": 0xFFFF_FFFF, "IN_CHANNELS": (1 << 24) - 1, "OUT_CHANNELS": (1 << 24) - 1}
    sizes = FEW | {size: large[size]}
    costs = costs_of("OP_CONV", sizes, DlaConfig())
    height, width = sizes.get("KERNEL", 0x0001_0001) & 0xFFFF, sizes.get("KERNEL", 0x0001_0001) >> 16
    macs = WHOLE * height * width * sizes["IN_CHANNELS"] * sizes["OUT_CHANNELS"]
    assert costs.macs.tolist() == [min(macs, MAX_NUMBER)]
    assert macs >= 1 << 44
    assert any_size[0] is WordReader


@pytest.mark.parametrize(
    ("kernel", "channels"), [(0xFFFF_FFFF, 1 << 14), (0xFFFF_FFFF, (1 << 24) - 1), (0x0400_0400, 1 << 14)]
)
def test_costs_of_vector_that_64_bits_cannot_hold_are_for_python(kernel, channels, any_size):
    """A lane takes a cycle for each tap of each pixel."""
    registers = FEW | {"KERNEL": kernel, "OUT_CHANNELS": channels}
    costs = costs_of("OP_POOL", registers, DlaConfig(vector_lanes=4))
    work = WHOLE * (kernel & 0xFFFF) * (kernel >> 16) * -(-channels // 4)
    assert costs.work.tolist() == [min(work, MAX_NUMBER)]
    assert work >= 1 << 44
    assert any_size[0] is WordReader


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
    instruction, prefix, run_bytes, runs, planes, any_size
):
    """Runs that do not touch each other, eight bytes a cycle."""
    sizes = {f"{prefix}_RUN_BYTES": run_bytes, f"{prefix}_RUNS": runs, f"{prefix}_PLANES": planes}
    costs = costs_of(instruction, sizes, DlaConfig(dma_bandwidth=8))
    assert costs.dma_bytes.tolist() == [min(run_bytes * runs * planes, MAX_NUMBER)]
    assert costs.work.tolist() == [min(-(-run_bytes // 8) * runs * planes, MAX_NUMBER)]
    assert any_size[0] is WordReader


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
