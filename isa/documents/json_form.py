"""Entries as plain data for JSON."""

from __future__ import annotations

import enum
from typing import Any

from dlasim.isa.bits import Field
from dlasim.isa.documents import captions
from dlasim.isa.documents.catalogue import CatalogueEntry, enumeration_doc
from dlasim.isa.faults import FAULT_DOCS, Fault
from dlasim.isa.file_records import FileRecord
from dlasim.isa.host_checks import RULES
from dlasim.isa.host_ops import HostOperator
from dlasim.isa.instructions import Instruction
from dlasim.isa.registers import Register


def form(entry: CatalogueEntry) -> dict[str, Any]:
    """An entry; `kind` says what it is."""
    if isinstance(entry, Instruction):
        return _instruction(entry)
    if isinstance(entry, Register):
        return _register(entry)
    if isinstance(entry, Fault):
        return {"kind": "fault", "name": entry.name, "code": int(entry), "doc": FAULT_DOCS[entry]}
    if isinstance(entry, FileRecord):
        return _record(entry)
    if isinstance(entry, HostOperator):
        return _host_operator(entry)
    return _enumeration(entry)


def _field(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "low_bit": field.low,
        "width": field.width,
        "signed": field.signed,
        "minimum": field.lowest,
        "maximum": field.highest,
        "default": field.default,
        "names": list(field.names),
        "doc": field.doc,
    }


def _instruction(instruction: Instruction) -> dict[str, Any]:
    return {
        "kind": "instruction",
        "name": instruction.mnemonic,
        "opcode": instruction.opcode,
        "unit": instruction.unit.name,
        "summary": instruction.summary,
        "doc": instruction.doc,
        "syntax": captions.syntax(instruction),
        "fields": [_field(field) for field in instruction.fields],
        "operands": [
            {
                "name": captions.operand_name(operand),
                "writes": operand.writes,
                "elements": captions.elements(instruction, operand),
                "covers": operand.extent.value,
                "takes_part": captions.presence(instruction, operand),
                "registers": list(operand.registers),
            }
            for operand in instruction.operands
        ],
        "channels": instruction.channels.name.lower(),
        "registers": list(instruction.registers),
        "faults": [fault.name for fault in instruction.errors],
    }


def _register(register: Register) -> dict[str, Any]:
    return {
        "kind": "register",
        "name": register.name,
        "address": register.address,
        "access": register.access.value,
        "reset": register.reset,
        "group": register.group,
        "while_busy": register.while_busy,
        "operand": register.is_operand,
        "fields": [_field(field) for field in register.fields],
        "doc": register.doc,
    }


def _record(record: FileRecord) -> dict[str, Any]:
    return {
        "kind": "record",
        "name": record.name,
        "size_bytes": record.size_bytes,
        "members": [
            {"name": member.name, "type": member.type, "count": member.count, "doc": member.doc}
            for member in record.members
        ],
        "doc": record.doc,
    }


def _enumeration(kind: type[enum.IntEnum]) -> dict[str, Any]:
    values = {member.name: int(member) for member in kind}
    return {"kind": "enumeration", "name": kind.__name__, "values": values, "doc": enumeration_doc(kind)}


def _host_operator(operator: HostOperator) -> dict[str, Any]:
    return {
        "kind": "host operator",
        "name": operator.name,
        "code": operator.code,
        "inputs": [
            {"name": o.name, "types": list(o.types), "repeated": o.repeated, "doc": o.doc}
            for o in operator.inputs
        ],
        "outputs": [{"name": o.name, "types": list(o.types), "doc": o.doc} for o in operator.outputs],
        "attributes": [
            {
                "name": attribute.name,
                "word": attribute.word.name,
                "count": attribute.count,
                "values": {m.name: int(m) for m in attribute.values} if attribute.values else None,
                "least": attribute.least,
                "greatest": attribute.greatest,
                "doc": attribute.doc,
            }
            for attribute in operator.attributes
        ],
        "rules": [
            {"condition": rule.condition, "text": rule.text, "dimensions": list(rule.dimensions)}
            for rule in RULES[operator.name]
        ],
        "doc": operator.doc,
    }
