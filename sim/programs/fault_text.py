"""What a fault says to people: operand, extent and limit, in the names of the registers that set them."""

from __future__ import annotations

from typing import Any

from dlasim.isa import codec, registers
from dlasim.isa.instruction_rows import OPCODE, Extent
from dlasim.isa.instructions import BY_OPCODE, OPTIONAL
from dlasim.isa.registers import Region
from dlasim.sim.programs.footprint import Box, Footprint

_ADDRESSES = ("_ADDR", "_OFFSET")


def misaligned(footprint: Footprint, number: int) -> str:
    """Elements or records that are not at a multiple of their size."""
    operand, box = footprint.operand, box_of(footprint.box, number)
    placed = zip(operand.registers, (box.address, box.run_stride, box.plane_stride), strict=False)
    size = int(one(footprint.element_bytes, number))
    wrong = [(name, value) for name, value in placed if value % size]
    what = "records" if operand.extent is Extent.RECORDS else f"int{8 * size} values"
    values = " and ".join(f"{name} = {_number(name, value)}" for name, value in wrong)
    return f"operand {operand.register} holds {what}, so {values} must be a multiple of {size}"


def beyond_sram(footprint: Footprint, number: int, sram_bytes: int) -> str:
    """An operand that ends outside the SRAM."""
    covered = _covered(box_of(footprint.box, number))
    return f"operand {footprint.operand.register} covers {covered}, but the SRAM has {sram_bytes:#x} bytes"


def overlapping(what: str, box: Box, number: int) -> str:
    """Bytes that belong to two runs of a box."""
    one = box_of(box, number)
    parts = [
        f"{count} {name} are {stride} bytes apart"
        for count, name, stride in (
            (one.runs, "runs", one.run_stride),
            (one.planes, "rows or planes", one.plane_stride),
        )
        if count > 1
    ]
    return f"{what} overlaps itself: its runs have {one.run_bytes} bytes each, and {', '.join(parts)}"


def overlapping_output(source: Footprint, output: Footprint, number: int) -> str:
    """An output that lies on what its operation reads."""
    read, written = (_covered(box_of(footprint.box, number)) for footprint in (source, output))
    return f"OUT covers {written}, and operand {source.operand.register}, which it reads, {read}"


def beyond_region(box: Box, number: int, region: int, region_bytes: int) -> str:
    """A transfer that ends outside its region."""
    covered = _covered(box_of(box, number))
    return f"it covers {covered} of region {Region(region).name}, which has {region_bytes:#x} bytes"


def box_of(box: Box, number: int) -> Box:
    """One box of a batch, in plain integers."""
    return Box(
        *(
            one(column, number)
            for column in (
                box.address, box.planes, box.plane_stride, box.runs, box.run_stride, box.run_bytes
            )
        )
    )  # fmt: skip


def one(column: Any, number: int) -> int:
    """One value of a column, which may be the same for all."""
    return int(column) if getattr(column, "ndim", 0) == 0 else int(column[number])


def illegal_word(word: int) -> str:
    """Why a word is not an instruction."""
    opcode = OPCODE.extract(word)
    instruction = BY_OPCODE.get(opcode)
    if instruction is None:
        return f"the word {word:#018x} has the unknown opcode {opcode:#04x}"
    for field in instruction.fields:
        value = field.extract(word)
        if not field.holds(value):
            return f"{instruction.mnemonic}: {field.name} must be {field.allowed} (the word has {value})"
    if codec.decode(word).instruction is instruction:
        parameter = OPTIONAL[instruction.mnemonic]
        return f"{instruction.mnemonic}: the machine does not have it, since its {parameter} is 0"
    return f"{instruction.mnemonic}: a reserved bit is set in the word {word:#018x}"


def bad_write(index: int, pattern: int, fingerprint: int) -> str:
    """Why CFG may not write a pattern to a register."""
    register = next((known for known in registers.REGISTERS if known.index == index), None)
    if register is None or not register.is_operand:
        name = f"register {index}" if register is None else f"{register.name} (register {index})"
        return f"CFG writes {name}, which is not an operand register"
    for field in register.fields:
        value = field.extract(pattern)
        if not field.holds(value):
            part = register.name if register.is_plain else f"{register.name}: {field.name}"
            return f"{part} must be from {field.lowest} to {field.highest} (CFG writes {value})"
    return f"the program is for configuration {pattern:#010x}, but this machine is {fingerprint:#010x}"


def mnemonic_of(word: int) -> str:
    """The instruction in a word, for messages."""
    instruction = codec.decode(word).instruction
    return "an illegal word" if instruction is None else instruction.mnemonic


def _covered(box: Box) -> str:
    shape = "" if box.planes * box.runs == 1 else f" in {box.planes} x {box.runs} runs of {box.run_bytes}"
    return f"bytes {box.address:#x} to {box.end - 1:#x}{shape}"


def _number(name: str, value: int) -> str:
    return f"{value:#x}" if name.endswith(_ADDRESSES) else str(value)
