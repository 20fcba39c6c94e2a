"""What a driver starts: streams by doorbell, and commands one at a time."""

from dlasim.isa.faults import Fault
from dlasim.isa.registers import Region
from tests.sim_machine.bench import CONFIG, HALT, NOP, Bench, cfg, fill, op
from tests.sim_machine.driver import SLOW, WORKING, busy_bench
from tests.sim_timing.jobs import ANSWER

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
    assert run.end == 16 + 1 + 1000 + ANSWER + 1  # checks, issue, latency, the ports' answer, one beat
