"""What can go wrong inside the DLA: architectural state, never a Python exception."""

from __future__ import annotations

import enum


class Fault(enum.IntEnum):
    """ERROR_CODE. Where several apply to one instruction, the lowest number is reported."""

    NONE = 0
    ILLEGAL_INSTRUCTION = 1
    QUEUE = 2
    BAD_REGISTER = 3
    BAD_VALUE = 4
    CONFIG_MISMATCH = 5
    BAD_OPERANDS = 6
    MISALIGNED = 7
    SRAM_RANGE = 8
    OVERLAP = 9
    REGION_RANGE = 10
    REGION_READ_ONLY = 11


FAULT_DOCS = {
    Fault.NONE: "no fault",
    Fault.ILLEGAL_INSTRUCTION: "not an instruction: unknown opcode, illegal field value or reserved bit",
    Fault.QUEUE: "the queue lies outside region COMMANDS, is misaligned, or ends without HALT",
    Fault.BAD_REGISTER: "CFG names a register that is not an operand register",
    Fault.BAD_VALUE: "CFG writes a value that the register does not allow",
    Fault.CONFIG_MISMATCH: "the program was lowered for another configuration (REQUIRE_CONFIG)",
    Fault.BAD_OPERANDS: "the operands do not fit together: ACT_MIN above ACT_MAX, channels that do not "
    "divide, a pooling window without a pixel, int16 or sums where machine or fields do not allow them, "
    "more than 2^48 steps, or numbers to unpack or decode that are not part of a transfer of one run",
    Fault.MISALIGNED: "an int32 operand or a record whose address or stride is not a multiple of 4, or an "
    "int16 one whose is not a multiple of 2",
    Fault.SRAM_RANGE: "an operand reaches beyond the SRAM",
    Fault.OVERLAP: "an operand that is written, or is the input of a window, overlaps itself; or OUT "
    "overlaps what its operation reads, and is not in place",
    Fault.REGION_RANGE: "a transfer reaches beyond its region",
    Fault.REGION_READ_ONLY: "a transfer writes to CONSTANTS or COMMANDS",
}
assert set(FAULT_DOCS) == set(Fault)
