"""The machine as a driver sees it: registers, doorbells, interrupts, commands, counters, reset."""

import numpy as np
import pytest

from dlasim.isa import registers
from dlasim.isa.faults import Fault
from dlasim.isa.registers import BY_NAME, COUNTERS, OPERANDS, Access, Region
from dlasim.sim.operation import reset_file
from dlasim.sim.plan import plan_stream
from tests.sim_machine.bench import BASE, CONFIG, HALT, IRQ, NOP, REGION_BYTES, Bench, cfg, fill, op

SLOW = CONFIG.replace(dma_latency=1000)
READ = [cfg("DMA_IN_REGION", Region.ARENA), op("OP_DMA_READ")]
WORKING = [*READ, HALT]  # busy for more than 1000 cycles on SLOW


def busy_bench() -> Bench:
    bench = Bench(SLOW)
    bench.ring(bench.place(WORKING))
    assert bench.flag("STATUS", "busy")
    return bench


# Registers


def test_identity_and_capabilities():
    bench = Bench(CONFIG.replace(parallel="4x16"))
    assert bench.read("ID").to_bytes(4, "little") == b"DLA1"
    assert bench.read("ISA_VERSION") == 1 << 16
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


# Doorbells and streams


def test_a_doorbell_rung_while_busy_adds_a_stream():
    bench = busy_bench()
    tail = bench.place([*fill(5, 9), HALT], first=len(WORKING))
    bench.dla.tick(17)
    bench.ring(tail)
    assert not bench.refused()
    end = bench.finish()
    assert bench.dla.sram[5] == 9
    assert bench.read("STREAMS_DONE") == 2
    assert bench.read("QUEUE_READ") == tail
    first, second = bench.completed
    assert second.start == first.end
    assert end == second.end
    assert (first.first_word, second.first_word) == (0, len(WORKING))


def test_streams_in_one_doorbell_follow_each_other_without_a_gap():
    bench = Bench()
    tail = bench.place([*fill(0, 1), HALT, *fill(1, 2), HALT, HALT])
    bench.ring(tail)
    bench.dla.tick(10_000)
    assert [run.first_word for run in bench.completed] == [0, 6, 12]
    assert [run.start for run in bench.completed[1:]] == [run.end for run in bench.completed[:-1]]
    assert bench.dla.sram[:2].tolist() == [1, 2]
    assert bench.read("COUNT_CYCLES_LOW") == bench.completed[-1].end


def test_a_doorbell_behind_the_reader_starts_nothing():
    bench = Bench()
    bench.run([HALT])
    bench.ring(1)
    assert not bench.flag("STATUS", "busy")
    assert bench.dla.next_event() is None
    bench.ring(0)
    assert not bench.refused()
    assert bench.read("STREAMS_DONE") == 1


def test_a_doorbell_beyond_the_queue_is_refused():
    bench = Bench()
    bench.write("QUEUE_SIZE", 2)
    bench.place([HALT, HALT, HALT])
    bench.ring(3)
    assert bench.refused()
    assert bench.dla.next_event() is None
    bench.ring(2)
    bench.finish()
    assert bench.read("STREAMS_DONE") == 2


def test_a_doorbell_rung_during_a_command_is_kept():
    bench = Bench(SLOW)
    tail = bench.place([*fill(3, 4), HALT])
    bench.write("DMA_IN_REGION", Region.ARENA)
    bench.write("COMMAND_LOW", op("OP_DMA_READ"))
    bench.write("COMMAND_HIGH", 0)
    assert bench.flag("STATUS", "busy")
    bench.ring(tail)
    bench.finish()
    assert bench.dla.sram[3] == 4
    assert bench.read("STREAMS_DONE") == 1


def test_a_command_does_not_start_a_queue_that_nobody_rang_for():
    bench = Bench()
    bench.run([*fill(3, 4), HALT])
    bench.write("QUEUE_READ", 0)
    bench.dla.sram[3] = 0
    bench.command(NOP)
    assert bench.dla.sram[3] == 0
    assert bench.read("QUEUE_READ") == 0


def test_the_queue_may_start_anywhere_in_its_region():
    bench = Bench()
    bench.place([*fill(3, 4), HALT], first=10)
    bench.write("QUEUE_BASE", 64)
    bench.write("QUEUE_READ", 2)
    bench.ring(8)
    bench.finish()
    assert bench.dla.sram[3] == 4
    assert bench.dla.fault is None


def test_registers_and_sram_last_over_halt():
    bench = Bench()
    bench.run([*fill(0, 1, count=3), cfg("IN_ADDR", 44), HALT])
    assert bench.read("IN_ADDR") == 44
    bench.run([cfg("OUT_ADDR", 8), op("OP_FILL"), HALT])
    assert bench.dla.sram[:12].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0]
    assert bench.read("IN_ADDR") == 44


def test_registers_written_by_the_host_are_used_by_the_stream():
    bench = Bench()
    bench.write("OUT_ADDR", 100)
    bench.write("FILL_VALUE", 0xFFFF_FF80)
    bench.run([op("OP_FILL"), HALT])
    assert bench.dla.sram[100] == 0x80
    assert bench.read("FILL_VALUE") == 0xFFFF_FF80
    bench.write("OUT_ADDR", 101)
    bench.run([op("OP_FILL"), HALT])
    assert bench.dla.sram[101] == 0x80, "the same words with other registers are another stream"


def test_a_stream_rewritten_in_memory_is_run_as_it_is_now():
    """Plans are kept for speed, by the words themselves."""
    bench = Bench()
    for value in (1, 2, 1):
        bench.run([*fill(0, value), HALT])
        assert bench.dla.sram[0] == value


# Commands given one at a time


def test_the_papers_way_one_command_at_a_time():
    bench = Bench()
    for word in [*fill(40, 6, count=4)]:
        bench.command(word)
    assert bench.dla.sram[40:44].tolist() == [6] * 4
    assert bench.read("STREAMS_DONE") == 0, "only streams count"
    assert bench.read("QUEUE_READ") == 0
    bench.command(HALT)
    assert bench.flag("IRQ_STATUS", "done")


def test_a_command_that_faults_is_at_position_zero():
    bench = Bench()
    bench.write("OUT_ADDR", CONFIG.sram_bytes)
    bench.command(op("OP_FILL"))
    assert bench.dla.fault.code is Fault.SRAM_RANGE
    assert bench.dla.fault.position == 0
    bench = Bench()
    bench.command(0xFFFF_FFFF_FFFF_FFFF)
    assert bench.dla.fault.code is Fault.ILLEGAL_INSTRUCTION


def test_commands_and_streams_cost_the_same_operation():
    bench = Bench(SLOW)
    bench.write("DMA_IN_REGION", Region.ARENA)
    bench.command(op("OP_DMA_READ"))
    (run,) = bench.completed
    assert run.end == 1 + 1000 + 1  # issue, latency, one beat


# Interrupts


def test_markers_come_in_their_cycles_and_done_at_the_end():
    words = [IRQ, *READ, IRQ, IRQ, HALT]
    bench = Bench(SLOW)
    expected = plan_stream(SLOW, np.array(words, np.uint64), reset_file()).timeline
    bench.ring(bench.place(words))
    seen = []
    while (due := bench.dla.next_event()) is not None:
        bench.dla.tick(due)
        if bench.flag("IRQ_STATUS", "marker"):
            seen.append(due)
            bench.write("IRQ_ACK", 2)
    assert seen == list(expected.markers)
    assert bench.dla.now == expected.total
    assert bench.flag("IRQ_STATUS", "done")


def test_markers_count_from_their_own_streams_doorbell():
    bench = Bench()
    bench.dla.tick(500)
    bench.ring(bench.place([HALT, NOP, IRQ, HALT]))
    seen = []
    while (due := bench.dla.next_event()) is not None:
        assert bench.dla.now < due
        bench.dla.tick(due)
        seen.append((due, bench.read("IRQ_STATUS")))
    assert seen == [(501, 1), (503, 3), (504, 3)]


def test_a_late_host_finds_everything_pending():
    bench = Bench()
    bench.ring(bench.place([IRQ, IRQ, HALT]))
    bench.dla.tick(1_000_000)
    assert bench.read("IRQ_STATUS") == 3
    assert bench.dla.now == 1_000_000
    assert bench.completed[0].end == 3, "completion keeps its cycle however late the host looks"


def test_the_line_follows_status_and_enable():
    bench = Bench()
    bench.run([HALT])
    assert not bench.dla.interrupt(), "masked after reset"
    bench.write("IRQ_ENABLE", 6)
    assert not bench.dla.interrupt()
    bench.write("IRQ_ENABLE", 1)
    assert bench.dla.interrupt()
    bench.write("IRQ_ACK", 4)
    assert bench.dla.interrupt(), "another flag was acknowledged"
    bench.write("IRQ_ACK", 1)
    assert not bench.dla.interrupt()
    bench.write("IRQ_ACK", 7)
    assert bench.read("IRQ_STATUS") == 0, "a spurious acknowledge changes nothing"
    assert not bench.refused()


def test_done_acknowledged_before_the_next_stream_ends_is_raised_again():
    bench = busy_bench()
    tail = bench.place([*READ, HALT], first=len(WORKING))
    bench.ring(tail)
    bench.dla.tick(bench.dla.next_event())
    bench.write("IRQ_ACK", 1)
    assert bench.flag("STATUS", "busy")
    bench.finish()
    assert bench.flag("IRQ_STATUS", "done")


def test_enable_and_acknowledge_work_while_busy_and_after_a_fault():
    bench = busy_bench()
    bench.write("IRQ_ENABLE", 7)
    bench.write("IRQ_ACK", 7)
    assert not bench.refused()
    bench = Bench()
    bench.run([0])
    bench.write("IRQ_ENABLE", 7)
    assert bench.dla.interrupt()
    bench.write("IRQ_ACK", 4)
    assert not bench.dla.interrupt()
    assert not bench.refused()
    assert bench.dla.has_faulted, "an acknowledged fault is still a fault"


# Counters


def counters(bench: Bench) -> dict[str, int]:
    return {n: bench.read(f"COUNT_{n}_LOW") | bench.read(f"COUNT_{n}_HIGH") << 32 for n, _ in COUNTERS}


def test_counters_are_the_books_of_all_streams():
    bench = Bench(CONFIG.replace(dma_shared_bandwidth=8, sram_bandwidth=1))
    conv = [cfg("IN_CHANNELS", 3), cfg("OUT_CHANNELS", 70), op("OP_CONV")]
    move = [cfg("DMA_IN_RUN_BYTES", 400), op("OP_DMA_READ"), cfg("DMA_OUT_REGION", Region.OUTPUTS)]
    move += [cfg("DMA_IN_REGION", Region.ARENA), cfg("DMA_OUT_RUN_BYTES", 300), op("OP_DMA_WRITE")]
    bench.run([*conv, *move, *fill(0, 1), HALT])
    bench.run([op("OP_CONV"), HALT])
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
    bench = Bench(CONFIG.replace(issue_cycles=0, dma_latency=1 << 20), functional=False)
    words = [*[op("OP_DMA_READ")] * 500, HALT]
    for runs in range(1, 20):
        bench.run(words)
        assert counters(bench)["CYCLES"] == runs * 500 * ((1 << 20) + 1)
    assert bench.read("COUNT_CYCLES_HIGH") == 2


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
