"""The codec: both directions agree, decoding takes any word, and the whole stream at once does the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlasim.errors import InputError
from dlasim.isa import codec, instructions
from dlasim.isa.bits import Field
from dlasim.isa.instruction_rows import Instruction, Unit
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS


@st.composite
def legal(draw: st.DrawFn) -> tuple[Instruction, dict[str, int]]:
    """An instruction with legal values for its fields."""
    instruction = draw(st.sampled_from(INSTRUCTIONS))
    values = {
        field.name: draw(st.integers(field.lowest, field.highest), label=field.name)
        for field in instruction.fields
    }
    return instruction, values


@given(legal())
@settings(deadline=None, max_examples=500)
def test_decode_inverts_encode(case: tuple[Instruction, dict[str, int]]) -> None:
    instruction, values = case
    decoded = codec.decode(codec.encode(instruction.mnemonic, **values))
    assert decoded.instruction is instruction
    assert decoded.values == values


@given(st.integers(0, (1 << 64) - 1))
@settings(deadline=None, max_examples=500)
def test_encode_inverts_decode(word: int) -> None:
    """A legal word has one meaning only: what it decodes to encodes to the same word."""
    decoded = codec.decode(word & 0xFFFF_FFFF_0003_FF00 | 2)
    assert decoded.is_legal, "every register number and every value make a CFG"
    assert codec.encode("CFG", **decoded.values) == decoded.word
    decoded = codec.decode(word)
    if decoded.instruction is not None:
        assert codec.encode(decoded.instruction.mnemonic, **decoded.values) == word


@pytest.mark.parametrize(
    ("word", "mnemonic", "values"),
    [
        # Derived by hand from the manual: opcode in bits 0 to 7, fields from bit 8.
        (0x01, "NOP", {}),
        (0x05, "HALT", {}),
        (0x02 | 0x100 << 8 | 0xDEADBEEF << 32, "CFG", {"register": 0x100, "value": 0xDEADBEEF}),
        (0x03 | 2 << 8 | 255 << 16, "WAIT", {"unit": 2, "max_outstanding": 255}),
        (
            0x20 | 2 << 8 | 1 << 10 | 1 << 11,
            "OP_CONV",
            {"init": 2, "out": 1, "quant": 1, "elements": 0, "sum": 0},
        ),
        (
            0x23 | 1 << 11 | 1 << 12 | 1 << 14,
            "OP_MAT_MUL",
            {"init": 0, "out": 0, "quant": 1, "elements": 1, "sum": 0, "weights": 1},
        ),
        (0x33 | 1 << 8 | 1 << 12, "OP_POOL", {"mode": 1, "elements": 1}),
    ],
)
def test_words_derived_by_hand(word: int, mnemonic: str, values: dict[str, int]) -> None:
    assert codec.encode(mnemonic, **values) == word
    assert codec.decode(word).values == values


@pytest.mark.parametrize(
    "word",
    [
        0,  # an empty memory is no program
        0xFF,
        0x01 | 1 << 8,  # NOP with a reserved bit
        0x01 | 1 << 63,
        0x20 | 3 << 8,  # init has three values
        0x31 | 3 << 8,  # E32_SHIFT has three modes
        0x02 | 1 << 18,  # between the fields of CFG
    ],
)
def test_illegal_words(word: int) -> None:
    assert not codec.decode(word).is_legal
    assert codec.decode_opcodes(np.array([word], np.uint64))[0] == codec.ILLEGAL


def test_a_million_random_words_decode() -> None:
    """Without an exception, and with the answers of the scalar decoder."""
    words = np.random.default_rng(2).integers(0, 1 << 64, 1_000_000, dtype=np.uint64)
    opcodes = codec.decode_opcodes(words)
    for word, opcode in zip(words[:20_000].tolist(), opcodes[:20_000].tolist(), strict=True):
        assert _opcode(word) == opcode


def test_vectorised_decode_equals_scalar_on_near_misses() -> None:
    """Words that are legal but for a bit or two, where random ones are nearly always illegal."""
    rng = np.random.default_rng(3)
    words = []
    for instruction in INSTRUCTIONS:
        for _ in range(400):
            word = instruction.opcode
            for field in instruction.fields:
                word |= field.insert(int(rng.integers(0, 1 << field.width)))
            words.append(word)
            words.append(word ^ 1 << int(rng.integers(0, 64)))
    opcodes = codec.decode_opcodes(np.array(words, np.uint64))
    scalar = [_opcode(word) for word in words]
    assert opcodes.tolist() == scalar
    assert {0, *(instruction.opcode for instruction in INSTRUCTIONS)} == set(scalar)


def _opcode(word: int) -> int:
    decoded = codec.decode(word)
    return codec.ILLEGAL if decoded.instruction is None else decoded.instruction.opcode


def test_vectorised_decode_knows_any_kind_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits count as well as names, though no instruction of today has one that its width does not imply."""
    field = Field("level", 8, 4, "", minimum=2, maximum=9)
    limited = Instruction("LIMITED", 0x70, Unit.ISSUE, "", "", fields=(field,))
    monkeypatch.setattr(instructions, "INSTRUCTIONS", (limited,))
    monkeypatch.setitem(codec.BY_OPCODE, limited.opcode, limited)
    codec._limits.cache_clear()
    try:
        words = np.array([0x70 | level << 8 for level in range(16)], np.uint64)
        opcodes = codec.decode_opcodes(words).tolist()
    finally:
        codec._limits.cache_clear()
    assert opcodes == [0x70 if 2 <= level <= 9 else codec.ILLEGAL for level in range(16)]
    assert opcodes == [_opcode(word) for word in words.tolist()]


def test_extract_takes_fields_of_many_words() -> None:
    field = BY_MNEMONIC["CFG"].field("value")
    words = np.array([0x02, 0x02 | 7 << 32, (1 << 64) - 1], np.uint64)
    assert codec.extract(words, field).tolist() == [0, 7, 0xFFFF_FFFF]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"unit": 4}, "WAIT: unit must be dma_in, dma_out, mac or vector (got 4)"),
        ({"max_outstanding": 256}, "WAIT: max_outstanding must be from 0 to 255 (got 256)"),
        ({"max_outstanding": -1}, "WAIT: max_outstanding must be from 0 to 255 (got -1)"),
    ],
)
def test_encode_refuses_what_does_not_fit(values: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        codec.encode("WAIT", **values)
    assert str(caught.value) == message


def test_cfg_takes_negative_numbers() -> None:
    decoded = codec.decode(codec.encode_cfg("IN_ZP", -128))
    assert decoded.values["value"] == 0xFFFF_FF80
