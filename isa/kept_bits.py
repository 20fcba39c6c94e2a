"""The bits of an operand register that a unit's queue keeps for a waiting operation: those of legal values.
Of addresses and distances in SRAM as many as its size needs."""

from __future__ import annotations

from dlasim.isa.registers import REGISTER_BITS, Register

# Multiplied out while an operation is checked, and kept as the distances of its windows and taps instead
_REPLACED = ("IN_ADDR", "IN_ROW_STRIDE")


def is_kept(register: Register) -> bool:
    """Whether a queue keeps any of it."""
    return register.name not in _REPLACED


def lies_in_sram(register: Register) -> bool:
    """Whether it is an address, a length or a distance in SRAM."""
    in_transfer = register.name.startswith("DMA_")
    if in_transfer:
        return register.name.endswith(("SRAM_ADDR", "SRAM_STRIDE", "RUN_BYTES"))
    return register.name.endswith(("_ADDR", "_PIXEL_STRIDE", "_ROW_STRIDE"))


def legal_bits(register: Register) -> int:
    """The bits of its legal values."""
    return max(
        field.low
        + max(field.highest.bit_length(), (~min(field.lowest, -1)).bit_length())
        + (field.lowest < 0)
        for field in register.fields
    )


def kept_bits(register: Register, address_bits: int = REGISTER_BITS) -> int:
    """How many bits of it, where an address in SRAM has so many."""
    if not is_kept(register):
        return 0
    if lies_in_sram(register):
        return address_bits
    return legal_bits(register)
