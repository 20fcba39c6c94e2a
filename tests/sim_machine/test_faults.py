"""Every fault: how it is reached, what is reported, what was done before it and what was not."""

from itertools import permutations

import numpy as np
import pytest

from dlasim.isa.faults import Fault
from dlasim.isa.registers import BY_NAME, Region
from dlasim.sim.configuration.config import DlaConfig
from tests.sim_machine.bench import BASE, CONFIG, HALT, REGION_BYTES, SRAM_BYTES, Bench, cfg, fill, op
from tests.sim_timing.jobs import ANSWER

REQUIRE = BY_NAME["REQUIRE_CONFIG"].address
LARGE = (1 << 24) - 1

DMA_IN = [cfg("DMA_IN_REGION", Region.ARENA), cfg("DMA_IN_RUN_BYTES", 16)]
DMA_OUT = [cfg("DMA_OUT_REGION", Region.OUTPUTS), cfg("DMA_OUT_RUN_BYTES", 16)]
VIEW = [cfg("OUT_SIZE", 2, 2), cfg("OUT_PIXEL_STRIDE", 4), cfg("OUT_ROW_STRIDE", 8)]
WINDOW = [cfg("IN_SIZE", 2, 2), cfg("IN_PIXEL_STRIDE", 1), cfg("IN_ROW_STRIDE", 2)]

# name: (words before, the word at fault, fault, address reported)
CASES = {
    "opcode 0": ([], 0, Fault.ILLEGAL_INSTRUCTION, 0),
    "unknown opcode": ([], 0xFF, Fault.ILLEGAL_INSTRUCTION, 0),
    "reserved bit": ([], HALT | 1 << 63, Fault.ILLEGAL_INSTRUCTION, 0),
    "illegal field value": ([], op("OP_CONV") | 3 << 8, Fault.ILLEGAL_INSTRUCTION, 0),
    "CFG of a control register": ([], 0x02 | 0x008 << 8, Fault.BAD_REGISTER, 0x020),
    "CFG beyond the table": ([], 0x02 | 0x3FF << 8, Fault.BAD_REGISTER, 0xFFC),
    "value too large": (
        [],
        cfg("DMA_IN_OFFSET", 0) | 1 << 63,
        Fault.BAD_VALUE,
        BY_NAME["DMA_IN_OFFSET"].address,
    ),
    "size of zero": (
        [],
        cfg("OUT_SIZE", 1, 1) & ~(0xFFFF << 48),
        Fault.BAD_VALUE,
        BY_NAME["OUT_SIZE"].address,
    ),
    "another configuration": ([], cfg("REQUIRE_CONFIG", 1), Fault.CONFIG_MISMATCH, REQUIRE),
    "clamp inside out": (
        [cfg("ACT_MIN", 5), cfg("ACT_MAX", 4)],
        op("OP_ACT_RELU"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "channels that do not divide": (
        [cfg("IN_CHANNELS", 2), cfg("OUT_CHANNELS", 3)],
        op("OP_DEPTH_CONV"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "pooling that changes channels": (
        [cfg("IN_CHANNELS", 2), cfg("OUT_CHANNELS", 3)],
        op("OP_POOL"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "pooling window before the input": ([cfg("PAD", 1, 0)], op("OP_POOL"), Fault.BAD_OPERANDS, 0),
    "pooling window after the input": (
        [cfg("OUT_SIZE", 1, 3), cfg("OUT_PIXEL_STRIDE", 1), cfg("IN_SIZE", 1, 2)],
        op("OP_POOL"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "pooling taps around the input": (
        [cfg("KERNEL", 2, 1), cfg("DILATION", 2, 1), cfg("PAD", 1, 0)],
        op("OP_POOL"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "convolution without end": (
        [cfg("OUT_CHANNELS", LARGE), cfg("IN_CHANNELS", LARGE), cfg("KERNEL", 4, 4)],
        op("OP_CONV"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "matrix without end": (
        [cfg("OUT_CHANNELS", LARGE), cfg("IN_CHANNELS", LARGE), cfg("OUT_SIZE", 2, 1)],
        op("OP_MAT_MUL"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "int32 address": ([cfg("IN_ADDR", 2)], op("OP_E32_SHIFT"), Fault.MISALIGNED, 2),
    "int32 stride": (
        [cfg("OUT_ADDR", 64), cfg("OUT_ROW_STRIDE", 6)],
        op("OP_E32_SHIFT"),
        Fault.MISALIGNED,
        64,
    ),
    "record": ([cfg("PARAM_ADDR", 6)], op("OP_CONV", init=1), Fault.MISALIGNED, 6),
    "view beyond SRAM": (
        [*VIEW, cfg("OUT_ADDR", SRAM_BYTES - 12)],
        op("OP_FILL"),
        Fault.SRAM_RANGE,
        SRAM_BYTES - 12,
    ),
    "weights beyond SRAM": (
        [cfg("WEIGHT_ADDR", 1), cfg("KERNEL", 64, 64)],
        op("OP_CONV"),
        Fault.SRAM_RANGE,
        1,
    ),
    "unpacking of several runs": (
        [*DMA_IN, cfg("DMA_IN_RUNS", 2), cfg("DMA_IN_RUN_SRAM_STRIDE", 16)],
        op("OP_DMA_UNPACK", packed=1),
        Fault.BAD_OPERANDS,
        0,
    ),
    "unpacking of more than a run": (DMA_IN, op("OP_DMA_UNPACK", packed=5), Fault.BAD_OPERANDS, 0),
    "unpacking beyond the region": (
        [*DMA_IN, cfg("DMA_IN_OFFSET", REGION_BYTES - 7)],
        op("OP_DMA_UNPACK", packed=4),
        Fault.REGION_RANGE,
        REGION_BYTES - 7,
    ),
    "decoding of several runs": (
        [*DMA_IN, cfg("DMA_IN_RUNS", 2), cfg("DMA_IN_RUN_SRAM_STRIDE", 16)],
        op("OP_DMA_DECODE", words=1, steps=1),
        Fault.BAD_OPERANDS,
        0,
    ),
    "more words than steps": (DMA_IN, op("OP_DMA_DECODE", words=2, steps=1), Fault.BAD_OPERANDS, 0),
    "decoding of more than steps give": (
        [*DMA_IN, cfg("DMA_IN_RUN_BYTES", 65)],
        op("OP_DMA_DECODE", words=1, steps=1),
        Fault.BAD_OPERANDS,
        0,
    ),
    "copying of more than a run": (
        DMA_IN,
        op("OP_DMA_DECODE", words=1, steps=9, copied=5),
        Fault.BAD_OPERANDS,
        0,
    ),
    "decoding beyond the region": (
        [*DMA_IN, cfg("DMA_IN_OFFSET", REGION_BYTES - 15)],
        op("OP_DMA_DECODE", words=1, steps=1),
        Fault.REGION_RANGE,
        REGION_BYTES - 15,
    ),
    "table beyond SRAM": (
        [cfg("LUT_ADDR", SRAM_BYTES - 255)],
        op("OP_ACT_LUT"),
        Fault.SRAM_RANGE,
        SRAM_BYTES - 255,
    ),
    "transfer beyond SRAM": (
        [*DMA_IN, cfg("DMA_IN_SRAM_ADDR", SRAM_BYTES - 15)],
        op("OP_DMA_READ"),
        Fault.SRAM_RANGE,
        SRAM_BYTES - 15,
    ),
    "output over itself": (
        [*VIEW, cfg("OUT_PIXEL_STRIDE", 0), cfg("OUT_ADDR", 64)],
        op("OP_FILL"),
        Fault.OVERLAP,
        64,
    ),
    "window over itself": (
        [*WINDOW, cfg("IN_ROW_STRIDE", 1), cfg("IN_ADDR", 8)],
        op("OP_CONV"),
        Fault.OVERLAP,
        8,
    ),
    "transfer over itself in SRAM": (
        [*DMA_IN, cfg("DMA_IN_RUNS", 2), cfg("DMA_IN_RUN_SRAM_STRIDE", 15), cfg("DMA_IN_SRAM_ADDR", 32)],
        op("OP_DMA_READ"),
        Fault.OVERLAP,
        32,
    ),
    "transfer over itself in memory": (
        [*DMA_OUT, cfg("DMA_OUT_RUNS", 2), cfg("DMA_OUT_OFFSET", 40), cfg("DMA_OUT_RUN_STRIDE", 15)],
        op("OP_DMA_WRITE"),
        Fault.OVERLAP,
        40,
    ),
    "read beyond the region": (
        [*DMA_IN, cfg("DMA_IN_OFFSET", REGION_BYTES - 15)],
        op("OP_DMA_READ"),
        Fault.REGION_RANGE,
        REGION_BYTES - 15,
    ),
    "write beyond the region": (
        [*DMA_OUT, cfg("DMA_OUT_OFFSET", REGION_BYTES - 15)],
        op("OP_DMA_WRITE"),
        Fault.REGION_RANGE,
        REGION_BYTES - 15,
    ),
    "write to constants": (
        [*DMA_OUT, cfg("DMA_OUT_REGION", Region.CONSTANTS), cfg("DMA_OUT_OFFSET", 48)],
        op("OP_DMA_WRITE"),
        Fault.REGION_READ_ONLY,
        48,
    ),
    "write to commands": (
        [*DMA_OUT, cfg("DMA_OUT_REGION", Region.COMMANDS)],
        op("OP_DMA_WRITE"),
        Fault.REGION_READ_ONLY,
        0,
    ),
    # Several at once: the lowest number is reported.
    "operands before alignment": (
        [cfg("ACT_MIN", 1), cfg("ACT_MAX", 0), cfg("IN_ADDR", 2)],
        op("OP_REQUANT"),
        Fault.BAD_OPERANDS,
        0,
    ),
    "alignment before range": (
        [cfg("IN_ADDR", SRAM_BYTES), cfg("OUT_ADDR", 2)],
        op("OP_E32_SHIFT"),
        Fault.MISALIGNED,
        2,
    ),
    "range before overlap": (
        [*VIEW, cfg("OUT_PIXEL_STRIDE", 0), cfg("OUT_ADDR", SRAM_BYTES)],
        op("OP_FILL"),
        Fault.SRAM_RANGE,
        SRAM_BYTES,
    ),
    "SRAM before region": (
        [*DMA_OUT, cfg("DMA_OUT_OFFSET", REGION_BYTES), cfg("DMA_OUT_SRAM_ADDR", SRAM_BYTES)],
        op("OP_DMA_WRITE"),
        Fault.SRAM_RANGE,
        SRAM_BYTES,
    ),
    "range before read-only": (
        [*DMA_OUT, cfg("DMA_OUT_REGION", Region.CONSTANTS), cfg("DMA_OUT_OFFSET", REGION_BYTES)],
        op("OP_DMA_WRITE"),
        Fault.REGION_RANGE,
        REGION_BYTES,
    ),
}


def test_every_fault_has_a_case():
    assert {case[2] for case in CASES.values()} | {Fault.NONE, Fault.QUEUE} == set(Fault)


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_reported_and_stops_the_machine(name):
    before, word, code, address = CASES[name]
    bench = Bench()
    bench.write("IRQ_ENABLE", 4)
    head = fill(address=4000, value=7)
    words = [*head, *before, word, *fill(address=4001, value=9), HALT]
    # The faulty stream is the second, so that positions count from the queue, not from the stream.
    bench.ring(bench.place([HALT, *words]))
    bench.finish()
    assert bench.read("ERROR_CODE") == code
    assert bench.read("ERROR_POSITION") == 1 + len(head) + len(before)
    assert bench.read("ERROR_ADDRESS") == address
    assert bench.dla.fault.code is code
    assert bench.flag("STATUS", "fault")
    assert not bench.flag("STATUS", "busy")
    assert bench.flag("IRQ_STATUS", "fault")
    assert bench.dla.interrupt()
    assert bench.read("STREAMS_DONE") == 1
    assert bench.dla.sram[4000] == 7, "operations before the fault are executed"
    assert bench.dla.sram[4001] == 0, "none after it"


@pytest.mark.parametrize("name", CASES)
def test_the_word_before_the_fault_is_innocent(name):
    """Only the named word is at fault: without it the stream ends well."""
    before, _, _, _ = CASES[name]
    bench = Bench()
    bench.run([*before, HALT])
    assert bench.dla.fault is None
    assert bench.read("STREAMS_DONE") == 1


@pytest.mark.parametrize(
    ("word", "parameter"),
    [
        (op("OP_DMA_UNPACK", packed=1), "dma_unpacking"),
        (op("OP_DMA_DECODE", words=1, steps=1), "dma_decoding"),
    ],
)
def test_a_machine_without_a_decoder_does_not_have_its_instruction(word: int, parameter: str):
    bench = Bench(CONFIG.replace(**{parameter: 0}))
    bench.run([*DMA_IN, word, HALT])
    assert bench.dla.fault.code is Fault.ILLEGAL_INSTRUCTION
    assert f"its {parameter} is 0" in bench.dla.fault.detail


def test_after_a_fault_nothing_runs_until_reset():
    bench = Bench()
    bench.run([0, HALT])
    bench.place([*fill(0, 1), HALT])
    for name, value in (("DOORBELL", 6), ("COMMAND_HIGH", 0), ("QUEUE_READ", 0), ("IN_ADDR", 4)):
        bench.dla.registers.flags("STATUS", refused=False)
        bench.write(name, value)
        assert bench.refused()
        assert bench.dla.next_event() is None
    assert bench.read("IN_ADDR") == 0
    bench.write("CONTROL", 1)
    assert bench.dla.fault is None
    assert not bench.refused()
    bench.set_up()
    bench.run([*fill(0, 1), HALT])
    assert bench.dla.sram[0] == 1


def test_registers_at_a_fault_are_those_before_the_word():
    bench = Bench()
    bench.run([cfg("IN_ADDR", 8), cfg("OUT_ADDR", SRAM_BYTES), op("OP_FILL"), cfg("IN_ADDR", 16), HALT])
    assert bench.dla.fault.code is Fault.SRAM_RANGE
    assert bench.read("IN_ADDR") == 8
    bench = Bench()
    bench.run([cfg("IN_ADDR", 8), cfg("IN_ADDR", 12), 0, cfg("IN_ADDR", 16), HALT])
    assert bench.read("IN_ADDR") == 12


def test_units_finish_what_they_have_before_the_fault_is_raised():
    bench = Bench(CONFIG.replace(dma_latency=500))
    transfer = [*DMA_IN, op("OP_DMA_READ")]
    bench.ring(bench.place([*transfer, 0, HALT]))
    assert bench.flag("STATUS", "busy")
    bench.dla.tick(500)
    assert not bench.flag("STATUS", "fault")
    # Words, the transfer's checks, latency, answer of the SRAM's ports and beats
    assert bench.finish() == len(transfer) + 16 + 500 + ANSWER + 2
    assert bench.flag("STATUS", "fault")
    assert bench.read("COUNT_CYCLES_LOW") == len(transfer) + 518 + ANSWER
    assert bench.read("COUNT_BYTES_READ_LOW") == 16


QUEUES = {
    "base beyond the region": {"QUEUE_BASE": REGION_BYTES},
    "base misaligned": {"QUEUE_BASE": 4},
    "tail beyond the region": {"QUEUE_BASE": REGION_BYTES - 8},
    "region beyond memory": {"REGION4_BASE": BASE + REGION_BYTES * 4 + 1},
    "region before memory": {"REGION4_BASE": 0},
    "region of no bytes": {"REGION4_SIZE": 0},
}


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_outside_its_region_faults_at_its_first_word(name):
    bench = Bench()
    for register, value in QUEUES[name].items():
        bench.write(register, value)
    bench.write("QUEUE_READ", 1)
    bench.ring(3)
    bench.finish()
    assert bench.dla.fault.code is Fault.QUEUE
    assert bench.dla.fault.position == 1
    assert bench.dla.fault.address == bench.read("QUEUE_BASE")
    assert bench.completed == []


def test_a_queue_that_ends_without_halt_faults_at_its_end():
    bench = Bench()
    bench.run([HALT, *fill(0, 5)])
    assert bench.dla.fault.code is Fault.QUEUE
    assert bench.dla.fault.position == 6
    assert bench.dla.sram[0] == 5
    assert bench.read("STREAMS_DONE") == 1


def test_a_region_that_is_not_there_faults_where_it_is_used():
    bench = Bench()
    bench.write("REGION1_BASE", BASE + 5 * REGION_BYTES - 8)
    bench.run([*DMA_IN, op("OP_DMA_READ"), HALT])
    assert bench.dla.fault.code is Fault.REGION_RANGE
    assert bench.dla.fault.position == 2


def test_a_program_for_another_machine_is_named_by_its_fingerprint():
    bench = Bench()
    bench.run([cfg("REQUIRE_CONFIG", CONFIG.fingerprint), HALT])
    assert bench.dla.fault is None
    bench.run([cfg("REQUIRE_CONFIG", DlaConfig(sram_bytes=SRAM_BYTES, pes=128).fingerprint), HALT])
    assert bench.dla.fault.code is Fault.CONFIG_MISMATCH


def test_timing_only_finds_the_same_faults():
    for before, word, code, address in CASES.values():
        bench = Bench(functional=False)
        bench.run([*before, word, HALT])
        assert (bench.dla.fault.code, bench.dla.fault.address) == (code, address)
        assert bench.dla.fault.position == len(before)
        assert isinstance(bench.dla.sram, np.ndarray)


def test_the_first_of_several_faults_is_reported():
    """In every order: an illegal word, a bad register write, an operation that cannot be."""
    kinds = {
        Fault.ILLEGAL_INSTRUCTION: [0],
        Fault.BAD_VALUE: [cfg("OUT_SIZE", 1, 1) & ~(0xFFFF << 48)],
        Fault.CONFIG_MISMATCH: [cfg("REQUIRE_CONFIG", 1)],
        Fault.MISALIGNED: [op("OP_REQUANT")],
    }
    for first, second in permutations(kinds, 2):
        bench = Bench()
        bench.write("IN_ADDR", 2)
        bench.run([*kinds[first], *kinds[second], HALT])
        assert (bench.dla.fault.code, bench.dla.fault.position) == (first, 0)
    for only, words in kinds.items():  # and before a queue that just ends
        bench = Bench()
        bench.write("IN_ADDR", 2)
        bench.run(words)
        assert (bench.dla.fault.code, bench.dla.fault.position) == (only, 0)
