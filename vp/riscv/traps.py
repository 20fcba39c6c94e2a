"""Traps as the privileged specification has them: what an exception reports, which interrupt is accepted,
and what entering a trap does to the control registers."""

from __future__ import annotations

from typing import Protocol

from dlasim.vp.riscv import decode

# Causes of exceptions (mcause).
FETCH_FAULT = 1
ILLEGAL_INSTRUCTION = 2
BREAKPOINT = 3
LOAD_FAULT = 5
STORE_FAULT = 7
USER_CALL = 8
MACHINE_CALL = 11

_INTERRUPT = 1 << 31
_MIE = 0x8
_MPIE_AND_MPP = 0x1880
_MPP_MACHINE = 0x1800
_INTERRUPT_ORDER = (11, 3, 7)  # external, software, timer, as the specification ranks them

_CSR_MASK = 0x707F
_CSR_OPCODES = tuple(kind << 12 | 0x73 for kind in (1, 2, 3, 5, 6, 7))


class Hart(Protocol):
    """What is needed of the CPU."""

    pc: int

    def read_register(self, number: int) -> int:
        """x0 to x31."""

    def read_csr(self, name: str) -> int:
        """A control register by its lower-case name."""

    def write_csr(self, name: str, value: int) -> None:
        """The same, writing."""

    def fetch(self, address: int) -> int:
        """The instruction word at an address."""


def accepted_interrupt(hart: Hart, pending: int) -> int | None:
    """The interrupt to enter now: pending, enabled in mie, with mstatus.MIE set."""
    if not pending or not hart.read_csr("mstatus") & _MIE:
        return None
    enabled = pending & hart.read_csr("mie")
    return next((cause for cause in _INTERRUPT_ORDER if enabled >> cause & 1), None)


def wakes(hart: Hart, pending: int) -> bool:
    """Whether `wfi` ends: an interrupt is pending and enabled in mie, regardless of mstatus.MIE."""
    return bool(pending and pending & hart.read_csr("mie"))


def enter(hart: Hart, cause: int, value: int = 0, *, interrupt: bool = False) -> None:
    """What the hardware does on a trap: saves pc and MIE, turns interrupts off, goes to mtvec."""
    status = hart.read_csr("mstatus")
    masked = status & ~(_MPIE_AND_MPP | _MIE)
    hart.write_csr("mstatus", masked | (status & _MIE) << 4 | _MPP_MACHINE)
    hart.write_csr("mepc", hart.pc)
    hart.write_csr("mcause", cause | (_INTERRUPT if interrupt else 0))
    hart.write_csr("mtval", value)
    vector = hart.read_csr("mtvec")
    hart.pc = (vector & ~3) + (4 * cause if interrupt and vector & 1 else 0)


def trap_value(hart: Hart, cause: int) -> int:
    """What mtval says: the instruction that is illegal, or the address that cannot be accessed."""
    if cause == FETCH_FAULT:
        return hart.pc
    word = hart.fetch(hart.pc)
    if cause == ILLEGAL_INSTRUCTION:
        return word
    operand = decode.memory_operand(word)
    if operand is None:
        return 0
    base, offset = operand
    return (hart.read_register(base) + offset) & 0xFFFF_FFFF


def is_counted(cause: int, value: int) -> bool:
    """Whether the instruction that trapped counts as executed: as in QEMU, where an encoding that traps by
    itself does, and an access to memory or to a control register that fails does not."""
    if cause == ILLEGAL_INSTRUCTION:
        return value & _CSR_MASK not in _CSR_OPCODES
    return cause in (BREAKPOINT, USER_CALL, MACHINE_CALL)
