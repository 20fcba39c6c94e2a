"""What each part of the assembly language means, against values worked out by hand."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from dlasim.errors import InputError
from dlasim.isa import registers
from dlasim.isa.assembly import assemble, disassemble
from dlasim.isa.codec import decode, encode, encode_cfg
from dlasim.isa.container import read, write
from dlasim.isa.file_records import DataType, LayerKind, Role, StepKind
from dlasim.isa.program import (
    HostCall,
    Layer,
    Program,
    Requirement,
    Step,
    Stream,
    TensorDescriptor,
    fingerprint,
)
from dlasim.isa.registers import Region

from .generate import random_program

_EXAMPLES = Path(__file__).parents[2] / "examples"


def words_of(body: str) -> list[int]:
    """The words of one stream, without the HALT at its end."""
    program = assemble(f".stream\n{body}\nHALT\n")
    return [int(word) for word in program.commands[:-1]]


def data_of(body: str) -> bytes:
    """The constants that a data section builds."""
    return assemble(f".data\n{body}\n").constants.tobytes()


def number_of(expression: str) -> int:
    """The value of an expression, by way of 64 raw bits."""
    (word,) = words_of(f".word {expression}")
    return word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42), ("0x2A", 42), ("0b101010", 42), ("0o52", 42), ("1_000", 1000),
        ("0xFFFF_FFFF", 0xFFFF_FFFF),
        ("64KiB", 65536), ("2MiB", 2 << 20), ("1GiB", 1 << 30), ("0x10KiB", 16384),
        ("2+3*4", 14), ("(2+3)*4", 20), ("2*3+4", 10), ("10-4-3", 3), ("10-(4-3)", 9), ("-2*-3", 6),
        ("+5", 5),
        ("--5", 5), ("3 - -2", 5), ("-(2-5)", 3), ("((((7))))", 7), ("2*(3+4)*(5-1)", 56), ("-2+5", 3),
        ("18446744073709551615", (1 << 64) - 1), ("ARENA", 1), ("COMMANDS*8", 32), ("(1+2)*3-4", 5),
    ],
)  # fmt: skip
def test_expressions(text: str, value: int) -> None:
    assert number_of(text) == value


def test_expressions_agree_with_python() -> None:
    """Random expressions; Python's own precedence is the oracle."""
    random = Random(1)

    def expression(depth: int) -> str:
        kind = random.randrange(5) if depth else 0
        if kind == 0:
            return str(random.randrange(100))
        if kind == 1:
            return f"({expression(depth - 1)})"
        if kind == 2:
            return f"-{expression(depth - 1)}"
        return f"{expression(depth - 1)}{random.choice(('+', ' - ', '*'))}{expression(depth - 1)}"

    checked = 0
    while checked < 500:
        text = expression(4)
        expected = eval(text)
        if 0 <= expected < 1 << 63:
            assert number_of(text) == expected, text
            checked += 1


def test_deep_expressions_exhaust_nothing() -> None:
    assert number_of("(" * 20_000 + "1" + ")" * 20_000) == 1
    assert number_of("-" * 20_000 + "1") == 1


def test_symbols() -> None:
    program = assemble(
        """
        .equ BASE, 0x100
        .equ NEXT, BASE + 4
        .stream
            CFG IN_ADDR, later            ; defined below
        start: again: CFG OUT_ADDR, NEXT  # two labels, one word
            CFG ACC_ADDR, end - start
            CFG REQUIRE_CONFIG, FINGERPRINT
        end: HALT
        .data
            .i8 0
        later: .i32 later, end
        """
    )
    assert [decode(int(word)).values["value"] for word in program.commands[:-1]] == [
        1, 0x104, 3, fingerprint(64, 1, 64, 512 << 10)
    ]  # fmt: skip
    assert program.constants.tobytes() == bytes([0, 1, 0, 0, 0, 4, 0, 0, 0])


def test_instructions() -> None:
    assert words_of("OP_CONV init=bias out=int32 quant=channel") == [
        encode("OP_CONV", init=1, out=1, quant=1)
    ]
    assert words_of("OP_CONV") == [encode("OP_CONV")]
    assert words_of("op_conv QUANT=Channel, init=1") == [encode("OP_CONV", init=1, quant=1)]
    assert words_of("OP_POOL average") == [encode("OP_POOL", mode=1)]
    assert words_of("WAIT mac, 3") == words_of("wait MAC max_outstanding=3") == words_of("WAIT 2, 1+2")
    assert words_of("NOP ; nothing") == [1]
    assert words_of("IRQ") == [4]
    assert words_of(".word 0xFFFFFFFFFFFFFFFF") == [(1 << 64) - 1]


def test_cfg() -> None:
    assert words_of("CFG IN_ADDR, 0x100") == [encode_cfg("IN_ADDR", 0x100)]
    assert words_of("cfg in_zp, -128") == [encode_cfg("IN_ZP", -128)]
    assert words_of("CFG KERNEL, height=3, width=5") == [encode_cfg("KERNEL", 3 | 5 << 16)]
    assert words_of("CFG KERNEL, width=5") == [encode_cfg("KERNEL", 1 | 5 << 16)]
    assert words_of("CFG PAD, top=1 left=2") == [encode_cfg("PAD", 1 | 2 << 16)]
    assert words_of("CFG KERNEL, raw=0") == [encode_cfg("KERNEL", 0)]
    assert words_of("CFG DMA_IN_REGION, ARENA") == [encode_cfg("DMA_IN_REGION", 1)]
    assert words_of("CFG 9, 0xFFFFFFFF") == [encode("CFG", register=9, value=0xFFFF_FFFF)]


@pytest.mark.parametrize("register", registers.OPERANDS, ids=lambda register: register.name)
def test_every_register_takes_its_limits(register: registers.Register) -> None:
    for pick in ("lowest", "highest"):
        values = {field.name: getattr(field, pick) for field in register.fields}
        text = ", ".join(f"{name}={value}" for name, value in values.items())
        expected = encode("CFG", register=register.index, value=register.pack(**values))
        assert words_of(f"CFG {register.name}, {text}") == [expected]
        if register.is_plain:
            assert words_of(f"CFG {register.name}, {values['value']}") == [expected]


def test_data() -> None:
    assert data_of(".i8 -1, 2, 255, 2*3") == bytes([255, 2, 255, 6])
    assert data_of(".i16 -2, 0x1234") == bytes([0xFE, 0xFF, 0x34, 0x12])
    assert data_of(".i32 -2, 0x80000000") == bytes([0xFE, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x80])
    assert data_of(".i8 1\n.align 4\n.i8 2\n.align 4") == bytes([1, 0, 0, 0, 2, 0, 0, 0])
    assert data_of(".zero 3\n.i8 1") == bytes([0, 0, 0, 1])
    assert data_of('.hex "00ffA5"\n  .hex "01 02" ; blanks\n.hex ""') == bytes([0, 255, 0xA5, 1, 2])
    assert data_of(".record -7, 0x40000000, -3") == np.array([-7, 1 << 30, -3], "<i4").tobytes()


def test_sections_may_come_in_any_order_and_often() -> None:
    program = assemble(".data\n.i8 1\n.stream\nHALT\n.data\n.i8 2\n.stream after=1\nNOP\nHALT\n")
    assert program.constants.tobytes() == bytes([1, 2])
    assert program.streams == (Stream(0, 1), Stream(1, 2))
    assert program.steps == (Step(StepKind.STREAM, 0, 0), Step(StepKind.STREAM, 1, 1))


def test_config() -> None:
    def config(text: str) -> Requirement:
        return assemble(f".config {text}").requirement

    assert assemble("").requirement == Requirement(64, 1, 64, 512 << 10)
    assert config("pes=128 parallel=input") == Requirement(128, 128, 1, 512 << 10)
    assert config("pes=128, parallel=output, sram=1MiB") == Requirement(128, 1, 128, 1 << 20)
    assert config("grid=4x16 arena=10 inputs=20 outputs=30") == Requirement(64, 4, 16, 512 << 10, 10, 20, 30)


def test_regions_are_as_large_as_their_tensors() -> None:
    text = """
    .tensor a, int8, input, INPUTS+4, shape=10
    .tensor b, int32, internal, ARENA+8, shape=2x3
    .tensor c, float32, output, OUTPUTS, shape=scalar
    """
    need = assemble(text).requirement
    assert (need.arena_bytes, need.inputs_bytes, need.outputs_bytes) == (32, 14, 4)
    assert assemble(f".config inputs=100\n{text}").requirement.inputs_bytes == 100


def test_tensors() -> None:
    text = """
    .tensor "x y", int8, INPUT, inputs+2*3, shape=1x8x8x3, scale=0.1, zero_point=-1
    .tensor w, int32, constant, CONSTANTS+w, shape=0x7
    .data
    .zero 8
    w:
    """
    first, second = assemble(text).tensors
    tenth = float(np.float32(0.1))
    assert first == TensorDescriptor(
        "x y", DataType.int8, Role.INPUT, Region.INPUTS, 6, 192, (1, 8, 8, 3), tenth, -1
    )
    assert second == TensorDescriptor("w", DataType.int32, Role.CONSTANT, Region.CONSTANTS, 8, 0, (0, 7))


@pytest.mark.parametrize(
    ("text", "value"), [("1e-07", 1e-7), ("2.5", 2.5), ("3", 3.0), ("1E+3", 1000.0), ("0", 0)]
)
def test_scales(text: str, value: float) -> None:
    (tensor,) = assemble(f".tensor t, int8, input, INPUTS, shape=1, scale={text}").tensors
    assert tensor.scale == np.float32(value)


def test_host_calls() -> None:
    program = assemble(
        """
        .layer cast, CAST, HOST
            .host CAST, inputs=(x), outputs=("y")
        .endlayer
        .stream
            HALT
        .host 21 inputs=(1) outputs=(0) layer=cast after=0
        .host concatenation, inputs=(x, y, 0), outputs=(x), attributes=(-1), layer=0
        .tensor x, int8, internal, ARENA, shape=1
        .tensor y, int8, internal, ARENA, shape=1
        """
    )
    assert program.layers == (Layer("cast", "CAST", LayerKind.HOST),)
    assert program.host_calls == (
        HostCall(21, (0,), (1,), (), 0),
        HostCall(21, (1,), (0,), (), 0),
        HostCall(15, (0, 1, 0), (0,), (-1,), 0),
    )
    assert [step.after_streams for step in program.steps] == [0, 0, 0, 1]
    assert [step.kind.name for step in program.steps] == ["HOST", "STREAM", "HOST", "HOST"]


def test_layers_and_debug() -> None:
    program = assemble(
        """
        .stream
            NOP
            .layer "a", CONV_2D, CONV, macs=0x10
                NOP
                .debug tensor=5, start=(0, 1, 2), size=(3, 4, 5)
                NOP
            .endlayer
            .layer b, "odd operator", pool
            .endlayer                        ; no word, no span
            .layer a
                NOP
            .endlayer
            HALT
        .debug word=0 tensor=6 start=(0,0,0) size=(1,1,1)
        """
    )
    assert program.layers == (
        Layer("a", "CONV_2D", LayerKind.CONV, 16),
        Layer("b", "odd operator", LayerKind.POOL, 0),
    )
    assert program.spans.tolist() == [(1, 2, 0), (3, 1, 0)]
    rows = [
        (int(row["word"]), int(row["tensor"]), row["start"].tolist(), row["size"].tolist())
        for row in program.debug
    ]
    assert rows == [(2, 5, [0, 1, 2], [3, 4, 5]), (0, 6, [0, 0, 0], [1, 1, 1])]


def test_strings() -> None:
    assert assemble(r'.program "a\"b\\c\n\t\u{e9}\u{1F600}; #"').name == 'a"b\\c\n\t\u00e9\U0001f600; #'
    assert assemble(".program plain").name == "plain"
    assert assemble("").name == ""


def test_line_endings_and_byte_order_mark() -> None:
    text = '.program "x"\n.stream\nCFG IN_ADDR, 5\nHALT\n.data\n.hex "01"\n'
    assert write(assemble(text)) == write(assemble("\ufeff" + text.replace("\n", "\r\n")))


def test_streams_may_be_left_open_on_purpose() -> None:
    program = assemble(".stream halt=no\nNOP\n")
    assert program.commands.tolist() == [1]


def test_assembled_programs_pass_the_reader() -> None:
    """Whatever the assembler accepts, the file's own checks accept."""
    for path in sorted(_EXAMPLES.glob("*.s")):
        program = assemble(path.read_text(), path.name)
        assert write(read(write(program))) == write(program)


def _damaged(random: Random, text: str) -> str:
    """The text with a few edits: of characters, of words, of lines."""
    for _ in range(random.choice((1, 1, 2, 5))):
        way = random.randrange(6)
        at = random.randrange(len(text) + 1)
        if way == 0:
            text = text[:at] + random.choice(';#",:=+-*().\\\0\t\r\n xX0e\u00e9\ud83d_') + text[at:]
        elif way == 1:
            text = text[:at] + text[at + random.randrange(1, 9) :]
        elif way == 2:
            pieces = text.split(" ")
            random.shuffle(pieces) if len(pieces) < 9 else pieces.insert(
                random.randrange(len(pieces)), random.choice(pieces)
            )
            text = " ".join(pieces)
        elif way == 3:
            lines = text.split("\n")
            lines.insert(random.randrange(len(lines)), random.choice(lines))
            text = "\n".join(lines)
        elif way == 4:
            lines = text.split("\n")
            del lines[random.randrange(len(lines))]
            text = "\n".join(lines)
        else:
            numbers = (
                "-1",
                "99999999999999999999",
                "0x",
                "1e999",
                "1x",
                "4294967296",
                "1GiB*1GiB*1GiB",
                "9" * 5000,
            )
            text = text[:at] + random.choice(numbers) + text[at:]
    return text


def test_damaged_text_gives_a_program_or_one_error() -> None:
    random = Random(4)
    sources = [disassemble(random_program(random), annotate=bool(i % 2)) for i in range(100)]
    sources += [path.read_text() for path in _EXAMPLES.glob("*.s")]
    accepted = 0
    for _ in range(1_000):
        try:
            program = assemble(_damaged(random, random.choice(sources)), "damaged.s")
        except InputError as error:
            message = str(error)
            continue
        accepted += 1
        _check(program)
    assert accepted > 50
    assert message.startswith("damaged.s:")


def _check(program: Program) -> None:
    """The file's reader has nothing against it, and the text form keeps it."""
    stored = write(program)
    assert write(read(stored)) == stored
    assert write(assemble(disassemble(program))) == stored
