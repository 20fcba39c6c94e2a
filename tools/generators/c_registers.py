"""`dla_registers.h`: addresses, reset values and fields of every register."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.isa.registers import (
    OPERAND_BASE,
    REGION_COUNT,
    REGISTER_BYTES,
    REGISTERS,
    WINDOW_BYTES,
    Region,
    Register,
)
from generators import c_text

FILE_NAME = "dla_registers.h"


def render() -> str:
    """The header."""
    doc = "The DLA's registers: DLA_REG_x is an offset from the base, DLA_RESET_x the value after reset."
    return c_text.header(FILE_NAME, doc, "dlasim/isa/registers.py", _lines())


def _lines() -> Iterator[str]:
    yield c_text.define("DLA_WINDOW_BYTES", f"0x{WINDOW_BYTES:x}u")
    yield c_text.define("DLA_REGISTER_BYTES", f"{REGISTER_BYTES}u")
    yield from c_text.comment("From this offset on: the sticky operand registers, which CFG may write.")
    yield c_text.define("DLA_OPERAND_BASE", f"0x{OPERAND_BASE:03x}u")
    yield from c_text.comment("The number by which CFG names the register at an offset.")
    yield c_text.define("DLA_REGISTER_NUMBER(offset)", "((uint32_t)(offset) / DLA_REGISTER_BYTES)")
    yield ""
    yield from c_text.comment("The windows of system memory that a program names.")
    yield from c_text.enumeration("DLA_REGION", ((region.name, region, "") for region in Region))
    yield c_text.define("DLA_REGION_COUNT", f"{REGION_COUNT}u")
    yield ""
    for register in REGISTERS:
        yield from _register_lines(register)


def _register_lines(register: Register) -> Iterator[str]:
    """One register."""
    yield from c_text.comment(f"{register.access.value}: {register.doc}.")
    yield c_text.define(f"DLA_REG_{register.name}", f"0x{register.address:03x}u")
    yield c_text.define(f"DLA_RESET_{register.name}", f"0x{register.reset:08x}u")
    if not register.is_plain:
        for field in register.fields:
            yield from c_text.field_constants(f"DLA_{register.name}", field, "{}u")
    yield ""
