"""Some of the machines that `tests/rtl/random_machines.py` draws. Two run networks, one of which has ideal
ports and a second memory: their cycles are near, or equal. A third runs random streams, and two others
single operations that their buffers delay."""

import pytest

from tests.rtl.builder import build
from tests.rtl.limits import ALONE, on_both, pixels_with_weights_at, stepped_cycles, strided_convolution
from tests.rtl.machine import RtlMachine
from tests.rtl.random_machines import drawn, kept, run_network
from tests.rtl.streams import MEMORY_BYTES
from tests.rtl.test_limits import NETWORKS
from tests.rtl.test_streams import STREAMS, random_stream_on_both

STREAMED = 17  # longer pipelines than the RTL's, int16, long words and a line buffer of a few of them
FULL_WORDS = ("sum", "bytes", "sum of 16 bits", "one channel")  # no first words or lines delay these there
FEW = 2  # cycles; the extra stages of its pipelines are four each
FEW_WEIGHTS = 7  # a weight buffer of little more than a word of each filter
FEW_LINES = 16  # a line buffer that holds the lines under a window, but not those under two blocks
SAMPLES = {4: ("lstm", "mnist"), 25: ("lstm", "mnist")}


@pytest.mark.parametrize("seed", SAMPLES)
def test_networks_on_a_drawn_machine(seed: int) -> None:
    config = drawn(seed)
    for name in SAMPLES[seed]:
        outcome = run_network(name, config)
        assert outcome.comparisons
        difference = outcome.rtl_cycles - outcome.simulator_cycles
        if config.sram_bandwidth:
            assert not outcome.wrong_results
            assert abs(difference) <= NETWORKS * outcome.simulator_cycles, name
        else:
            assert not outcome.differences
            assert difference == 0


def test_random_streams_on_a_drawn_machine() -> None:
    config = drawn(STREAMED)
    with RtlMachine(build(config), config.sram_bytes, MEMORY_BYTES) as rtl:
        for number in range(STREAMS):
            assert not random_stream_on_both(rtl, config, number).wrong_results, f"stream {number}"


def test_a_longer_pipeline_fetches_nothing_before_it_has_filled() -> None:
    config = drawn(STREAMED)
    with RtlMachine(build(config), config.sram_bytes, MEMORY_BYTES) as rtl:
        for name in FULL_WORDS:
            cycles, expected = on_both(rtl, config, ALONE[name]).cycles
            assert expected <= cycles <= expected + FEW, name


@pytest.mark.parametrize("place", [0, 12])
def test_the_first_weights_of_a_block_come_while_the_block_before_is_at_work(place: int) -> None:
    """All words that its first step reads, also where filters begin within a word."""
    config, words = drawn(FEW_WEIGHTS), pixels_with_weights_at(place)
    with RtlMachine(build(config), config.sram_bytes, MEMORY_BYTES) as rtl:
        cycles, _ = on_both(rtl, config, words).cycles
    assert cycles <= 1.01 * stepped_cycles(config, words)


def test_the_lines_of_a_block_come_while_the_block_before_is_at_work() -> None:
    """A line buffer that holds those under a window holds them beside those of the block."""
    config, words = drawn(FEW_LINES), strided_convolution(32, 8, inputs=8, outputs=7)
    with RtlMachine(build(config), config.sram_bytes, MEMORY_BYTES) as rtl:
        cycles, _ = on_both(rtl, config, words).cycles
    assert cycles <= 1.03 * stepped_cycles(config, words)


def test_the_table_has_equal_cycles_where_ports_are_ideal() -> None:
    rows = [row for row in kept() if not drawn(int(row["seed"])).sram_bandwidth]
    assert rows
    assert all(row["rtl_cycles"] == row["simulator_cycles"] for row in rows)
