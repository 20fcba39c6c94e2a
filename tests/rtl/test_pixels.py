"""Arrays that compute several pixels at once: equal where ports are ideal, near behind ports."""

import pytest

from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.sim.physical.activity import count_operations
from tests.rtl import sram_counters
from tests.rtl.limits import ALONE, compare_alone, deep_convolution, on_both, stepped_cycles
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import PIXELS, PIXELS_LIMITED, machine
from tests.rtl.test_streams import STREAMS, compare_cycles, compare_random

NEAR = {"four pixels with ports": 0.06, "two pixels, one port": 0.6}  # as test_limits.py for one pixel
# By how much the RTL takes longer than the cycle-stepped machine, at least and at most, in per cent;
# docs/rtl.md has why.
LONGER = {
    ("one channel", "four pixels with ports"): (5.0, 6.0),
    ("depthwise", "four pixels with ports"): (4.0, 5.0),
}
OPERATIONS = ("convolution", "one channel", "depthwise", "product with a matrix", "partial sums")


@pytest.mark.parametrize("name", PIXELS)
def test_equal_to_the_simulator(rtl: RtlMachine, name: str) -> None:
    missing = {row.opcode for row in INSTRUCTIONS if row.unit is Unit.MAC}
    for number in range(STREAMS):
        missing -= set(compare_random(rtl, machine(name), number).plan.stream.opcodes.tolist())
    assert not missing


@pytest.mark.parametrize("name", PIXELS_LIMITED)
def test_streams_behind_ports(rtl: RtlMachine, name: str) -> None:
    compare_cycles(rtl, machine(name), NEAR[name])


@pytest.mark.parametrize("name", PIXELS_LIMITED)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_full_words_are_near_the_stepped_machine(rtl: RtlMachine, name: str, operation: str) -> None:
    if (operation, name) not in LONGER:
        compare_alone(rtl, machine(name), operation)
        return
    least, most = LONGER[operation, name]
    cycles, _ = on_both(rtl, machine(name), ALONE[operation]).cycles
    assert least <= 100 * (cycles / stepped_cycles(machine(name), ALONE[operation]) - 1) <= most


@pytest.mark.parametrize("name", PIXELS_LIMITED)
def test_full_words_cross_once(rtl: RtlMachine, name: str) -> None:
    """Rows of one channel end within a word, which crosses for both."""
    for words in (*(ALONE[name] for name in OPERATIONS if name != "one channel"), deep_convolution(192)):
        found = on_both(rtl, machine(name), words)
        counted = count_operations(found.plan).accesses.tolist()
        assert sram_counters.words(found.events, found.plan) == counted
