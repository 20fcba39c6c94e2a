"""The registers as the debugger sees them: x0 to x31, pc, and the control registers by name."""

from __future__ import annotations

from dlasim.errors import InputError
from dlasim.vp.riscv.cpu import REGISTERS
from dlasim.vp.system.board import Board

PC = REGISTERS
_FIRST_CSR = 65  # where gdb itself numbers them from

_MIP = 0x344
_STATE = {
    "mstatus": 0x300, "mie": 0x304, "mtvec": 0x305, "mscratch": 0x340, "mepc": 0x341, "mcause": 0x342,
    "mtval": 0x343,
}  # fmt: skip
_IDENTITY = {"misa": 0x301, "mvendorid": 0xF11, "marchid": 0xF12, "mimpid": 0xF13, "mhartid": 0xF14}
_COUNTERS = {"mcycle": 0xB00, "minstret": 0xB02, "mcycleh": 0xB80, "minstreth": 0xB82}
_USER_COUNTERS = {
    "cycle": 0xC00, "time": 0xC01, "instret": 0xC02, "cycleh": 0xC80, "timeh": 0xC81, "instreth": 0xC82,
}  # fmt: skip
_CSRS = {
    number: name
    for name, number in sorted(
        {**_STATE, **_IDENTITY, **_COUNTERS, **_USER_COUNTERS, "mip": _MIP}.items(), key=lambda item: item[1]
    )
}


def target_description() -> str:
    """The XML from which gdb learns what registers there are."""
    general = "".join(
        f'<reg name="x{number}" bitsize="32" regnum="{number}"/>' for number in range(REGISTERS)
    )
    control = "".join(
        f'<reg name="{name}" bitsize="32" regnum="{_FIRST_CSR + number}" group="csr" save-restore="no"/>'
        for number, name in _CSRS.items()
    )
    return (
        '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
        "<architecture>riscv:rv32</architecture>"
        f'<feature name="org.gnu.gdb.riscv.cpu">{general}<reg name="pc" bitsize="32" type="code_ptr" '
        f'regnum="{PC}"/></feature><feature name="org.gnu.gdb.riscv.csr">{control}</feature></target>'
    )


def read_register(board: Board, number: int) -> int:
    """A register by gdb's number."""
    if number < REGISTERS:
        return board.cpu.read_register(number)
    return board.cpu.pc if number == PC else _read_csr(board, *_csr(number))


def write_register(board: Board, number: int, value: int) -> None:
    """The same, writing; an InputError for registers that are read-only."""
    if number < REGISTERS:
        board.cpu.write_register(number, value)
    elif number == PC:
        board.cpu.pc = value & ~1
    else:
        _write_csr(board, *_csr(number), value)


def _csr(number: int) -> tuple[int, str]:
    csr = number - _FIRST_CSR
    if csr not in _CSRS:
        raise InputError(f"unknown register number {number}")
    return csr, _CSRS[csr]


def _read_csr(board: Board, csr: int, name: str) -> int:
    if csr == _MIP:
        return board.bus.pending()
    if name in _COUNTERS or name in _USER_COUNTERS:
        return board.cpu.counters.read(csr, board.cpu.pc)
    return board.cpu.read_csr(name)


def _write_csr(board: Board, csr: int, name: str, value: int) -> None:
    if name in _COUNTERS:
        board.cpu.counters.write(csr, board.cpu.pc, value)
    elif name in _STATE:
        board.cpu.write_csr(name, value)
    else:
        raise InputError(f"{name} is read-only")
