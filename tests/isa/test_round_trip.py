"""What the disassembler writes, the assembler turns into the same program again."""

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlasim.isa import registers
from dlasim.isa.assembly import assemble, disassemble
from dlasim.isa.codec import encode, encode_cfg
from dlasim.isa.container import read, write
from dlasim.isa.file_records import SLICE, SPAN, DataType, LayerKind, Role, StepKind
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.program import Layer, Program, Requirement, Step, Stream, TensorDescriptor
from dlasim.isa.registers import Region

from .generate import random_program, random_word_of

_NEED = Requirement(64, 1, 64, 512 << 10)
_FIELDS = ("name", "requirement", "streams", "steps", "tensors", "host_calls", "layers")


def assert_same(actual: Program, expected: Program) -> None:
    """Every part, and the file."""
    for name in _FIELDS:
        assert getattr(actual, name) == getattr(expected, name), name
    for name in ("commands", "constants", "spans", "debug"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), name)
    assert write(actual) == write(expected)


def of_words(words: list[int], **parts: object) -> Program:
    """A program of one stream."""
    commands = np.array(words, np.uint64)
    stream, step = Stream(0, len(words)), Step(StepKind.STREAM, 0)
    return Program("p", _NEED, commands, (stream,), (step,), **parts)  # type: ignore[arg-type]


@given(st.randoms(use_true_random=False))
@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_random_programs(random: Random) -> None:
    program = random_program(random)
    assert_same(assemble(disassemble(program)), program)
    assert_same(assemble(disassemble(program, annotate=True)), program)


@pytest.mark.parametrize("seed", range(300))
def test_seeded_programs(seed: int) -> None:
    """As above, but with programs as large as the generator makes them, and by way of the file."""
    program = random_program(Random(seed))
    stored = read(write(program))
    assert_same(stored, program)
    assert_same(assemble(disassemble(stored, annotate=bool(seed % 2))), program)


def test_every_instruction_and_register() -> None:
    random = Random(0)
    words = [random_word_of(random, instruction) for instruction in INSTRUCTIONS for _ in range(50)]
    for register in registers.REGISTERS:
        for pattern in (0, 1, 2, 31, 32, 127, 128, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x0001_0001):
            words.append(encode("CFG", register=register.index, value=pattern))
    program = of_words([*words, encode("HALT")])
    assert_same(assemble(disassemble(program)), program)


@pytest.mark.parametrize(
    "bits", [0, 0x8000_0000, 1, 0x0080_0000, 0x3DCC_CCCD, 0x7F7F_FFFF, 0x3F80_0001, 0x3400_0000]
)
def test_scales_keep_every_bit(bits: int) -> None:
    scale = float(np.uint32(bits).view(np.float32))
    tensor = TensorDescriptor("t", DataType.int8, Role.INPUT, Region.CONSTANTS, 0, 0, (0,), scale, 3)
    program = of_words([encode("HALT")], tensors=(tensor,))
    (back,) = assemble(disassemble(program)).tensors
    assert np.float32(back.scale).view(np.uint32) == bits


def test_one_layer_over_two_streams_and_a_host_call_between() -> None:
    """The layer that the host call needs is named before the one that is open around it."""
    source = """
        .stream
        .layer "outer", CONV_2D, CONV
            NOP
            HALT
        .endlayer
        .layer "inner", RELU, HOST
        .endlayer
        .tensor t, int8, internal, CONSTANTS, shape=0
        .host CAST, inputs=(t), outputs=(t), layer="inner"
        .stream
            HALT
    """
    program = assemble(source)
    spans = np.array([(1, 2, 0)], SPAN.dtype)
    crossing = Program(
        "p", _NEED, program.commands, program.streams, program.steps, tensors=program.tensors,
        host_calls=program.host_calls, layers=program.layers, spans=spans,
    )  # fmt: skip
    assert_same(assemble(disassemble(crossing)), crossing)


def test_layers_in_any_order() -> None:
    layers = tuple(Layer(name, "OP", LayerKind.OTHER) for name in ("a", "b", "b", "unused"))
    spans = np.array([(0, 1, 2), (1, 1, 2), (3, 1, 0)], SPAN.dtype)
    program = of_words([encode("NOP")] * 4 + [encode("HALT")], layers=layers, spans=spans)
    assert_same(assemble(disassemble(program)), program)


def test_debug_rows_out_of_order() -> None:
    debug = np.array([(2, 5, (0, 1, 2), (3, 4, 5)), (0, 6, (0, 0, 0), (1, 1, 1))], SLICE.dtype)
    program = of_words([encode("NOP")] * 4 + [encode("HALT")], debug=debug)
    assert_same(assemble(disassemble(program)), program)


def test_the_config_check_follows_the_config() -> None:
    """The fingerprint is written as a symbol, so an edited `.config` stays consistent."""
    program = of_words([encode_cfg("REQUIRE_CONFIG", _NEED.fingerprint), encode("HALT")])
    edited = assemble(disassemble(program).replace("sram=512KiB", "sram=1MiB"))
    need = Requirement(64, 1, 64, 1 << 20)
    assert edited.requirement == need
    assert int(edited.commands[0]) == encode_cfg("REQUIRE_CONFIG", need.fingerprint)


def test_zeros_are_short_and_bytes_are_rows() -> None:
    constants = np.zeros(100_000, np.uint8)
    constants[50_000:50_003] = 1, 2, 3
    program = of_words([encode("HALT")], constants=constants)
    text = disassemble(program)
    assert len(text) < 1000
    assert_same(assemble(text), program)


@pytest.mark.slow
def test_a_million_words() -> None:
    rng = np.random.default_rng(5)
    words = rng.integers(0, 1 << 64, 1_000_000, dtype=np.uint64)
    indices = rng.choice([register.index for register in registers.OPERANDS], len(words)).astype(np.uint64)
    configuring = rng.random(len(words)) < 0.8
    words[configuring] &= np.uint64(0xFFFF_FFFF_0000_0000)
    words[configuring] |= np.uint64(2) | indices[configuring] << np.uint64(8)
    program = of_words([*words.tolist(), encode("HALT")])
    assert_same(assemble(disassemble(program)), program)


_ANNOTATED = """
.stream
.layer "first", CONV_2D, CONV
    CFG IN_ADDR, 0x40
    CFG KERNEL, height=3, width=5
    CFG OUT_ADDR, 0x80
    OP_CONV init=zero out=int8 quant=tensor
    CFG OUT_ADDR, 0xC0
.endlayer
    OP_CONV init=partial out=int32 quant=tensor
    HALT
.stream
    OP_CONV init=bias out=int8 quant=tensor
    HALT
"""


def test_annotations_show_registers_in_force() -> None:
    comments = _comments(disassemble(assemble(_ANNOTATED), annotate=True))
    first, second, third = comments
    assert 'layer 0: "first" (CONV)' in first
    assert {"IN_ADDR=0x40", "KERNEL=3x5", "OUT_ADDR=0x80", "STRIDE=1x1*"} <= set(first.split())
    assert "ACC_ADDR" not in first, "only init=partial reads it"
    assert "PARAM_ADDR" not in first, "only init=bias and quant=channel read it"
    assert "no layer" in second
    assert {"OUT_ADDR=0xc0", "ACC_ADDR=0x0*", "IN_ADDR=0x40"} <= set(second.split())
    assert {"OUT_ADDR=0xc0", "PARAM_ADDR=0x0*", "KERNEL=3x5"} <= set(third.split()), "registers are sticky"


def test_annotations_show_illegal_values() -> None:
    program = assemble(".stream\nCFG OUT_ADDR, raw=0x80000000\nCFG STRIDE, raw=0\nOP_CONV\nHALT\n")
    (comment,) = _comments(disassemble(program, annotate=True))
    assert "OUT_ADDR=illegal 0x80000000" in comment
    assert "STRIDE=illegal 0x0" in comment


def _comments(text: str) -> list[str]:
    """The comment lines below each operation, joined."""
    found: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("OP_"):
            found.append("")
        elif stripped.startswith(";") and found:
            found[-1] += stripped[1:]
    return found
