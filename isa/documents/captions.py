"""The tables' facts as phrases, the same in every format."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.isa.bits import Field
from dlasim.isa.instruction_rows import INT32_BYTES, OPCODE, WORD_BITS, Extent, Instruction, Operand, When
from dlasim.isa.registers import Register

RESERVED = "reserved, 0"


def bit_range(low: int, width: int) -> str:
    """`11:8`, or `8` for a single bit."""
    return str(low) if width == 1 else f"{low + width - 1}:{low}"


def number_text(value: int) -> str:
    """A number; large ones next to a power of two as that."""
    size = abs(value)
    if size >= 1 << 16 and size & (size - 1) == 0:
        return f"{'-' if value < 0 else ''}2^{size.bit_length() - 1}"
    if value >= 1 << 16 and value & (value + 1) == 0:
        return f"2^{value.bit_length()} - 1"
    return str(value)


def allowed(field: Field) -> str:
    """The legal values of a field."""
    if field.names:
        return ", ".join(f"{value} = {name}" for value, name in enumerate(field.names))
    joined = " or " if field.highest == field.lowest + 1 else " to "
    return joined.join((number_text(field.lowest), number_text(field.highest)))


def choices(field: Field) -> str:
    """What the assembler takes for a field, in a syntax line."""
    return "|".join(field.names) if field.names else field.name.upper()


def syntax(instruction: Instruction) -> str:
    """The instruction as the assembler reads it; brackets mark what may be left out."""
    if instruction.mnemonic == "CFG":
        return "CFG REGISTER, VALUE"
    parts = [f"{field.name}={choices(field)}" for field in instruction.fields]
    if not instruction.is_operation:
        return " ".join((instruction.mnemonic, ", ".join(parts))).strip()
    return " ".join((instruction.mnemonic, *(f"[{part}]" for part in parts)))


def register_syntax(register: Register) -> str:
    """The CFG that writes an operand register."""
    if register.is_plain:
        return f"CFG {register.name}, VALUE"
    return f"CFG {register.name}, " + ", ".join(f"{field.name}=VALUE" for field in register.fields)


def layout(
    fields: tuple[Field, ...], word_bits: int, first: Field | None = None
) -> list[tuple[str, Field | None]]:
    """Every bit of a word from the highest down: a field, or None for reserved bits."""
    parts: list[tuple[str, Field | None]] = []
    end = word_bits
    for field in sorted((*fields, *((first,) if first else ())), key=lambda field: -field.low):
        top = field.low + field.width
        if top < end:
            parts.append((bit_range(top, end - top), None))
        parts.append((bit_range(field.low, field.width), field))
        end = field.low
    if end:
        parts.append((bit_range(0, end), None))
    return parts


def encoding(instruction: Instruction) -> list[tuple[str, Field | None]]:
    """The word of an instruction, from the highest bit down."""
    return layout(instruction.fields, WORD_BITS, OPCODE)


def condition(instruction: Instruction, when: When) -> str:
    """`init=partial`."""
    names = instruction.field(when.field).names
    return f"{when.field}={'|'.join(names[value] for value in when.values)}"


def presence(instruction: Instruction, operand: Operand) -> str:
    """When the operand takes part: `always`, or the conditions."""
    return " or ".join(condition(instruction, when) for when in operand.present_when) or "always"


def elements(instruction: Instruction, operand: Operand) -> str:
    """What the operand's elements are."""
    if operand.extent.name == "RECORDS":
        return "records"
    if operand.extent.name in ("TRANSFER", "TABLE"):
        return "bytes"
    usual = "int32" if operand.element_bytes == INT32_BYTES else "int8"
    others = (f"int{8 * size} if {condition(instruction, when)}" for size, when in operand.other_widths)
    return "; ".join([usual, *others])


def operand_name(operand: Operand) -> str:
    """The register that places it, or a view's three as `IN_*`."""
    return f"{operand.register}_*" if operand.extent.is_view else operand.register


def overlap(instruction: Instruction) -> str:
    """What it means that operands of an operation share bytes; the page has the rule that this applies."""
    *inputs, output = instruction.operands
    if output.extent is Extent.TRANSFER:
        return "Source and destination are in different memories, so they never overlap."
    if not inputs:
        return "The operation reads nothing that its output could overlap."
    places = [_in_place(instruction, operand, output) for operand in inputs if _fits_place(operand, output)]
    if not places:
        return f"{output.register} must lie apart from all operands."
    return (
        f"{output.register} must lie apart from the other operands, or in place: upon {' or '.join(places)}."
    )


def _fits_place(operand: Operand, output: Operand) -> bool:
    """Whether the output can lie on an operand element by element."""
    widths = {output.element_bytes, INT32_BYTES if output.int32_when else output.element_bytes}
    return operand.extent is output.extent and operand.element_bytes in widths


def _in_place(instruction: Instruction, operand: Operand, output: Operand) -> str:
    needs_int32 = operand.element_bytes != output.element_bytes and output.int32_when
    return f"{operand.register} ({condition(instruction, needs_int32)})" if needs_int32 else operand.register


def paragraphs(doc: str) -> Iterator[tuple[bool, list[str]]]:
    """The documentation in runs of lines: (True, formulas) or (False, prose)."""
    run: list[str] = []
    formulas = False
    for line in doc.splitlines():
        if run and line.startswith("    ") != formulas:
            yield formulas, run
            run = []
        formulas = line.startswith("    ")
        run.append(line.removeprefix("    ") if formulas else line)
    if run:
        yield formulas, run
