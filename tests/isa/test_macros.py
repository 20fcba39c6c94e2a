"""Macros and repetitions: the same program as text written out by hand; errors name body and call."""

import time

import pytest

from dlasim.errors import InputError
from dlasim.isa.assembly import assemble, disassemble, macros
from dlasim.isa.container import write


def same(text: str, by_hand: str) -> None:
    """That both texts are the same program, apart from its source lines, and that it survives disassembly."""
    program = assemble(text)
    assert write(program) == write(assemble(by_hand))
    named = assemble(text, "macros.s")
    assert write(assemble(disassemble(named), "other.s")) == write(named)


def error(text: str) -> str:
    with pytest.raises(InputError) as caught:
        assemble(text, "m.s")
    return str(caught.value)


def test_arguments_by_position_by_name_and_by_default() -> None:
    same(
        """
        .macro load region, address, bytes=16
            CFG DMA_IN_REGION, \\region
            CFG DMA_IN_SRAM_ADDR, \\address
            CFG DMA_IN_RUN_BYTES, \\bytes ; \\bytes of them
        .endm
        .macro nothing
        .endm
        .stream
            load INPUTS, 4
        here: load bytes=(8 + 8) * 2, address=here, region=CONSTANTS
            load INPUTS, bytes=1, address=-(2 - 3)
            nothing
            HALT
        """,
        """
        .stream
            CFG DMA_IN_REGION, INPUTS
            CFG DMA_IN_SRAM_ADDR, 4
            CFG DMA_IN_RUN_BYTES, 16
            CFG DMA_IN_REGION, CONSTANTS
            CFG DMA_IN_SRAM_ADDR, 3
            CFG DMA_IN_RUN_BYTES, 32
            CFG DMA_IN_REGION, INPUTS
            CFG DMA_IN_SRAM_ADDR, 1
            CFG DMA_IN_RUN_BYTES, 1
            HALT
        """,
    )


def test_labels_are_unique_and_come_before_or_after_their_use() -> None:
    same(
        """
        .macro entry value
        begin\\@: .i32 end\\@ - begin\\@
        .space \\value, 7
        end\\@:
        .endm
        .data
            entry 3
            entry 0
            .rept 3
        row\\+: .i16 row\\+, last
            .endr
        last:
            .i8 end0, row2
        """,
        """
        .data
            .i32 7
            .i8 7, 7, 7
            .i32 4
            .i16 11, 23
            .i16 15, 23
            .i16 19, 23
            .i8 7, 19
        """,
    )


def test_nesting() -> None:
    """Each \\+ and \\@ belongs to the innermost repetition and macro around it."""
    same(
        """
        .macro outer value
            .macro inner\\value x
                .i8 \\value, \\x, \\@
            .endm
            .rept 2
                .i8 \\value, \\@, \\+
                .rept \\+ + 1
                    .i8 100 + \\+
                .endr
            .endr
        .endm
        .data
            outer 5
            outer 6
            inner5 1
            inner6 x=2
        """,
        """
        .data
            .i8 5, 0, 0, 100, 5, 0, 1, 100, 101
            .i8 6, 1, 0, 100, 6, 1, 1, 100, 101
            .i8 5, 1, 2
            .i8 6, 2, 3
        """,
    )


def test_parameters_in_strings_and_names() -> None:
    same(
        """
        .macro layer i, kind=CONV
        .layer "conv\\i\\()x\\n\\\\i", CONV_2D, \\kind, macs=\\i
            OP_\\kind init=bias out=int8
        .endlayer
        .endm
        .stream
            layer 1
            layer 2
            HALT
        """,
        """
        .stream
        .layer "conv1x\\n\\\\i", CONV_2D, CONV, macs=1
            OP_CONV init=bias out=int8
        .endlayer
        .layer "conv2x\\n\\\\i", CONV_2D, CONV, macs=2
            OP_CONV init=bias out=int8
        .endlayer
            HALT
        """,
    )


def test_arguments_are_tokens() -> None:
    same(
        """
        .macro fields what, text
            OP_CONV \\what
        .endm
        .macro string text
            .ascii \\text
        .endm
        .stream
            fields init = bias out=int8, "a, (b"
            HALT
        .data
            string "a, \\"b\\\\n; c"   ; a comment, which is no part of it
        """,
        """
        .stream
            OP_CONV init=bias out=int8
            HALT
        .data
            .ascii "a, \\"b\\\\n; c"
        """,
    )


def test_data() -> None:
    program = assemble(
        '.data\n.byte 1, -1\n.half 0x1234\n.space 2, 0xAB\n.space 1\n.ascii "é"\n.asciz "ab", "c"'
    )
    assert bytes(program.constants) == b"\x01\xff\x34\x12\xab\xab\x00\xc3\xa9ab\x00c\x00"


def test_repetitions() -> None:
    same(".stream\n.REPT 3\nNOP\n.EndR\n.rept 0\n.foo\n.endr\nHALT", ".stream\nNOP\nNOP\nNOP\nHALT")
    same(".data\n.rept 4\n.endr\n.equ N, 2\n.rept N * 2\n.i8 N\n.endr", ".data\n.i8 2, 2, 2, 2")


def test_words_come_from_the_outermost_call() -> None:
    text = """.macro inner
    NOP
    .endm
    .macro outer
        inner
        .rept 2
            NOP
        .endr
    .endm
    .stream
        outer
        .rept 2
            NOP
            inner
        .endr
        HALT"""
    program = assemble(text, "m.s")
    places = [program.lines.place(word) for word in range(len(program.commands))]
    assert [int(place.split(":")[1]) for place in places] == [11, 11, 11, 13, 14, 13, 14, 16]


CASES = [
    (".macro a\n«.endm\n.stream\nHALT\n«.endm", "m.s:5:1: no .macro is open here"),
    (".stream\nHALT\n.endr", "m.s:3:1: no .rept is open here"),
    ("\n.macro a\nNOP", "m.s:2:1: this .macro does not end; add .endm after it"),
    (".rept 3\n.macro a\n.endr", "m.s:1:1: this .rept does not end; add .endr after it"),
    (".macro NOP\n.endm", "m.s:1:8: NOP is an instruction; choose another name for the macro"),
    (".macro a\n.endm\n.macro a\n.endm", "m.s:3:8: macro a is already defined"),
    (".macro\n.endm", "m.s:1:7: expected the macro's name, found the end of the line"),
    (".macro a b, b\n.endm", "m.s:1:13: b is given twice"),
    (".macro a b,\n.endm", "m.s:1:12: expected another parameter after the comma"),
    (".macro a n\n.endm", "m.s:1:10: a parameter cannot be called n: \\n has a meaning in strings"),
    (".macro a b c\n.endm", "m.s:1:12: expected the end of the line, found c"),
    (".macro a b=\n.endm", "m.s:1:12: expected a value, found the end of the line"),
    (".rept x\n.endr", "m.s:1:7: x is not defined above this line"),
    (".macro a x, y=1\n.endm\n.data\na", "m.s:4:1: a needs x as well"),
    (".macro a x, y=1\n.endm\n.data\na 1, 2, 3", "m.s:4:9: unexpected 3: a takes x and y"),
    (".macro a\n.endm\n.data\na 1", "m.s:4:3: unexpected 1: a takes no arguments"),
    (".macro a x\n.endm\n.data\na x=1, x=2", "m.s:4:8: x is given twice"),
    (".macro a x\n.endm\n.data\na 1,", "m.s:4:5: expected another argument after the comma"),
    (".macro a x\n.endm\n.data\na ,", "m.s:4:3: expected a value, found ,"),
    (".stream\nHALT \\x", "m.s:2:6: \\x is no parameter of a macro here"),
    (".macro load\nNOP\n.endm\n.stream\nlaod\nHALT", "m.s:5:1: unknown instruction laod; did you mean load?"),
    (".macro a x\n.i8 \\x\n.endm\n.data\na 256", "(got 256) (in macro a called in line 5)"),
    (
        ".macro a x\n.i8 \\x\n.endm\n.macro b\na y\n.endm\n.data\nb",
        "m.s:2:5: y is not defined (in macro a called in line 5, in macro b called in line 8)\n"
        "    .i8 y\n        ^",
    ),
    (
        ".macro a\nx:\n.endm\n.data\na\na",
        "m.s:2:1: x is already defined in line 2 (in macro a called in line 6)",
    ),
    (".data\n.word 5", ".word must be in a stream; in .data write .i32, or put .stream above it"),
]


@pytest.mark.parametrize(("text", "said"), CASES, ids=range(len(CASES)))
def test_errors(text: str, said: str) -> None:
    text = text.replace("«", "")
    message = error(text)
    assert said in message
    assert len(message.splitlines()) == 3, f"not one error: {message}"


def test_errors_stand_in_the_order_of_the_calls() -> None:
    message = error(".macro a x\n.i8 \\x\n.endm\n.data\n.i8 300\na 400\n.i8 500\n.rept 2\na 600\n.endr")
    values = [line.split("got ")[1].split(")")[0] for line in message.splitlines() if "got" in line]
    assert values == ["300", "400", "500", "600", "600"]


BOMBS = {
    "itself": ".macro a\na\n.endm\n.stream\na",
    "tree": ".macro a\na\na\n.endm\n.stream\na",
    "text": ".macro a x\nb (\\x, \\x)\n.endm\n.macro b x\na (\\x, \\x)\n.endm\n.stream\na 1",
    "wide": f".data\n.rept 100000\n.i8 {'1, ' * 300}1\n.endr",
    "many": ".stream\n.rept 4294967295\nNOP\n.endr\nHALT",
    "many nothings": ".stream\n.rept 4294967295\n.rept 0\n.endr\n.endr\nHALT",
    "nested": ".data\n" + ".rept 100\n" * 30 + ".i8 1\n" + ".endr\n" * 30,
    "deep": ".data\n" + ".rept 1\n" * 40 + ".i8 1\n" + ".endr\n" * 40,
    "calls": ".macro a\n"
    + "b\n" * 500
    + ".endm\n.macro b\n"
    + "c\n" * 500
    + ".endm\n.macro c\nNOP\n.endm\n.stream\na",
    "skipped": ".macro a\n.rept 0\n" + "NOP\n" * 1000 + ".endr\n.endm\n.rept 300\na\n.endr",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_explodes_is_refused_soon(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in ("wide", "tree"):  # the slowest ways to reach the limits of characters and of lines
        monkeypatch.setattr(macros, "MAX_EXPANDED_LINES", macros.MAX_EXPANDED_LINES // 16)
        monkeypatch.setattr(macros, "MAX_EXPANDED_CHARACTERS", macros.MAX_EXPANDED_CHARACTERS // 16)
    began = time.process_time()
    message = error(BOMBS[name])
    assert time.process_time() - began < 5
    assert len(message.splitlines()) == 3
    assert "expand to more than" in message or "nest more than 32 deep" in message


def test_an_empty_repetition_costs_nothing() -> None:
    same(".data\n.rept 4294967295\n.endr", ".data")
