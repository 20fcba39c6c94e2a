"""Streams that fault: the RTL stops at the same word, in the same cycle, for the same reason."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from dlasim.isa import codec, registers
from dlasim.isa.assembly import assemble
from dlasim.isa.faults import Fault
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.races import check_races
from dlasim.sim.timing.plan import plan_stream
from tests.rtl.comparison import compare_stream
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import machine
from tests.rtl.streams import MEMORY_BYTES, StreamMaker, places
from tests.sim_engines.generate import Limits

STREAMS = 150
MAX_CYCLES = 100_000
LIMITS = Limits(pixels=4, channels=10, kernel=3, sram_bytes=5000)  # more than tables take
_CFG = BY_MNEMONIC["CFG"].opcode
_EXTREMES = (
    0,
    1,
    2,
    3,
    0xFFFF,
    0x10000,
    0x20001,
    0x00FF_FFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FF80,
    0xFFFF_FFFF,
)


def damaged(rng: Generator, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The stream with one word changed, put in, or everything from one on cut off."""
    at = int(rng.integers(0, len(words)))
    configured = np.flatnonzero((words & np.uint64(0xFF)) == _CFG)
    match int(rng.integers(9)):
        case 0:
            return words[:at]
        case 1:
            return np.insert(words, at, rng.integers(0, 1 << 63, dtype=np.uint64))
        case 2:
            words[at] ^= np.uint64(1) << np.uint64(rng.integers(0, 64))
        case 3:
            number = int(rng.choice([0, 255, 256, 256 + len(registers.OPERANDS), 1023]))
            return np.insert(words, at, codec.encode("CFG", register=number, value=12345))
        case 4 | 5 if len(placed := [at for at in configured if _sets_address(words[at])]):
            first, second = rng.choice(placed, 2)  # an operand of an operation upon another
            value = max((int(words[second]) >> 32) + int(rng.choice([-4, 0, 0, 4])), 0)
            words[first] = (int(words[first]) & 0xFFFF_FFFF) | value << 32
        case _ if len(configured):
            chosen = int(rng.choice(configured))
            value = int(rng.choice(_EXTREMES)) if rng.random() < 0.7 else int(rng.integers(0, 1 << 32))
            words[chosen] = (int(words[chosen]) & 0xFFFF_FFFF) | value << 32
    return words


def _sets_address(word: np.uint64) -> bool:
    register = codec.decode(int(word)).values.get("register", 0) - registers.OPERANDS[0].index
    return 0 <= register < len(registers.OPERANDS) and registers.OPERANDS[register].name.endswith("_ADDR")


def _cycles(config: DlaConfig, words: NDArray[np.uint64]) -> int:
    """What the stream takes: damage can make an operation enormous."""
    sizes = {number: size for number, (_, size) in enumerate(places())}
    return plan_stream(config, words, reset_file(), sizes).timeline.total


def compare_damaged(rtl: RtlMachine, config: DlaConfig, number: int) -> Fault | None:
    """A damaged stream on both; the fault, if it has one."""
    rng = np.random.default_rng([number, *config.name.encode()])
    maker = StreamMaker(
        rng,
        config.sram_bytes,
        config.fingerprint,
        LIMITS,
        int16=config.int16 == 1,
        sums=config.mac_sums == 1,
        decodes=config.dma_decoding > 0,
    )
    words = damaged(rng, maker.stream(int(rng.integers(1, 6)), waits=0.2))
    if not len(words) or _cycles(config, words) > MAX_CYCLES:
        return None
    rtl.memory[:] = rng.integers(0, 256, MEMORY_BYTES, np.uint8)
    found = compare_stream(rtl, config, words, reset_file(), maker.sram, places())
    # What was harmless before the damage may race after it. Times must agree all the same, and the fault.
    races = check_races(found.plan.stream, config.sram_bytes, limit=1).races
    assert not [text for text in found.differences if not races or not text.startswith(("SRAM", "memory"))], (
        f"stream {number}"
    )
    return found.plan.fault.code if found.plan.fault else None


Verdict = tuple[str, Mapping[str, int], Mapping[str, int], Fault | None]
WITHOUT_INT16: list[Verdict] = [
    ("OP_E16_SOFTMAX", {}, {}, Fault.BAD_OPERANDS),
    ("OP_E16_LUT", {}, {}, Fault.BAD_OPERANDS),
    ("OP_CONV", {"elements": 1}, {}, Fault.BAD_OPERANDS),
    ("OP_E_ADD", {"elements": 1}, {}, Fault.BAD_OPERANDS),
]
_SQUARE = {"OUT_CHANNELS": 4, "IN_CHANNELS": 4, "IN_ADDR": 0, "OUT_ADDR": 64, "ACC_ADDR": 128}
WITH_INT16: list[Verdict] = [
    ("OP_MAT_MUL", {"weights": 1}, {}, Fault.BAD_OPERANDS),
    ("OP_MAT_MUL", {"elements": 1, "init": 2}, _SQUARE, Fault.BAD_OPERANDS),
    ("OP_MAT_MUL", {"elements": 1, "out": 1}, _SQUARE, Fault.BAD_OPERANDS),
    ("OP_MAT_MUL", {"elements": 1, "weights": 1}, _SQUARE | {"WEIGHT_ADDR": -32}, None),
    ("OP_MAT_MUL", {"elements": 1, "weights": 1}, _SQUARE | {"WEIGHT_ADDR": -30}, Fault.SRAM_RANGE),
]


_ADDED = {"sum": 1, "quant": 1}
WITH_SUMS: list[Verdict] = [
    (
        "OP_MAT_MUL",
        _ADDED,
        _SQUARE | {"WEIGHT_ADDR": 192, "PARAM_ADDR": 256, "SUM_MIN": 4, "SUM_MAX": 4},
        None,
    ),
    ("OP_MAT_MUL", _ADDED, {"SUM_MIN": 5, "SUM_MAX": 4}, Fault.BAD_OPERANDS),
]


def compare_verdicts(rtl: RtlMachine, config: DlaConfig) -> None:
    """Which operations are legal in int16, and with a sum; negative addresses count from the SRAM's end."""
    verdicts = (WITH_INT16 if config.int16 else WITHOUT_INT16) + (WITH_SUMS if config.mac_sums else [])
    for mnemonic, fields, given, fault in verdicts:
        values = {name: value % config.sram_bytes for name, value in given.items()}
        words = [codec.encode_cfg(name, value) for name, value in values.items()]
        words += [codec.encode(mnemonic, **fields), codec.encode("HALT")]
        rtl.memory[:] = 0
        sram = np.random.default_rng(0).integers(0, 256, config.sram_bytes, np.uint8)
        found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
        assert not found.differences, (mnemonic, fields)
        assert (found.plan.fault and found.plan.fault.code) == fault, (mnemonic, fields)


@pytest.mark.parametrize("name", ["small", "int16", "wide"])
def test_legal_operations(rtl: RtlMachine, name: str) -> None:
    compare_verdicts(rtl, machine(name))


@pytest.mark.parametrize("name", ["shared", "small"])
def test_stops_as_the_simulator_does(rtl: RtlMachine, name: str) -> None:
    seen = Counter(compare_damaged(rtl, machine(name), number) for number in range(STREAMS))
    assert len(seen) >= 8, f"more kinds of faults must occur: {seen}"


# Outputs upon a table and upon records of their own operation, which the RTL once computed in another way.
UPON_ITSELF = {
    "OP_ACT_LUT": """
        CFG IN_ADDR, 336
        CFG IN_PIXEL_STRIDE, 36
        CFG OUT_ADDR, 2188
        CFG OUT_PIXEL_STRIDE, 16
        CFG OUT_ROW_STRIDE, 128
        CFG LUT_ADDR, 2180
        CFG OUT_SIZE, height=4, width=6
        CFG OUT_CHANNELS, 4
    """,
    "OP_MAT_MUL bias, int8, channel": """
        CFG IN_ADDR, 2404
        CFG IN_PIXEL_STRIDE, 16
        CFG IN_ROW_STRIDE, 256
        CFG OUT_ADDR, 300
        CFG OUT_PIXEL_STRIDE, 16
        CFG OUT_ROW_STRIDE, 128
        CFG WEIGHT_ADDR, 1424
        CFG PARAM_ADDR, 356
        CFG OUT_SIZE, height=3, width=5
        CFG OUT_CHANNELS, 4
    """,
}


@pytest.mark.parametrize("operation", UPON_ITSELF)
@pytest.mark.parametrize("name", ["small"])
def test_an_output_upon_what_its_operation_reads_is_a_fault(
    rtl: RtlMachine, name: str, operation: str
) -> None:
    text = f".program upon\n.stream\n{UPON_ITSELF[operation]}\n{operation}\nHALT\n"
    config = machine(name)
    sram = np.random.default_rng(0).integers(0, 256, config.sram_bytes, np.uint8)
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, assemble(text).commands, reset_file(), sram, places())
    assert not found.differences
    assert found.plan.fault is not None
    assert found.plan.fault.code is Fault.OVERLAP


@pytest.mark.parametrize(
    ("width", "fault"), [(1 << 15, Fault.SRAM_RANGE), ((1 << 15) + 1, Fault.BAD_OPERANDS)]
)
@pytest.mark.parametrize("name", ["small"])
def test_more_steps_than_an_operation_may_have(rtl: RtlMachine, name: str, width: int, fault: Fault) -> None:
    """2^48 are allowed; what they write does not fit into the SRAM."""
    text = (
        f".program most\n.stream\nCFG OUT_CHANNELS, {1 << 18}\nCFG OUT_SIZE, height={1 << 15}, width={width}"
    )
    config = machine(name)
    rtl.memory[:] = 0
    sram = np.zeros(config.sram_bytes, np.uint8)
    commands = assemble(f"{text}\nOP_FILL\nHALT\n").commands
    found = compare_stream(rtl, config, commands, reset_file(), sram, places())
    assert not found.differences
    assert found.plan.fault is not None
    assert found.plan.fault.code is fault
