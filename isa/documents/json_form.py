"""Entries as plain data for JSON."""

from __future__ import annotations

import enum
from typing import Any

from dlasim.isa.documents import captions
from dlasim.isa.documents.catalogue import CatalogueEntry, enumeration_doc
from dlasim.isa.faults import FAULT_DOCS, Fault
from dlasim.isa.file_records import FileRecord
from dlasim.isa.host_checks import RULES
from dlasim.isa.host_op_rows import Attribute, HostOperator
from dlasim.isa.instruction_rows import Instruction, Operand
from dlasim.isa.registers import Register

# Keys in their order; with =, an attribute that has another name.
_FIELD = "name low_bit=low width signed minimum=lowest maximum=highest default names doc"
_REGISTER = "name address access reset group while_busy operand=is_operand"
_ATTRIBUTE = "name word count values least greatest doc"


def form(entry: CatalogueEntry) -> dict[str, Any]:
    """An entry; `kind` says what it is."""
    if isinstance(entry, Instruction):
        return {"kind": "instruction", **_instruction(entry)}
    if isinstance(entry, Register):
        facts = {**_facts(entry, _REGISTER), "fields": _all(entry.fields, _FIELD), "doc": entry.doc}
        return {"kind": "register", **facts}
    if isinstance(entry, Fault):
        return {"kind": "fault", "name": entry.name, "code": int(entry), "doc": FAULT_DOCS[entry]}
    if isinstance(entry, FileRecord):
        members = _all(entry.members, "name type count doc")
        return {"kind": "record", **_facts(entry, "name size_bytes"), "members": members, "doc": entry.doc}
    if isinstance(entry, HostOperator):
        return {"kind": "host operator", **_host_operator(entry)}
    values = {member.name: int(member) for member in entry}
    return {"kind": "enumeration", "name": entry.__name__, "values": values, "doc": enumeration_doc(entry)}


def _facts(item: object, keys: str) -> dict[str, Any]:
    """Attributes of a row by these keys."""
    pairs = (key.partition("=") for key in keys.split())
    return {key: _plain(getattr(item, name or key)) for key, _, name in pairs}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    return list(value) if isinstance(value, tuple | range) else value


def _all(items: tuple[Any, ...], keys: str) -> list[dict[str, Any]]:
    return [_facts(item, keys) for item in items]


def _instruction(instruction: Instruction) -> dict[str, Any]:
    return {
        "name": instruction.mnemonic,
        "opcode": instruction.opcode,
        "unit": instruction.unit.name,
        **_facts(instruction, "summary doc"),
        "syntax": captions.syntax(instruction),
        "fields": _all(instruction.fields, _FIELD),
        "operands": [_operand(instruction, operand) for operand in instruction.operands],
        "channels": instruction.channels.name.lower(),
        "registers": list(instruction.registers),
        "faults": [fault.name for fault in instruction.errors],
    }


def _operand(instruction: Instruction, operand: Operand) -> dict[str, Any]:
    return {
        "name": captions.operand_name(operand),
        "writes": operand.writes,
        "elements": captions.elements(instruction, operand),
        "covers": operand.extent.value,
        "takes_part": captions.presence(instruction, operand),
        "registers": list(operand.registers),
    }


def _host_operator(operator: HostOperator) -> dict[str, Any]:
    return {
        **_facts(operator, "name code"),
        "inputs": _all(operator.inputs, "name types repeated doc"),
        "outputs": _all(operator.outputs, "name types doc"),
        "attributes": [_attribute(attribute) for attribute in operator.attributes],
        "rules": _all(RULES[operator.name], "condition text dimensions"),
        "doc": operator.doc,
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    values = {member.name: int(member) for member in attribute.values} if attribute.values else None
    return {**_facts(attribute, _ATTRIBUTE), "word": attribute.word.name, "values": values}
