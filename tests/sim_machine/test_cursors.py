"""Regions that are places in the arena, which the host moves."""

from dataclasses import replace

import numpy as np

from dlasim.isa.faults import Fault
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.program import HostCall
from dlasim.isa.registers import CURSORS, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.energy import EnergyModel
from dlasim.sim.physical.technology import technology
from dlasim.sim.timing.memory_timing import memory_numbers
from tests.sim_machine.bench import BASE, HALT, REGION_BYTES, Bench, cfg, fill, op
from tests.sim_machine.test_debugger import program_of

ARENA = BASE + REGION_BYTES * Region.ARENA
REACH = 48
WRITE = [
    *fill(0, 7, 4),
    op("WAIT", unit=3, max_outstanding=0),
    cfg("DMA_OUT_REGION", Region.CURSOR1),
    cfg("DMA_OUT_OFFSET", 16),
    cfg("DMA_OUT_RUN_BYTES", 2),
    cfg("DMA_OUT_RUNS", 2),
    cfg("DMA_OUT_RUN_STRIDE", 10),
    cfg("DMA_OUT_RUN_SRAM_STRIDE", 2),
    op("OP_DMA_WRITE"),
    HALT,
]


def placed(place: int, size: int = REGION_BYTES - REACH) -> Bench:
    bench = Bench()
    bench.write("REGION6_BASE", ARENA + place)
    bench.write("REGION6_SIZE", size)
    bench.run(WRITE)
    return bench


def test_a_write_begins_where_the_cursor_is() -> None:
    for place in (0, 5, REACH):
        bench = placed(place)
        assert bench.dla.fault is None
        assert np.flatnonzero(bench.region(Region.ARENA)).tolist() == [place + n for n in (16, 17, 26, 27)]


def test_what_ends_behind_its_region_faults() -> None:
    assert placed(0, 28).dla.fault is None
    assert placed(0, 27).dla.fault.code is Fault.REGION_RANGE


def test_it_does_not_move_while_a_stream_runs() -> None:
    bench = Bench()
    bench.ring(bench.place(WRITE))
    assert bench.dla.is_busy
    bench.write("REGION6_BASE", ARENA)
    assert bench.refused()


def test_a_cursor_costs_what_the_arena_does() -> None:
    near = {"regions": "arena", "bandwidth": 4, "latency": 3}
    config = DlaConfig().replace(memories={"near": near})
    numbers, energies = memory_numbers(config), EnergyModel(technology("45nm"), config).byte_pj()
    for cursor in CURSORS:
        assert numbers[cursor] == numbers[Region.ARENA] != numbers[Region.OUTPUTS]
        assert energies[cursor] == energies[Region.ARENA]


def test_its_region_is_as_large_as_its_calls_leave_it() -> None:
    words = encode_attributes(
        "PLACE_CURSOR", cursor=1, reach=REACH, room=[3, *[0] * 5], stride=[16, *[1] * 5]
    )
    program = program_of([HALT])
    assert Region.CURSOR1 not in program.region_bytes
    placing = replace(program, host_calls=(HostCall(PLACE_CURSOR, (0,), (1,), words, 0),))
    arena = program.requirement.arena_bytes
    assert placing.region_bytes[Region.CURSOR1] == arena - REACH
    assert Region.CURSOR0 not in placing.region_bytes
    less = encode_attributes("PLACE_CURSOR", cursor=1, reach=16, room=[1, *[0] * 5], stride=[16, *[1] * 5])
    for several in ((words, less), (less, words)):
        calls = tuple(HostCall(PLACE_CURSOR, (0,), (1,), each, 0) for each in several)
        assert replace(program, host_calls=calls).region_bytes[Region.CURSOR1] == arena - REACH
