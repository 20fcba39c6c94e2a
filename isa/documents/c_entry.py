"""Single entries as C, cut from the headers."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.isa.documents import c_host_checks, c_host_ops, c_isa, c_program, c_registers
from dlasim.isa.documents.catalogue import CatalogueEntry, enumeration_doc
from dlasim.isa.faults import Fault
from dlasim.isa.file_records import FileRecord
from dlasim.isa.host_ops import HostOperator
from dlasim.isa.instructions import Instruction
from dlasim.isa.registers import Register

HEADERS = {
    module.FILE_NAME: module.render for module in (c_isa, c_registers, c_program, c_host_ops, c_host_checks)
}


def lines(entry: CatalogueEntry) -> Iterator[str]:
    """The part of a header that stands for an entry."""
    if isinstance(entry, Instruction):
        return c_isa.instruction_lines(entry)
    if isinstance(entry, Register):
        return c_registers.register_lines(entry)
    if isinstance(entry, Fault):
        return c_isa.fault_lines(entry)
    if isinstance(entry, FileRecord):
        return c_program.record_lines(entry)
    if isinstance(entry, HostOperator):
        return c_host_ops.operator_lines(entry)
    return c_program.enumeration_lines(entry, enumeration_doc(entry))
