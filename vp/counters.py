"""The control registers that the emulator gets wrong: counters, which there show the host's time, and mip,
where it does not know the board's lines.

The instructions that touch one are found beforehand and intercepted. They end their block, so what the
block counters hold plus the part of the block before them is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dlasim.vp.block_counters import BlockCounters
from dlasim.vp.bus import Bus
from dlasim.vp.decode import Code


class InterceptedCpu(Protocol):
    """What is needed of the CPU."""

    pc: int

    def read_register(self, number: int) -> int:
        """x0 to x31."""

    def write_register(self, number: int, value: int) -> None:
        """The same, writing."""

    def hook_address(self, address: int, action: Callable[[], None]) -> None:
        """Calls `action` before the instruction at `address`."""


class Counters:
    """Carries out each instruction of the code that touches one of these registers."""

    MIP = 0x344
    _INSTRUCTIONS = (0xB02, 0xC02)  # minstret, instret; + 0x80 for the upper halves
    _CYCLES = (0xB00, 0xC00)
    _TIME = (0xC01,)
    _HIGH = 0x80
    _FIRST_READ_ONLY = 0xC00

    def __init__(self, cpu: InterceptedCpu, counts: BlockCounters, code: Code, bus: Bus) -> None:
        self._cpu = cpu
        self._ledger = counts
        self._bus = bus
        self._time: Callable[[int], int] = lambda cycles: cycles
        self._offsets = {"instructions": 0, "cycles": 0}
        counters = self._INSTRUCTIONS + self._CYCLES + self._TIME
        for address in code.csr_sites((*counters, *(csr + self._HIGH for csr in counters), self.MIP)):
            word = int(code.words[(address - code.base) >> 1])
            if self._is_allowed(word):
                cpu.hook_address(address, self._action(address, word))

    def time_source(self, time: Callable[[int], int]) -> None:
        """`time(cycles)` gives what the time register reads."""
        self._time = time

    def _is_allowed(self, word: int) -> bool:
        """Writes to a read-only register stay with Unicorn, where they are illegal."""
        writes = (word >> 12 & 3) == 1 or word >> 15 & 31
        return word >> 20 < self._FIRST_READ_ONLY or not writes

    def _action(self, address: int, word: int) -> Callable[[], None]:
        def act() -> None:
            csr, target, source = word >> 20, word >> 7 & 31, word >> 15 & 31
            old = self.read(csr, address)
            operand = source if word >> 14 & 1 else self._cpu.read_register(source)
            kind = word >> 12 & 3
            if kind == 1 or source:
                new = {1: operand, 2: old | operand, 3: old & ~operand}[kind]
                self.write(csr, address + 4, new & 0xFFFF_FFFF)
            self._cpu.write_register(target, old)
            self._cpu.pc = address + 4

        return act

    def _value(self, csr: int, address: int) -> int:
        instructions, cycles = self._ledger.counts_at(address)
        low = csr & ~self._HIGH
        if low in self._INSTRUCTIONS:
            return instructions + self._offsets["instructions"]
        return cycles + self._offsets["cycles"] if low in self._CYCLES else self._time(cycles)

    def read(self, csr: int, address: int) -> int:
        """What the instruction at `address` finds in a register."""
        if csr == self.MIP:
            self._bus.tick(self._ledger.cycles)
            return self._bus.pending()
        return self._value(csr, address) >> (32 if csr & self._HIGH else 0) & 0xFFFF_FFFF

    def write(self, csr: int, address: int, new: int) -> None:
        """Writes a register; takes effect before the instruction at `address`."""
        if csr == self.MIP:
            return  # the machine-mode bits of mip are read-only
        value = self._value(csr, address) & (1 << 64) - 1
        wanted = value & 0xFFFF_FFFF | new << 32 if csr & self._HIGH else value >> 32 << 32 | new
        low = csr & ~self._HIGH
        self._offsets["instructions" if low in self._INSTRUCTIONS else "cycles"] += wanted - value
