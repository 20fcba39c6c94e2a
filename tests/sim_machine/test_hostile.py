"""Programs that mean harm: whatever the words, the machine ends in a fault or done, and never raises."""

import random

import numpy as np
import pytest

from dlasim.isa import codec, registers
from dlasim.isa.faults import Fault
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import OPERANDS, Region
from tests.sim_machine.bench import HALT, REGION_BYTES, Bench, cfg, op

OPERATIONS = [row for row in INSTRUCTIONS if row.is_operation]


def settle(bench: Bench) -> None:
    """Finish, and look at what the host can see."""
    bench.finish()
    assert not bench.flag("STATUS", "busy")
    if bench.dla.has_faulted:
        assert bench.dla.fault.code is not Fault.NONE
        assert bench.flag("IRQ_STATUS", "fault")
    else:
        assert bench.read("ERROR_CODE") == 0
        assert bench.flag("IRQ_STATUS", "done")
    for register in OPERANDS:
        assert register.is_legal(bench.read(register.name))


def random_value(rng: random.Random, register: registers.Register) -> int:
    """Small, large or absurd, mostly legal."""
    word = 0
    for field in register.fields:
        high = rng.choice([2, 4, 16, 600, field.highest])
        word |= field.insert(rng.randint(min(field.lowest, high), min(field.highest, high)))
    if rng.random() < 0.002:
        word ^= 1 << rng.randrange(32)
    return 0 if register.name == "REQUIRE_CONFIG" else word


def random_word(rng: random.Random) -> int:
    """A word that is mostly an instruction."""
    row = rng.choice(INSTRUCTIONS)
    if rng.random() < 0.6 or row.mnemonic == "CFG":
        register = rng.choice(OPERANDS)
        return codec.encode_cfg(register.name, random_value(rng, register))
    word = codec.encode(row.mnemonic, **{f.name: rng.randint(f.lowest, f.highest) for f in row.fields})
    return word ^ 1 << rng.randrange(64) if rng.random() < 0.01 else word


def test_random_words():
    rng = random.Random(1)
    bench = Bench()
    for _ in range(1000):
        bench.write("CONTROL", 1)
        bench.set_up()
        bench.ring(bench.place([rng.getrandbits(64) for _ in range(rng.randint(1, 8))] + [HALT]))
        settle(bench)
        assert bench.dla.has_faulted, "a random word is no instruction but once in a lifetime"


@pytest.mark.parametrize("functional", [True, False])
def test_random_programs(functional):
    rng = random.Random(2)
    outcomes = {"fault": 0, "done": 0}
    executed = 0
    for _ in range(320):
        bench = Bench(functional=functional)
        bench.memory[: 4 * REGION_BYTES] = np.frombuffer(rng.randbytes(4 * REGION_BYTES), np.uint8)
        tail = 0
        for _ in range(rng.randint(1, 4)):
            length = rng.choice([3, 10, 60])
            tail = bench.place([*(random_word(rng) for _ in range(length)), HALT], first=tail)
        bench.ring(tail)
        settle(bench)
        outcomes["fault" if bench.dla.has_faulted else "done"] += 1
        executed += sum(run.plan.operations for run in bench.completed)
    assert min(outcomes.values()) > 15, outcomes
    assert executed > 100


def test_random_host():
    """Any access in any order, time passing or not."""
    rng = random.Random(3)
    names = [register.name for register in registers.REGISTERS if register.name != "CONTROL"]
    weights = [20 if name in ("DOORBELL", "COMMAND_HIGH", "QUEUE_READ") else 1 for name in names]
    for _ in range(40):
        bench = Bench()
        for first in range(0, 500, 10):
            bench.place([*(random_word(rng) for _ in range(9)), HALT], first)
        for _ in range(150):
            name = rng.choices(names, weights)[0]
            match rng.randrange(4):
                case 0:
                    assert 0 <= bench.dla.load(rng.randrange(registers.WINDOW_BYTES), 4) < 1 << 32
                case 1:
                    bench.dla.tick(bench.dla.now + rng.randrange(200))
                case _:
                    bench.write(
                        name, rng.choice([rng.getrandbits(3), rng.getrandbits(9), rng.getrandbits(32)])
                    )
            assert 0 <= bench.read(name) < 1 << 32
        while (due := bench.dla.next_event()) is not None:
            bench.dla.tick(due)
        assert bench.dla.has_faulted or not bench.dla.is_busy
        bench.write("CONTROL", 1)
        bench.set_up()
        bench.run([HALT])
        assert bench.read("STREAMS_DONE") == 1


def test_a_window_of_four_billion_taps_ends():
    bench = Bench()
    words = [cfg("KERNEL", 0xFFFF, 0xFFFF), cfg("OUT_ADDR", 8), op("OP_POOL", mode=0)]
    bench.dla.sram[0] = 5
    bench.run([*words, HALT])
    assert bench.dla.fault is None
    assert bench.dla.sram[8] == 5
    assert bench.dla.now > 0xFFFF * 0xFFFF


def test_a_stream_that_rewrites_itself_runs_as_it_was_fetched():
    """ARENA aliases COMMANDS: what a stream writes there is for the next doorbell."""
    bench = Bench()
    bench.write("REGION1_BASE", bench.read("REGION4_BASE"))
    words = [
        cfg("DMA_OUT_REGION", Region.ARENA),
        cfg("DMA_OUT_RUN_BYTES", 64),
        op("OP_DMA_WRITE"),
        cfg("IN_ADDR", 7),
        HALT,
    ]
    bench.run(words)
    assert bench.dla.fault is None
    assert bench.read("IN_ADDR") == 7
    bench.write("QUEUE_READ", 0)
    bench.ring(len(words))
    bench.finish()
    assert bench.dla.fault.code is Fault.ILLEGAL_INSTRUCTION


def test_waiting_for_more_than_there_is_blocks_nobody():
    bench = Bench()
    words = [op("WAIT", unit=unit, max_outstanding=depth) for unit in range(4) for depth in (0, 255)]
    bench.run([*words, HALT])
    assert bench.dla.now == len(words) + 1
