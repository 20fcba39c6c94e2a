"""Random programs that are valid as files; what their instructions do is another matter."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import host_ops, registers
from dlasim.isa.codec import encode
from dlasim.isa.file_records import ELEMENT_BYTES, SLICE, SPAN, WORK, DataType, LayerKind, Role, StepKind
from dlasim.isa.instruction_rows import Instruction
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.program import HostCall, Layer, Program, Requirement, Step, Stream, TensorDescriptor
from dlasim.isa.registers import REGION_COUNT, Region

NAMES = (
    "", "input", "none", "conv 1", 'a "quoted" \\ name', "model/relu;model/add", "; no comment", "café",
    "line\nbreak", "tab\tand\r", "\x85\u2028\x1c", "\U0001f600", "IN_ADDR", "x" * 300,
)  # fmt: skip


def random_instruction(random: Random) -> int:
    """A legal word."""
    return random_word_of(random, random.choice(INSTRUCTIONS))


def random_word_of(random: Random, instruction: Instruction) -> int:
    """A legal word of one instruction."""
    values = {field.name: random.randint(field.lowest, field.highest) for field in instruction.fields}
    return encode(instruction.mnemonic, **values)


def random_cfg(random: Random) -> int:
    """A CFG of an operand register, mostly with a value that it allows."""
    register = random.choice(registers.OPERANDS)
    pattern = 0
    for field in register.fields:
        pattern |= field.insert(random.choice((field.lowest, field.highest, field.default)))
    if random.randint(0, 3) == 0:
        pattern = random.getrandbits(32)
    return encode("CFG", register=register.index, value=pattern)


def random_word(random: Random) -> int:
    """Any word, mostly a legal one."""
    kind = random.randint(0, 9)
    if kind < 6:
        return random_cfg(random)
    if kind == 9:
        return random.getrandbits(64)
    return random_instruction(random)


def random_program(random: Random) -> Program:
    """A program with a little of everything that the format can hold."""
    lanes = random.randint(1, 64), random.randint(1, 64)
    sizes = [random.choice((0, 64, 1000, 0xFFFF_FFFF)) for _ in range(3)]
    sram = random.choice((1, 1000, 1 << 19, 1 << 31))
    need = Requirement(lanes[0] * lanes[1], *lanes, sram, *sizes, random.choice((0, sram)))
    constants = _constants(random)
    tensors = _tensors(random, need, len(constants))
    layers = tuple(
        Layer(random.choice(NAMES), random.choice((*NAMES, "CONV_2D")), random.choice(list(LayerKind)),
              random.choice((0, 12345, (1 << 64) - 1)))
        for _ in range(random.randint(0, 5))
    )  # fmt: skip
    commands, streams = _streams(random)
    calls = _calls(random, len(tensors), len(layers))
    return Program(
        name=random.choice(NAMES),
        requirement=need,
        commands=commands,
        streams=streams,
        steps=_steps(random, len(streams), len(calls)),
        constants=constants,
        tensors=tensors,
        host_calls=calls,
        layers=layers,
        spans=_spans(random, len(commands), len(layers)),
        debug=_debug(random, len(commands)),
        work=_work(random, len(layers)),
    )


def _constants(random: Random) -> NDArray[np.uint8]:
    parts = [
        bytes(random.randint(0, 100)) if random.randint(0, 1) else random.randbytes(random.randint(0, 70))
        for _ in range(random.randint(0, 4))
    ]
    return np.frombuffer(b"".join(parts), np.uint8)


def _tensors(random: Random, need: Requirement, constants: int) -> tuple[TensorDescriptor, ...]:
    room = {
        Region.CONSTANTS: constants,
        Region.ARENA: need.arena_bytes,
        Region.INPUTS: need.inputs_bytes,
        Region.OUTPUTS: need.outputs_bytes,
    }
    tensors = []
    for _ in range(random.randint(0, 4)):
        kind = random.choice(list(DataType))
        shape = tuple(random.randint(0, 3) for _ in range(random.randint(0, 6)))
        size = ELEMENT_BYTES[kind] * int(np.prod(shape, dtype=np.int64))
        region = random.choice(list(room))
        if size > room[region]:
            continue
        units = (room[region] - size) // ELEMENT_BYTES[kind]
        offset = ELEMENT_BYTES[kind] * random.choice((0, units, units // 2))
        role = random.choice(list(Role))
        is_filled = role is Role.VARIABLE and kind is DataType.int8  # with its zero point
        zero_points = (0, -128, 127) if is_filled else (0, -128, 127, -(1 << 31), (1 << 31) - 1)
        tensors.append(
            TensorDescriptor(
                random.choice(NAMES), kind, role, region, offset, size, shape,
                _scale(random), random.choice(zero_points),
            )
        )  # fmt: skip
    return tuple(tensors)


def _scale(random: Random) -> float:
    """Any finite float32 from 0 up, by its bits; -0 too."""
    bits = random.choice((0, 0x8000_0000, 1, random.randint(0, 0x7F7F_FFFF), 0x7F7F_FFFF))
    return float(np.uint32(bits).view(np.float32))


def _streams(random: Random) -> tuple[NDArray[np.uint64], tuple[Stream, ...]]:
    words: list[int] = []
    streams = []
    for _ in range(random.randint(0, 3)):
        body = [random_word(random) for _ in range(random.randint(0, 12))]
        if not body or random.randint(0, 4):
            body.append(encode("HALT"))
        streams.append(Stream(len(words), len(body)))
        words += body
    return np.array(words, np.uint64), tuple(streams)


def _calls(random: Random, tensors: int, layers: int) -> tuple[HostCall, ...]:
    if not layers or not tensors:
        return ()
    calls = []
    for _ in range(random.randint(0, 3)):
        operator = random.choice(host_ops.HOST_OPERATORS)
        more = random.randint(0, 2) if any(operand.repeated for operand in operator.inputs) else 0
        calls.append(
            HostCall(
                operator.code,
                tuple(random.randint(0, tensors - 1) for _ in range(len(operator.inputs) + more)),
                tuple(random.randint(0, tensors - 1) for _ in operator.outputs),
                tuple(random.randint(-(1 << 31), (1 << 31) - 1) for _ in range(operator.words)),
                random.randint(0, layers - 1),
            )
        )
    return tuple(calls)


def _steps(random: Random, streams: int, calls: int) -> tuple[Step, ...]:
    kinds = [StepKind.STREAM] * streams + [StepKind.HOST] * calls
    random.shuffle(kinds)
    count = {StepKind.STREAM: 0, StepKind.HOST: 0}
    steps = []
    for kind in kinds:
        steps.append(Step(kind, count[kind], random.randint(0, count[StepKind.STREAM])))
        count[kind] += 1
    if steps and steps[0].kind is StepKind.STREAM and random.randint(0, 3) == 0:
        steps[0] = replace(steps[0], kind=StepKind.PRELOAD)
    return tuple(steps)


def _spans(random: Random, words: int, layers: int) -> NDArray[np.void]:
    rows = []
    position = 0
    while layers and position < words and random.randint(0, 5):
        first = random.randint(position, words - 1)
        length = random.randint(1, min(6, words - first))
        rows.append((first, length, random.randint(0, layers - 1)))
        position = first + length
    return np.array(rows, SPAN.dtype)


def _debug(random: Random, words: int) -> NDArray[np.void]:
    count = random.randint(0, 3) if words else 0
    at = [random.randint(0, words - 1) for _ in range(count)]
    if random.randint(0, 1):
        at.sort()
    numbers = (0, 1, 0xFFFF_FFFF)
    rows = [
        (
            word,
            random.choice(numbers),
            tuple(random.choice(numbers) for _ in range(3)),
            tuple(random.choice(numbers) for _ in range(3)),
        )
        for word in at
    ]
    return np.array(rows, SLICE.dtype)


def _work(random: Random, layers: int) -> NDArray[np.void]:
    operations = [row for row in INSTRUCTIONS if row.is_operation]
    rows = []
    for _ in range(random.randint(0, 3) if layers else 0):
        operation = random.choice(operations)
        layer, count = random.randint(0, layers - 1), random.choice((0, 1, (1 << 64) - 1))
        taps, *channels = (random.choice((0, 1, 0xFFFF_FFFF)) for _ in range(3))
        if operation.is_transfer:
            taps = random.randrange(REGION_COUNT)
        rows.append((layer, operation.opcode, count, taps, *channels))
    return np.array(rows, WORK.dtype)
