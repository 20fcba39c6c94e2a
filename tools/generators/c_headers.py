"""The headers of the firmware that come from the tables of the instruction set, by file name."""

from __future__ import annotations

from generators import c_host_checks, c_host_ops, c_isa, c_program, c_registers

HEADERS = {
    module.FILE_NAME: module.render for module in (c_isa, c_registers, c_program, c_host_ops, c_host_checks)
}
