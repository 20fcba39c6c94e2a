"""The tables of registers and instructions are right, and a bad row would be noticed."""

from dataclasses import replace

import pytest

from dlasim.isa import instruction_rows, instructions, registers
from dlasim.isa.bits import Field
from dlasim.isa.file_records import HEADER
from dlasim.isa.instruction_rows import Channels, Extent, Instruction, Operand, Unit, When
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.isa.registers import Access, Register
from tests.isa.table_checks import check_instructions, check_layout, check_registers, check_traits


def test_the_tables_are_right() -> None:
    check_registers()
    check_instructions()


def field(name: str, low: int, width: int, **more: object) -> Field:
    """A field with no documentation."""
    return Field(name, low, width, "", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ((field("a", 0, 4), field("a", 4, 4)), "share a name"),
        ((field("a", 0, 4), field("b", 3, 4)), "b: a bit is claimed twice"),
        ((field("a", 0, 0),), "a: empty field"),
        ((field("a", -1, 4),), "a: empty field"),
        ((field("a", 28, 5),), "a: beyond the word"),
        ((field("a", 0, 4, maximum=16),), "a: the range does not fit 4 bits"),
        ((field("a", 0, 4, minimum=-1),), "a: the range does not fit 4 bits"),
        ((field("a", 0, 4, signed=True, maximum=8),), "a: the range does not fit 4 bits"),
        ((field("a", 0, 4, minimum=5, maximum=4),), "a: the range does not fit 4 bits"),
        ((field("a", 0, 1, names=("x", "y", "z")),), "a: the range does not fit 1 bits"),
        ((field("a", 0, 4, minimum=1),), "a: the default is illegal"),
    ],
)
def test_bad_layouts(fields: tuple[Field, ...], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_layout("owner", fields, 32)


def test_good_layouts() -> None:
    check_layout("owner", (field("a", 0, 32),), 32)
    check_layout("owner", (field("a", 4, 4, signed=True, minimum=-8, maximum=7), field("b", 0, 4)), 8)


def test_bits_taken_by_another() -> None:
    """The opcode's bits belong to no field."""
    with pytest.raises(AssertionError, match="claimed twice"):
        check_layout("owner", (field("a", 7, 2),), 64, taken=0xFF)


_NOP, _CONV = BY_MNEMONIC["NOP"], BY_MNEMONIC["OP_CONV"]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (replace(_NOP, opcode=0x77), "share a mnemonic"),
        (replace(_NOP, mnemonic="NEW"), "share an opcode"),
        (Instruction("NEW", 0, Unit.ISSUE, "", ""), "a word of zeros"),
        (Instruction("NEW", 0x3F, Unit.MAC, "", "", parameters=("NO_SUCH",)), "no register"),
        (Instruction("NEW", 0x3F, Unit.MAC, "", "", parameters=("STATUS",)), "no register"),
        (Instruction("NEW", 0x3F, Unit.MAC, "", "", operands=(Operand("X", Extent.INPUT),)), "no register"),
        (Instruction("NEW", 0x3F, Unit.MAC, "", "", fields=(field("low", 4, 8),)), "claimed twice"),
        (Instruction("NEW", 0x3F, Unit.MAC, "", "", fields=(field("high", 60, 8),)), "beyond the word"),
        (Instruction("NEW", 0x40, Unit.MAC, "", ""), "NEW: `features` has no bit"),
        (
            Instruction(
                "NEW", 0x3F, Unit.MAC, "", "",
                operands=(Operand("IN", Extent.INPUT, present_when=(When("init", (1,)),)),),
            ),
            "condition on no field",
        ),
        (
            Instruction(
                "NEW", 0x3F, Unit.MAC, "", "",
                operands=(Operand("IN", Extent.INPUT, int32_when=When("out", (1,))),),
            ),
            "condition on no field",
        ),
    ],
)  # fmt: skip
def test_bad_instructions(monkeypatch: pytest.MonkeyPatch, row: Instruction, complaint: str) -> None:
    table = (*instructions.INSTRUCTIONS, row)
    monkeypatch.setattr(instructions, "INSTRUCTIONS", table)
    monkeypatch.setattr(instructions, "BY_MNEMONIC", {entry.mnemonic: entry for entry in table})
    monkeypatch.setattr(instructions, "BY_OPCODE", {entry.opcode: entry for entry in table})
    with pytest.raises(AssertionError, match=complaint):
        check_instructions()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "STATUS"}, "share a name"),
        ({"address": 0x024}, "share an address"),
        ({"address": 0xFF2}, "NEW"),
        ({"address": 0x1000}, "NEW"),
        ({"fields": (field("a", 0, 8), field("b", 7, 8))}, "NEW.b: a bit is claimed twice"),
        ({"fields": (field("a", 16, 17),)}, "NEW.a: beyond the word"),
    ],
)
def test_bad_registers(monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], complaint: str) -> None:
    good = Register("NEW", 0xFF0, Access.READ_WRITE, "", (field("value", 0, 32),), "")
    _check_registers(monkeypatch, good)
    bad = replace(good, **changes)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=complaint):
        _check_registers(monkeypatch, bad)


def _check_registers(monkeypatch: pytest.MonkeyPatch, row: Register) -> None:
    table = (*registers.OPERANDS, *(r for r in registers.REGISTERS if not r.is_operand), row)
    monkeypatch.setattr(registers, "REGISTERS", table)
    monkeypatch.setattr(registers, "BY_NAME", {entry.name: entry for entry in table})
    monkeypatch.setattr(registers, "BY_ADDRESS", {entry.address: entry for entry in table})
    try:
        check_registers()
    finally:
        monkeypatch.undo()


def test_the_papers_mnemonics_are_there() -> None:
    operations = (
        "CONV CONV_RELU DEPTH_CONV MAT_MUL ACT_RELU ACT_LRELU POOL E_ABS C_MIN C_MAX E_ADD E32_ADD DMA_READ "
        "DMA_WRITE"
    )
    named = {f"OP_{operation}" for operation in operations.split(" ")}
    assert named <= set(BY_MNEMONIC)


def test_features_have_a_bit_for_every_opcode() -> None:
    """`check_instructions` compares opcodes with this number."""
    (features,) = [member for member in HEADER.members if member.name == "features"]
    assert features.type == f"u{instruction_rows.FEATURE_BITS}"


def test_every_number_of_a_register_fits_cfg() -> None:
    cfg = BY_MNEMONIC["CFG"].field("register")
    assert all(cfg.holds(register.index) for register in registers.REGISTERS)


def test_traits_are_those_that_the_manual_describes() -> None:
    """Stated here once more, by hand, from the sentences of the manual."""
    traits = {
        "reduces_channels": {"OP_CONV", "OP_CONV_RELU", "OP_MAT_MUL"},
        "is_depthwise": {"OP_DEPTH_CONV"},
        "reads_weights": {"OP_CONV", "OP_CONV_RELU", "OP_MAT_MUL", "OP_DEPTH_CONV"},
        "has_window": {"OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_POOL"},
        "pads_window": {"OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV"},
        "is_transfer": {"OP_DMA_READ", "OP_DMA_UNPACK", "OP_DMA_DECODE", "OP_DMA_WRITE"},
    }
    for trait, names in traits.items():
        assert {row.mnemonic for row in INSTRUCTIONS if getattr(row, trait)} == names, trait


@pytest.mark.parametrize(
    ("mnemonic", "channels"),
    [
        ("OP_CONV", Channels.GROUPED),
        ("OP_DEPTH_CONV", Channels.REDUCED),
        ("OP_POOL", Channels.NONE),
        ("OP_E_ADD", Channels.EQUAL),
    ],
)
def test_a_trait_that_the_operands_contradict_is_noticed(mnemonic: str, channels: Channels) -> None:
    with pytest.raises(AssertionError, match=mnemonic):
        check_traits(replace(BY_MNEMONIC[mnemonic], channels=channels))
