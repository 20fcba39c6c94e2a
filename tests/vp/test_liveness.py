"""Guests that would hold the host: they end with a line that says why, and Ctrl-C always comes through."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from dlasim.errors import RunError
from dlasim.vp.devices import exit_device, uart
from dlasim.vp.devices.clint import COMPARE_HIGH, COMPARE_LOW, TIME_HIGH, TIME_LOW, Clint
from dlasim.vp.devices.device import Device
from dlasim.vp.system.board import Board
from dlasim.vp.system.board_result import Reason

BASE = 0x3000_0000


def run(elf, device=None, **limits):
    board = Board()
    if device is not None:
        board.attach(device, BASE, 0x1000, irq=11)
    board.load_elf(elf)
    return board, board.run(**limits)


def test_the_timer_wraps_at_64_bits():
    clint = Clint()
    clint.tick(100)
    for register in (TIME_LOW, TIME_HIGH):
        clint.store(register.offset, 4, 0xFFFF_FFFF)
    clint.store(COMPARE_HIGH.offset, 4, 0)
    clint.store(COMPARE_LOW.offset, 4, 50)
    assert clint.timer_interrupt()
    assert clint.next_event() == 101  # time becomes 0: the line falls
    clint.tick(101)
    assert (clint.time, clint.timer_interrupt(), clint.next_event()) == (0, False, 151)
    clint.tick(151)
    assert clint.timer_interrupt()


WRAP = r"""
#include "interrupts.h"
static volatile int woken;
void timer_interrupt(struct trap_frame *frame) { (void)frame; woken = 1; timer_off(); }
int main(void)
{
    csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
    timer_off();
    write32(DLASIM_CLINT_TIME_HIGH, 0xffffffff);
    write32(DLASIM_CLINT_TIME_LOW, 0xfffffff0);
    write32(DLASIM_CLINT_COMPARE_HIGH, 0);
    write32(DLASIM_CLINT_COMPARE_LOW, 1000);
    while (read32(DLASIM_CLINT_TIME_HIGH))
        ;
    interrupts_on();
    while (!woken)
        wait_for_interrupt();
    return 0;
}
"""


def test_a_guest_sleeps_over_the_wrap(build):
    _, result = run(build(source=WRAP), max_instructions=100_000)
    assert (result.reason, result.exit_code) == (Reason.EXIT, 0)
    assert 900 < result.idle_cycles < 1000


class Overdue(Device):
    """Announces an event and never does it."""

    def store(self, offset, size, value):
        self.due = 0

    def next_event(self):
        return getattr(self, "due", None)


@pytest.mark.parametrize("loop", ["wfi", "nop"])
def test_a_device_whose_event_stays_due_is_an_error(build, loop):
    source = f'int main(void) {{ write32({BASE:#x}u, 1); for (;;) __asm__ volatile("{loop}"); }}'
    with pytest.raises(RunError, match=r"device Overdue at 0x30000000 .* next_event\(\) is 0; it must be"):
        run(build(source=source), Overdue(), max_instructions=10_000)


class Ticker(Device):
    """Has an event in each cycle, and never raises its line."""

    def __init__(self):
        self.now = 0

    def store(self, offset, size, value):
        pass

    def tick(self, now):
        self.now = now

    def next_event(self):
        return self.now + 1


def interrupted_after(seconds, work):
    """How long after Ctrl-C `work` ended by it."""
    sent = []

    def send():
        time.sleep(seconds)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    late = time.monotonic() - sent[0]
    sender.join()
    return late


POLLING_READS = f"int main(void) {{ while (!read32({BASE:#x}u)) {{ }} return 0; }}"
POLLING_WRITES = f"int main(void) {{ for (;;) write32({BASE:#x}u, 1); }}"
SLEEPING = """
int main(void) { csr_write(mie, 0x800); for (;;) __asm__ volatile("wfi"); }
"""
TRAPPING = """
void exception(struct trap_frame *frame) { frame->pc += 4; }
int main(void) { for (;;) __asm__ volatile("ecall"); }
"""


@pytest.mark.parametrize("source", [POLLING_READS, POLLING_WRITES, SLEEPING, TRAPPING])
def test_ctrl_c_is_seen_within_half_a_second(build, source):
    elf = build(source=source)
    assert interrupted_after(0.4, lambda: run(elf, Ticker())) < 0.5


class Slow(Device):
    """Works for a minute."""

    def store(self, offset, size, value):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.01)


def test_ctrl_c_is_seen_within_a_device_that_works(build):
    elf = build(source=POLLING_WRITES)
    assert interrupted_after(0.4, lambda: run(elf, Slow())) < 0.5


class Deaf(Device):
    """Loses what Ctrl-C raises in it, as NumPy does when it looks up an attribute of an operand."""

    def __init__(self):
        self.lost = 0

    def store(self, offset, size, value):
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:
            self.lost += 1


def test_ctrl_c_is_seen_though_a_device_loses_it(build):
    elf, device = build(source=POLLING_WRITES), Deaf()
    assert interrupted_after(0.4, lambda: run(elf, device)) < 0.5
    assert device.lost == 1


class Constant(Device):
    """Always reads as zero."""

    def load(self, offset, size):
        return 0


STUCK = {
    "endless": "int main(void) { for (;;) {} }",
    "flag": "static volatile int flag; int main(void) { while (!flag) {} return 0; }",
    "device": POLLING_READS,
    "counting polls": f"int main(void) {{ uint32_t n = 0; while (!read32({BASE:#x}u)) n++; return n; }}",
}


@pytest.mark.parametrize("name", STUCK)
def test_a_guest_that_only_waits_is_ended_with_a_hint(build, name):
    began = time.monotonic()
    board, result = run(build(source=STUCK[name]), Constant(), stuck_after_seconds=1.0)
    assert result.reason is Reason.STUCK
    assert time.monotonic() - began < 3
    text = result.summary(board.firmware)
    assert len(text.splitlines()) == 1
    assert "main+" in text
    assert "--stuck-after" in text
    assert ("Constant (0x30000000), always 0x00000000" in text) is (name in ("device", "counting polls"))


BUSY = {
    "computes": """
        int main(void) { static volatile uint32_t n; for (n = 0; n < 3000000000u; n++) {} return 0; }""",
    "timer to come": """
        int main(void) { write32(DLASIM_CLINT_COMPARE_HIGH, 0x100); for (;;) {} }""",
    "prints": f"int main(void) {{ for (;;) write32({BASE:#x}u, 'x'); }}",
}


@pytest.mark.parametrize("name", BUSY)
@pytest.mark.parametrize("seconds", [0.001, 0.5])
def test_a_guest_that_works_is_not_ended(build, name, seconds):
    elf = build(source=BUSY[name])
    assert interrupted_after(1.5, lambda: run(elf, Constant(), stuck_after_seconds=seconds)) < 0.5


def test_a_guest_may_wait_for_ever_if_told_so(build):
    elf = build(source=STUCK["endless"])
    assert interrupted_after(1.5, lambda: run(elf, stuck_after_seconds=0)) < 0.5


FLOOD = """
int main(void)
{
    for (int i = 0; i < 3000; i++) {
        write8(DLASIM_UART_DATA, 'a' + i % 26);
        write32(DLASIM_EXIT_REGION_BEGIN, i);
        write32(DLASIM_EXIT_REGION_END, i);
    }
    return 0;
}
"""


def test_what_a_guest_writes_is_bounded(build, monkeypatch):
    monkeypatch.setattr(uart, "MAX_BYTES", 1000)
    monkeypatch.setattr(exit_device, "MAX_MARKS", 500)
    heard = bytearray()
    board = Board()
    board.uart.listener = heard.append
    board.load_elf(build(source=FLOOD))
    result = board.run()
    assert len(heard) == 3000
    assert 1000 <= len(result.uart) < 2000
    assert result.uart == heard[-len(result.uart) :]  # the last words
    assert (len(result.marks), result.marks_lost, len(result.regions)) == (500, 5500, 250)


COMMAND = [sys.executable, "-P", "-m", "dlasim", "run"]


def test_on_a_terminal_the_command_shows_instructions_and_function(build):
    elf = build(source=BUSY["computes"])
    terminal, end = os.openpty()
    process = subprocess.Popen([*COMMAND, str(elf)], stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    while b" s, in 0x" not in shown:
        shown += os.read(terminal, 1000)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    shown += os.read(terminal, 1000)
    os.close(terminal)
    assert b" instructions in " in shown
    assert b" main+0x" in shown
    plain = re.sub(rb"\x1b\[\d*m", b"", shown)  # without colours
    assert plain.endswith(b"\r\x1b[Kdlasim: interrupted\r\n")  # the line of progress has made way


def test_the_command_ends_a_stuck_guest_with_one_line(build):
    elf = build(source=STUCK["endless"])
    done = subprocess.run(
        [*COMMAND, str(elf), "--stuck-after", "1"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "for 1 s it has executed only 0x" in done.stderr
    assert "no device has an event that could end the wait" in done.stderr
