"""A GDB server for the board: the part of the remote serial protocol that a debugger needs, for one
client on this machine."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

from dlasim.errors import InputError
from dlasim.vp.debugging.gdb_link import PACKET_BYTES, DisconnectedError, PacketLink
from dlasim.vp.debugging.gdb_memory import read_memory, write_memory
from dlasim.vp.debugging.gdb_monitor import monitor
from dlasim.vp.debugging.gdb_registers import PC, read_register, target_description, write_register
from dlasim.vp.debugging.stops import Stops
from dlasim.vp.riscv.cpu import StopKind
from dlasim.vp.system.board import Board
from dlasim.vp.system.board_result import BoardResult, Reason
from dlasim.vp.system.ctrl_c import deferred_interrupts

_HOST = "127.0.0.1"
_SLICE_CYCLES = 200_000  # how far the guest runs between looks for a Ctrl-C; of device accesses, 0.2 s
_MAX_READ_BYTES = PACKET_BYTES // 2 - 8
_REGISTER_BYTES = 4

_STOPPED, _INTERRUPTED, _CRASHED = "S05", "S02", "S0b"
_SIGNALS = {  # as signals, which is how gdb knows endings
    Reason.MAX_INSTRUCTIONS: "S18",  # SIGXCPU
    Reason.MAX_CYCLES: "S18",
    Reason.DEADLOCK: "S06",  # SIGABRT
}
_RESUMED_FROM_SIGNAL = re.compile(r"[0-9a-fA-F]{2};?")


class GdbServer:
    """Listens from the start; `serve` runs the board for the first client."""

    def __init__(self, board: Board, port: int) -> None:
        self._board = board
        self._stops = Stops(board)
        self._link: PacketLink
        self._ended: Reason | None = None
        self._status = _STOPPED
        self._description = target_description()
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            self._listener.close()
            raise InputError(f"--gdb: port {port} cannot be used: {error}") from error
        self._listener.listen(1)
        self.port: int = self._listener.getsockname()[1]
        self._commands: dict[str, Callable[[str], str]] = {
            "?": lambda _: self._status,
            "g": self._read_registers,
            "G": self._write_registers,
            "p": self._read_register,
            "P": self._write_register,
            "m": self._read_memory,
            "M": self._write_memory,
            "c": lambda text: self._resume(self._continue, text),
            "s": lambda text: self._resume(self._step, text),
            "C": lambda text: self._resume(self._continue, _RESUMED_FROM_SIGNAL.sub("", text, count=1)),
            "S": lambda text: self._resume(self._step, _RESUMED_FROM_SIGNAL.sub("", text, count=1)),
            "v": self._resume_by_name,
            "Z": lambda text: self._stop(text, self._stops.add),
            "z": lambda text: self._stop(text, self._stops.remove),
            "H": lambda _: "OK",
            "T": lambda _: "OK",
            "q": self._query,
            "Q": self._set_mode,
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
                self._stops.clear()
                self._link.send("OK")
                return True
            if packet[:1] == "k":
                return False
            self._link.send(self._answer(packet))
            if packet == "QStartNoAckMode":
                self._link.stop_acknowledging()

    def _answer(self, packet: str) -> str:
        command = self._commands.get(packet[:1])
        if command is None:
            return ""  # the protocol's way of saying "not supported"
        try:
            return command(packet[1:])
        except (ValueError, InputError):
            return "E01"

    # --- registers and memory ---

    def _read_registers(self, _: str) -> str:
        return "".join(_word(read_register(self._board, number)) for number in range(PC + 1))

    def _write_registers(self, text: str) -> str:
        data = _bytes(text)
        if len(data) != _REGISTER_BYTES * (PC + 1):
            raise ValueError(text)
        for number in range(PC + 1):
            place = _REGISTER_BYTES * number
            write_register(
                self._board, number, int.from_bytes(data[place : place + _REGISTER_BYTES], "little")
            )
        return "OK"

    def _read_register(self, text: str) -> str:
        return _word(read_register(self._board, _number(text)))

    def _write_register(self, text: str) -> str:
        number, value = text.split("=")
        data = _bytes(value)
        if len(data) != _REGISTER_BYTES:
            raise ValueError(text)
        write_register(self._board, _number(number), int.from_bytes(data, "little"))
        return "OK"

    def _read_memory(self, text: str) -> str:
        address, size_bytes = map(_number, text.split(","))
        return read_memory(self._board, address, min(size_bytes, _MAX_READ_BYTES)).hex()

    def _write_memory(self, text: str) -> str:
        place, data = text.split(":")
        address, size_bytes = map(_number, place.split(","))
        if len(_bytes(data)) != size_bytes:
            raise ValueError(text)
        write_memory(self._board, address, _bytes(data))
        return "OK"

    def _stop(self, text: str, change: Callable[[str, int, int], None]) -> str:
        kind, address, size_bytes = text.split(",")
        if not self._stops.knows(kind):
            return ""
        change(kind, _number(address), _number(size_bytes))
        return "OK"

    # --- running ---

    def _resume_by_name(self, text: str) -> str:
        if text == "Cont?":
            return "vCont;c;C;s;S"
        action = text.removeprefix("Cont;")[:1].lower()
        if not text.startswith("Cont;") or action not in ("c", "s"):
            return ""
        return self._resume(self._step if action == "s" else self._continue)

    def _resume(self, run: Callable[[], str], address: str = "") -> str:
        """Runs, from another address if one is given; the answer says why it stopped."""
        if address:
            write_register(self._board, PC, _number(address))
        self._board.cpu.pass_breakpoint()
        was_over = self._ended is not None
        self._stops.take_hit()
        self._status = run()
        if self._ended is not None and self._ended is not Reason.EXIT:
            again = "the run is over: " if was_over else ""
            self._say(f"dlasim: {again}{self._ended.value}\n")
        return self._status

    def _continue(self) -> str:
        while self._ended is None:
            with deferred_interrupts():
                self._ended = self._board.advance(slice_cycles=_SLICE_CYCLES)
            if (accessed := self._stops.take_hit()) is not None:
                return _accessed(*accessed)
            if self._ended is None and self._board.last_stop.kind is StopKind.DEBUG:
                return _STOPPED
            if self._link.interrupted():
                return _INTERRUPTED
        return self._ending(self._ended)

    def _step(self) -> str:
        while self._ended is None:
            with deferred_interrupts():
                self._ended = self._board.advance(step=True)
            if (accessed := self._stops.take_hit()) is not None:
                return _accessed(*accessed)
            if self._ended is None and self._board.last_stop.kind is not StopKind.DEADLINE:
                return _STOPPED
        return self._ending(self._ended)

    def _ending(self, reason: Reason) -> str:
        if reason is Reason.EXIT:
            return f"W{(self._board.exit.exit_code or 0) & 0xFF:02x}"
        return _SIGNALS.get(reason, _CRASHED)

    # --- about the server ---

    def _query(self, text: str) -> str:
        if text.startswith("Supported"):
            return f"PacketSize={PACKET_BYTES:x};qXfer:features:read+;vContSupported+;QStartNoAckMode+"
        if text.startswith("Xfer:features:read:target.xml:"):
            offset, size_bytes = map(_number, text.rsplit(":", 1)[1].split(","))
            part = self._description[offset : offset + min(size_bytes, PACKET_BYTES - 8)]
            return ("m" if offset + len(part) < len(self._description) else "l") + part
        if text.startswith("Rcmd,"):
            self._say(monitor(self._board, _bytes(text.removeprefix("Rcmd,")).decode("utf-8", "replace")))
            return "OK"
        known = {"Attached": "1", "C": "QC1", "fThreadInfo": "m1", "sThreadInfo": "l"}
        return known.get(text, "")

    def _set_mode(self, text: str) -> str:
        return "OK" if text == "StartNoAckMode" else ""

    def _say(self, text: str) -> None:
        """Shows text on the debugger's console."""
        data = text.encode().hex()
        longest = PACKET_BYTES - 8
        for place in range(0, len(data), longest):
            self._link.send("O" + data[place : place + longest])


def _accessed(kind: str, address: int) -> str:
    return f"T05{kind}:{address:08x};"


def _word(value: int) -> str:
    return value.to_bytes(_REGISTER_BYTES, "little").hex()


def _number(text: str) -> int:
    """A number as the protocol writes it: hexadecimal digits, and nothing else that Python would take."""
    if not re.fullmatch("[0-9a-fA-F]{1,16}", text):
        raise ValueError(text)
    return int(text, 16)


def _bytes(text: str) -> bytes:
    """Bytes as the protocol writes them: pairs of hexadecimal digits."""
    if not re.fullmatch("([0-9a-fA-F]{2})*", text):
        raise ValueError(text)
    return bytes.fromhex(text)
