"""Golden error messages: what is said, and the line and column that it points at.

In each text, « stands right before the character that the error must point at.

ruff may not break golden lines: they are what a user reads.
"""

# ruff: noqa: E501
import re

import pytest

from dlasim.errors import InputError
from dlasim.isa.assembly import assemble

CASES = [
    ('.program «"unfinished', 'this string does not end; close it with "'),
    ('.program "tab«\\q"', 'unknown escape \\q; write \\n, \\r, \\t, \\", \\\\ or \\u{hexadecimal}'),
    ('.program "«\\u{110000}"', "this is not a character; write \\u{1} to \\u{10ffff} without surrogates"),
    ('.program "«\\u{d800}"', "this is not a character; write \\u{1} to \\u{10ffff} without surrogates"),
    ('.program «"zero\x00"', "a string cannot hold a zero character or half a surrogate pair"),
    ("«= 5", "expected an instruction, a directive or a label, found ="),
    ("«.strean", "unknown directive .strean; did you mean .stream?"),
    (".stream\n«OP_CONVV", "unknown instruction OP_CONVV; did you mean OP_CONV? `dlasim isa` lists all"),
    ("\n\n  «NOP", "NOP must be in a stream; put .stream above it"),
    ("«.word 5", ".word must be in a stream; put .stream above it"),
    ("«here:", "label here must be in .data or in a stream; put one above it"),
    (".stream\nNOP «NOP", "unexpected NOP: NOP takes no fields"),
    (".stream\nOP_CONV «inti=bias", "OP_CONV has no field inti; did you mean init?"),
    (".stream\nOP_CONV init=bias «init=zero", "init is given twice"),
    (".stream\nOP_CONV init=«bais", "expected init (zero, bias or partial), found bais; did you mean bias?"),
    (".stream\nOP_CONV init=«3", "OP_CONV: init must be zero, bias or partial (got 3)"),
    (
        ".stream\nWAIT«",
        "WAIT needs unit and max_outstanding as well; unit must be dma_in, dma_out, mac or vector",
    ),
    (".stream\nWAIT mac«", "WAIT needs max_outstanding as well; max_outstanding must be from 0 to 255"),
    (".stream\nWAIT mac, «256", "WAIT: max_outstanding must be from 0 to 255 (got 256)"),
    (".stream\nWAIT mac «0", "expected a comma or the end of the line, found 0"),
    (".stream\nWAIT mac, 0, «7", "unexpected 7: WAIT takes 2 fields"),
    (".stream\nHALT «now", "unexpected now: HALT takes no fields"),
    (".stream\nCFG «IN_ADR, 0", "unknown register IN_ADR; did you mean IN_ADDR?"),
    (
        ".stream\nCFG «STATUS, 0",
        "CFG cannot write STATUS, which is not an operand register; to see it fault, write the register's number, 9",
    ),
    (".stream\nCFG IN_ADDR«", "expected ',', found the end of the line"),
    (".stream\nCFG IN_ADDR, «", "expected a value, found the end of the line"),
    (".stream\nCFG ACT_MIN, «-129", "ACT_MIN must be from -128 to 127 (got -129)"),
    (".stream\nCFG ACT_MIN, «100 + 28", "ACT_MIN must be from -128 to 127 (got 128)"),
    (".stream\nCFG IN_ADDR, «0x80000000", "IN_ADDR must be from 0 to 2147483647 (got 2147483648)"),
    (".stream\nCFG KERNEL, «3", "KERNEL has several parts; write height= and width=, or raw="),
    (".stream\nCFG KERNEL, height=«0", "KERNEL: height must be from 1 to 65535 (got 0)"),
    (".stream\nCFG KERNEL, height=3, «witdh=3", "unknown keyword witdh; did you mean width?"),
    (".stream\nCFG KERNEL, height=1, «height=2", "height is given twice"),
    (".stream\nCFG «1024, 0", "CFG: register must be from 0 to 1023 (got 1024)"),
    (".stream\nCFG IN_ADDR, raw=«-1", "IN_ADDR: raw must be from 0 to 4294967295 (got -1)"),
    (".stream\n.word «12ab", "12ab is not a number; write it like 12, 0x1F, 0b101, 0o17 or 64KiB (MiB, GiB)"),
    (".stream\n.word «010", "010 is not a number; write it like 12, 0x1F, 0b101, 0o17 or 64KiB (MiB, GiB)"),
    (".stream\n.word (1 + 2«", "expected ')', found the end of the line"),
    (".stream\n.word 1 + «)", "expected a value, found )"),
    (".stream\n.word 1«)", "expected the end of the line, found )"),
    (".stream\n.word «1GiB * 1GiB * 16", "this expression needs more than 64 bits"),
    (".equ TOP, 1\n.stream\nCFG IN_ADDR, 4 + «TPO\nHALT", "TPO is not defined; did you mean TOP?"),
    (".equ A, «B\n.equ B, 1", "B is not defined above this line"),
    (".equ A, 1\n.equ «A, 2", "A is already defined in line 1"),
    (".equ «ARENA, 1", "ARENA is already defined by the assembler; choose another name"),
    (".data\na:\n.stream\n«a: HALT", "a is already defined in line 2"),
    ("«.i8 1", ".i8 must be in .data; put .data above it"),
    (".data\n.i8 1, «256", "the value must be from -128 to 255 (got 256)"),
    (".data\n.i32 «-2147483649", "the value must be from -2147483648 to 4294967295 (got -2147483649)"),
    (".data\n.i8 1,«", "expected a value, found the end of the line"),
    (".data\n.zero «300MiB", "the value must be from 0 to 268435456 (got 314572800)"),
    (".data\n.zero 256MiB - 1\n«.i32 1", "the constants exceed 268435456 bytes here"),
    (".data\n.align «0", "the value must be from 1 to 65536 (got 0)"),
    ('.data\n.hex «"abc"', '.hex takes pairs of hexadecimal digits, such as "00ff a5"'),
    (".data\n.record «1, 2", ".record takes 3 values, bias, multiplier and shift (got 2)"),
    ('.program "a"\n«.program "b"', "a program has only one .program"),
    (".config pes=1\n«.config pes=1", "a program has only one .config"),
    (".config «psa=3", "unknown keyword psa; did you mean pes?"),
    (".config pes=«0", "the value must be from 1 to 4294836225 (got 0)"),
    (
        ".config grid=«1x2x3x4",
        "1x2x3x4 is not a grid; write INPUTxOUTPUT or INPUTxOUTPUTxPIXELS, each from 1 to 65535",
    ),
    (".config grid=«ax2", "expected a grid, found ax2"),
    (".config grid=«1xb", "1xb is not a grid; write decimal numbers joined by x"),
    ("«.config pes=8 grid=2x2", "a grid of 2x2 has 4 PEs (got pes=8); leave pes out"),
    ("«.config grid=2x2 parallel=input", "grid and parallel say the same thing; leave one of them out"),
    (
        ".config parallel=«inputs",
        "expected a parallel mode (input or output), found inputs; did you mean input?",
    ),
    ("«.config pes=65536", "one row has at most 65535 PEs (got 65536); write grid=INPUTxOUTPUT"),
    (
        ".tensor t, «int9, input, INPUTS, shape=1",
        "expected an element type (int8, int32, float32, bool, int64, uint8 or int16), found int9; did you mean int8?",
    ),
    (
        ".tensor t, int8, input, «COMMANDS, shape=1",
        "expected a region (CONSTANTS, ARENA, INPUTS or OUTPUTS), found COMMANDS",
    ),
    (
        ".tensor t, int8, input, INPUTS«",
        "the tensor has no shape; add one such as shape=1x8x8x3 or shape=scalar",
    ),
    (
        ".tensor t, int8, input, INPUTS, shape=«1x1x1x1x1x1x1",
        "1x1x1x1x1x1x1 is too large: a shape has up to 6 dimensions of up to 4294967295",
    ),
    (
        ".tensor «t, int8, input, INPUTS, shape=65536x65536",
        "a tensor has at most 4294967295 bytes (this one has 4294967296)",
    ),
    (
        ".tensor t, int8, input, INPUTS, shape=1, scale=«1e39",
        "1e39 is not a scale; write 0 or a positive decimal number up to 3.4e38",
    ),
    (
        ".tensor t, int8, input, INPUTS, shape=1, scale=«-1.5",
        "-1.5 is not a scale; write 0 or a positive decimal number up to 3.4e38",
    ),
    (
        ".tensor t, int32, input, INPUTS+«2, shape=1",
        "the offset of int32 tensors must be a multiple of 4 (got 2)",
    ),
    (
        ".config inputs=4\n.tensor «t, int8, input, INPUTS+2, shape=3",
        "the tensor ends at byte 5 of INPUTS, which has only 4 bytes",
    ),
    ("«.stream\nNOP", "this stream does not end with HALT; add it, or write halt=no if it is to fault"),
    ("«.stream\n.stream\nHALT", "this stream has no instructions; it needs a HALT at least"),
    (".stream after=«1\nHALT", "the value must be 0 (got 1)"),
    (".stream halt=«maybe\nHALT", "expected an answer (no or yes), found maybe"),
    (".layer a, A, HOST\n.host «CASTLE", "unknown host operator CASTLE; did you mean CAST?"),
    (
        "«.host CAST, inputs=(0), outputs=(0)",
        "this host call belongs to no layer; add layer=, or put it between .layer and .endlayer",
    ),
    (".layer a, A, HOST\n.host «CAST", "CAST takes 1 input (got 0)"),
    (
        ".tensor x, int8, internal, ARENA, shape=1\n.layer a, A, HOST\n.host «ADD inputs=(x, x) outputs=(x) attributes=(1, 2)",
        "ADD takes 11 attribute words (got 2)",
    ),
    (
        ".tensor weight, int8, internal, ARENA, shape=1\n.layer a, A, HOST\n.host CAST, inputs=(«wieght), outputs=(none)\n.endlayer",
        "unknown tensor wieght; did you mean weight?",
    ),
    (
        ".layer a, A, HOST\n.host CAST, inputs=(«0), outputs=(none)\n.endlayer",
        "there is no tensor 0; the program has no tensors",
    ),
    (
        ".tensor t, int8, internal, ARENA, shape=1\n.tensor t, int8, internal, ARENA, shape=1\n.layer a, A, HOST\n.host CAST, inputs=(«t), outputs=(none)\n.endlayer",
        "t names several tensors; write the number instead: 0 or 1",
    ),
    (
        ".layer a, CONV_2D, «CONVOLUTION",
        "expected a kind of layer (CONV, DEPTH, FC, POOL, ELTWISE, ACT, REQUANT, HOST or OTHER), found CONVOLUTION",
    ),
    (
        ".layer a, A, CONV\n«.layer b, B, CONV",
        "the layer of line 1 is still open; put .endlayer above this line",
    ),
    ("«.layer a, A, CONV", "this layer is never closed; add .endlayer after it"),
    ("«.endlayer", "no layer is open here"),
    (".layer «0", "there is no layer 0; the text has no layers above this line"),
    ('.layer "conv1", A, CONV\n.endlayer\n.layer «"conv2"', 'unknown layer "conv2"; did you mean conv1?'),
    (
        ".layer a, A, CONV\n.endlayer\n.layer a, B, CONV\n.endlayer\n.layer «a",
        "a names several layers; write the number instead: 0 or 1",
    ),
    (".stream\n«.debug tensor=1, start=(0, 0, 0)\nHALT", ".debug needs size= as well"),
    (
        ".stream\n.debug tensor=1, start=«(0, 0), size=(1, 1, 1)\nHALT",
        "a box has three sides: rows, columns and channels (got 2)",
    ),
    (
        "«.debug tensor=1, start=(0, 0, 0), size=(1, 1, 1)",
        "no instruction follows this .debug; put it in a stream, or add word=",
    ),
    (
        ".stream\nHALT\n«.debug word=1, tensor=1, start=(0, 0, 0), size=(1, 1, 1)",
        "there is no command word 1; they are numbered 0 to 0",
    ),
    # Lines of the source
    (".stream\n«.line 5\nHALT", 'the first .line must name its file: .line NUMBER, "FILE"'),
    ('.stream\n.line «0, "a.s"\nHALT', "the value must be from 1 to 4294967295 (got 0)"),
    (".stream\n.line «nothing\nHALT", "write a line number, or none where the words have no source line"),
    ('.stream\n«.line 4294967295, "a.s"\nNOP\nHALT', "the words that follow reach beyond line 4294967295"),
]
_INCOMPLETE = ("does not end with HALT", "is never closed", "unknown tensor none")  # as many cases are


@pytest.mark.parametrize(("marked", "message"), CASES, ids=range(len(CASES)))
def test_message_and_place(marked: str, message: str) -> None:
    before, _, after = marked.partition("«")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    lines = _errors(before + after)
    at = lines.index(f"dir/file.s:{line}:{column}: {message}")
    assert lines[at + 1][4:] == (before + after).split("\n")[line - 1].replace("\0", "?")
    assert lines[at + 2] == " " * (4 + column - 1) + "^"
    others = [text for text in lines if re.match(r"dir/file\.s:\d", text) and text != lines[at]]
    assert all(any(known in text for known in _INCOMPLETE) for text in others)


def _errors(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        assemble(text, "dir/file.s")
    return str(caught.value).split("\n")


def _heads(text: str) -> list[str]:
    """Every error of a text without its picture: `LINE: message`."""
    pattern = re.compile(r"dir/file\.s:(\d+):\d+: (.*)")
    return [f"{found[1]}: {found[2]}" for line in _errors(text) if (found := pattern.match(line))]


def test_all_errors_are_told_at_once_in_the_order_of_the_text() -> None:
    text = ".equ SIZE, 16\n.stream\nCFG IN_ADDR, SIEZ\nOP_CONVV\nCFG ACT_MIN, 500\nWAIT mac\nHALT\n"
    assert _errors(text)[0] == "dir/file.s: 4 errors"
    assert _heads(text) == [
        "3: SIEZ is not defined; did you mean SIZE?",
        "4: unknown instruction OP_CONVV; did you mean OP_CONV? `dlasim isa` lists all",
        "5: ACT_MIN must be from -128 to 127 (got 500)",
        "6: WAIT needs max_outstanding as well; max_outstanding must be from 0 to 255",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        # What a broken line defines is not missed further down.
        (".equ A, 1 +\n.equ B, A\n.stream\nCFG IN_ADDR, A + B\nHALT", [1]),
        (".equ A @\n.stream\nCFG IN_ADDR, A\nHALT", [1]),
        (
            ".tensor x, int9, input, INPUTS, shape=4\n.layer a, A, HOST\n.host CAST inputs=(x) outputs=(0)\n.endlayer",
            [1],
        ),
        (".layer a, A, CONVV\n.endlayer\n.layer a\n.endlayer\n.layer 0\n.endlayer", [1]),
        (".config pes=0 inputs=1 outputs=1\n.tensor x, int8, input, INPUTS, shape=4", [1]),
        # A broken line still begins or ends what it would.
        (".stream halt=maybe\nNOP\nHALT", [1]),
        (".stream x\nNOP\nHALT", [1]),
        (".data x\na: .i8 1\n.stream\nCFG IN_ADDR, a\nHALT", [1]),
        (".stream\n.layer a, A, CONV\nNOP\n.endlayer x\n.layer b, B, CONV\nHALT\n.endlayer", [4]),
        (".stream\nNOP\nHALTT", [3]),
        (".stream\nHALTT", [2]),
        (".strean\nNOP\nHALT\n.endstream\n.stream\nHALT", [1, 4]),
        (".dta\na: .i8 1\n.i8 2\n.stream\nCFG IN_ADDR, a\nHALT", [1]),
        # Words and data after a broken line are where they would be, or in no known place.
        (".stream\nNOPP\nend: HALT\n.debug word=end tensor=0 start=(0, 0, 0) size=(1, 1, 1)", [2]),
        (".data\n.i8 1,\na: .i32 1\n.tensor w, int32, constant, CONSTANTS+a, shape=1", [2]),
        (".data\n.zero lots\n.tensor w, int32, constant, CONSTANTS+8, shape=1", [2]),
        # One cause, one error.
        (".stream\nCFG IN_ADDR, X\nCFG OUT_ADDR, X\nHALT", [2]),
        ("NOP\nNOP\nHALT", [1]),
        ('.i8 1\n.i8 2\n.hex "00"', [1]),
        # Independent errors of one line or of one name are all told.
        (".data\n.i8 300, 1, 400", [2, 2]),
        (".stream\nCFG KERNEL, height=0, width=0\nHALT", [2, 2]),
        ("a: b:\n.stream\na: HALT", [1, 1]),
        (".stream\nNOP\n.stream\n.stream\nHALT", [1, 3]),
    ],
)
def test_an_error_brings_no_others(text: str, lines: list[int]) -> None:
    assert [int(head.split(":")[0]) for head in _heads(text)] == lines


def test_a_name_that_is_missing_often() -> None:
    uses = "".join(f"CFG IN_ADDR, X + {i}\n" for i in range(9))
    assert _heads(f".stream\n{uses}HALT") == [
        "2: X is not defined (used again in line 3, 4, 5, 6, 7 and 3 more)"
    ]


def test_many_errors_are_cut() -> None:
    lines = _errors(".stream\n" + "NOPP\n" * 50 + "HALT")
    assert lines[0] == "dir/file.s: 50 errors"
    assert len(lines) == 1 + 20 * 3 + 1
    assert lines[-1] == "… and 30 more"


def test_a_text_of_nothing_but_errors_is_not_read_to_its_end() -> None:
    lines = _errors("@\n" * 1_000_000)
    assert lines[0] == "dir/file.s: at least 200 errors"
    assert lines[-1] == "… and at least 180 more"


def test_a_tab_moves_the_caret_as_it_moves_the_text() -> None:
    with pytest.raises(InputError) as caught:
        assemble(".stream\n\tCFG\tIN_ADDR, @\n")
    assert str(caught.value).split("\n")[1:] == ["    \tCFG\tIN_ADDR, @", "    \t   \t         ^"]


def test_long_lines_are_cut_around_the_caret() -> None:
    with pytest.raises(InputError) as caught:
        assemble(".data\n.i8 " + "1, " * 10_000 + "@" + ", 1" * 10_000)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith("<text>:2:30005: ")
    assert len(shown) < 120
    assert shown[caret.index("^")] == "@"


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    from dlasim.isa.assembly import assembler

    monkeypatch.setattr(assembler, "MAX_TEXT_CHARACTERS", 10)
    with pytest.raises(InputError, match=r"^big\.s must have at most 10 characters \(it has 11\)$"):
        assemble(";" * 11, "big.s")
