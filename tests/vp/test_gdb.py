"""The GDB server, against the real debugger and against broken clients."""

import shutil
import socket
import subprocess
import threading

import pytest

from dlasim.errors import InputError
from dlasim.vp.board import Board
from dlasim.vp.gdb import GdbServer
from dlasim.vp.result import Reason

LOOP = 'int main(void) { for (;;) __asm__ volatile("nop"); }'


class Session:
    """Serves a board while a client talks to it."""

    def __init__(self, elf):
        self.board = Board()
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


def gdb(elf, *commands):
    program = shutil.which("gdb-multiarch")
    if program is None:
        pytest.skip("gdb-multiarch is not installed: nothing to talk to the server with")
    session = Session(elf)
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


class RawClient:
    """Speaks the protocol by hand."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)

    def send(self, data):
        self._socket.sendall(data)

    def ask(self, text):
        self.send(b"$%s#%02x" % (text, sum(text) & 0xFF))
        return self.reply()

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


def test_nonsense_is_answered_and_survived(build):
    session = Session(build("sort"))
    client = RawClient(session.server.port)
    assert client.ask(b"p99") == b"E01"
    assert client.ask(b"m70000000,4") == b"E01"
    assert client.ask(b"mzz,4") == b"E01"
    assert client.ask(b"M80000000,2:12") == b"OK"
    assert client.ask(b"Z0,70000000,4") == b"E01"
    assert client.ask(b"Z2,80000000,4") == b""
    assert client.ask(b"!") == b""
    assert client.ask(b"vMustReplyEmpty") == b""
    client.send(b"$g#00")  # a wrong checksum asks for the packet again
    client.send(b"$k#6b")
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
