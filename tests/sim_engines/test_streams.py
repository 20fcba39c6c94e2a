"""Whole streams in one call: transfers, fallbacks and growing memory among them; and how kernels are kept."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.isa.registers import OPERANDS, REGION_COUNT
from dlasim.sim.fast_engine import Engine
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.readable_engine import execute_operation
from tests.sim_engines.generate import COMPUTED, SMALL, random_scene

REGION_BYTES = 3000


@pytest.fixture(scope="module")
def engine():
    return Engine()


def transfer_words(rng, prefix, sram_bytes):
    """Registers of a random legal transfer, written by CFG."""
    runs, planes, run_bytes = (int(n) for n in rng.integers(1, 7, 3))
    run_bytes *= int(rng.choice([1, 1, 9]))
    values = {"REGION": int(rng.integers(1, 4)), "RUNS": runs, "PLANES": planes, "RUN_BYTES": run_bytes}
    for suffix in ("STRIDE", "SRAM_STRIDE"):
        dense = rng.random() < 0.4
        values[f"RUN_{suffix}"] = run_bytes + (0 if dense else int(rng.integers(0, 5)))
        values[f"PLANE_{suffix}"] = runs * values[f"RUN_{suffix}"] + (0 if dense else int(rng.integers(0, 5)))
    if prefix == "DMA_IN" and rng.random() < 0.2:
        values["RUN_STRIDE"] = 0
    values["OFFSET"] = int(rng.integers(0, REGION_BYTES - planes * values["PLANE_STRIDE"]))
    values["SRAM_ADDR"] = int(rng.integers(0, sram_bytes - planes * values["PLANE_SRAM_STRIDE"]))
    words = [codec.encode_cfg(f"{prefix}_{name}", value) for name, value in values.items()]
    if prefix == "DMA_IN" and runs == planes == 1:
        return [*words, codec.encode("OP_DMA_UNPACK", packed=int(rng.integers(0, run_bytes // 4 + 1)))]
    return [*words, codec.encode("OP_DMA_READ" if prefix == "DMA_IN" else "OP_DMA_WRITE")]


def test_unpacking_is_what_the_manual_says(engine):
    """Each byte from its low half, then from its high one, by arithmetic on Python's numbers."""
    rng = np.random.default_rng(5)
    for packed, copied in ((0, 7), (1, 0), (3, 5), (200, 12)):
        region = rng.integers(0, 256, 2 * packed + copied, np.uint8)
        halves = [half for byte in region[: 2 * packed].tolist() for half in (byte % 16, byte // 16)]
        expected = [half - 16 * (half > 7) for half in halves] + region[2 * packed :].view(np.int8).tolist()
        values = {"REGION": 1, "SRAM_ADDR": 8, "RUN_BYTES": 4 * packed + copied}
        words = [codec.encode_cfg(f"DMA_IN_{name}", value) for name, value in values.items()]
        words += [codec.encode("OP_DMA_UNPACK", packed=packed), codec.encode("HALT")]
        stream = decode_stream(np.array(words, np.uint64), reset_file(), 0)
        none = np.zeros(0, np.uint8)
        for run in (engine.prepare(stream).run, partial(execute_operation, stream.operation(0))):
            sram = np.zeros(1024, np.uint8)
            run(sram, [none, region, none, none, none])
            assert sram[8 : 8 + len(expected)].view(np.int8).tolist() == expected
            assert not sram[8 + len(expected) :].any()


def random_stream(rng, length):
    """Operations of all kinds, each with all the registers that it reads."""
    words = []
    for _ in range(length):
        if rng.random() < 0.3:
            words += transfer_words(rng, str(rng.choice(["DMA_IN", "DMA_OUT"])), SMALL.sram_bytes)
            continue
        operation = random_scene(rng, str(rng.choice(COMPUTED))).operation
        for register in OPERANDS:
            if register.name in operation.instruction.registers:
                words.append(codec.encode_cfg(register.name, operation.pattern(register.name)))
        words.append(codec.encode(operation.instruction.mnemonic, **operation.fields))
    words.append(codec.encode("HALT"))
    return decode_stream(np.array(words, np.uint64), reset_file(), 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_stream_in_one_call_is_its_operations_one_by_one(engine, seed):
    rng = np.random.default_rng(seed)
    stream = random_stream(rng, 60)
    assert stream.fault is None
    sram = rng.integers(0, 256, SMALL.sram_bytes, np.uint8)
    regions = [rng.integers(0, 256, REGION_BYTES, np.uint8) for _ in range(REGION_COUNT)]
    expected_sram, expected_regions = sram.copy(), [region.copy() for region in regions]
    for number in range(len(stream)):
        execute_operation(stream.operation(number), expected_sram, expected_regions)
    engine.prepare(stream).run(sram, regions)
    assert np.array_equal(sram, expected_sram)
    assert all(np.array_equal(a, b) for a, b in zip(regions, expected_regions, strict=True))


def test_only_the_operations_before_a_fault_run(engine):
    words = [codec.encode_cfg("OUT_ADDR", 5), codec.encode_cfg("FILL_VALUE", 7), codec.encode("OP_FILL")]
    words += [codec.encode_cfg("OUT_ADDR", 6), codec.encode("OP_FILL"), codec.encode("HALT")]
    stream = decode_stream(np.array(words, np.uint64), reset_file(), 0)
    sram = np.zeros(16, np.uint8)
    engine.prepare(stream, 1).run(sram, [])
    assert sram.tolist() == [0] * 5 + [7] + [0] * 10


def test_read_only_constants_can_be_read(engine):
    words = transfer_words(np.random.default_rng(3), "DMA_IN", 4096)
    stream = decode_stream(np.array([*words, codec.encode("HALT")], np.uint64), reset_file(), 0)
    region = np.arange(REGION_BYTES, dtype=np.uint32).astype(np.uint8)
    region.flags.writeable = False
    sram = np.zeros(4096, np.uint8)
    engine.prepare(stream).run(sram, [region] * REGION_COUNT)
    assert sram.any()


def test_llvm_is_not_imported_to_run_kernels_that_ship():
    program = (
        "import sys, numpy as np, dlasim.sim, dlasim.sim.execution.executor, dlasim.sim.readable_engine;"
        "from dlasim.sim.fast_engine import Engine; Engine();"
        "assert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
