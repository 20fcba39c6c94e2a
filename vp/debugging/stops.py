"""What stops the guest for a debugger: breakpoints, and watchpoints on what the CPU reads and writes."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.errors import InputError
from dlasim.vp.system.board import Board

_MAX_STOPS = 64  # each of them slows the guest
_BREAKPOINTS = ("0", "1")
_WATCHPOINTS = {"2": ("watch", False, True), "3": ("rwatch", True, False), "4": ("awatch", True, True)}
_ADDRESSES = 1 << 32


class Stops:
    """Breakpoints and watchpoints of a board, by the kinds that gdb's protocol numbers."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._removals: dict[tuple[str, int, int], Callable[[], None]] = {}
        self._hit: tuple[str, int] | None = None

    @staticmethod
    def knows(kind: str) -> bool:
        """Whether there are stops of this kind."""
        return kind in _BREAKPOINTS or kind in _WATCHPOINTS

    def add(self, kind: str, address: int, size_bytes: int) -> None:
        """Sets a stop, once however often it is set."""
        if address >= _ADDRESSES or (kind in _WATCHPOINTS and not 0 < size_bytes <= _ADDRESSES - address):
            raise InputError(f"{size_bytes} bytes at 0x{address:08x} are outside the address space")
        key = kind, address, size_bytes
        if kind in _BREAKPOINTS and self._board.counts.set_breakpoint(address, True):
            return
        if key in self._removals:
            return
        if len(self._removals) >= _MAX_STOPS:
            raise InputError(f"at most {_MAX_STOPS} watchpoints and breakpoints in RAM can be set")
        self._removals[key] = self._break(address) if kind in _BREAKPOINTS else self._watch(*key)

    def remove(self, kind: str, address: int, size_bytes: int) -> None:
        """Takes a stop away, if it is there."""
        if kind in _BREAKPOINTS and self._board.counts.set_breakpoint(address, False):
            return
        end = self._removals.pop((kind, address, size_bytes), None)
        if end is not None:
            end()

    def clear(self) -> None:
        """Takes all stops away."""
        self._board.counts.clear_breakpoints()
        for key in list(self._removals):
            self.remove(*key)

    def take_hit(self) -> tuple[str, int] | None:
        """What was accessed since the last call: the kind of watchpoint as gdb calls it, and an address."""
        hit, self._hit = self._hit, None
        return hit

    def _break(self, address: int) -> Callable[[], None]:
        if address % 2 or self._board.memories.view(address, 2) is None:
            raise InputError(f"there is no code at 0x{address:08x}")
        return self._board.cpu.break_at(address)

    def _watch(self, kind: str, address: int, size_bytes: int) -> Callable[[], None]:
        name, loads, stores = _WATCHPOINTS[kind]

        def hit(touched: int) -> None:
            self._hit = self._hit or (name, touched)

        return self._board.cpu.watch(address, size_bytes, hit, loads=loads, stores=stores)
