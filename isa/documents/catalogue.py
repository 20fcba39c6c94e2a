"""What can be looked up by name: instructions, registers, faults, records, enumerations, host operators."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeAlias

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa import file_records
from dlasim.isa.faults import Fault
from dlasim.isa.file_records import FileRecord
from dlasim.isa.host_op_rows import HostOperator
from dlasim.isa.host_ops import HOST_OPERATORS
from dlasim.isa.instruction_rows import Instruction
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import REGISTERS, Register

CatalogueEntry: TypeAlias = Instruction | Register | Fault | FileRecord | HostOperator | type[enum.IntEnum]


@dataclass(frozen=True, slots=True)
class Topic:
    """One kind of thing, all of it."""

    name: str
    doc: str
    entries: Mapping[str, CatalogueEntry]


@cache
def topics() -> dict[str, Topic]:
    """Every topic by its name."""
    found = (
        Topic("instructions", "what the DLA executes", {i.mnemonic: i for i in INSTRUCTIONS}),
        Topic("registers", "what the host and CFG write", {r.name: r for r in REGISTERS}),
        Topic("faults", "what stops the DLA", {fault.name: fault for fault in Fault}),
        Topic("program", "what program.bin consists of", {**_records(), **_enumerations()}),
        Topic("host", "what the CPU computes between streams", {op.name: op for op in HOST_OPERATORS}),
    )
    return {topic.name: topic for topic in found}


def _records() -> dict[str, FileRecord]:
    return {record.name: record for record in file_records.RECORDS}


def _enumerations() -> dict[str, type[enum.IntEnum]]:
    return {kind.__name__: kind for kind, _ in file_records.ENUMS}


def enumeration_doc(kind: type[enum.IntEnum]) -> str:
    """What an enumeration of the program lists."""
    return dict(file_records.ENUMS)[kind]


def find(name: str) -> tuple[CatalogueEntry, ...]:
    """What `name` means, whatever its case: a topic or an entry; OP_ may be left out or added."""
    wanted = name.strip().lower()
    if wanted in topics():
        return tuple(topics()[wanted].entries.values())
    for match in (str.lower, _without_prefix):
        if found := tuple(entry for key, entry in _everything() if match(key) == match(wanted)):
            return found
    raise InputError(_unknown(name))


def find_all(names: Iterable[str]) -> tuple[CatalogueEntry, ...]:
    """Several names at once, in the order given; without any, everything."""
    found = tuple(entry for name in names for entry in find(name))
    return found or tuple(entry for _, entry in _everything())


def c_definition(entry: CatalogueEntry) -> str:
    """How the definition of an entry in the firmware's headers begins."""
    if isinstance(entry, Instruction):
        return f"dla_encode_{entry.mnemonic.lower()}("
    if isinstance(entry, Register):
        return f"#define DLA_REG_{entry.name} "
    if isinstance(entry, Fault):
        return f"DLA_FAULT_{entry.name} ="
    if isinstance(entry, FileRecord):
        return f"struct dla_program_{entry.name} {{"
    if isinstance(entry, HostOperator):
        return f"#define DLA_HOST_{entry.name}_WORDS "
    return f"enum dla_{snake(entry.__name__)} {{"


def snake(name: str) -> str:
    """`LayerKind` as `layer_kind`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _everything() -> list[tuple[str, CatalogueEntry]]:
    return [entry for topic in topics().values() for entry in topic.entries.items()]


def _without_prefix(name: str) -> str:
    return name.lower().removeprefix("op_")


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    targets = {topic: topic for topic in topics()}
    for key, _ in _everything():
        targets |= {key.lower(): key, _without_prefix(key): key}
    close = dict.fromkeys(
        targets[match] for match in get_close_matches(name.lower(), targets, n=3, cutoff=0.6)
    )
    if close:
        return f"unknown name {name!r}; did you mean {' or '.join(close)}?"
    return f"unknown name {name!r}; `dlasim isa` lists all, by topic: {', '.join(topics())}"
