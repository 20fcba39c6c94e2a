"""Long streams, whose registers are laid out piece by piece, against the same streams in one piece."""

import resource
import subprocess
import sys

import numpy as np
import pytest

import dlasim.sim.fast_engine.engine
import dlasim.sim.programs.stream
from dlasim.isa import codec
from dlasim.isa.registers import OPERANDS, REGION_COUNT
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.fast_engine import Engine
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.races import check_races
from dlasim.sim.timing.plan import plan_stream
from tests.sim_engines.generate import SMALL
from tests.sim_engines.test_streams import REGION_BYTES, random_stream

MODULES = (dlasim.sim.programs.stream, dlasim.sim.fast_engine.engine)
CONFIG = DlaConfig(sram_bytes=SMALL.sram_bytes, int16=1, mac_sums=1)


def cut(monkeypatch, operations):
    """From now on a piece has so many operations."""
    for module in MODULES:
        monkeypatch.setattr(module, "PIECE_OPERATIONS", operations)


def random_words(seed):
    """A random stream with registers written between any two operations, and after the last."""
    words = random_stream(np.random.default_rng(seed), 40).words
    tail = [codec.encode_cfg("FILL_VALUE", -7), codec.encode_cfg("OUT_ADDR", 3), codec.encode("HALT")]
    return np.concatenate((words[:-1], np.array(tail, np.uint64)))


@pytest.mark.parametrize("piece", [1, 2, 7, 20, 39, 40])
@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_the_whole(monkeypatch, seed, piece):
    words = random_words(seed)
    whole = plan_stream(CONFIG, words, reset_file())
    files = np.stack([whole.stream.file_at(number) for number in range(len(whole.stream))])
    races = check_races(decode_stream(words, reset_file(), 0), SMALL.sram_bytes)
    cut(monkeypatch, piece)
    plan = plan_stream(CONFIG, words, reset_file())
    assert np.array_equal(files, [plan.stream.file_at(number) for number in range(len(plan.stream))])
    assert plan.final_file == whole.final_file
    assert plan.final_file[[register.name for register in OPERANDS].index("OUT_ADDR")] == 3
    assert (plan.timeline.total, plan.counters) == (whole.timeline.total, whole.counters)
    assert check_races(decode_stream(words, reset_file(), 0), SMALL.sram_bytes) == races


@pytest.mark.parametrize("piece", [1, 7, 40])
def test_a_fault_in_a_later_piece(monkeypatch, piece):
    words = random_words(0)
    stream = decode_stream(words, reset_file(), 0)
    at = int(stream.positions[25])
    bad = np.array([codec.encode_cfg("OUT_ADDR", SMALL.sram_bytes), codec.encode("OP_FILL")], np.uint64)
    words = np.concatenate((words[:at], bad, words[at:]))
    whole = plan_stream(CONFIG, words, reset_file())
    assert whole.fault is not None
    assert whole.operations == 25
    expected = whole.fault, whole.operations, whole.final_file, whole.counters
    cut(monkeypatch, piece)
    plan = plan_stream(CONFIG, words, reset_file())
    assert (plan.fault, plan.operations, plan.final_file, plan.counters) == expected


@pytest.mark.parametrize("by_step", [False, True])
@pytest.mark.parametrize("piece", [1, 7, 40])
def test_the_engine_runs_all_pieces_as_often_as_wanted(monkeypatch, piece, by_step):
    rng = np.random.default_rng(5)
    words = random_words(5)
    start = rng.integers(0, 256, SMALL.sram_bytes, np.uint8)
    regions = [rng.integers(0, 256, REGION_BYTES, np.uint8) for _ in range(REGION_COUNT)]

    def run():
        prepared = Engine("portable").prepare(decode_stream(words, reset_file(), 0))
        sram, memories = start.copy(), [region.copy() for region in regions]
        for _ in range(2):
            if by_step:
                assert list(prepared.steps(sram, memories)) == list(range(len(prepared)))
            else:
                prepared.run(sram, memories)
        return [sram, *memories]

    whole = run()
    cut(monkeypatch, piece)
    assert all(np.array_equal(a, b) for a, b in zip(run(), whole, strict=True))


_LONG = """
import resource, numpy as np
from dlasim.isa import codec
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import plan_stream
from dlasim.sim.races import check_races

words = np.full(1 << 18, codec.encode("OP_E_ABS"), np.uint64)
words[::3] = codec.encode("OP_DMA_READ")
words[0], words[1] = codec.encode_cfg("DMA_IN_SRAM_ADDR", 64), codec.encode_cfg("DMA_IN_REGION", 2)
words[-1] = codec.encode("HALT")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
plan = plan_stream(DlaConfig(sram_bytes=4096), words, reset_file())
assert plan.fault is None, plan.fault
check_races(plan.stream, 4096)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_long_stream_needs_little_memory_and_time():
    """2 MB of operations on three units that never wait; laid out at once they took half a gigabyte."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-P", "-c", _LONG], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 250 << 10
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began < 30
