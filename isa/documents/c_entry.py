"""Single entries as C, cut from the headers."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.isa.documents import c_host_checks, c_host_ops, c_isa, c_program, c_registers
from dlasim.isa.documents.catalogue import Thing, enumeration_doc
from dlasim.isa.faults import Fault
from dlasim.isa.file_records import FileRecord
from dlasim.isa.host_ops import HostOperator
from dlasim.isa.instructions import Instruction
from dlasim.isa.registers import Register

HEADERS = {
    module.FILE_NAME: module.render for module in (c_isa, c_registers, c_program, c_host_ops, c_host_checks)
}


def lines(thing: Thing) -> Iterator[str]:
    """The part of a header that stands for an entry."""
    if isinstance(thing, Instruction):
        return c_isa.instruction_lines(thing)
    if isinstance(thing, Register):
        return c_registers.register_lines(thing)
    if isinstance(thing, Fault):
        return c_isa.fault_lines(thing)
    if isinstance(thing, FileRecord):
        return c_program.record_lines(thing)
    if isinstance(thing, HostOperator):
        return c_host_ops.operator_lines(thing)
    return c_program.enumeration_lines(thing, enumeration_doc(thing))
