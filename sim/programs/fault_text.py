"""What a fault says to people: operand, extent and limit, in the names of the registers that set them."""

from __future__ import annotations

from dlasim.isa import codec, registers
from dlasim.isa.instruction_rows import OPCODE, Extent
from dlasim.isa.instructions import BY_OPCODE, OPTIONAL
from dlasim.isa.registers import Region
from dlasim.sim.programs.footprint import Box, Footprint

_ADDRESSES = ("_ADDR", "_OFFSET")


def misaligned(footprint: Footprint) -> str:
    """Elements or records that are not at a multiple of their size."""
    operand, box = footprint.operand, footprint.box
    placed = zip(operand.registers, (box.address, box.run_stride, box.plane_stride), strict=False)
    size = footprint.element_bytes
    wrong = [(name, value) for name, value in placed if value % size]
    what = "records" if operand.extent is Extent.RECORDS else f"int{8 * size} values"
    values = " and ".join(f"{name} = {_number(name, value)}" for name, value in wrong)
    return f"operand {operand.register} holds {what}, so {values} must be a multiple of {size}"


def beyond_sram(footprint: Footprint, sram_bytes: int) -> str:
    """An operand that ends outside the SRAM."""
    covered = _covered(footprint.box)
    return f"operand {footprint.operand.register} covers {covered}, but the SRAM has {sram_bytes:#x} bytes"


def overlapping(what: str, box: Box) -> str:
    """Bytes that belong to two runs of a box."""
    parts = [
        f"{count} {name} are {stride} bytes apart"
        for count, name, stride in (
            (box.runs, "runs", box.run_stride),
            (box.planes, "rows or planes", box.plane_stride),
        )
        if count > 1
    ]
    return f"{what} overlaps itself: its runs have {box.run_bytes} bytes each, and {', '.join(parts)}"


def overlapping_output(source: Footprint, output: Footprint) -> str:
    """An output that lies on what its operation reads."""
    read, written = (_covered(footprint.box) for footprint in (source, output))
    return f"OUT covers {written}, and operand {source.operand.register}, which it reads, {read}"


def beyond_region(box: Box, region: Region, region_bytes: int) -> str:
    """A transfer that ends outside its region."""
    return f"it covers {_covered(box)} of region {region.name}, which has {region_bytes:#x} bytes"


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
