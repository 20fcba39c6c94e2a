"""The register window of the RTL beside the simulator's, access by access."""

import random

import numpy as np
import pytest

from dlasim.isa import codec, registers
from dlasim.isa.registers import COUNTERS, REGISTERS, Access, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import ReferenceExecutor
from dlasim.sim.execution.machine import Dla
from dlasim.sim.programs.system_memory import SystemMemory
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import machine
from tests.rtl.streams import MEMORY_BYTES, places

NAME = "small"
HALT, IRQ, NOP = (codec.encode(mnemonic) for mnemonic in ("HALT", "IRQ", "NOP"))
OFFSETS = [register.address for register in REGISTERS]
ROUNDS = 60


@pytest.fixture
def name() -> str:
    return NAME


class Pair:
    """The same accesses to both; after each the windows must be equal."""

    def __init__(self, rtl: RtlMachine, config: DlaConfig) -> None:
        self.rtl = rtl
        self.memory = np.array(rtl.memory)
        self.dla = Dla(config, SystemMemory(self.memory), ReferenceExecutor())
        rtl.reset()

    def write(self, register: str, value: int) -> None:
        self.write_offset(registers.BY_NAME[register].address, value)

    def write_offset(self, offset: int, value: int) -> None:
        self.rtl.write_offset(offset, value)
        self.dla.store(offset, 4, value)
        self.finish()

    def finish(self) -> None:
        """Until neither works; the RTL's time since its doorbell is the simulator's."""
        while (due := self.dla.next_event()) is not None:
            self.dla.tick(due)
        self.rtl.run(limit=100_000)
        self.assert_equal()

    def assert_equal(self) -> None:
        for offset in (*OFFSETS, 0x18, 0x6C, 0xA8, 0x190, 0x3FC, 0x4EC, 0xFFC):
            assert self.rtl.read_offset(offset) == self.dla.load(offset, 4), hex(offset)
        assert self.rtl.interrupt() == self.dla.interrupt()

    def place(self, words: list[int]) -> None:
        """Words at the start of region COMMANDS."""
        base, _ = places()[Region.COMMANDS]
        raw = np.array(words, np.uint64).view(np.uint8)
        for memory in (self.rtl.memory, self.memory):
            memory[base : base + len(raw)] = raw


def place_regions(pair: Pair) -> None:
    """The regions of the random streams."""
    for number, (base, size) in enumerate(places()):
        pair.write(f"REGION{number}_BASE", base)
        pair.write(f"REGION{number}_SIZE", size)


def scenario(pair: Pair) -> None:
    """Streams one behind the other, interrupts acknowledged one by one, doorbells of every kind."""
    place_regions(pair)
    pair.place([NOP, HALT, IRQ, NOP, HALT, NOP])
    pair.write("QUEUE_SIZE", 6)
    pair.write("IRQ_ENABLE", 2)
    pair.write("DOORBELL", 5)
    assert pair.rtl.read("STREAMS_DONE") == 2
    for flag in (2, 1, 7):
        pair.write("IRQ_ACK", flag)
    pair.write("DOORBELL", 5)  # nothing new
    pair.write("DOORBELL", 7)  # beyond the queue
    pair.write("DOORBELL", 6)  # no HALT
    assert pair.rtl.read("ERROR_POSITION") == 6
    pair.write("DOORBELL", 6)  # stopped
    pair.write("CONTROL", 1)


@pytest.fixture
def pair(rtl: RtlMachine) -> Pair:
    rtl.memory[:MEMORY_BYTES] = 0
    pair = Pair(rtl, machine(NAME))
    place_regions(pair)
    return pair


def test_power_on(pair: Pair) -> None:
    pair.write("CONTROL", 1)
    assert pair.rtl.read("ID") == registers.BY_NAME["ID"].reset
    assert pair.rtl.read("CAP_CONFIG") == machine(NAME).fingerprint


def test_random_writes(pair: Pair) -> None:
    """Any value to any place, legal or not, with a stream that does nothing behind the doorbell."""
    rng = random.Random(3)
    pair.place([NOP, IRQ, HALT] * 40)
    pair.write("QUEUE_SIZE", 120)
    quiet = {registers.BY_NAME[name].address for name in ("CONTROL", "COMMAND_HIGH", "COMMAND_LOW")}
    for _ in range(ROUNDS):
        offset = rng.choice([*OFFSETS, rng.randrange(0, 4096, 4)])
        value = rng.choice(
            [0, 1, 2, 3, 4, 7, 8, 117, 119, 120, 121, 0x10001, 0xFFFF_FF80, rng.getrandbits(32)]
        )
        if offset not in quiet and not _is_region(offset):
            pair.write_offset(offset, value)


def _is_region(offset: int) -> bool:
    register = registers.BY_ADDRESS.get(offset)
    return register is not None and register.name.startswith("REGION")


def test_single_commands(pair: Pair) -> None:
    pair.write("IRQ_ENABLE", 7)
    words = [
        NOP, IRQ, HALT, 0, 0xFF, codec.encode_cfg("IN_CHANNELS", 7), codec.encode_cfg("IN_CHANNELS", 0),
        codec.encode("OP_FILL"),
    ]  # fmt: skip
    for word in words:
        pair.write("CONTROL", 1)
        pair.write("IRQ_ENABLE", 7)
        pair.write("COMMAND_LOW", word & 0xFFFF_FFFF)
        pair.write("COMMAND_HIGH", word >> 32)
        pair.write("IRQ_ACK", 7)


def test_streams_follow_each_other(pair: Pair) -> None:
    scenario(pair)


def test_a_queue_that_lies_wrongly(pair: Pair) -> None:
    for base, size in ((4, 2), (places()[Region.COMMANDS][1] - 8, 2)):
        pair.write("CONTROL", 1)
        place_regions(pair)
        pair.write("QUEUE_BASE", base)
        pair.write("QUEUE_SIZE", size)
        pair.write("DOORBELL", size)
        assert pair.rtl.fault() is not None


def test_while_busy(rtl: RtlMachine, pair: Pair) -> None:
    """What may be written while a stream runs, and that a doorbell then extends the queue."""
    pair.place([codec.encode("OP_FILL"), HALT, NOP, HALT])
    pair.write("QUEUE_SIZE", 4)
    rtl.write("DOORBELL", 2)
    assert rtl.read("STATUS") & 1
    rtl.write("QUEUE_SIZE", 0)
    assert rtl.read("STATUS") & 5 == 5, "refused while busy"
    assert rtl.read("QUEUE_SIZE") == 4
    rtl.write("IRQ_ENABLE", 1)
    rtl.write("DOORBELL", 4)
    rtl.run(limit=10_000)
    assert rtl.read("STREAMS_DONE") == 2
    assert rtl.interrupt()
    assert rtl.fault() is None


def test_reset_stops_a_stream(rtl: RtlMachine, pair: Pair) -> None:
    pair.place([codec.encode_cfg("OUT_CHANNELS", 5000), codec.encode("OP_FILL"), HALT])
    pair.write("QUEUE_SIZE", 3)
    rtl.write("DOORBELL", 3)
    rtl.write("IRQ_ENABLE", 7)
    assert rtl.read("STATUS") == 1
    rtl.write("CONTROL", 1)
    assert rtl.read("STATUS") == 0
    assert not any(rtl.counters())
    assert rtl.file() == [register.reset for register in registers.OPERANDS]


def test_every_readable_register_is_looked_at() -> None:
    assert len(OFFSETS) == len(REGISTERS)
    assert {register.access for register in REGISTERS} == set(Access)
    assert all(f"COUNT_{name}_LOW" in registers.BY_NAME for name, _ in COUNTERS)
