"""A GDB server for the board: the part of the remote serial protocol that a debugger needs, for one
client on this machine."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from dlasim.errors import InputError
from dlasim.vp.board import Board
from dlasim.vp.cpu import REGISTERS, StopKind
from dlasim.vp.ctrl_c import deferred_interrupts
from dlasim.vp.result import BoardResult, Reason

_HOST = "127.0.0.1"
_PACKET_BYTES = 0x4000
_SLICE_CYCLES = 2_000_000  # how far the guest runs between looks for a Ctrl-C
_INTERRUPT = b"\x03"

_STOPPED, _INTERRUPTED, _CRASHED = "S05", "S02", "S0b"

_TARGET = (
    '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
    '<architecture>riscv:rv32</architecture><feature name="org.gnu.gdb.riscv.cpu">'
    + "".join(f'<reg name="x{number}" bitsize="32" regnum="{number}"/>' for number in range(REGISTERS))
    + '<reg name="pc" bitsize="32" type="code_ptr" regnum="32"/></feature></target>'
)


class DisconnectedError(Exception):
    """The client went away."""


class PacketLink:
    """Frames packets on a connection: `$data#checksum`, each acknowledged by `+`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = b""

    def receive(self) -> str:
        """The next packet's data; an interrupt sent while the guest does not run is dropped."""
        while True:
            start = self._received.find(b"$")
            end = self._received.find(b"#", start)
            if start >= 0 and end >= 0 and len(self._received) >= end + 3:
                data = self._received[start + 1 : end]
                checksum = self._received[end + 1 : end + 3]
                self._received = self._received[end + 3 :]
                if checksum == b"%02x" % (sum(data) & 0xFF):
                    self._connection.sendall(b"+")
                    return data.decode("latin-1")
                self._connection.sendall(b"-")
            else:
                self._fill()

    def send(self, text: str) -> None:
        """Sends a packet."""
        data = text.encode("latin-1")
        self._connection.sendall(b"$%s#%02x" % (data, sum(data) & 0xFF))

    def interrupted(self) -> bool:
        """Whether the client asked for a stop, without waiting for it."""
        while select.select([self._connection], [], [], 0)[0]:
            self._fill()
        before, found, after = self._received.partition(_INTERRUPT)
        self._received = before + after
        return bool(found)

    def _fill(self) -> None:
        try:
            data = self._connection.recv(_PACKET_BYTES)
        except OSError as error:
            raise DisconnectedError from error
        if not data:
            raise DisconnectedError
        self._received += data


class GdbServer:
    """Listens from the start; `serve` runs the board for the first client."""

    def __init__(self, board: Board, port: int) -> None:
        self._board = board
        self._link: PacketLink
        self._ended: Reason | None = None
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            self._listener.close()
            raise InputError(f"GDB port {port} cannot be used: {error}") from error
        self._listener.listen(1)
        self.port: int = self._listener.getsockname()[1]
        self._commands: dict[str, Callable[[str], str | None]] = {
            "?": lambda _: _STOPPED,
            "g": self._read_registers,
            "G": self._write_registers,
            "p": self._read_register,
            "P": self._write_register,
            "m": self._read_memory,
            "M": self._write_memory,
            "c": lambda _: self._continue(),
            "s": lambda _: self._step(),
            "v": self._resume_by_name,
            "Z": lambda text: self._breakpoint(text, True),
            "z": lambda text: self._breakpoint(text, False),
            "H": lambda _: "OK",
            "T": lambda _: "OK",
            "q": self._query,
        }

    def serve(self, max_instructions: int | None = None, max_cycles: int | None = None) -> BoardResult:
        """Waits for a client and obeys it; ends when the guest does, or the client leaves."""
        self._board.limit(max_instructions, max_cycles)
        self._board.cpu.enable_debugging()
        with self._listener:
            connection, _ = self._listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._link = PacketLink(connection)
            try:
                detached = self._converse()
            except DisconnectedError:
                detached = False
        while detached and self._ended is None:
            with deferred_interrupts():
                self._ended = self._board.advance(slice_cycles=_SLICE_CYCLES)
        return self._board.result(self._ended or Reason.KILLED)

    def _converse(self) -> bool:
        """Answers packets; True when the client detaches, False when it kills the guest."""
        while True:
            packet = self._link.receive()
            if packet[:1] == "D":
                self._board.counts.clear_breakpoints()
                self._link.send("OK")
                return True
            if packet[:1] == "k":
                return False
            self._link.send(self._answer(packet))

    def _answer(self, packet: str) -> str:
        command = self._commands.get(packet[:1])
        if command is None:
            return ""  # the protocol's way of saying "not supported"
        try:
            return command(packet[1:]) or ""
        except (ValueError, InputError):
            return "E01"

    # --- registers and memory ---

    def _value(self, number: int) -> int:
        cpu = self._board.cpu
        return cpu.pc if number == REGISTERS else cpu.read_register(number)

    def _set_value(self, number: int, value: int) -> None:
        if number == REGISTERS:
            self._board.cpu.pc = value
        else:
            self._board.cpu.write_register(number, value)

    def _read_registers(self, _: str) -> str:
        return "".join(_word(self._value(number)) for number in range(REGISTERS + 1))

    def _write_registers(self, text: str) -> str:
        data = bytes.fromhex(text)
        for number in range(min(REGISTERS + 1, len(data) // 4)):
            self._set_value(number, int.from_bytes(data[4 * number : 4 * number + 4], "little"))
        return "OK"

    def _read_register(self, text: str) -> str:
        number = int(text, 16)
        return _word(self._value(number)) if number <= REGISTERS else "E01"

    def _write_register(self, text: str) -> str:
        number, value = text.split("=")
        if int(number, 16) > REGISTERS:
            return "E01"
        self._set_value(int(number, 16), int.from_bytes(bytes.fromhex(value), "little"))
        return "OK"

    def _read_memory(self, text: str) -> str:
        address, size_bytes = (int(part, 16) for part in text.split(","))
        return self._board.memories.read(address, size_bytes).hex()

    def _write_memory(self, text: str) -> str:
        place, data = text.split(":")
        address = int(place.split(",")[0], 16)
        self._board.memories.write(address, bytes.fromhex(data))
        self._board.cpu.forget_translations()
        return "OK"

    def _breakpoint(self, text: str, enabled: bool) -> str:
        kind, address, _ = text.split(",")
        if kind not in ("0", "1"):
            return ""  # watchpoints
        return "OK" if self._board.counts.set_breakpoint(int(address, 16), enabled) else "E01"

    # --- running ---

    def _resume_by_name(self, text: str) -> str:
        if text == "Cont?":
            return "vCont;c;C;s;S"
        action = text.removeprefix("Cont;")[:1].lower()
        if not text.startswith("Cont;") or action not in ("c", "s"):
            return ""
        return self._step() if action == "s" else self._continue()

    def _continue(self) -> str:
        while self._ended is None:
            with deferred_interrupts():
                self._ended = self._board.advance(slice_cycles=_SLICE_CYCLES)
            if self._ended is None and self._board.last_stop.kind is StopKind.DEBUG:
                return _STOPPED
            if self._link.interrupted():
                return _INTERRUPTED
        return self._ending(self._ended)

    def _step(self) -> str:
        while self._ended is None:
            with deferred_interrupts():
                self._ended = self._board.advance(step=True)
            if self._ended is None and self._board.last_stop.kind is not StopKind.DEADLINE:
                return _STOPPED
        return self._ending(self._ended)

    def _ending(self, reason: Reason) -> str:
        if reason is Reason.EXIT:
            return f"W{(self._board.exit.exit_code or 0) & 0xFF:02x}"
        return _CRASHED

    def _query(self, text: str) -> str:
        if text.startswith("Supported"):
            return f"PacketSize={_PACKET_BYTES:x};qXfer:features:read+;vContSupported+"
        if text.startswith("Xfer:features:read:target.xml:"):
            offset, size_bytes = (int(part, 16) for part in text.rsplit(":", 1)[1].split(","))
            part = _TARGET[offset : offset + size_bytes]
            return ("m" if offset + size_bytes < len(_TARGET) else "l") + part
        known = {"Attached": "1", "C": "QC1", "fThreadInfo": "m1", "sThreadInfo": "l"}
        return known.get(text, "")


def _word(value: int) -> str:
    return value.to_bytes(4, "little").hex()
