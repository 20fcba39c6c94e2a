"""Timelines and books against a machine that is stepped one cycle at a time."""

import random
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.accounting import account_cycles
from dlasim.sim.timing.plan import Plan, plan_stream
from tests.sim_timing.stated_limits import is_within, limits
from tests.sim_timing.stepped import UNITS, Outcome, SteppedMachine
from tests.sim_timing.streams import (
    INT16,
    KINDS,
    SUMMING,
    WITH_UNPACKING,
    Sizes,
    StreamWriter,
    random_config,
    random_limits,
    random_memories,
    random_stream,
)

STREAMS = 100  # in each of the chunks below
# A seed, a parameter that not every machine has, the kinds that need it, and what is drawn in addition.
OPTIONS = ((850, "int16", INT16, "int16"), (870, "mac_sums", SUMMING, "sum"))
MAC = ("OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_MAT_MUL")
COMPUTE = tuple(kind for kind in KINDS if not kind.startswith("OP_DMA"))

# Rows of the page's table.
WHOLE_BEATS = "a shared bus, compared with an arbiter of whole beats; long transfers"
OUTPUT_STAGE = (
    "output stage, compared with a queue from which results leave one by one: nine of ten equal, and each"
)
ONE_ACCUMULATOR = "the same with a single accumulator in each lane"
PORTS = (
    "SRAM ports and buffers, compared with words fetched when they are needed; operations of 90 rows and more"
)
WIDER = "the same, operations of int16, or that add a tensor"
STREAMS_ON_PORTS = "streams of four to eight small operations whose units share ports of 4 to 32 bytes"
BLOCKS = "blocks that are handed over whole, with at most 4 accumulators"
DMA_PORTS = "ports of DMA alone, in streams of two to five operations"
SOFTMAX = "OP_SOFTMAX alone, with any ports, buffers and output stage"
NETWORKS = "networks, on machines with one port, with narrow ones, and with small buffers"


def test_each_limit_of_the_page_is_tested():
    own = Path(__file__).read_text(encoding="utf-8")
    assert len(limits()) == 12
    assert [what for what in limits() if f'"{what}"' not in own] == []


def plan(config, words) -> Plan:
    return plan_stream(config, words, reset_file())


def times(outcome: Outcome, numbers: dict[int, int]) -> list[int]:
    return [numbers[number] for number in range(len(outcome.issued))]


def assert_equal(plan: Plan, outcome: Outcome) -> None:
    """Every time and every account, to the cycle."""
    timeline, books = plan.timeline, plan.account
    assert timeline.total == books.total == outcome.total
    assert timeline.issued.tolist() == outcome.issued
    assert timeline.start.tolist() == times(outcome, outcome.start)
    assert timeline.end.tolist() == times(outcome, outcome.end)
    assert list(timeline.markers) == outcome.markers
    assert plan.macs == outcome.macs
    assert (books.issue_busy, books.stall_wait, books.stall_queue) == tuple(
        outcome.issue[name] for name in ("issue", "wait", "queue")
    )
    for name in ("only_compute", "only_dma", "both", "neither"):
        assert getattr(books, name) == outcome.overlap[name], name
    owned = account_cycles(timeline, plan.costs).owned
    numbers = np.flatnonzero(plan.costs.unit >= Unit.MAC)
    assert owned[numbers].tolist() == [outcome.owned[number] for number in numbers.tolist()]
    assert owned.sum() == owned[numbers].sum()
    for unit, name in enumerate(UNITS):
        assert_same_unit(books.units[unit], outcome.units[name])


def assert_same_unit(account, spent) -> None:
    for name in ("fill", "drain", "latency", "sram", "idle_issue", "idle_wait", "idle_queue"):
        assert getattr(account, name) == spent[name], name
    assert account.work + account.contention == spent["work"] + spent["bus"]


@pytest.mark.parametrize("seed", range(8))
def test_equal_to_the_cycle_without_a_shared_bus(seed):
    rng = random.Random(seed)
    for _ in range(STREAMS):
        config = random_config(rng)
        words = random_stream(rng, rng.randint(1, 9), kinds=WITH_UNPACKING)
        ours = plan(config, words)
        assert ours.fault is None
        assert_equal(ours, SteppedMachine(config, words).run())


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_the_cycle_on_a_bus_shared_evenly(seed):
    rng = random.Random(100 + seed)
    contended = 0
    for _ in range(STREAMS):
        config = random_config(rng, dma_shared_bandwidth=rng.choice([1, 2, 5, 8, 9, 15]))
        words = random_stream(rng, rng.randint(2, 9), kinds=("OP_DMA_READ", "OP_DMA_WRITE", *KINDS))
        ours = plan(config, words)
        assert_equal(ours, SteppedMachine(config, words).run())
        contended += ours.account.units[0].contention > 0
    assert contended > STREAMS // 20, "the test must see contention"


@pytest.mark.parametrize("seed", range(6))
def test_equal_to_the_cycle_with_named_memories(seed):
    """Fractional rates, buses, and latencies that overlap."""
    rng = random.Random(150 + seed)
    contended = overlapped = 0
    transfers = ("OP_DMA_READ", "OP_DMA_WRITE")
    for number in range(STREAMS // 2):
        config = random_config(rng, **random_memories(rng), queue_depth=rng.choice([1, 3, 8]))
        kinds = (*4 * transfers, *WITH_UNPACKING) if number % 2 else rng.choice((transfers, transfers[:1]))
        words = random_stream(rng, rng.randint(3, 9), kinds=kinds)
        ours = plan(config, words)
        assert_equal(ours, SteppedMachine(config, words).run())
        contended += ours.account.units[0].contention > 0
        overlapped += sum(ours.costs.latency) > sum(unit.latency for unit in ours.account.units)
    assert contended > 5, "the test must see contention"
    assert overlapped > 2, "the test must see latencies that overlap"


@pytest.mark.parametrize("seed", range(2))
def test_within_two_percent_of_a_bus_that_grants_whole_beats(seed):
    """The closed form splits beats; an arbiter hands them out in turn. Long transfers hide the difference."""
    rng = random.Random(200 + seed)
    sizes = Sizes(run_bytes=4000, runs=2)
    kinds = ("OP_DMA_READ", "OP_DMA_WRITE", "OP_DMA_READ", "OP_DMA_WRITE", "OP_CONV", "OP_E_ADD")
    contended = 0
    for _ in range(30):
        config = random_config(rng, dma_bandwidth=8, dma_shared_bandwidth=rng.choice([8, 9, 12, 15]))
        words = random_stream(rng, rng.randint(4, 8), sizes, kinds)
        ours = plan(config, words)
        total = SteppedMachine(config, words, fluid=False).run().total
        assert is_within(ours.timeline.total, total, WHOLE_BEATS)
        contended += ours.account.units[0].contention > 0
    assert contended > 10


# Operations of many blocks of pixels: what fills the first and empties the last is little of them.
LONG = Sizes(least_rows=90, rows=120, columns=2, channels=6, padding=0, multiplier=1)
LARGE_BUFFER = 4096


@pytest.mark.parametrize("seed", range(4))
def test_within_two_percent_where_sram_ports_limit(seed):
    """The closed form smooths the traffic over an operation; here each byte is fetched when it is needed,
    as far ahead as the buffers hold it."""
    rng = random.Random(300 + seed)
    stalled = 0
    for _ in range(75):
        limits = random_limits(rng) | {"mac_results": 0, "vector_requantizations": 0, "vector_divisions": 0}
        config = random_config(rng, **limits | {"accumulators": rng.choice([1, 2, 4])})
        if min(config.line_buffer_bytes, config.weight_buffer_bytes) < LARGE_BUFFER:
            config = config.replace(
                mac_step_group=1, mac_weights=0
            )  # too small to fetch ahead in lost cycles
        words = random_stream(rng, 1, LONG, COMPUTE)
        ours = plan(config, words)
        outcome = SteppedMachine(config, words).run()
        assert is_within(ours.timeline.total, outcome.total, PORTS), (config, words)
        stalled += sum(unit.sram > 0 for unit in ours.account.units)
    assert stalled > 20, "the test must see stalls"


@pytest.mark.parametrize("limits", ["ports", "output stage"])
@pytest.mark.parametrize("seed", range(2))
def test_close_where_blocks_are_handed_over_whole(seed, limits):
    """An operation begins with the input of its first block, and ends with the results of its last. One of
    few blocks is off by up to a tenth where its ports are its limit: they have nothing to move while it works
    on its last block, which the closed form does not see. So only the sum of those is compared."""
    rng = random.Random(450 + seed)
    longer = closed = stepped = 0
    for _ in range(60):
        drawn = random_limits(rng) | {"line_buffer_bytes": LARGE_BUFFER, "weight_buffer_bytes": LARGE_BUFFER}
        drawn |= {"mac_results": 0} if limits == "ports" else {"sram_bandwidth": 0}
        config = random_config(rng, **drawn, mac_handover="blocks")
        words = random_stream(rng, 1, LONG, MAC)
        ours = plan(config, words)
        outcome = SteppedMachine(config, words).run()
        if limits == "output stage":
            assert abs(ours.timeline.total - outcome.total) <= 1, (config, words)
        elif config.accumulators <= 4:
            assert is_within(ours.timeline.total, outcome.total, BLOCKS), (config, words)
        closed, stepped = closed + ours.timeline.total, stepped + outcome.total
        longer += ours.timeline.total > plan(config.replace(mac_handover="results"), words).timeline.total
    assert is_within(closed, stepped, "the sum of 60 such operations, with up to 32 accumulators")
    assert longer > 20, "the test must see blocks"


@pytest.mark.parametrize("channels", [24, 60, 64, 96, 100])
@pytest.mark.parametrize("accumulators", [40, 90, 256])
def test_a_block_of_several_groups_leaves_together(accumulators, channels):
    """45 pixels of 4 lanes, in blocks of 1, 2 or 5 groups. Results take as long as work, more, or less."""
    limits = {"mac_results": 0.5, "sram_bandwidth": "unlimited", "accumulators": accumulators}
    config = DlaConfig().replace(parallel="8x4", mac_handover="blocks", **limits)
    for inputs in (8, 64, 72):
        writer = StreamWriter(random.Random(1))
        writer.set("OUT_SIZE", 9, 5)
        for view, width in (("IN", inputs), ("OUT", channels)):
            writer.set(f"{view}_CHANNELS", width)
            writer.set(f"{view}_PIXEL_STRIDE", width)
            writer.set(f"{view}_ROW_STRIDE", 5 * width)
        writer.set("OUT_ADDR", 1 << 16)
        writer.emit("OP_MAT_MUL")
        words = writer.stream()
        assert plan(config, words).timeline.total == SteppedMachine(config, words).run().total, inputs


def test_transfers_with_ports_of_their_own_contend_with_nobody():
    rng = random.Random(480)
    faster = 0
    for _ in range(60):
        limits = random_limits(rng) | {
            "sram_bandwidth": rng.choice([2, 4]),
            "sram_ports": 1,
            "mac_results": 0,
        }
        limits |= {"line_buffer_bytes": LARGE_BUFFER, "weight_buffer_bytes": LARGE_BUFFER, "accumulators": 4}
        config = random_config(rng, **limits, dma_bandwidth=8, sram_dma_ports=1)
        words = random_stream(rng, rng.randint(2, 5), LONG, ("OP_DMA_READ", "OP_DMA_WRITE", *MAC))
        ours = plan(config, words)
        total = SteppedMachine(config, words).run().total
        assert is_within(ours.timeline.total, total, DMA_PORTS), (config, words)
        faster += ours.timeline.total < plan(config.replace(sram_dma_ports=0), words).timeline.total
    assert faster > 10, "the test must see contention avoided"


WIDE = Sizes(rows=12, columns=12, channels=20)


@pytest.mark.parametrize("seed", range(4))
def test_equal_where_the_output_stage_limits(seed):
    """To the cycle for most: block by block, group by group, turn by turn. Some cycles are lost to fractions
    of results, and in blocks of fewer pixels than the pipeline has stages. With a single accumulator the
    model counts up to a tenth too much, where several pixels leave at less than a result a cycle."""
    rng = random.Random(400 + seed)
    stalled = equal = 0
    streams = 60
    for _ in range(streams):
        limits = random_limits(rng) | {"sram_bandwidth": 0, "accumulators": rng.choice([1, 2, 4, 8, 32])}
        config = random_config(rng, **limits)
        words = random_stream(rng, 1, rng.choice([LONG, WIDE]), COMPUTE)
        ours = plan(config, words)
        outcome = SteppedMachine(config, words).run()
        what = ONE_ACCUMULATOR if config.accumulators == 1 else OUTPUT_STAGE
        assert is_within(ours.timeline.total, outcome.total, what), (config, words)
        equal += ours.timeline.total == outcome.total
        stalled += sum(unit.output > 0 for unit in ours.account.units)
    assert equal >= 0.9 * streams
    assert stalled > 10, "the test must see stalls"


@pytest.mark.parametrize("pixels", [33, 40, 64, 100])
@pytest.mark.parametrize("channels", [24, 25, 48, 60])
def test_groups_wait_for_accumulators(pixels, channels):
    """24 lanes, two cycles for a result: a group's short last block does not hide the one before it."""
    config = DlaConfig().replace(parallel="output", pes=24, mac_results=0.5, sram_bandwidth="unlimited")
    for inputs in (1, 9, 48, 70):
        writer = StreamWriter(random.Random(1))
        writer.set("OUT_SIZE", 1, pixels)
        for view, width in (("IN", inputs), ("OUT", channels)):
            writer.set(f"{view}_CHANNELS", width)
            writer.set(f"{view}_PIXEL_STRIDE", width)
        writer.set("OUT_ADDR", 1 << 16)
        writer.emit("OP_MAT_MUL")
        words = writer.stream()
        assert plan(config, words).timeline.total == SteppedMachine(config, words).run().total, inputs


@pytest.mark.parametrize(("inputs", "stall"), [(8, 8), (16, 16), (40, 16), (64, 16)])
def test_a_product_begins_with_a_word_of_each_filter(inputs, stall):
    """64 filters, a word of 16 bytes each or all of a shorter one, cross 4 ports before the first step; so
    does an element of the input."""
    config = DlaConfig().replace(mac_results="unlimited")
    writer = StreamWriter(random.Random(1))
    for view, width in (("IN", inputs), ("OUT", 64)):
        writer.set(f"{view}_CHANNELS", width)
        writer.set(f"{view}_PIXEL_STRIDE", width)
    writer.set("OUT_ADDR", 1 << 16)
    writer.emit("OP_MAT_MUL")
    words = writer.stream()
    ours = plan(config, words)
    assert ours.costs.sram_stall.tolist() == [stall]
    results = SteppedMachine(config, words).run().total - ours.timeline.total  # whose bytes cross at the end
    assert 0 <= results <= 1


MACHINES = {
    "default": {},
    "one port": {"sram_ports": 1},
    "one narrow port": {"sram_ports": 1, "sram_bandwidth": 8},
    "two ports, grid": {"sram_ports": 2, "parallel": "8x8"},
    "one port, blocks, ports of DMA": {
        "sram_ports": 1, "parallel": "8x8", "sram_dma_ports": 1, "mac_handover": "blocks",
    },
    "small buffers": {
        "line_buffer": 512, "weight_buffer": 512, "accumulators": 8, "mac_results": 2, "sram_ports": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", ["mnist", "autoencoder", "ds_cnn"])
def test_networks_within_two_percent(network, machine, tmp_path):
    """All units at the ports, word by word, against operations that share them evenly."""
    path = tmp_path / f"{network}.tflite"
    path.write_bytes(write_tflite(build_topology(network)))
    config = DlaConfig().replace(**MACHINES[machine])
    options = CompileOptions(place="dla")
    program = lower_for(load_model(path), config, options, with_constants=False).program
    ours = stepped = 0
    for stream in program.streams:
        words = program.commands[stream.first_word : stream.first_word + stream.words]
        ours += plan(config, words).timeline.total
        stepped += SteppedMachine(config, words).run().total
    assert is_within(ours, stepped, NETWORKS)


def test_units_that_want_more_than_the_ports_move_share_them():
    """Random streams of operations on few ports: the sum of all is right. A single one is off by a tenth
    where an operation needs exactly what the port moves: then every word that waits delays it."""
    rng = random.Random(500)
    sizes = Sizes(
        least_rows=8, rows=16, columns=4, channels=12, padding=0, multiplier=1, run_bytes=2000, runs=2
    )
    ours = stepped = contended = 0
    for _ in range(60):
        limits = random_limits(rng) | {"sram_bandwidth": rng.choice([4, 8]), "dma_bandwidth": 8}
        config = random_config(rng, **limits | {"parallel": "2x3", "pes": 6})
        words = random_stream(rng, rng.randint(4, 8), sizes)
        closed = plan(config, words)
        total = SteppedMachine(config, words).run().total
        assert is_within(closed.timeline.total, total, STREAMS_ON_PORTS), (config, words)
        ours, stepped = ours + closed.timeline.total, stepped + total
        contended += any(unit.contention > 0 for unit in closed.account.units)
    assert is_within(ours, stepped, "the sum of 60 such streams")
    assert contended > 30


def test_softmax_is_equal_to_the_cycle():
    """Alone and beside others, with an output stage of whole cycles for a result."""
    rng = random.Random(800)
    waited = 0
    for number in range(STREAMS // 2):
        rate = rng.choice([0, 0.25, 0.5, 1])
        config = random_config(rng, vector_requantizations=rate)
        kinds = ("OP_SOFTMAX",) if number % 2 else ("OP_SOFTMAX", "OP_DMA_READ", "OP_FILL", "OP_CONV")
        sizes = Sizes(channels=rng.choice([2, 9, 40]))
        words = random_stream(rng, rng.randint(1, 5), sizes, kinds=kinds)
        ours, stepped = plan(config, words), SteppedMachine(config, words).run()
        assert ours.timeline.total == stepped.total
        assert ours.timeline.end.tolist() == times(stepped, stepped.end)
        waited += bool(ours.costs.output_stall.any())
    assert waited > STREAMS // 10, "the test must see waits for the output stage"


def test_softmax_on_few_ports():
    """Words at the ports, of the table, rows and results, and rows that the line buffer does not hold."""
    rng = random.Random(801)
    read_again = 0
    for _ in range(STREAMS // 2):
        config = random_config(rng, **random_limits(rng))
        words = random_stream(rng, 1, Sizes(channels=60, least_rows=2), kinds=("OP_SOFTMAX",))
        ours, stepped = plan(config, words), SteppedMachine(config, words).run()
        assert is_within(ours.timeline.total, stepped.total, SOFTMAX), (config, words)
        read_again += int(ours.costs.sram_bytes[0]) > 1024 + 3 * 3 * 60 * 2
    assert read_again > 1, "the test must see rows that cross again"


@pytest.mark.parametrize(("first", "parameter", "kinds", "more"), OPTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_optional_kinds_are_equal_to_the_cycle(seed, first, parameter, kinds, more):
    rng = random.Random(first + seed)
    for _ in range(STREAMS):
        config = random_config(rng, **{parameter: 1})
        words = random_stream(rng, rng.randint(1, 6), kinds=(*kinds, "OP_DMA_READ", "OP_FILL"), more=more)
        assert_equal(plan(config, words), SteppedMachine(config, words).run())


@pytest.mark.parametrize("limits", ["ports", "output stage"])
def test_int16_within_limits(limits):
    """Both bytes of an element cross the ports together, and the array passes over each."""
    rng = random.Random(860)
    stalled = 0
    for _ in range(75):
        drawn = random_limits(rng) | {"accumulators": rng.choice([2, 4])}
        no_limit = ("mac_results", "vector_requantizations", "vector_divisions")
        drawn |= dict.fromkeys(no_limit if limits == "ports" else ("sram_bandwidth",), 0)
        config = random_config(rng, **drawn, int16=1, mac_step_group=1, mac_weights=0)
        words = random_stream(rng, 1, LONG, INT16, more="int16")
        ours, stepped = plan(config, words), SteppedMachine(config, words).run()
        assert is_within(ours.timeline.total, stepped.total, WIDER), (config, words)
        stalled += sum(unit.sram + unit.output > 0 for unit in ours.account.units)
    assert stalled > 20, "the test must see stalls"


def test_sums_with_a_tensor_on_few_ports():
    """A byte of the tensor for each result crosses the ports."""
    rng = random.Random(880)
    stalled = 0
    for _ in range(75):
        drawn = random_limits(rng) | {"accumulators": rng.choice([2, 4]), "mac_results": 0}
        config = random_config(rng, **drawn, mac_sums=1, mac_step_group=1, mac_weights=0)
        words = random_stream(rng, 1, LONG, SUMMING, more="sum")
        ours, stepped = plan(config, words), SteppedMachine(config, words).run()
        assert is_within(ours.timeline.total, stepped.total, WIDER), (config, words)
        stalled += sum(unit.sram > 0 for unit in ours.account.units)
    assert stalled > 20, "the test must see stalls"


@pytest.mark.parametrize("timing", ["macs", "zero"])
def test_equal_in_the_reduced_timing_modes(timing):
    rng = random.Random(timing)
    for _ in range(STREAMS):
        config = random_config(rng, timing=timing, dma_shared_bandwidth=rng.choice([0, 5]))
        words = random_stream(rng, rng.randint(1, 9))
        ours = plan(config, words)
        assert_equal(ours, SteppedMachine(config, words).run())
        if timing == "zero":
            assert ours.timeline.total == 0


@pytest.mark.parametrize("shared", [0, 5])
def test_equal_up_to_a_fault(shared):
    """A fault stops issue at its word; what runs then finishes, and the machine stops."""
    rng = random.Random(7)
    for _ in range(STREAMS):
        config = random_config(rng, dma_shared_bandwidth=shared)
        words = random_stream(rng, rng.randint(1, 7))
        at = rng.randrange(len(words))
        words = words[:at] if rng.random() < 0.3 else np.insert(words, at, np.uint64(0))
        ours = plan(config, words)
        assert ours.fault is not None
        assert ours.fault.position == at
        assert_equal(ours, SteppedMachine(config, words).run())


def test_checks_that_find_a_fault_take_their_cycles():
    """Beyond what the words before the fault take; units drain meanwhile."""
    rng, later = random.Random(9), 0
    bad = [codec.encode_cfg("OUT_ADDR", 1 << 30), codec.encode("OP_CONV"), codec.encode("HALT")]
    for _ in range(STREAMS):
        config = random_config(rng)
        words = np.concatenate([random_stream(rng, rng.randint(0, 3))[:-1], np.array(bad, np.uint64)])
        ours, before = plan(config, words), plan(config, words[:-2])
        assert ours.fault.position == len(words) - 2
        checked = before.reached(config, len(words) - 2) + config.check_cycles
        assert ours.timeline.total == max(checked, before.timeline.total)
        assert ours.timeline.issue_busy == before.timeline.issue_busy + config.check_cycles
        later += ours.timeline.total > before.timeline.total
    assert later > 10
