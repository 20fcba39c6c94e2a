"""The plans that `benchmarks/slices.py` tries lose no less than what the VECTOR unit takes alone."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.placement import Placements


@pytest.fixture
def slices(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("slices")


def least_loss(slices, part, config):
    policy = Policy(config, CompileOptions(place="dla"))
    placed = next(Placements(slices.network_of(part), policy).promising(config.sram_bytes))
    return min(slices.losses(part, placed, config))


def test_a_chain_hides_a_sum_that_whole_tiles_do_not(slices):
    part = slices.sum_slice(14, 16, 1)
    # Deeper pipelines, checks and first words of filters cost each of a chain's operations what the chain
    # saves of so small a sum.
    config = slices.FREE_MEMORY.replace(check_cycles=0, mac_drain=2, vector_drain=2, sram_bandwidth=0)
    whole = [
        tile_shapes
        for tile_shapes in part.tile_shapes
        if "project" in tile_shapes and all(tile_shape.rows == 14 for tile_shape in tile_shapes.values())
    ]
    chains = [tile_shapes for tile_shapes in part.tile_shapes if "depthwise" in tile_shapes]
    # 14 * 14 * 16 sums of three products each, two of which VECTOR scales in a cycle, beside nothing.
    assert least_loss(slices, replace(part, tile_shapes=whole), config) >= 14 * 14 * 16 * 3 // 4
    assert 0 <= least_loss(slices, replace(part, tile_shapes=chains[::3]), config) < 14 * 14 * 16 * 3 // 4
