"""Machines with several memories: rates, latencies and buses are the simulator's, to the cycle."""

from itertools import product
from pathlib import Path

import pytest

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.timing.memory_timing import memory_numbers
from tests.rtl.comparison import Comparison
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import MEMORIES_LIMITED, SEVERAL_MEMORIES, machine
from tests.rtl.networks import lowered, run_on_both
from tests.rtl.test_networks import assert_equal, built_in
from tests.rtl.test_streams import STREAMS, compare_cycles, compare_random, compare_transfers_alone

TRANSFERS = (Unit.DMA_IN, Unit.DMA_OUT)
NEAR = 0.08  # where ports have limits, by which streams may take longer than the simulator says


def transfers(found: Comparison) -> list[tuple[Unit, int, int, int]]:
    """Unit, memory, start and end of each transfer of a stream."""
    numbers, timeline, units = memory_numbers(found.config), found.plan.timeline, found.plan.costs.unit
    rows = []
    for index, (unit, start, end) in enumerate(
        zip(units.tolist(), timeline.start.tolist(), timeline.end.tolist(), strict=True)
    ):
        if unit in TRANSFERS:
            region = found.plan.stream.operation(index).value(f"{Unit(unit).name}_REGION")
            rows.append((Unit(unit), numbers[region], start, end))
    return rows


def compare_memories(rtl: RtlMachine, config: DlaConfig) -> set[tuple[int, int]]:
    """Streams of transfers, and of all operations; the memories of a read and a write at the same time."""
    pairs = set()
    for number in range(STREAMS // 2):
        compare_random(rtl, config, number)
        rows = transfers(compare_transfers_alone(rtl, config, number))
        read = [row for row in rows if row[0] is Unit.DMA_IN]
        written = [row for row in rows if row[0] is Unit.DMA_OUT]
        pairs |= {(a[1], b[1]) for a in read for b in written if a[2] < b[3] and b[2] < a[3]}
    return pairs


@pytest.mark.parametrize("name", SEVERAL_MEMORIES)
def test_equal_to_the_simulator(rtl: RtlMachine, name: str) -> None:
    """Each memory is read while each one is written that holds what can be."""
    numbers = memory_numbers(machine(name))
    read = {numbers[region] for region in (Region.CONSTANTS, Region.ARENA, Region.INPUTS, Region.OUTPUTS)}
    written = {numbers[region] for region in (Region.ARENA, Region.OUTPUTS)}
    assert compare_memories(rtl, machine(name)) == set(product(read, written))


@pytest.mark.parametrize(
    ("network", "name"), [("mnist", "flash"), ("mnist", "two buses"), ("autoencoder", "two buses")]
)
def test_networks(network: str, name: str, tmp_path: Path) -> None:
    assert_equal(built_in(network, tmp_path), name)


@pytest.mark.parametrize("name", MEMORIES_LIMITED)
def test_streams_behind_ports(rtl: RtlMachine, name: str) -> None:
    compare_cycles(rtl, machine(name), NEAR)


def test_a_preset_with_a_flash(tmp_path: Path) -> None:
    config = preset("ethos-u55-128-flash")
    outcome = run_on_both(lowered(built_in("mnist", tmp_path), config), config)
    assert outcome.comparisons
    assert not outcome.wrong_results
