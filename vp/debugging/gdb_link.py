"""The debugger's connection: packets of gdb's remote serial protocol, framed and checked."""

from __future__ import annotations

import re
import select
import socket

PACKET_BYTES = 0x4000
_MAX_WAITING_BYTES = 4 * PACKET_BYTES
_INTERRUPT = b"\x03"
_CHECKSUM = re.compile(rb"[0-9a-fA-F]{2}")


class DisconnectedError(Exception):
    """The client went away, or sends what no debugger would."""


class PacketLink:
    """Frames packets on a connection: `$data#checksum`, each acknowledged by `+` until both agree not to."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = b""
        self._sent = b""
        self._acknowledges = True

    def receive(self) -> str:
        """The next packet's data; an interrupt sent while the guest does not run is dropped."""
        while True:
            self._skip_to_packet()
            data, mark, rest = self._received[1:].partition(b"#")
            if not mark or len(rest) < 2:
                self._fill()
                continue
            self._received = rest[2:]
            if _CHECKSUM.fullmatch(rest[:2]) and int(rest[:2], 16) == sum(data) & 0xFF:
                self._acknowledge(b"+")
                return data.decode("latin-1")
            self._acknowledge(b"-")

    def send(self, text: str) -> None:
        """Sends a packet."""
        data = text.encode("latin-1")
        self._sent = b"$%s#%02x" % (data, sum(data) & 0xFF)
        self._write(self._sent)

    def stop_acknowledging(self) -> None:
        """From now on neither side confirms packets: the connection loses none."""
        self._acknowledges = False

    def interrupted(self) -> bool:
        """Whether the client asked for a stop, without waiting for it."""
        if select.select([self._connection], [], [], 0)[0]:
            self._fill()
        before, found, after = self._received.partition(_INTERRUPT)
        self._received = before + after
        return bool(found)

    def _skip_to_packet(self) -> None:
        """Drops what comes before a packet; where it says that our last one was damaged, sends that again."""
        start = self._received.find(b"$")
        before = self._received if start < 0 else self._received[:start]
        self._received = self._received[len(before) :]
        if b"-" in before and self._acknowledges:
            self._write(self._sent)

    def _acknowledge(self, sign: bytes) -> None:
        if self._acknowledges:
            self._write(sign)

    def _write(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise DisconnectedError from error

    def _fill(self) -> None:
        try:
            data = self._connection.recv(PACKET_BYTES)
        except OSError as error:
            raise DisconnectedError from error
        self._received += data
        if not data or len(self._received) > _MAX_WAITING_BYTES:
            raise DisconnectedError
