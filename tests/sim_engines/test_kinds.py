"""Which kind of kernels a CPU and a system get, and that packed weights never outlive the bytes in SRAM."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.isa.instruction_rows import RECORD_BYTES, Init, Out
from dlasim.native.host_system import LinuxCpu, platform_name
from dlasim.native.levels import X86_LINUX
from dlasim.sim.fast_engine import Engine, loader
from dlasim.sim.fast_engine.kept_weights import KEEP, PACK, REUSE
from dlasim.sim.fast_engine.loader import best_kind, runnable_kinds
from dlasim.sim.fast_engine.operation_rows import KEPT, column
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.readable_engine import execute_operation

ROOT = Path(__file__).parents[2]
AVX2, VNNI, AMX = {"avx2"}, {"avx2", "avx512_vnni"}, {"avx2", "avx512_vnni", "amx_tile", "amx_int8"}


@pytest.mark.parametrize(
    ("flags", "permitted", "kinds"),
    [
        (AVX2, True, ("portable",)),
        (VNNI, True, ("vnni", "portable")),
        (AMX, True, ("amx", "vnni", "portable")),
        (AMX, False, ("vnni", "portable")),
        (AMX - VNNI, True, ("portable",)),
    ],
)
def test_a_kind_needs_the_cpu_and_the_system(monkeypatch, flags, permitted, kinds):
    monkeypatch.setattr(loader, "this_cpu", lambda: LinuxCpu(frozenset(flags)))
    monkeypatch.setattr(loader, "may_use_tiles", lambda: permitted)
    assert runnable_kinds() == kinds
    assert best_kind() == kinds[0]


@pytest.mark.skipif(platform_name() != X86_LINUX, reason="only Linux is asked for tiles")
def test_a_system_that_refuses_tiles_gets_other_kernels():
    program = """
from lesser_cpu import deny_tiles
try:
    deny_tiles()
except OSError:
    print("no filter")
    raise SystemExit
from dlasim.sim.fast_engine import Engine
from dlasim.sim.fast_engine.loader import best_kind
Engine()
print(best_kind())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
    )
    if done.stdout == "no filter\n":
        pytest.skip("this system lets no process filter its calls")
    expected = next(kind for kind in runnable_kinds() if kind != "amx")
    assert done.stdout == f"{expected}\n"


def product_words(
    weights_at: int, out_at: int, outputs: int, inputs: int, init: Init = Init.ZERO
) -> list[int]:
    """A product of three rows of a matrix; per tensor, by default without biases."""
    values = {
        "IN_ADDR": 0, "IN_PIXEL_STRIDE": inputs, "IN_ROW_STRIDE": 3 * inputs, "IN_CHANNELS": inputs,
        "OUT_ADDR": out_at, "OUT_PIXEL_STRIDE": outputs, "OUT_ROW_STRIDE": 3 * outputs,
        "OUT_CHANNELS": outputs, "OUT_SIZE": 3 << 16 | 1, "WEIGHT_ADDR": weights_at, "OUT_MULT": 1 << 30,
        "OUT_SHIFT": -8 & 0xFFFF_FFFF,
    }  # fmt: skip
    words = [codec.encode_cfg(name, value) for name, value in values.items()]
    return [*words, codec.encode("OP_MAT_MUL", init=init, out=Out.INT8)]


@pytest.mark.parametrize("kind", runnable_kinds())
@pytest.mark.parametrize("outputs", [16, 64, 100])
def test_weights_that_a_program_overwrites_are_packed_anew(kind, outputs):
    """Twice the same product, with other weights written between: by a fill, a transfer, an operation."""
    inputs = 128
    size = 3 * inputs + outputs * inputs + 4 * 3 * outputs
    weights_at, out_at = 3 * inputs, 3 * inputs + outputs * inputs
    fill = {"OUT_ADDR": weights_at + 70, "OUT_PIXEL_STRIDE": 40, "OUT_ROW_STRIDE": 40, "OUT_CHANNELS": 40}
    fill |= {"OUT_SIZE": 1 << 16 | 1, "FILL_VALUE": 7}
    read = {"DMA_IN_REGION": 0, "DMA_IN_SRAM_ADDR": weights_at + 9, "DMA_IN_RUN_BYTES": 90}
    absolute = {"IN_ADDR": weights_at, "OUT_ADDR": weights_at + outputs}
    words = product_words(weights_at, out_at, outputs, inputs)
    for number, (registers, mnemonic) in enumerate(
        ((fill, "OP_FILL"), (read, "OP_DMA_READ"), (absolute, "OP_E_ABS")), 1
    ):
        words += [codec.encode_cfg(name, value & 0xFFFF_FFFF) for name, value in registers.items()]
        words.append(codec.encode(mnemonic))
        words += product_words(weights_at, out_at + number * 3 * outputs, outputs, inputs)
    stream = decode_stream(np.array([*words, codec.encode("HALT")], np.uint64), reset_file(), 0)
    assert stream.fault is None
    rng = np.random.default_rng(outputs)
    sram, region = rng.integers(0, 256, size, np.uint8), rng.integers(0, 256, 4096, np.uint8)
    prepared, expected = Engine(kind).prepare(stream), sram.copy()
    for _ in range(2):
        prepared.run(sram, [region] * 8)
        for number in range(len(stream)):
            execute_operation(stream.operation(number), expected, [region] * 8)
        assert np.array_equal(sram, expected)
        sram[weights_at] ^= 0x55  # and so does the host, between two runs
        expected[weights_at] ^= 0x55
        region[:] = region[::-1].copy()


@pytest.mark.parametrize("kind", runnable_kinds())
@pytest.mark.parametrize("outputs", [8, 16, 100])
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("inputs", [KEEP, PACK, REUSE, REUSE]),
        ("weights", [PACK, PACK, KEEP, REUSE]),
        ("records", [PACK, PACK, KEEP, REUSE]),
    ],
)
def test_products_share_packed_weights_that_stay_the_same(kind, outputs, written, kept):
    inputs = 72
    at = {"inputs": 0, "weights": 3 * inputs}
    at["records"] = at["weights"] + outputs * inputs
    at["outputs"] = at["records"] + outputs * RECORD_BYTES
    read = {"DMA_IN_REGION": 0, "DMA_IN_SRAM_ADDR": at[written] + 5, "DMA_IN_RUN_BYTES": 40}
    words = [codec.encode_cfg(name, value) for name, value in {"PARAM_ADDR": at["records"], **read}.items()]
    products = [
        product_words(at["weights"], at["outputs"] + number * 3 * outputs, outputs, inputs, Init.BIAS)
        for number in range(3)
    ]
    words += [*products[0], codec.encode("OP_DMA_READ"), *products[1], *products[2], codec.encode("HALT")]
    stream = decode_stream(np.array(words, np.uint64), reset_file(), 0)
    assert stream.fault is None
    rng = np.random.default_rng(outputs)
    sram = rng.integers(0, 256, at["outputs"] + 9 * outputs, np.uint8)
    regions = [rng.integers(0, 256, 64, np.uint8)] * 8
    prepared, expected = Engine(kind).prepare(stream), sram.copy()
    assert prepared._rows[:, column(KEPT)].tolist() == kept
    for _ in range(2):
        prepared.run(sram, regions)
        for number in range(len(stream)):
            execute_operation(stream.operation(number), expected, regions)
        assert np.array_equal(sram, expected)
        for each in (sram, expected):
            each[: at["outputs"]] ^= 0x55
