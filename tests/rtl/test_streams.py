"""Random streams: every byte, every cycle, every counter of the RTL is the simulator's."""

import os

import numpy as np
import pytest
from numpy.random import Generator

from dlasim.isa.instructions import INSTRUCTIONS, UNITS
from dlasim.sim.operation import reset_file
from tests.rtl.comparison import Comparison, compare_stream
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import MACHINES, machine
from tests.rtl.streams import MEMORY_BYTES, StreamMaker, places
from tests.sim_engines.generate import Limits

STREAMS = int(os.environ.get("DLASIM_RTL_STREAMS", "40"))  # for each machine
LIMITS = Limits(pixels=5, channels=21, kernel=3, sram_bytes=6000)


def random_stream(rtl: RtlMachine, name: str, rng: Generator, operations: int) -> Comparison:
    """One stream of so many operations on both."""
    config = machine(name)
    maker = StreamMaker(rng, config.sram_bytes, config.fingerprint, LIMITS)
    words = maker.stream(operations, waits=0.1)
    rtl.memory[:] = rng.integers(0, 256, MEMORY_BYTES, np.uint8)
    return compare_stream(rtl, config, words, reset_file(), maker.sram, places())


@pytest.mark.parametrize("name", MACHINES)
def test_equal_to_the_simulator(rtl: RtlMachine, name: str) -> None:
    seen: set[int] = set()
    overlapping = 0
    for number in range(STREAMS):
        rng = np.random.default_rng([number, *name.encode()])
        found = random_stream(rtl, name, rng, int(rng.integers(1, 13)))
        assert not found.differences, f"stream {number}"
        assert found.plan.fault is None
        seen |= set(found.plan.stream.opcodes.tolist())
        overlapping += _overlaps(found)
    assert overlapping > STREAMS // 2, "units must work at the same time"
    if STREAMS >= 40:
        assert seen >= {row.opcode for row in INSTRUCTIONS}, "every instruction must occur"


def _overlaps(found: Comparison) -> bool:
    """Whether two units work in the same cycle."""
    timeline, unit = found.plan.timeline, found.plan.costs.unit
    changes = []
    for number in UNITS:
        mine = unit == number
        changes += [(cycle, 1) for cycle in timeline.start[mine].tolist()]
        changes += [(cycle, -1) for cycle in timeline.end[mine].tolist()]
    working = most = 0
    for _, change in sorted(changes):
        working += change
        most = max(most, working)
    return most > 1
