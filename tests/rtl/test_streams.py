"""Random streams: every byte, every cycle, every counter of the RTL is the simulator's."""

import os

import numpy as np
import pytest
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.isa.instruction_rows import UNITS, PoolMode, SigmoidMode, Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import BY_NAME
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from tests.rtl.builder import build
from tests.rtl.comparison import Comparison, compare_stream
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import MACHINES, machine
from tests.rtl.streams import MEMORY_BYTES, StreamMaker, places
from tests.sim_engines.generate import Limits, softmax_curves

STREAMS = int(os.environ.get("DLASIM_RTL_STREAMS", "44"))  # for each machine
LIMITS = Limits(pixels=5, channels=21, kernel=3, sram_bytes=6000)


def random_stream_on_both(rtl: RtlMachine, config: DlaConfig, number: int) -> Comparison:
    """A random stream, and what differs."""
    rng = np.random.default_rng([number, *config.name.encode()])
    operations = int(rng.integers(1, 13))
    maker = _maker(rng, config)
    words = maker.stream(operations, waits=0.1)
    return _on_both(rtl, config, rng, maker, words)


def compare_transfers_alone(rtl: RtlMachine, config: DlaConfig, number: int) -> Comparison:
    """Random transfers, which must agree in everything."""
    rng = np.random.default_rng([number, 1, *config.name.encode()])
    maker = _maker(rng, config)
    found = _on_both(rtl, config, rng, maker, maker.transfers(16))
    assert not found.differences, f"transfers {number}"
    return found


def _maker(rng: np.random.Generator, config: DlaConfig) -> StreamMaker:
    has = config.int16 == 1, config.dma_unpacking > 0, config.mac_sums == 1, config.dma_decoding > 0
    return StreamMaker(rng, config.sram_bytes, config.fingerprint, LIMITS, *has)


def _on_both(
    rtl: RtlMachine,
    config: DlaConfig,
    rng: np.random.Generator,
    maker: StreamMaker,
    words: NDArray[np.uint64],
) -> Comparison:
    rtl.memory[:] = rng.integers(0, 256, MEMORY_BYTES, np.uint8)
    return compare_stream(rtl, config, words, reset_file(), maker.sram, places())


def compare_cycles(rtl: RtlMachine, config: DlaConfig, near: float) -> None:
    """Random streams on a machine with ports: equal results, and more cycles by this share at most."""
    ours = simulated = 0
    for number in range(STREAMS):
        found = random_stream_on_both(rtl, config, number)
        assert not found.wrong_results, f"stream {number}"
        cycles, expected = found.cycles
        ours, simulated = ours + cycles, simulated + expected
    assert simulated < ours < (1 + near) * simulated


def compare_random(rtl: RtlMachine, config: DlaConfig, number: int) -> Comparison:
    """A random stream on both, which must agree in everything."""
    found = random_stream_on_both(rtl, config, number)
    assert not found.differences, f"stream {number}"
    return found


@pytest.mark.parametrize("name", MACHINES)
def test_equal_to_the_simulator(rtl: RtlMachine, name: str) -> None:
    """So many streams, and more until every instruction has occurred."""
    absent = {*machine(name).absent_opcodes}
    absent |= {row.opcode for row in INSTRUCTIONS if row.needs_int16 and not machine(name).int16}
    missing = {row.opcode for row in INSTRUCTIONS} - absent if STREAMS >= 40 else set()
    overlapping = number = 0
    while number < STREAMS or (missing and number < 2 * STREAMS):
        found = compare_random(rtl, machine(name), number)
        assert found.plan.fault is None
        missing -= set(found.plan.stream.opcodes.tolist())
        overlapping += _overlaps(found)
        number += 1
    assert overlapping > number // 2, "units must work at the same time"
    assert not missing, "every instruction must occur"


EDGES = (-(1 << 31), 1 - (1 << 31), -(1 << 30), -3, -1, 0, 1, 3, 1 << 30, (1 << 31) - 1)


def compare_edges(rtl: RtlMachine, config: DlaConfig) -> None:
    """Rescaling where it wraps, saturates and rounds halves: records of every pair of such numbers. And what
    the checks must let pass by a hair.
    """
    values, multipliers, shifts = (grid.ravel() for grid in np.meshgrid(EDGES, EDGES, (-40, -1, 0, 1, 31)))
    sram = np.zeros(config.sram_bytes, np.uint8)
    count = len(values)
    records = np.stack((values, multipliers, shifts), axis=1).astype("<i4").view(np.uint8).ravel()
    sram[: len(records)] = records
    sram[len(records) : len(records) + 4 * count] = values.astype("<i4").view(np.uint8)
    registers = {
        "PARAM_ADDR": 0,
        "IN_ADDR": len(records),
        "OUT_CHANNELS": count,
        "OUT_ADDR": len(records) + 4 * count,
    }
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    words += [codec.encode("OP_REQUANT", quant=1), codec.encode_cfg("OUT_MULT", 1 << 30)]
    # The last byte of the SRAM, and operands that are misaligned but take no part.
    words += [codec.encode_cfg("OUT_ADDR", config.sram_bytes - count), codec.encode_cfg("OUT_SHIFT", 0)]
    words += [codec.encode("OP_REQUANT"), codec.encode("WAIT", unit=Unit.VECTOR, max_outstanding=0)]
    words += [codec.encode_cfg("ACC_ADDR", 1), codec.encode_cfg("PARAM_ADDR", 2)]
    words += [codec.encode("OP_MAT_MUL"), codec.encode("HALT")]
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
    assert not found.differences
    assert found.plan.fault is None


def compare_sums_at_limits(rtl: RtlMachine, config: DlaConfig) -> None:
    """OP_E16_ADD where an input is rounded up to a limit of 16 bits, or lies beyond one: halves of pairs."""
    edges = (-70000, -65538, -65537, -65536, -65535, -21, 0, 20, 65533, 65534, 65535, 65536, 70000)
    first, second = (grid.ravel().astype("<i4") for grid in np.meshgrid(edges, edges))
    size = first.nbytes
    sram = np.zeros(config.sram_bytes, np.uint8)
    sram[: 2 * size] = np.concatenate((first, second)).view(np.uint8)
    one = (1 << 31) - 1  # as a multiplier, nearly
    registers = {
        "IN2_ADDR": size, "OUT_ADDR": 2 * size, "OUT_CHANNELS": len(first), "IN_MULT": one, "IN2_MULT": one,
        "IN_SHIFT": -1 & 0xFFFFFFFF, "IN2_SHIFT": -1 & 0xFFFFFFFF, "LIMIT": 32768,
    }  # fmt: skip
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    words += [codec.encode("OP_E16_ADD"), codec.encode("HALT")]
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
    assert not found.differences
    assert found.plan.fault is None
    sums = rtl.sram[2 * size : 3 * size].view("<i4")
    halves = [np.clip((np.abs(x) + 1) // 2 * np.sign(x), -32768, 32767) for x in (first, second)]
    assert np.array_equal(sums, np.clip(sum(halves), -32768, 32767))


def compare_ends_of_tables(rtl: RtlMachine, config: DlaConfig) -> None:
    """OP_E16_SIGMOID around the last entries of its table, from which on a result no longer depends on it."""
    ends = np.array([entries * 256 + more for entries in (255, 510) for more in range(-300, 600, 7)])
    elements = np.concatenate((ends, -ends)).astype("<i4") // 8
    sram = np.random.default_rng(0).integers(0, 256, config.sram_bytes, np.uint8)
    sram[1024 : 1024 + elements.nbytes] = elements.view(np.uint8)
    registers = {"IN_ADDR": 1024, "OUT_CHANNELS": len(elements), "IN_MULT": 16, "SHIFT_AMOUNT": 1}
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    for place, mode in ((5120, SigmoidMode.LOGISTIC), (9216, SigmoidMode.TANH)):
        words += [codec.encode_cfg("OUT_ADDR", place), codec.encode("OP_E16_SIGMOID", mode=mode)]
    words += [codec.encode("HALT")]
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
    assert not found.differences
    assert found.plan.fault is None
    for place, end in ((5120, 255 * 512), (9216, 255 * 256)):
        results = rtl.sram[place : place + elements.nbytes].view("<i4")
        assert np.all(results[8 * elements >= end] == 32767)
        assert np.any(results[8 * elements < end] != 32767)


def compare_averages(rtl: RtlMachine, config: DlaConfig) -> None:
    """Averages of two bytes whose sum is odd: the halves that the modes of OP_POOL round differently."""
    pairs = [(low, low + 2 * step + 1) for low in (-128, -127, -3, -2, -1, 0, 1, 2, 120) for step in range(4)]
    inputs = np.array(pairs, np.int8).ravel()
    sram = np.zeros(config.sram_bytes, np.uint8)
    sram[: len(inputs)] = inputs.view(np.uint8)
    count = len(pairs)

    def size(width: int) -> int:
        return BY_NAME["IN_SIZE"].pack(height=1, width=width)

    registers = {
        "IN_SIZE": size(2 * count),
        "OUT_SIZE": size(count),
        "KERNEL": size(2),
        "STRIDE": size(2),
        "IN_CHANNELS": 1,
        "OUT_CHANNELS": 1,
        "IN_PIXEL_STRIDE": 1,
        "OUT_PIXEL_STRIDE": 1,
    }
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    for place, mode in enumerate((PoolMode.AVERAGE, PoolMode.AVERAGE_UP), start=1):
        words += [codec.encode_cfg("OUT_ADDR", 1000 * place), codec.encode("OP_POOL", mode=mode)]
    words += [codec.encode("HALT")]
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
    assert not found.differences
    assert found.plan.fault is None
    outputs = [rtl.sram[1000 * place : 1000 * place + count].view(np.int8) for place in (1, 2)]
    assert [(low + high + 1) // 2 for low, high in pairs] == outputs[1].tolist()
    assert outputs[0].tolist() != outputs[1].tolist()


def compare_softmax(rtl: RtlMachine, config: DlaConfig, number: int) -> None:
    """Rows of many lengths, and tables that make sums of 0, of little, of one exponential, and of negative
    numbers."""
    rng = np.random.default_rng(number)
    channels, rows = int(rng.integers(1, 60)), int(rng.integers(1, 12))
    exponentials = np.exp(-np.arange(256) * rng.choice([0, 0.003, 0.05, 0.5, 4])) * ((1 << 31) - 1)
    table = (exponentials / rng.choice([1, 2, 1000, 1 << 20])).astype("<i4")
    if number % 5 == 0:
        table = rng.choice([0, 1, -5, 4095, -(1 << 31), (1 << 31) - 1], 256).astype("<i4")
    sram = rng.integers(0, 256, config.sram_bytes, np.uint8)
    sram[:1024] = table.view(np.uint8)
    sram[2048:4096] = rng.integers(-128, -128 + rng.choice([1, 8, 256]), 2048, np.int16).astype(np.uint8)
    registers = {
        "IN_ADDR": 2048, "OUT_ADDR": 2048 if number % 2 else 5000, "OUT_CHANNELS": channels,
        "IN_PIXEL_STRIDE": channels, "OUT_PIXEL_STRIDE": channels,
        "OUT_SIZE": BY_NAME["OUT_SIZE"].pack(height=1, width=rows),
    }  # fmt: skip
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    words += [codec.encode("OP_SOFTMAX"), codec.encode("HALT")]
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
    assert not found.differences, number
    assert found.plan.fault is None


def compare_softmax16(rtl: RtlMachine, config: DlaConfig, number: int) -> None:
    """Rows of int16, some of whose differences lie beyond the table, and sums whose first 17 bits round up to
    the next power of two."""
    rng = np.random.default_rng(number)
    channels, rows, spread = (
        int(rng.integers(1, 40)),
        int(rng.integers(1, 12)),
        int(rng.choice([9, 600, 32767])),
    )
    curves = softmax_curves(float(rng.choice([0, 0.5, 3, 10])))
    if number % 8 == 0:
        channels, curves = 27, softmax_curves(0, 9709)  # 27 * 9709 = 2^18 - 1
    elements = rng.integers(-spread - 1, spread + 1, rows * channels).astype("<i2")
    sram = rng.integers(0, 256, config.sram_bytes, np.uint8)
    sram[: len(curves)] = curves
    sram[5000 : 5000 + elements.nbytes] = elements.view(np.uint8)
    registers = {
        "IN_ADDR": 5000, "OUT_ADDR": 5000 if number % 2 else 8000, "OUT_CHANNELS": channels,
        "IN_PIXEL_STRIDE": 2 * channels, "OUT_PIXEL_STRIDE": 2 * channels,
        "IN_MULT": int(rng.integers(1 << 30, 1 << 31)), "IN_SHIFT": int(rng.integers(-3, 8)) & 0xFFFF_FFFF,
        "OUT_SIZE": BY_NAME["OUT_SIZE"].pack(height=1, width=rows),
    }  # fmt: skip
    words = [codec.encode_cfg(name, value) for name, value in registers.items()]
    words += [codec.encode("OP_E16_SOFTMAX"), codec.encode("HALT")]
    rtl.memory[:] = 0
    found = compare_stream(rtl, config, np.array(words, np.uint64), reset_file(), sram, places())
    assert not found.differences, number
    assert found.plan.fault is None


@pytest.mark.parametrize("name", ["small", "wide", "int16"])
def test_multipliers_of_a_chip(name: str) -> None:
    """The other tests multiply by the operator."""
    config = machine(name)
    with RtlMachine(build(config, products=""), config.sram_bytes, MEMORY_BYTES) as rtl:
        compare_edges(rtl, config)
        for number in range(STREAMS):
            compare_random(rtl, config, number)


@pytest.mark.parametrize("name", ["small", "shared", "wide"])
def test_softmax(rtl: RtlMachine, name: str) -> None:
    for number in range(60):
        compare_softmax(rtl, machine(name), number)


@pytest.mark.parametrize("name", ["small", "shared"])
def test_halves_of_averages(rtl: RtlMachine, name: str) -> None:
    compare_averages(rtl, machine(name))


@pytest.mark.parametrize("name", ["small", "shared"])
def test_edges_of_rescaling(rtl: RtlMachine, name: str) -> None:
    compare_edges(rtl, machine(name))
    compare_sums_at_limits(rtl, machine(name))
    compare_ends_of_tables(rtl, machine(name))


def _overlaps(found: Comparison) -> bool:
    """Whether two units work in the same cycle."""
    timeline, unit = found.plan.timeline, found.plan.costs.unit
    changes = []
    for number in UNITS:
        mine = unit == number
        changes += [(cycle, 1) for cycle in timeline.start[mine].tolist()]
        changes += [(cycle, -1) for cycle in timeline.end[mine].tolist()]
    working = most = 0
    for _, change in sorted(changes):
        working += change
        most = max(most, working)
    return most > 1
