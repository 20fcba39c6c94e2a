"""The interrupt line, and what a driver acknowledges."""

import numpy as np

from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import plan_stream
from tests.sim_machine.bench import HALT, IRQ, NOP, Bench
from tests.sim_machine.driver import READ, SLOW, WORKING, busy_bench


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
