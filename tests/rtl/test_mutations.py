"""Each seeded mistake in the RTL is found; the RTL as it is passes the same checks."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dlasim.sim.configuration.config import DlaConfig
from tests.rtl.builder import RTL, build
from tests.rtl.limits import (
    ALONE,
    compare_alone,
    compare_banks,
    compare_chains,
    compare_shared,
    compare_transfers,
    compare_words,
    deep_convolution,
    on_both,
)
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import machine
from tests.rtl.mutations import (
    BLOCK_MUTATIONS,
    BLOCK_PORT_MUTATIONS,
    BUS_MUTATIONS,
    INT16_MUTATIONS,
    LIMIT_MUTATIONS,
    MEMORY_MUTATIONS,
    MEMORY_PORT_MUTATIONS,
    MUTATIONS,
    ONE_PORT_MUTATIONS,
    PACE_MUTATIONS,
    PIXEL_BLOCK_MUTATIONS,
    PIXEL_MUTATIONS,
    PIXEL_ONE_PORT_MUTATIONS,
    PIXEL_PORT_MUTATIONS,
    Mutation,
)
from tests.rtl.streams import MEMORY_BYTES
from tests.rtl.test_faults import compare_damaged, compare_verdicts
from tests.rtl.test_host import Pair, scenario
from tests.rtl.test_memories import compare_memories
from tests.rtl.test_streams import (
    compare_averages,
    compare_edges,
    compare_ends_of_tables,
    compare_random,
    compare_softmax,
    compare_softmax16,
    compare_sums_at_limits,
    random_stream_on_both,
)

CONFIG, LIMITED, ONE_PORT = machine("mutant"), machine("mutant with limits"), machine("one port")
INT16 = machine("mutant of int16")
PACED = machine("paced")
BLOCKS, BLOCK_PORTS = machine("blocks"), machine("blocks with ports")
PIXELS, PIXEL_BLOCKS = machine("four pixels"), machine("six pixels in blocks")
PIXEL_PORTS = machine("four pixels with ports")
PIXEL_ONE_PORT = machine("two pixels, one port")
FLASH, BUSES, FLASH_PORTS = machine("flash"), machine("two buses"), machine("flash with ports")
RANDOM, DAMAGED, SOFTMAX, ON_ONE_PORT = 120, 300, 20, 30
Check = Callable[[Path], None]

pytestmark = pytest.mark.slow


def check(binary: Path) -> None:
    """All comparisons; an error where one differs."""
    with RtlMachine(binary, CONFIG.sram_bytes, MEMORY_BYTES) as rtl:
        compare_edges(rtl, CONFIG)
        compare_averages(rtl, CONFIG)
        compare_ends_of_tables(rtl, CONFIG)
        compare_sums_at_limits(rtl, CONFIG)
        for number in range(SOFTMAX):
            compare_softmax(rtl, CONFIG, number)
        compare_verdicts(rtl, CONFIG)
        scenario(Pair(rtl, CONFIG))
        for number in range(RANDOM):
            compare_random(rtl, CONFIG, number)
        for number in range(DAMAGED):
            compare_damaged(rtl, CONFIG, number)


def check_int16(binary: Path) -> None:
    """Streams, of whose operations half have elements of int16 where they can."""
    with RtlMachine(binary, INT16.sram_bytes, MEMORY_BYTES) as rtl:
        compare_verdicts(rtl, INT16)
        for number in range(SOFTMAX):
            compare_softmax16(rtl, INT16, number)
        for number in range(RANDOM):
            compare_random(rtl, INT16, number)
            compare_damaged(rtl, INT16, number)


def check_limits(binary: Path) -> None:
    """The same of a machine with limits."""
    with RtlMachine(binary, LIMITED.sram_bytes, MEMORY_BYTES) as rtl:
        compare_transfers(rtl, LIMITED)
        compare_banks(rtl, LIMITED)
        compare_shared(rtl, LIMITED)
        compare_words(rtl, LIMITED)
        compare_chains(rtl, LIMITED)
        for operation in ALONE:
            compare_alone(rtl, LIMITED, operation)
        for number in range(ON_ONE_PORT):
            assert not random_stream_on_both(rtl, LIMITED, number).wrong_results, f"stream {number}"


def check_one_port(binary: Path) -> None:
    """Results of streams, and that all they use has crossed the port."""
    with RtlMachine(binary, ONE_PORT.sram_bytes, MEMORY_BYTES) as rtl:
        compare_chains(rtl, ONE_PORT)
        for number in range(ON_ONE_PORT):
            assert not random_stream_on_both(rtl, ONE_PORT, number).wrong_results, f"stream {number}"


def streams_check(config: DlaConfig) -> Check:
    """Cycles of streams."""

    def check_streams(binary: Path) -> None:
        with RtlMachine(binary, config.sram_bytes, MEMORY_BYTES) as rtl:
            for number in range(RANDOM):
                compare_random(rtl, config, number)

    return check_streams


def crossing_check(config: DlaConfig) -> Check:
    """Results, and bytes at the ports."""

    def check_crossing(binary: Path) -> None:
        with RtlMachine(binary, config.sram_bytes, MEMORY_BYTES) as rtl:
            for words in (ALONE["convolution"], deep_convolution(64)):
                on_both(rtl, config, words)
            for number in range(RANDOM):
                assert not random_stream_on_both(rtl, config, number).wrong_results, f"stream {number}"

    return check_crossing


def memories_check(config: DlaConfig) -> Check:
    """Cycles of transfers and streams on a machine with several memories."""

    def check_memories(binary: Path) -> None:
        with RtlMachine(binary, config.sram_bytes, MEMORY_BYTES) as rtl:
            compare_memories(rtl, config)

    return check_memories


def check_memory_ports(binary: Path) -> None:
    """Results where a slow memory's bytes become words."""
    with RtlMachine(binary, FLASH_PORTS.sram_bytes, MEMORY_BYTES) as rtl:
        for number in range(ON_ONE_PORT):
            assert not random_stream_on_both(rtl, FLASH_PORTS, number).wrong_results, f"stream {number}"


def mutated(mutation: Mutation, folder: Path) -> Path:
    """The RTL with one mistake."""
    shutil.copytree(RTL, folder / "rtl")
    file = folder / "rtl" / mutation.file
    text = file.read_text()
    assert text.count(mutation.old) == 1, f"{mutation.name}: its text must occur once in {mutation.file}"
    file.write_text(text.replace(mutation.old, mutation.new))
    return folder / "rtl"


KINDS = [
    (CONFIG, check, MUTATIONS),
    (INT16, check_int16, INT16_MUTATIONS),
    (LIMITED, check_limits, LIMIT_MUTATIONS),
    (ONE_PORT, check_one_port, ONE_PORT_MUTATIONS),
    (PACED, streams_check(PACED), PACE_MUTATIONS),
    (BLOCKS, streams_check(BLOCKS), BLOCK_MUTATIONS),
    (BLOCK_PORTS, crossing_check(BLOCK_PORTS), BLOCK_PORT_MUTATIONS),
    (PIXELS, streams_check(PIXELS), PIXEL_MUTATIONS),
    (PIXEL_BLOCKS, streams_check(PIXEL_BLOCKS), PIXEL_BLOCK_MUTATIONS),
    (PIXEL_PORTS, crossing_check(PIXEL_PORTS), PIXEL_PORT_MUTATIONS),
    (PIXEL_ONE_PORT, crossing_check(PIXEL_ONE_PORT), PIXEL_ONE_PORT_MUTATIONS),
    (FLASH, memories_check(FLASH), MEMORY_MUTATIONS),
    (BUSES, memories_check(BUSES), BUS_MUTATIONS),
    (FLASH_PORTS, check_memory_ports, MEMORY_PORT_MUTATIONS),
]


@pytest.mark.parametrize(
    ("config", "checks"),
    [kind[:2] for kind in KINDS],
    ids=[
        "ideal",
        "int16",
        "limits",
        "one port",
        "paced",
        "blocks",
        "blocks with ports",
        "pixels",
        "pixels in blocks",
        "pixels with ports",
        "pixels with one port",
        "memories",
        "buses",
        "memories with ports",
    ],
)
def test_without_a_mistake(config: DlaConfig, checks: Check) -> None:
    checks(build(config, optimise="-O0"))


@pytest.mark.parametrize(
    ("config", "checks", "mutation"),
    [
        pytest.param(config, checks, mutation, id=mutation.name.replace(" ", "-"))
        for config, checks, mutations in KINDS
        for mutation in mutations
    ],
)
def test_each_mistake_is_found(config: DlaConfig, checks: Check, mutation: Mutation, tmp_path: Path) -> None:
    binary = build(config, mutated(mutation, tmp_path), optimise="-O0", kept=tmp_path)
    with pytest.raises(AssertionError):
        checks(binary)
