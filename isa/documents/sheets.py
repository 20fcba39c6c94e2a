"""The sheet of each kind of entry, from the tables, and the elements that sheets are made of."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TypeAlias

from dlasim.dataclass import dataclass
from dlasim.isa.documents import captions
from dlasim.isa.documents.catalogue import CatalogueEntry, enumeration_doc
from dlasim.isa.faults import FAULT_DOCS, Fault
from dlasim.isa.file_records import FileRecord
from dlasim.isa.host_checks import RULES
from dlasim.isa.host_op_rows import Attribute, HostOperator, Word
from dlasim.isa.instruction_rows import OPCODE, Channels, Instruction
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import BY_NAME, REGISTER_BITS, Access, Register

_ACCESS = {
    Access.READ_ONLY: "the host reads it",
    Access.WRITE_ONLY: "the host writes it",
    Access.READ_WRITE: "the host reads and writes it",
}


@dataclass(frozen=True, slots=True)
class Link:
    """The name of something that has a place of its own in the documents."""

    text: str
    target: str  # relative to docs/


Cell: TypeAlias = str | Link


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines to be shown as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SheetTable:
    """Rows of cells; the last column is the one that wraps."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class References:
    """Names explained elsewhere, with a line each for those who cannot follow a link."""

    title: str
    items: tuple[tuple[Link, str], ...]


Block: TypeAlias = Prose | CodeBlock | SheetTable | References


@dataclass(frozen=True, slots=True)
class Sheet:
    """One entry: its name, what it is in a few words, and the rest."""

    name: str
    summary: str
    blocks: tuple[Block, ...]


def cell_text(cell: Cell) -> str:
    """The words of a cell."""
    return cell.text if isinstance(cell, Link) else cell


def sheet(entry: CatalogueEntry) -> Sheet:
    """The sheet of an entry."""
    if isinstance(entry, Instruction):
        return instruction_sheet(entry)
    if isinstance(entry, Register):
        return register_sheet(entry)
    if isinstance(entry, Fault):
        return fault_sheet(entry)
    if isinstance(entry, FileRecord):
        return record_sheet(entry)
    if isinstance(entry, HostOperator):
        return host_sheet(entry)
    return enumeration_sheet(entry)


def instruction_link(mnemonic: str) -> Link:
    """To the section of an instruction."""
    return Link(mnemonic, f"isa.md#{mnemonic.lower()}")


def register_link(name: str) -> Link:
    """To the group that a register belongs to."""
    return Link(name, f"registers.md#{group_anchor(BY_NAME[name].group)}")


def group_anchor(group: str) -> str:
    """The anchor of a group's heading."""
    return group.lower().replace(" ", "-")


def fault_link(fault: Fault) -> Link:
    """To the list of faults."""
    return Link(fault.name, "isa.md#faults")


def instruction_sheet(instruction: Instruction) -> Sheet:
    """An instruction: how it is written and encoded, what it touches and how it fails."""
    blocks: list[Block] = [
        Prose(f"Opcode 0x{instruction.opcode:02X}, {_where(instruction)}."),
        CodeBlock((captions.syntax(instruction),)),
        *_doc_blocks(instruction.doc),
        SheetTable("Encoding", ("bits", "field", "values", "meaning"), tuple(_encoding_rows(instruction))),
    ]
    if instruction.operands:
        columns = ("placed by", "access", "elements", "takes part", "covers")
        blocks.append(SheetTable("Operands in SRAM", columns, tuple(_operand_rows(instruction))))
        blocks.append(Prose(f"Overlap: {captions.overlap(instruction)}"))
    if instruction.channels is not Channels.NONE:
        blocks.append(Prose(f"Channels: {instruction.channels.value}."))
    if instruction.registers:
        items = tuple((register_link(name), BY_NAME[name].doc) for name in instruction.registers)
        blocks.append(References("Registers read", items))
    if instruction.errors:
        items = tuple((fault_link(fault), FAULT_DOCS[fault]) for fault in instruction.errors)
        blocks.append(References("Faults", items))
    return Sheet(instruction.mnemonic, instruction.summary, tuple(blocks))


def _where(instruction: Instruction) -> str:
    return f"unit {instruction.unit.name}" if instruction.is_operation else "executed by the issue stage"


def _doc_blocks(doc: str) -> Iterator[Block]:
    for is_formula, lines in captions.paragraphs(doc):
        yield CodeBlock(tuple(lines)) if is_formula else Prose(" ".join(lines))


def _encoding_rows(instruction: Instruction) -> Iterator[tuple[str, ...]]:
    for bits, field in captions.encoding(instruction):
        if field is None:
            yield bits, "", captions.RESERVED, ""
        elif field is OPCODE:
            yield bits, OPCODE.name, f"0x{instruction.opcode:02X}", OPCODE.doc
        else:
            yield bits, field.name, captions.allowed(field), field.doc


def _operand_rows(instruction: Instruction) -> Iterator[tuple[str, ...]]:
    for operand in instruction.operands:
        yield (
            captions.operand_name(operand),
            "written" if operand.writes else "read",
            captions.elements(instruction, operand),
            captions.presence(instruction, operand),
            operand.extent.value,
        )


def register_sheet(register: Register) -> Sheet:
    """A register: where it is, what it may hold, who reads it."""
    facts = (
        f"Address 0x{register.address:03X}, reset value 0x{register.reset:08X}; {_ACCESS[register.access]}"
    )
    if register.while_busy:
        facts += ", even while the DLA is busy"
    blocks: list[Block] = [Prose(f"{facts}.")]
    if register.is_operand:
        blocks += [
            Prose(f"CFG writes it as register {register.index}:"),
            CodeBlock((captions.register_syntax(register),)),
        ]
    blocks.append(SheetTable("Fields", ("bits", "field", "values", "reset", "meaning"), field_rows(register)))
    readers = tuple(
        (instruction_link(i.mnemonic), i.summary) for i in INSTRUCTIONS if register.name in i.registers
    )
    if readers:
        blocks.append(References("Read by", readers))
    return Sheet(register.name, register.doc, tuple(blocks))


def field_rows(register: Register) -> tuple[tuple[str, ...], ...]:
    """The fields of a register from the highest bit down, reserved bits included."""
    return tuple(
        (bits, "", captions.RESERVED, "", "")
        if field is None
        else (bits, field.name, captions.allowed(field), captions.number_text(field.default), field.doc)
        for bits, field in captions.layout(register.fields, REGISTER_BITS)
    )


def fault_sheet(fault: Fault) -> Sheet:
    """A fault: its code and what raises it."""
    blocks: list[Block] = [Prose(f"ERROR_CODE {int(fault)}.")]
    raisers = tuple((instruction_link(i.mnemonic), i.summary) for i in INSTRUCTIONS if fault in i.errors)
    if raisers:
        blocks.append(References("Raised by", raisers))
    return Sheet(fault.name, FAULT_DOCS[fault], tuple(blocks))


def record_sheet(record: FileRecord) -> Sheet:
    """A record: its members and where they lie."""
    rows = []
    for member, position in zip(record.members, record.offsets.values(), strict=True):
        kind = member.type if member.count == 1 else f"{member.type}[{member.count}]"
        rows.append((str(position), member.name, kind, member.doc))
    table = SheetTable("Members", ("offset", "member", "type", "meaning"), tuple(rows))
    return Sheet(record.name, f"record of {record.size_bytes} bytes", (Prose(record.doc), table))


def enumeration_sheet(kind: type[enum.IntEnum]) -> Sheet:
    """An enumeration: its names and numbers."""
    rows = tuple((str(int(member)), member.name) for member in kind)
    return Sheet(kind.__name__, enumeration_doc(kind), (SheetTable("Values", ("value", "name"), rows),))


def host_sheet(operator: HostOperator) -> Sheet:
    """A host operator: what it computes, its tensors and the words that come with a call."""
    tensors = tuple(
        (direction, operand.name + ("…" if operand.repeated else ""), ", ".join(operand.types), operand.doc)
        for direction, operands in (("input", operator.inputs), ("output", operator.outputs))
        for operand in operands
    )
    blocks: list[Block] = [
        *_doc_blocks(operator.doc),
        SheetTable("Tensors", ("role", "name", "types", "meaning"), tensors),
    ]
    if operator.attributes:
        rows = []
        position = 0
        for attribute in operator.attributes:
            rows.append((_words(position, attribute), attribute.name, _holds(attribute), attribute.doc))
            position += attribute.count
        blocks.append(SheetTable("Attribute words", ("word", "name", "holds", "meaning"), tuple(rows)))
    if RULES[operator.name]:
        texts = dict.fromkeys(rule.text for rule in RULES[operator.name])
        blocks.append(SheetTable("Rules", ("what must hold",), tuple((text,) for text in texts)))
    return Sheet(operator.name, f"host operator {operator.code}", tuple(blocks))


def _words(position: int, attribute: Attribute) -> str:
    return str(position) if attribute.count == 1 else f"{position} to {position + attribute.count - 1}"


def _holds(attribute: Attribute) -> str:
    if attribute.values is not None:
        return ", ".join(f"{int(member)} = {member.name}" for member in attribute.values)
    kind = {Word.INTEGER: "int32", Word.FLOAT32: "float32"}.get(attribute.word, "as the output")
    text = attribute.range_text
    return kind if text is None else f"{kind}, {text.removeprefix(f'{attribute.name} must be ')}"
