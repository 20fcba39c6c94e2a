"""The control registers that the emulator gets wrong: counters, which there show the host's time, and mip,
where it does not know the board's lines.

The instructions that touch one are intercepted. They end their block, so what the block counters hold plus
the part of the block before them is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dlasim.native.routine import routine
from dlasim.vp.devices.bus import Bus
from dlasim.vp.riscv.block_counters import BlockCounters


class InterceptedCpu(Protocol):
    """What is needed of the CPU."""

    pc: int

    def read_register(self, number: int) -> int:
        """x0 to x31."""

    def write_register(self, number: int, value: int) -> None:
        """The same, writing."""


_MIP = 0x344
_INSTRUCTIONS = (0xB02, 0xC02)  # minstret, instret; + _HIGH for the upper halves
_CYCLES = (0xB00, 0xC00)
_TIME = (0xC01,)
_HIGH = 0x80
_LOW_HALVES = _INSTRUCTIONS + _CYCLES + _TIME
_REGISTERS = (*_LOW_HALVES, *[csr + _HIGH for csr in _LOW_HALVES], _MIP)
_FIRST_READ_ONLY = 0xC00


@routine
def touches(word: int) -> bool:
    """Whether this instruction, which accesses a control register, is one for `Counters`. Writes to a
    read-only register stay with the emulator, where they are illegal."""
    writes = (word >> 12 & 3) == 1 or word >> 15 & 31
    return word >> 20 in _REGISTERS and (word >> 20 < _FIRST_READ_ONLY or not writes)


class Counters:
    """Carries out the instructions that touch one of these registers."""

    def __init__(self, cpu: InterceptedCpu, counts: BlockCounters, bus: Bus) -> None:
        self._cpu = cpu
        self._ledger = counts
        self._bus = bus
        self._time: Callable[[int], int] = lambda cycles: cycles
        self._offsets = {"instructions": 0, "cycles": 0}

    def time_source(self, time: Callable[[int], int]) -> None:
        """`time(cycles)` gives what the time register reads."""
        self._time = time

    def carry_out(self, address: int, word: int) -> None:
        """The instruction at `address`."""
        csr, target, source = word >> 20, word >> 7 & 31, word >> 15 & 31
        old = self.read(csr, address)
        operand = source if word >> 14 & 1 else self._cpu.read_register(source)
        kind = word >> 12 & 3
        if kind == 1 or source:
            new = {1: operand, 2: old | operand, 3: old & ~operand}[kind]
            self.write(csr, address + 4, new & 0xFFFF_FFFF)
        self._cpu.write_register(target, old)
        self._cpu.pc = address + 4

    def _value(self, csr: int, address: int) -> int:
        instructions, cycles = self._ledger.counts_at(address)
        low = csr & ~_HIGH
        if low in _INSTRUCTIONS:
            return instructions + self._offsets["instructions"]
        return cycles + self._offsets["cycles"] if low in _CYCLES else self._time(cycles)

    def read(self, csr: int, address: int) -> int:
        """What the instruction at `address` finds in a register."""
        if csr == _MIP:
            self._bus.tick(self._ledger.cycles)
            return self._bus.pending()
        return self._value(csr, address) >> (32 if csr & _HIGH else 0) & 0xFFFF_FFFF

    def write(self, csr: int, address: int, new: int) -> None:
        """Writes a register; takes effect before the instruction at `address`."""
        if csr == _MIP:
            return  # the machine-mode bits of mip are read-only
        value = self._value(csr, address) & (1 << 64) - 1
        wanted = value & 0xFFFF_FFFF | new << 32 if csr & _HIGH else value >> 32 << 32 | new
        low = csr & ~_HIGH
        self._offsets["instructions" if low in _INSTRUCTIONS else "cycles"] += wanted - value
