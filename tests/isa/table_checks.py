"""What rows of the tables of registers and instructions must fulfil."""

from __future__ import annotations

from dlasim.isa import instructions, registers
from dlasim.isa.bits import Field
from dlasim.isa.instruction_rows import FEATURE_BITS, OPCODE, WORD_BITS, Channels, Extent, Instruction


def check_layout(owner: str, fields: tuple[Field, ...], word_bits: int, taken: int = 0) -> None:
    """Fields fit the word and claim each bit once."""
    names = [field.name for field in fields]
    assert len(set(names)) == len(names), f"{owner}: two fields share a name"
    for field in fields:
        assert min(field.width - 1, field.low) >= 0, f"{owner}.{field.name}: empty field"
        assert field.low + field.width <= word_bits, f"{owner}.{field.name}: beyond the word"
        assert not taken & field.mask, f"{owner}.{field.name}: a bit is claimed twice"
        natural = Field(field.name, 0, field.width, "", field.signed)
        assert natural.lowest <= field.lowest <= field.highest <= natural.highest, (
            f"{owner}.{field.name}: the range does not fit {field.width} bits"
        )
        assert field.holds(field.default), f"{owner}.{field.name}: the default is illegal"
        taken |= field.mask


def check_registers() -> None:
    """Names and addresses differ, and fields fit."""
    assert len(registers.BY_NAME) == len(registers.REGISTERS), "two registers share a name"
    assert len(registers.BY_ADDRESS) == len(registers.REGISTERS), "two registers share an address"
    for register in registers.REGISTERS:
        assert register.address in range(0, registers.WINDOW_BYTES, registers.REGISTER_BYTES), register.name
        check_layout(register.name, register.fields, registers.REGISTER_BITS)


def check_instructions() -> None:
    """Names and opcodes differ, fields fit, and a row names only registers and fields that exist."""
    assert len(instructions.BY_MNEMONIC) == len(instructions.INSTRUCTIONS), (
        "two instructions share a mnemonic"
    )
    assert len(instructions.BY_OPCODE) == len(instructions.INSTRUCTIONS), "two instructions share an opcode"
    assert 0 not in instructions.BY_OPCODE, "a word of zeros must not be an instruction"
    operand_names = {register.name for register in registers.OPERANDS}
    for instruction in instructions.INSTRUCTIONS:
        check_layout(instruction.mnemonic, instruction.fields, WORD_BITS, taken=OPCODE.mask)
        named = {n for operand in instruction.operands for n in operand.registers}
        named |= {*instruction.parameters, *instruction.sum_parameters}
        assert named <= operand_names, f"{instruction.mnemonic}: no register {named - operand_names}"
        assert instruction.opcode < FEATURE_BITS, (
            f"{instruction.mnemonic}: `features` has no bit for its opcode"
        )
        fields = {field.name for field in instruction.fields}
        for operand in instruction.operands:
            conditions = (*operand.present_when, *(when for _, when in operand.other_widths))
            assert {c.field for c in conditions} <= fields, f"{instruction.mnemonic}: condition on no field"
        check_traits(instruction)


def check_traits(instruction: Instruction) -> None:
    """The traits that a row states must be those that its operands and registers show."""
    extents = {operand.extent for operand in instruction.operands}
    shown = instruction.mnemonic
    assert (instruction.channels is not Channels.NONE) == ("IN_CHANNELS" in instruction.parameters), shown
    assert instruction.reduces_channels == bool(extents & {Extent.CONV_WEIGHTS, Extent.MATRIX}), shown
    assert instruction.is_depthwise == (Extent.DEPTH_WEIGHTS in extents), shown
    assert instruction.has_window == (Extent.INPUT in extents), shown
    assert instruction.is_compute == ("OUT_SIZE" in instruction.parameters), shown
    assert instruction.is_transfer == (Extent.TRANSFER in extents), shown
    assert not instruction.is_compute or instruction.operands[-1].writes, f"{shown}: list the output last"
