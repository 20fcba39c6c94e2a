"""Golden error messages: what is said, and the line and column that it points at.

In each text, « stands right before the character that the error must point at.

ruff may not break golden lines: they are what a user reads.
"""

# ruff: noqa: E501
import re

import pytest

from dlasim.errors import InputError
from dlasim.isa.assembly import assemble

_OPERANDS = "the operand registers of docs/registers.md"
CASES = [
    # Lexical
    (".stream\n NOP «@", "the character '@' has no meaning here"),
    (
        '.program «"unfinished',
        'a string that does not end (allowed: "...", with \\" for a quote inside)',
    ),
    (
        '.program "tab«\\q"',
        'unknown escape \\q (allowed: \\n, \\r, \\t, \\", \\\\, \\u{hexadecimal})',
    ),
    ('.program "«\\u{110000}"', "no character (allowed: \\u{1} to \\u{10ffff} without surrogates)"),
    ('.program "«\\u{d800}"', "no character (allowed: \\u{1} to \\u{10ffff} without surrogates)"),
    (
        '.program «"zero\0"',
        "a string with a zero or half a surrogate pair (allowed: any other character)",
    ),
    # Lines
    ("«= 5", "expected an instruction, a directive or a label before = (allowed: a name or a directive)"),
    (
        "«.strean",
        ("unknown directive .strean (allowed: .program, .config, .equ, .tensor, .data, .i8, .i16, .i32, .zero, "
        ".align, .hex, .record, .stream, .word, .host, .layer, .endlayer, .debug); did you mean .stream?"),
    ),
    (".stream\n«OP_CONVV", "OP_CONVV is no instruction (allowed: those of `dlasim isa`); did you mean OP_CONV?"),
    ("\n\n  «NOP", "NOP outside of a stream (allowed: after .stream)"),
    ("«.word 5", ".word outside of a stream (allowed: after .stream)"),
    ("«here:", "label here belongs to nothing (allowed: after .data or .stream)"),
    (".stream\nNOP «NOP", "unexpected NOP after NOP (allowed: no more fields)"),
    # Instructions
    (
        ".stream\nOP_CONV «inti=bias",
        "inti is no field of OP_CONV (allowed: init, out, quant); did you mean init?",
    ),
    (".stream\nOP_CONV init=bias «init=zero", "init is given twice (allowed: out, quant)"),
    (
        ".stream\nOP_CONV init=«bais",
        "bais is not a value of init (allowed: zero, bias, partial); did you mean bias?",
    ),
    (".stream\nOP_CONV init=«3", "OP_CONV: init = 3 is out of range (allowed: zero, bias, partial)"),
    (".stream\nWAIT«", "WAIT needs unit, max_outstanding (allowed: unit = dma_in, dma_out, mac, vector)"),
    (".stream\nWAIT mac«", "WAIT needs max_outstanding (allowed: max_outstanding = 0 to 255)"),
    (".stream\nWAIT mac, «256", "WAIT: max_outstanding = 256 is out of range (allowed: 0 to 255)"),
    (".stream\nWAIT mac «0", "unexpected 0 (allowed: a comma, the end of the line)"),
    (".stream\nWAIT mac, 0, «7", "unexpected 7 after WAIT (allowed: no more fields)"),
    (".stream\nHALT «now", "unexpected now after HALT (allowed: no more fields)"),
    # Registers
    (".stream\nCFG «IN_ADR, 0", f"IN_ADR is no register (allowed: {_OPERANDS}); did you mean IN_ADDR?"),
    (".stream\nCFG «STATUS, 0", "STATUS is no operand register, so CFG faults on it (allowed: its number)"),
    (".stream\nCFG IN_ADDR«", "expected ',' before the end of the line"),
    (".stream\nCFG IN_ADDR, «", "expected a value before the end of the line (allowed: a number or a name)"),
    (".stream\nCFG ACT_MIN, «-129", "ACT_MIN: value = -129 is out of range (allowed: -128 to 127)"),
    (".stream\nCFG ACT_MIN, «100 + 28", "ACT_MIN: value = 128 is out of range (allowed: -128 to 127)"),
    (
        ".stream\nCFG IN_ADDR, «0x80000000",
        "IN_ADDR: value = 2147483648 is out of range (allowed: 0 to 2147483647)",
    ),
    (".stream\nCFG KERNEL, «3", "KERNEL has several parts (allowed: height=, width=, or raw=)"),
    (".stream\nCFG KERNEL, height=«0", "KERNEL: height = 0 is out of range (allowed: 1 to 65535)"),
    (
        ".stream\nCFG KERNEL, height=3, «witdh=3",
        "witdh has no meaning here (allowed: height, width); did you mean width?",
    ),
    (".stream\nCFG KERNEL, height=1, «height=2", "height is given twice"),
    (".stream\nCFG «1024, 0", "CFG: register = 1024 is out of range (allowed: 0 to 1023)"),
    (".stream\nCFG IN_ADDR, raw=«-1", "IN_ADDR: raw = -1 is out of range (allowed: 0 to 4294967295)"),
    # Expressions
    (
        ".stream\n.word «12ab",
        "12ab is not a number (allowed: decimal, 0x hexadecimal, 0b binary, or with KiB, MiB, GiB)",
    ),
    (
        ".stream\n.word «010",
        "010 is not a number (allowed: decimal, 0x hexadecimal, 0b binary, or with KiB, MiB, GiB)",
    ),
    (".stream\n.word (1 + 2«", "expected ')' before the end of the line"),
    (".stream\n.word 1 + «)", "expected a value before ) (allowed: a number or a name)"),
    (".stream\n.word 1«)", "unexpected ) (allowed: the end of the line)"),
    (".stream\n.word «1GiB * 1GiB * 16", "a value beyond 64 bits"),
    (
        ".equ TOP, 1\n.stream\nCFG IN_ADDR, 4 + «TPO\nHALT",
        "TPO is not defined (allowed: a label, an .equ name); did you mean TOP?",
    ),
    (".equ A, «B\n.equ B, 1", "B is not defined above (allowed: a name with a value by now)"),
    (".equ A, 1\n.equ «A, 2", "A is already defined in line 1"),
    (".equ «ARENA, 1", "ARENA is already defined by the assembler"),
    (".data\na:\n.stream\n«a: HALT", "a is already defined in line 2"),
    # Data
    ("«.i8 1", ".i8 outside of .data (allowed: after .data)"),
    (".data\n.i8 1, «256", "256 is out of range (allowed: -128 to 255)"),
    (".data\n.i32 «-2147483649", "-2147483649 is out of range (allowed: -2147483648 to 4294967295)"),
    (".data\n.i8 1,«", "expected a value before the end of the line (allowed: a number or a name)"),
    (".data\n.zero «300MiB", "314572800 is out of range (allowed: 0 to 268435456)"),
    (".data\n.zero 256MiB - 1\n«.i32 1", "more than 268435456 bytes of constants"),
    (".data\n.align «0", "0 is out of range (allowed: 1 to 65536)"),
    (
        '.data\n.hex «"abc"',
        "not pairs of hexadecimal digits (allowed: 0 to 9, a to f, blanks between bytes)",
    ),
    (".data\n.record «1, 2", "a record has 3 values, not 2 (allowed: bias, multiplier, shift)"),
    # Description
    ('.program "a"\n«.program "b"', "the program is already named"),
    (".config pes=1\n«.config pes=1", "the configuration is already given"),
    (
        ".config «psa=3",
        "psa has no meaning here (allowed: pes, grid, parallel, sram, arena, inputs, outputs, peak); did you mean pes?",
    ),
    (".config pes=«0", "0 is out of range (allowed: 1 to 4294836225)"),
    (".config grid=«1x2x3", "1x2x3 is not a grid (allowed: INPUTxOUTPUT, each 1 to 65535 lanes)"),
    (".config grid=«ax2", "expected a grid before ax2 (allowed: a number)"),
    (".config grid=«1xb", "1xb is not a grid (allowed: decimal numbers joined by x)"),
    ("«.config pes=8 grid=2x2", "a grid of 2x2 has 4 PEs, not 8 (allowed: pes=4)"),
    (
        "«.config grid=2x2 parallel=input",
        "grid and parallel say the same thing (allowed: one of them)",
    ),
    (
        ".config parallel=«inputs",
        "inputs is not a parallel mode (allowed: input, output); did you mean input?",
    ),
    ("«.config pes=65536", "65536 PEs in one row of lanes (allowed: up to 65535, or a grid)"),
    (
        ".tensor t, «int9, input, INPUTS, shape=1",
        ("int9 is not an element type (allowed: int8, int32, float32, bool, int64, uint8, int16); "
        "did you mean int8?"),
    ),
    (
        ".tensor t, int8, input, «COMMANDS, shape=1",
        "COMMANDS is not a region (allowed: CONSTANTS, ARENA, INPUTS, OUTPUTS)",
    ),
    (".tensor t, int8, input, INPUTS«", "the tensor has no shape (allowed: shape=1x8x8x3, shape=scalar)"),
    (
        ".tensor t, int8, input, INPUTS, shape=«1x1x1x1x1x1x1",
        "1x1x1x1x1x1x1 is too large (allowed: up to 6 dimensions up to 4294967295)",
    ),
    (
        ".tensor «t, int8, input, INPUTS, shape=65536x65536",
        "a tensor of 4294967296 bytes (allowed: up to 4294967295)",
    ),
    (
        ".tensor t, int8, input, INPUTS, shape=1, scale=«1e39",
        "1e39 is not a scale (allowed: 0 and positive decimal numbers up to 3.4e38)",
    ),
    (
        ".tensor t, int8, input, INPUTS, shape=1, scale=«-1.5",
        "1.5 is not a scale (allowed: 0 and positive decimal numbers up to 3.4e38)",
    ),
    (".tensor t, int32, input, INPUTS+«2, shape=1", "offset 2 is misaligned (allowed: multiples of 4)"),
    (
        ".config inputs=4\n.tensor «t, int8, input, INPUTS+2, shape=3",
        "the tensor ends at byte 5 of INPUTS (allowed: up to 4)",
    ),
    # Streams and steps
    ("«.stream\nNOP", "this stream does not end with HALT (allowed: HALT at its end, or halt=no here)"),
    ("«.stream\n.stream\nHALT", "a stream without an instruction (allowed: one that ends with HALT)"),
    (".stream after=«1\nHALT", "1 is out of range (allowed: 0 to 0)"),
    (".stream halt=«maybe\nHALT", "maybe is not an answer (allowed: no, yes)"),
    (
        ".layer a, A, HOST\n.host «CASTLE",
        "CASTLE is no host operator (allowed: those of docs/host-operators.md); did you mean CAST?",
    ),
    (
        "«.host CAST, inputs=(0), outputs=(0)",
        "a host call of no layer (allowed: layer=…, or between .layer and .endlayer)",
    ),
    (".layer a, A, HOST\n.host «CAST", "CAST with 0 inputs (allowed: 1)"),
    (
        (
            ".tensor x, int8, internal, ARENA, shape=1\n.layer a, A, HOST\n"
            ".host «ADD inputs=(x, x) outputs=(x) attributes=(1, 2)"
        ),
        "ADD with 2 attribute words (allowed: 11)",
    ),
    (
        (".tensor weight, int8, internal, ARENA, shape=1\n.layer a, A, HOST\n"
        ".host CAST, inputs=(«wieght), outputs=(none)\n.endlayer"),
        "no tensor wieght (allowed: a .tensor, its number); did you mean weight?",
    ),
    (
        ".layer a, A, HOST\n.host CAST, inputs=(«0), outputs=(none)\n.endlayer",
        "no tensor 0 (allowed: none, there are no tensors)",
    ),
    (
        (".tensor t, int8, internal, ARENA, shape=1\n.tensor t, int8, internal, ARENA, shape=1\n"
        ".layer a, A, HOST\n.host CAST, inputs=(«t), outputs=(none)\n.endlayer"),
        "t names several tensors (allowed: a number of 0, 1)",
    ),
    # Layers and debug information
    (
        ".layer a, CONV_2D, «CONVOLUTION",
        "CONVOLUTION is not a kind of layer (allowed: CONV, DEPTH, FC, POOL, ELTWISE, ACT, REQUANT, HOST, OTHER)",
    ),
    (".layer a, A, CONV\n«.layer b, B, CONV", "the layer of line 1 is still open (allowed: .endlayer before this)"),
    ("«.layer a, A, CONV", "this layer does not end (allowed: .endlayer after it)"),
    ("«.endlayer", "no layer is open (allowed: after .layer)"),
    (".layer «0", "there are 0 layers above, not 1"),
    (
        '.layer "conv1", A, CONV\n.endlayer\n.layer «"conv2"',
        'no layer "conv2" above (allowed: a known layer; name, OPERATOR, KIND for a new one); did you mean conv1?',
    ),
    (
        ".layer a, A, CONV\n.endlayer\n.layer a, B, CONV\n.endlayer\n.layer «a",
        "a names several layers (allowed: a number of 0, 1)",
    ),
    (
        ".stream\n«.debug tensor=1, start=(0, 0, 0)\nHALT",
        "missing size (allowed: tensor=, start=(), size=(), word=)",
    ),
    (
        ".stream\n.debug tensor=1, start=«(0, 0), size=(1, 1, 1)\nHALT",
        "a box has three sides (allowed: rows, columns, channels)",
    ),
    (
        "«.debug tensor=1, start=(0, 0, 0), size=(1, 1, 1)",
        "no instruction follows (allowed: in a stream, or with word=)",
    ),
    (
        ".stream\nHALT\n«.debug word=1, tensor=1, start=(0, 0, 0), size=(1, 1, 1)",
        "there is no word 1 (allowed: 0 to 0)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "message"), CASES, ids=range(len(CASES)))
def test_message_and_place(marked: str, message: str) -> None:
    before, _, after = marked.partition("«")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(InputError) as caught:
        assemble(before + after, "dir/file.s")
    first, shown, caret = str(caught.value).split("\n")
    assert first == f"dir/file.s:{line}:{column}: {message}"
    assert shown[4:] == (before + after).split("\n")[line - 1].replace("\0", "?")
    assert caret == " " * (4 + column - 1) + "^"


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


def test_every_reserved_form_is_covered() -> None:
    """Each message says what is allowed, but for the few that leave no choice."""
    silent = [message for _, message in CASES if "(allowed: " not in message]
    pattern = re.compile(
        "already|given twice|no meaning here$|expected '|beyond 64 bits|more than|layers above"
    )
    assert [message for message in silent if not pattern.search(message)] == []


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    from dlasim.isa.assembly import assembler

    monkeypatch.setattr(assembler, "MAX_TEXT_CHARACTERS", 10)
    with pytest.raises(InputError, match=r"^big\.s is too long: 11 characters \(allowed: 10\)$"):
        assemble(";" * 11, "big.s")
