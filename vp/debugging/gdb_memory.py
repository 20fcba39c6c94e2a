"""Memory as the debugger sees it: RAM and flash, and the registers of devices without side effects."""

from __future__ import annotations

from dlasim.errors import InputError
from dlasim.vp.system.board import Board

_ACCESS_BYTES = (1, 2, 4)


def read_memory(board: Board, address: int, size_bytes: int) -> bytes:
    """At most `size_bytes` bytes, fewer at the end of the memory; InputError if there is none."""
    data = board.memories.read_up_to(address, size_bytes)
    if data is None:
        data = _peek(board, address, size_bytes)
    if size_bytes and not data:
        raise InputError(f"nothing to read at 0x{address:08x}")
    return data


def write_memory(board: Board, address: int, data: bytes) -> None:
    """Writes RAM, flash (as a programmer would), or a device's register (as the CPU would)."""
    if board.memories.view(address, len(data)) is not None:
        board.memories.write(address, data)
        board.cpu.forget_translations()
    elif len(data) in _ACCESS_BYTES and address % len(data) == 0 and board.bus.owns(address):
        board.poke(address, len(data), int.from_bytes(data, "little"))
    else:
        raise InputError(f"cannot write {len(data)} bytes to 0x{address:08x}")


def _peek(board: Board, address: int, size_bytes: int) -> bytes:
    values = bytearray()
    for place in range(address, address + size_bytes):
        value = board.bus.peek(place)
        if value is None:
            break
        values.append(value)
    return bytes(values)
