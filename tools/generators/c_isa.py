"""`dla_isa.h`: opcodes, fields, an encoder for each instruction, units and faults."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.isa.faults import FAULT_DOCS, Fault
from dlasim.isa.instruction_rows import OPCODE, WORD_BYTES, Instruction, Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import BY_NAME
from generators import c_text

FILE_NAME = "dla_isa.h"
_WORD = "UINT64_C({})"


def render() -> str:
    """The header."""
    return c_text.header(FILE_NAME, "The DLA's instructions.", "the tables in dlasim/isa", _lines())


def _lines() -> Iterator[str]:
    for part in BY_NAME["ISA_VERSION"].fields:
        yield c_text.define(f"DLA_ISA_{part.name.upper()}", f"{part.default}u")
    yield c_text.define("DLA_WORD_BYTES", f"{WORD_BYTES}u")
    yield ""
    yield from c_text.comment("The units that run in parallel, and the issue stage that feeds them.")
    yield from c_text.enumeration("DLA_UNIT", ((unit.name, unit, "") for unit in Unit))
    yield from c_text.comment("ERROR_CODE.")
    yield from c_text.enumeration("DLA_FAULT", ((fault.name, fault, FAULT_DOCS[fault]) for fault in Fault))
    yield from c_text.comment("The lowest byte of a command word.")
    opcodes = ((i.mnemonic, i.opcode, i.summary) for i in INSTRUCTIONS)
    yield from c_text.enumeration("DLA_OPCODE", opcodes, digits=2)
    yield from c_text.field_constants("DLA", OPCODE, _WORD)
    yield ""
    for instruction in INSTRUCTIONS:
        yield from _instruction_lines(instruction)


def _instruction_lines(instruction: Instruction) -> Iterator[str]:
    """The fields of an instruction and the function that encodes it."""
    doc = f"{instruction.mnemonic}, unit {instruction.unit.name}: {instruction.summary}."
    if instruction.registers:
        doc += f"\nReads {', '.join(instruction.registers)}."
    yield from c_text.comment(doc)
    for field in instruction.fields:
        yield from c_text.field_constants(f"DLA_{instruction.mnemonic}", field, _WORD)
    parameters = ", ".join(f"uint32_t {_parameter(field.name)}" for field in instruction.fields)
    yield f"static inline uint64_t dla_encode_{instruction.mnemonic.lower()}({parameters or 'void'})"
    yield "{"
    yield f"    uint64_t word = DLA_OPCODE_{instruction.mnemonic};"
    for field in instruction.fields:
        name = f"DLA_{instruction.mnemonic}_{field.name.upper()}"
        yield f"    word |= (uint64_t){_parameter(field.name)} << {name}_SHIFT & {name}_MASK;"
    yield "    return word;"
    yield "}"
    yield ""


def _parameter(field_name: str) -> str:
    return f"{field_name}_" if field_name in ("register", "default", "switch") else field_name
