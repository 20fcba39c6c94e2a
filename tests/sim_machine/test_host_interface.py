"""The machine as a driver sees it: registers, counters, reset, transfers."""

import numpy as np
import pytest

from dlasim.isa import registers
from dlasim.isa.registers import BY_NAME, OPERANDS, Access, Region
from tests.sim_machine.bench import BASE, CONFIG, HALT, IRQ, NOP, REGION_BYTES, Bench, cfg, fill, op
from tests.sim_machine.driver import READ, SLOW, WORKING, busy_bench, counters
from tests.sim_timing.jobs import ANSWER

# Registers


def test_identity_and_capabilities():
    bench = Bench(CONFIG.replace(parallel="4x16"))
    assert bench.read("ID").to_bytes(4, "little") == b"DLA1"
    assert bench.read("ISA_VERSION") == 1 << 16 | 2
    assert bench.read("CAP_PES") == 64
    assert bench.read("CAP_GRID") == 4 | 16 << 16
    assert bench.read("CAP_SRAM_BYTES") == CONFIG.sram_bytes
    assert bench.read("CAP_CONFIG") == CONFIG.replace(parallel="4x16").fingerprint


@pytest.mark.parametrize("register", registers.REGISTERS, ids=lambda register: register.name)
def test_access_is_as_the_table_says(register):
    bench = Bench(functional=False)
    value = register.pack()  # the reset value is always legal
    before = bench.read(register.name)
    bench.dla.store(register.address, 4, value)
    assert bench.refused() == (register.access is Access.READ_ONLY)
    if register.access is Access.WRITE_ONLY:
        assert bench.read(register.name) == 0
    if register.access is Access.READ_ONLY and register.name != "STATUS":
        assert bench.read(register.name) == before
    if register.is_operand:
        assert bench.read(register.name) == value == register.reset


@pytest.mark.parametrize("register", OPERANDS, ids=lambda register: register.name)
def test_operand_registers_hold_what_is_legal_and_refuse_the_rest(register):
    bench = Bench(functional=False)
    fields = register.fields
    highest = register.pack(**{field.name: field.highest for field in fields})
    legal = 0 if register.name == "REQUIRE_CONFIG" else highest
    bench.dla.store(register.address, 4, legal)
    assert bench.read(register.name) == legal
    assert not bench.refused()
    illegal = [1 << 32, -1, 1 << 70]
    if register.name == "REQUIRE_CONFIG":
        illegal.append(CONFIG.fingerprint ^ 1)
    elif highest != 0xFFFF_FFFF and not fields[0].signed:
        illegal.append(highest + 1)
    for value in illegal:
        bench.dla.registers.flags("STATUS", refused=False)
        bench.dla.store(register.address, 4, value)
        assert bench.refused()
        assert bench.read(register.name) == legal


@pytest.mark.parametrize("size", [1, 2, 8])
def test_only_whole_registers_are_accessed(size):
    bench = Bench(functional=False)
    address = BY_NAME["IN_ADDR"].address
    bench.dla.store(address, 4, 0x1234)
    assert bench.dla.load(address, size) == 0
    bench.dla.store(address, size, 1)
    assert bench.refused()
    assert bench.read("IN_ADDR") == 0x1234


def test_offsets_without_a_register_read_zero_and_refuse():
    bench = Bench(functional=False)
    taken = {register.address for register in registers.REGISTERS}
    for offset in set(range(registers.WINDOW_BYTES + 8)) - taken:
        assert bench.dla.load(offset, 4) == 0
        bench.dla.registers.flags("STATUS", refused=False)
        bench.dla.store(offset, 4, 1)
        assert bench.refused()


@pytest.mark.parametrize(
    "register",
    [r for r in registers.REGISTERS if r.access is not Access.READ_ONLY and not r.while_busy],
    ids=lambda register: register.name,
)
def test_busy_refuses_writes_and_says_so(register):
    bench = busy_bench()
    before = bench.read(register.name)
    bench.dla.store(register.address, 4, register.pack())
    assert bench.refused()
    assert bench.read(register.name) == before
    bench.finish()
    assert bench.refused(), "the flag is sticky"
    assert bench.dla.fault is None
    assert bench.read("STREAMS_DONE") == 1


# Counters


def test_counters_are_the_books_of_all_streams():
    bench = Bench(CONFIG.replace(dma_shared_bandwidth=8, sram_bandwidth=1))
    conv = [cfg("IN_CHANNELS", 3), cfg("OUT_CHANNELS", 70), cfg("OUT_ADDR", 256), op("OP_CONV")]
    move = [cfg("DMA_IN_RUN_BYTES", 400), op("OP_DMA_READ"), cfg("DMA_OUT_REGION", Region.OUTPUTS)]
    move += [cfg("DMA_IN_REGION", Region.ARENA), cfg("DMA_OUT_RUN_BYTES", 300), op("OP_DMA_WRITE")]
    bench.run([*conv, *move, *fill(0, 1), HALT])
    bench.run([cfg("OUT_ADDR", 256), op("OP_CONV"), HALT])
    found = counters(bench)
    books = bench.completed[0].plan.account + bench.completed[1].plan.account
    assert found["CYCLES"] == books.total == sum(run.plan.timeline.total for run in bench.completed)
    assert found["MACS"] == 3 * 70 + 3 * 1
    assert found["BYTES_READ"] == 400
    assert found["BYTES_WRITTEN"] == 300
    assert found["MAC_BUSY"] == books.units[2].busy
    assert found["MACS_POSSIBLE"] == books.units[2].busy * 64
    assert found["STALL_SRAM"] > 0
    assert found["STALL_CONTENTION"] > 0
    states = ("ONLY_COMPUTE", "ONLY_DMA", "BOTH", "NEITHER")
    assert sum(found[state] for state in states) == found["CYCLES"]
    assert found["ISSUE_BUSY"] + found["STALL_WAIT"] + found["STALL_QUEUE"] == found["CYCLES"]


def test_counters_run_over_into_their_high_half():
    bench = Bench(CONFIG.replace(issue_cycles=0, check_cycles=0, dma_latency=1 << 20), functional=False)
    words = [*[op("OP_DMA_READ")] * 500, HALT]
    for runs in range(1, 20):
        bench.run(words)
        assert counters(bench)["CYCLES"] == runs * 500 * ((1 << 20) + ANSWER + 1)
    assert bench.read("COUNT_CYCLES_HIGH") == 2


def test_counters_begin_again_after_48_bits():
    bench = Bench(CONFIG, functional=False)
    bench.dla.registers.count([(1 << 48) + 5] * len(registers.COUNTERS))
    assert counters(bench) == dict.fromkeys([name for name, _ in registers.COUNTERS], 5)


# Reset


def everything(bench: Bench) -> dict[str, int]:
    return {register.name: bench.read(register.name) for register in registers.REGISTERS}


@pytest.mark.parametrize("when", ["idle", "busy", "faulted", "refused"])
def test_reset_brings_everything_back(when):
    fresh = Bench()
    fresh.write("CONTROL", 1)
    bench = Bench(CONFIG)
    for register in OPERANDS:
        if register.name != "REQUIRE_CONFIG":
            bench.write(register.name, register.pack(**{f.name: f.highest for f in register.fields}))
    bench.write("IRQ_ENABLE", 7)
    words = {"busy": [IRQ, *READ, HALT], "faulted": [0]}.get(when, [IRQ, *fill(0, 3), HALT])
    bench.ring(bench.place(words))
    if when != "busy":
        bench.finish()
    if when == "refused":
        bench.write("ID", 0)
    bench.write("CONTROL", 1)
    assert everything(bench) == everything(fresh)
    assert not bench.dla.sram.any()
    assert bench.dla.next_event() is None
    assert not bench.dla.interrupt()
    bench.set_up()
    completed = len(bench.completed)
    bench.run([*fill(0, 3), HALT])
    assert bench.dla.sram[0] == 3
    assert len(bench.completed) == completed + 1
    assert bench.read("STREAMS_DONE") == 1


def test_writing_zero_to_control_resets_nothing():
    bench = Bench()
    bench.write("IN_ADDR", 4)
    bench.write("CONTROL", 0)
    assert bench.read("IN_ADDR") == 4


def test_a_reset_machine_forgets_an_old_doorbell():
    bench = Bench(SLOW)
    tail = bench.place([*WORKING, HALT])
    bench.ring(tail)
    bench.write("CONTROL", 1)
    bench.set_up()
    bench.command(NOP)
    assert bench.read("STREAMS_DONE") == 0


# Transfers reach memory


def test_data_goes_in_and_out_through_the_regions():
    bench = Bench()
    bench.region(Region.ARENA)[:16] = np.arange(16)
    words = [
        cfg("DMA_IN_REGION", Region.ARENA),
        cfg("DMA_IN_RUN_BYTES", 16),
        cfg("DMA_IN_SRAM_ADDR", 32),
        op("OP_DMA_READ"),
        cfg("DMA_OUT_REGION", Region.OUTPUTS),
        cfg("DMA_OUT_RUN_BYTES", 16),
        cfg("DMA_OUT_SRAM_ADDR", 32),
        cfg("DMA_OUT_OFFSET", REGION_BYTES - 16),
        op("WAIT", unit=0, max_outstanding=0),
        op("OP_DMA_WRITE"),
        HALT,
    ]
    bench.run(words)
    assert bench.region(Region.OUTPUTS)[-16:].tolist() == list(range(16))
    assert bench.dla.sram[32:48].tolist() == list(range(16))
    bench.write("REGION3_BASE", BASE + REGION_BYTES)
    bench.run(words)
    assert bench.region(Region.ARENA)[-16:].tolist() == list(range(16)), "regions move with their base"


def test_without_an_executor_time_is_the_same_and_nothing_moves():
    words = [*READ, *fill(0, 1), HALT]
    functional, timing = Bench(), Bench(functional=False)
    timing.region(Region.ARENA)[:] = functional.region(Region.ARENA)[:] = 7
    functional.run(words)
    timing.run(words)
    assert timing.dla.now == functional.dla.now
    assert counters(timing) == counters(functional)
    assert functional.dla.sram[0] == 1
    assert len(timing.dla.sram) == 0
