"""The GDB server, against the real debugger and against broken clients."""

import contextlib
import re
import shutil
import socket
import subprocess
import threading
from dataclasses import replace

import pytest

from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.vp.debugging.gdb import GdbServer
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.dla_device import attach_dla
from dlasim.vp.devices.memory_map import DLA, MACHINE_EXTERNAL_INTERRUPT
from dlasim.vp.devices.uart import Uart
from dlasim.vp.programs.elf import executable_code
from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import Reason
from tests.vp.devices import JobDevice

LOOP = 'int main(void) { for (;;) __asm__ volatile("nop"); }'


class Session:
    """Serves a board while a client talks to it."""

    def __init__(self, elf, prepare=lambda board: None):
        self.board = Board()
        prepare(self.board)
        self.board.load_elf(elf)
        self.server = GdbServer(self.board, 0)
        self.result = None
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        self.result = self.server.serve()

    def finish(self):
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.result


def gdb(elf, *commands, prepare=lambda board: None):
    program = shutil.which("gdb-multiarch")
    if program is None:
        pytest.skip("gdb-multiarch is not installed: nothing to talk to the server with")
    session = Session(elf, prepare)
    target = f"target remote 127.0.0.1:{session.server.port}"
    arguments = [part for command in (target, *commands) for part in ("-ex", command)]
    done = subprocess.run(
        [program, "-nx", "-batch", "-ex", "set confirm off", *arguments, str(elf)],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout + done.stderr, session


def test_break_step_inspect_and_continue(build):
    elf = build("sort")
    at_sieve = ["break sieve", "continue", "backtrace", "print composite[9]", "set var composite[9] = 5"]
    at_sieve += ["stepi", "print/x *(unsigned *) 0x20000000 != 0", "info registers sp", "delete"]
    at_sort = ["break sort", "continue", "print composite[9]", "delete", "continue"]
    output, session = gdb(elf, *at_sieve, *at_sort)
    result = session.finish()
    assert "Breakpoint 1, sieve" in output
    assert "main ()" in output  # the caller, from the backtrace
    assert "$1 = 0" in output
    assert "sp             0x800" in output
    assert "Breakpoint 2, sort" in output
    assert "$3 = 1" in output  # the sieve wrote it
    assert "exited normally" in output
    assert result.reason is Reason.EXIT
    assert result.exit_code == 0


def test_registers_and_pc_can_be_set(build):
    source = r"""
    __attribute__((noinline)) static int answer(int n) { __asm__ volatile("" : "+r"(n)); return n; }
    int main(void) { return answer(1); }
    """
    output, session = gdb(
        build(source=source), "break answer", "continue", "set $a0 = 42", "delete", "continue"
    )
    assert session.finish().exit_code == 42
    assert "exited with code 052" in output


def test_single_steps_execute_each_instruction_once(build):
    elf = build("calls")
    plain = Board()
    plain.load_elf(elf)
    whole = plain.run()
    _, session = gdb(elf, "break fibonacci", "continue", *["stepi"] * 50, "delete", "continue")
    result = session.finish()
    assert (result.instructions, result.cycles, result.uart, result.exit_code) == (
        whole.instructions, whole.cycles, whole.uart, whole.exit_code
    )  # fmt: skip
    assert result.profile == whole.profile


def storm(build, drive):
    """An interrupt storm, driven by `drive`; all that can be told from outside of how it went."""
    device, board = JobDevice(), Board(BoardConfig(cpu="five_stage"))
    board.attach(device, DLA.base, DLA.size_bytes, MACHINE_EXTERNAL_INTERRUPT)
    board.load_elf(build("storm", "JOB_CYCLES=100"))
    result = board.result(drive(board))
    assert result.exit_code == 0
    return replace(result, pc=0), device.started_at, device.finished_at


def run_plainly(board):
    return board.run().reason


@pytest.mark.parametrize(("stride", "step"), [(10, False), (10, True)])
def test_stops_anywhere_change_nothing(build, stride, step):
    """Neither what is computed, nor a cycle, nor when a device is accessed or an interrupt taken."""

    def drive(board):
        board.cpu.enable_debugging()
        base, code = executable_code(board.firmware)
        for address in range(base, base + len(code), stride):
            board.counts.set_breakpoint(address, True)
        reason, turns = None, 0
        while reason is None:
            board.cpu.pass_breakpoint()
            reason = board.advance(step=step and turns % stride == 0, slice_cycles=777)
            turns += 1
        assert turns > 1000
        return reason

    assert storm(build, drive) == storm(build, run_plainly)


def test_detach_lets_the_program_run_on(build):
    output, session = gdb(build("sort"), "break sieve", "continue", "detach")
    assert "detached" in output
    assert session.finish().reason is Reason.EXIT


def test_kill_ends_the_run(build):
    _, session = gdb(build(source=LOOP), "stepi", "kill")
    assert session.finish().reason is Reason.KILLED


def test_a_crash_stops_where_it_happened(build):
    source = '    .section .text.start, "ax"\n    .globl _start\n_start:\n    nop\n    lw a0, 0(zero)\n'
    output, session = gdb(build(source=source, assembly=True, boot=False), "continue", "print/x $pc", "kill")
    assert "SIGSEGV" in output
    assert "0x20000002" in output
    session.finish()


TICKING = r"""
    #include "boot.h"
    volatile int ticks, quick[4];
    volatile uint8_t byte;
    __attribute__((noinline)) int work(int rounds)
    {
        int sum = 0;
        for (int i = 0; i < rounds; i++) { sum += i * i; quick[i & 3] = sum; }
        return sum;
    }
    void timer_interrupt(struct trap_frame *frame)
    {
        (void)frame;
        ticks = ticks + 1;
        byte = 7;
        write32(DLASIM_CLINT_COMPARE_LOW, read32(DLASIM_CLINT_TIME_LOW) + 500);
    }
    int main(void)
    {
        write32(DLASIM_CLINT_COMPARE_HIGH, 0);
        write32(DLASIM_CLINT_COMPARE_LOW, read32(DLASIM_CLINT_TIME_LOW) + 500);
        csr_set(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
        interrupts_on();
        return work(1000) == 0 || ticks < 10;
    }
"""


def test_control_registers_have_names(build):
    output, session = gdb(
        build(source=TICKING), "break timer_interrupt", "continue",
        "info registers mcause", "print/x $mie", "print $mepc >= (unsigned) &work",
        "print $mtvec == (unsigned) &trap_entry", "print $minstret > 500 && $mcycle >= $minstret",
        "print/x $mip",
        "print $time", "set $mscratch = 0x1234", "print/x $mscratch", "set $mip = 1", "set $misa = 1",
        "set $mcycle = 5000000", "print $mcycle", "info registers csr", "kill",
    )  # fmt: skip
    session.finish()
    assert "mcause         0x80000007" in output
    assert "$1 = 0x80" in output
    assert "$2 = 1\n$3 = 1\n$4 = 1\n$5 = 0x80\n" in output
    assert int(re.search(r"\$6 = (\d+)", output)[1]) >= 500
    assert "$7 = 0x1234" in output
    assert output.count("Could not write register") == 2
    assert "$8 = 5000000" in output
    assert re.search(r"^minstreth +0x0", output, re.MULTILINE)


def test_watchpoints_stop_behind_the_access(build):
    output, session = gdb(
        build(source=TICKING), "watch ticks", "continue", "print ticks", "continue", "delete",
        "rwatch ticks", "continue", "print $_exitcode", "delete", "awatch byte", "continue",
        "info symbol $pc",
        "delete", "watch *(short *) ((char *) quick + 2)", "continue", "delete", "continue",
    )  # fmt: skip
    assert session.finish().exit_code == 0
    assert "Old value = 0\nNew value = 1" in output
    assert "$1 = 1" in output
    assert "Old value = 1\nNew value = 2" in output
    assert "Hardware read watchpoint 2: ticks\n\nValue = 2" in output
    assert "Hardware access (read/write) watchpoint 3: byte" in output
    assert "timer_interrupt + " in output
    assert "Hardware watchpoint 4: *(short *) ((char *) quick + 2)\n\nOld value = " in output


def test_backtraces_cross_a_trap_at_each_of_its_instructions(build):
    """Up to mret, over which gdb cannot step: it takes the instruction behind it for the next one."""
    steps = ["backtrace -frame-arguments none", "x/i $pc", "stepi"] * 130
    output, session = gdb(
        build(source=TICKING), "set width 0", "break *trap_entry", "continue", "delete", *steps,
    )  # fmt: skip
    assert session.finish().exit_code == 0
    traces = re.split(r"^(?=#0)", output, flags=re.MULTILINE)[1:]
    assert len(traces) > 90
    assert "<trap_entry>:" in traces[0]
    assert "mret" in traces[-1]
    for trace in traces:
        assert re.search(r"<signal handler called>\n#\d +work \(.*\n#\d +\S*( in )?main \(\)", trace), trace
        assert "corrupt" not in trace


def test_breakpoints_in_ram_and_calls(build):
    output, session = gdb(
        build(source=TICKING), "break work", "continue", "delete", "print work(10)", "continue"
    )
    assert session.finish().exit_code == 0
    assert "$1 = 285" in output


class Sampler(Device):
    """Reading it has side effects, and it does not say what a debugger would see."""

    def __init__(self):
        self.loads = 0
        self.stored = []

    def load(self, offset, size):
        self.loads += 1
        return 0

    def store(self, offset, size, value):
        self.stored.append((offset, size, value))


def test_devices_are_shown_without_side_effects_and_written(build):
    sampler = Sampler()

    def prepare(board):
        attach_dla(board, DlaConfig(pes=64), None)
        board.attach(sampler, 0x1200_0000, 0x1000)

    output, session = gdb(
        build(source=TICKING), "break timer_interrupt", "continue",
        "print/x *(unsigned *) 0x11000000", "print *(unsigned *) 0x11000008", "print *(char *) 0x1100000a",
        "print *(unsigned *) 0x0200bff8 > 0", "print/x *(unsigned *) 0x00100008",
        "print/x *(char *) 0x10000000",
        "print/x *(char *) 0x10000000", "print *(char *) 0x12000000",
        "set var *(unsigned short *) 0x12000002 = 258",
        "set var *(char *) 0x10000000 = 65", "delete", "continue",
        prepare=prepare,
    )  # fmt: skip
    assert session.finish().uart == b"A"
    assert "$1 = 0x31414c44\n$2 = 64\n$3 = 0 " in output
    assert "$4 = 1\n$5 = 0x4000000\n" in output
    assert "Cannot access memory at address 0x12000000" in output
    assert sampler.loads == 0
    assert sampler.stored == [(2, 2, 258)]


def test_looking_at_the_console_takes_nothing_from_it():
    uart = Uart()
    uart.receive(b"QR")
    assert [uart.peek(0), uart.peek(0), uart.peek(5), uart.peek(1)] == [ord("Q"), ord("Q"), 0x61, 0]
    assert uart.load(0, 1) == ord("Q")


def test_monitor_commands(build):
    commands = (
        "",
        "help",
        "counts",
        "interrupts",
        "devices",
        "dla",
        "dla status OUT_SIZE",
        "dla foo",
        "blocks",
    )
    commands += ("profile", "foo", "counts 1")
    output, session = gdb(
        build(source=TICKING), "break timer_interrupt", "continue", *(f"monitor {text}" for text in commands),
        "kill", prepare=lambda board: attach_dla(board, DlaConfig(pes=64), None),
    )  # fmt: skip
    session.finish()
    for text in (
        "monitor profile", "instructions, ", "timer     bit  7  raised  enabled in mie",
        "interrupts are held back",
        "0x11000000 to 0x11000fff  DlaDevice", "CAP_PES                0x00000040",
        "busy=0 fault=0 refused=0", "OUT_SIZE", "the DLA has no register FOO; `monitor dla` lists them",
        "trap_entry+0x0", "unknown command foo; `monitor help` lists all",
        "counts takes no arguments (got 1)",
    ):  # fmt: skip
        assert text in output, text
    assert re.search(r"[\d,]+ +[\d,]+ +1  work\n", output)


def test_a_run_that_cannot_go_on_says_why(build):
    output, session = gdb(
        build(source="int main(void) { wait_for_interrupt(); return 0; }"), "continue", "continue", "kill"
    )
    assert session.finish().reason is Reason.DEADLOCK
    assert "SIGABRT" in output
    assert f"dlasim: {Reason.DEADLOCK.value}\n" in output
    assert f"dlasim: the run is over: {Reason.DEADLOCK.value}\n" in output


class RawClient:
    """Speaks the protocol by hand."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)

    def send(self, data):
        self._socket.sendall(data)

    def ask(self, text):
        self.send(b"$%s#%02x" % (text, sum(text) & 0xFF))
        return self.reply()

    def raw(self):
        return self._socket.recv(1)

    def reply(self):
        data = b""
        while not (b"#" in data and len(data) >= data.index(b"#") + 3):
            data += self._socket.recv(4096)
        return data.lstrip(b"+")[1:-3]

    def close(self):
        self._socket.close()


def test_ctrl_c_stops_an_endless_loop(build):
    session = Session(build(source=LOOP))
    client = RawClient(session.server.port)
    client.send(b"$c#63")
    threading.Timer(0.2, client.send, [b"\x03"]).start()
    assert client.reply() == b"S02"
    assert len(client.ask(b"g")) == 33 * 8
    client.close()
    assert session.finish().reason is Reason.KILLED


@pytest.fixture
def client(build):
    session = Session(build("sort"))
    client = RawClient(session.server.port)
    yield client
    client.close()
    assert session.finish().reason is Reason.KILLED


def test_nonsense_is_answered_and_survived(client):
    for packet in (
        b"p99", b"p", b"p-1", b"p 1", b"p0x1", b"P1", b"P1=00", b"P1=0000000000", b"P99=00000000",
        b"P1=0000000g",
        b"P16d=00000000", b"G00", b"G" + b"0" * 7, b"G" + b"0" * 33 * 9,
        b"m70000000,4", b"mzz,4", b"m", b"m,", b"m20000000", b"m20000000,-4", b"m-20000000,4",
        b"m20000000,+4",
        b"m20000000,4,4", b"m2_0000000,4", b"m 20000000,4", b"m120000000,4", b"m11111111111111111,4",
        b"M80000000,2:12", b"M80000000,2:121", b"M80000000,-1:", b"M80000000,1:1 ", b"M70000000,1:12",
        b"M83ffffff,2:1212", b"M80000000", b"M10000001,4:00000000",
        b"Z0,70000000,4", b"Z0,80000001,2", b"Z0", b"Z0,-1,2", b"Z2,80000000,0", b"Z2,80000000,-4",
        b"Z2,ffffffff,2",
        b"Z2,80000000,100000000", b"czz", b"s-1", b"Czz", b"qRcmd,1", b"qRcmd,zz",
        b"qXfer:features:read:target.xml:-1,4", b"qXfer:features:read:target.xml:0",
    ):  # fmt: skip
        assert client.ask(packet) == b"E01", packet
    for packet in (
        b"!",
        b"vMustReplyEmpty",
        b"vCont",
        b"vCont;",
        b"vCont;x",
        b"Z9,80000000,4",
        b"QNothing",
        b"qNo",
    ):
        assert client.ask(packet) == b"", packet


def test_damaged_frames_are_asked_for_again(client):
    for frame in (b"$g#00", b"$g#zz", b"$g#6-", b"noise$g#00"):
        client.send(frame)
        assert client.raw() == b"-"
    client.send(b"$?#3F")  # digits may be capital
    assert client.reply() == b"S05"
    client.send(b"-")
    assert client.reply() == b"S05"
    assert client.ask(b"QStartNoAckMode") == b"OK"
    client.send(b"+$?#3f")
    assert client.raw() == b"$"


def test_reads_end_where_memory_ends(client):
    whole = client.ask(b"m20000000,ffffffff")
    assert 2 * 4096 < len(whole) <= 0x4000
    assert len(client.ask(b"m83fffffe,10")) == 2 * 2
    assert client.ask(b"m20000000,0") == b""


def test_one_who_floods_is_left(build):
    session = Session(build("sort"))
    client = RawClient(session.server.port)
    with contextlib.suppress(OSError):
        for _ in range(64):
            client.send(b"$" + b"m" * 4096)
    assert session.finish().reason is Reason.KILLED
    client.close()


def test_a_busy_port_is_an_input_error(build):
    board = Board()
    board.load_elf(build("sort"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match="cannot be used"):
            GdbServer(board, other.getsockname()[1])
    with pytest.raises(InputError, match="cannot be used"):
        GdbServer(board, 99_999)
