"""Constants of many small layers come in batches, each by one transfer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.lowering.loads.load_records import OccupiedRange
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.planning import refinement
from dlasim.compiler_shim.planning.planner import fastest_plan
from dlasim.isa.codec import read_opcodes
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.native.record import layout
from dlasim.sim.configuration.config import DlaConfig

LAYERS, SIZE, SHARED = 24, 16, 3  # every third layer has the same weights
SLOW = {"dma_latency": 256, "check_races": True}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A chain of small layers."""
    rng, builder = np.random.default_rng(0), GraphBuilder("small_layers")
    value = builder.input("x", (1, SIZE), scale=0.5)
    weights = [rng.integers(-8, 8, (SIZE, SIZE)).astype(np.int8) for _ in range(LAYERS)]
    for number in range(LAYERS):
        own = weights[0] if number % SHARED == 0 else weights[number]
        constant = builder.constant(f"weights_{number}", own, scale=0.02)
        value = builder.operator("FULLY_CONNECTED", [value, constant], scale=0.5)
    return builder.save(tmp_path / "small_layers.dlag", [value])


def loads(network: Path, **machine: int) -> int:
    """How many transfers a program has into the SRAM."""
    config = DlaConfig().replace(dma_latency=256, **machine)
    words = lower_for(load_model(network), config, CompileOptions()).program.commands
    reads = [BY_MNEMONIC[name].opcode for name in ("OP_DMA_READ", "OP_DMA_UNPACK", "OP_DMA_DECODE")]
    return int(np.isin(read_opcodes(words), reads).sum())


@pytest.mark.parametrize("machine", [{}, {"dma_unpacking": 4}, {"dma_decoding": 4}], ids=str)
def test_results_are_the_same_in_less_time(network, machine, monkeypatch):
    batched = api.run(network, **SLOW, **machine)
    monkeypatch.setattr(refinement, "BATCHES", 0)
    single = api.run(network, **SLOW, **machine)
    assert all(np.array_equal(*both) for both in zip(batched.outputs, single.outputs, strict=True))
    assert batched.cycles <= single.cycles


def test_few_transfers_take_less_time(network, monkeypatch):
    few, batched = loads(network), api.run(network, timing_only=True, **SLOW).cycles
    monkeypatch.setattr(refinement, "BATCHES", 0)
    assert 3 * few < LAYERS <= loads(network)
    assert 3 * batched < 2 * api.run(network, timing_only=True, **SLOW).cycles


def test_nothing_else_is_where_constants_have_their_places(network):
    """Buffers are placed from both ends of what a plan may use."""
    config = DlaConfig().replace(dma_latency=256)
    plan = fastest_plan(load_model(network), config, CompileOptions()).plan
    assert plan.kept.batch_bytes
    ends = [layout(OccupiedRange).fields[name].slot for name in ("start", "end")]
    assert plan.ranges[:, ends].max() <= plan.kept.pieces.addresses.min()


def test_without_room_for_all_constants_each_comes_alone(network):
    assert loads(network, sram_bytes=4 << 10) >= LAYERS
