"""The search over states: compared with trying every path, and in Python where 64 bits do not suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.lowering.addresses.tensor_packing import PACK
from dlasim.compiler_shim.lowering.loads.segment_times import TIMES
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.states import CHOOSE, CYCLE, MAX_PATHS
from dlasim.compiler_shim.lowering.tiles.tile_records import MAX_CHAIN
from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from tests.compiled import counted, in_python
from tests.compiler.cases import random_case, striped_case, write_model
from tests.compiler.chain_tilings import chain_tiling
from tests.compiler.placed import place
from tests.compiler.problems import tiling_of

ALIGNMENT = 4
MOST_NODES = 8
SEARCHES = (-1,)  # as if something left the SRAM: even where all tensors fit


class Paths:
    """Every way to cut a network into segments and to keep tensors, with tensors as a set."""

    def __init__(self, planner: SramPlanner, policy: Policy, limit: int) -> None:
        self._planner, self._policy, self._limit = planner, policy, limit
        self._steps = list(planner.steps.nodes)

    def least(self, place: int = 0, kept: frozenset[int] = frozenset()) -> float:
        """The cost of the cheapest from a place on, with these tensors in SRAM."""
        steps, ranges, best = self._planner.steps, self._planner.steps.live_ranges, inf
        if place == len(self._steps):
            return 0
        for end in range(place + 1, min(place + MAX_CHAIN, len(self._steps)) + 1):
            if end > place + 1 and self._steps[end - 2] not in steps.links:
                break
            segment, output = self._steps[place:end], steps.outputs[self._steps[end - 1]]
            is_new = output in ranges and ranges[output].first == segment[-1]
            for resident in {kept, kept | {output}} if is_new else {kept}:
                cost = self._cost(segment, resident)
                if cost < inf:
                    alive = frozenset(value for value in resident if ranges[value].last > segment[-1])
                    best = min(best, cost + self.least(end, alive))
        return best

    def _cost(self, segment: Sequence[int], resident: frozenset[int]) -> float:
        taken = sum(self._planner.steps.live_ranges[value].size_bytes + ALIGNMENT for value in resident)
        inner = {self._planner.steps.outputs[step] for step in segment[:-1]}
        problems = [self._planner.problem(step, resident | inner) for step in segment]
        if taken >= self._limit:
            return inf
        if len(segment) > 1:
            chain = chain_tiling(self._policy.tables, problems, self._limit - taken)
            if chain is None:
                return inf
            return (chain.cycles + chain.cycles // 256) * CYCLE + chain.moved_bytes  # it must gain so much
        tiling = tiling_of(self._policy.tables, problems[0], self._limit - taken)
        if tiling is None:
            return inf
        node = self._policy.kinds.sizes[problems[0]]
        written = node.height * node.width * node.channels * node.output_bytes
        return tiling.cycles * CYCLE + tiling.read_bytes + written


@pytest.mark.parametrize("first", [0, 20, 40])
def test_the_path_is_the_cheapest_of_all(first, tmp_path):
    """But for chains that are not tried, as a node alone takes hardly more than its work: at most 1/64."""
    tried = 0
    for seed in range(first, first + 20):
        case = replace(striped_case(seed) if seed % 2 else random_case(seed), operators=5)
        config = DlaConfig().replace(sram_bytes=int(np.random.default_rng(seed).integers(1_500, 40_000)))
        policy = Policy(config, CompileOptions(place="dla", dla_ops=None))
        network = place(load_model(write_model(case, tmp_path)), policy)
        planner = SramPlanner(network, policy)
        if not 1 < len(planner.steps.nodes) <= MOST_NODES:
            continue
        least = Paths(planner, policy, config.sram_bytes).least()
        with counted(CHOOSE) as calls:
            found = planner.choose(config.sram_bytes, SEARCHES)
        assert calls
        if least == inf:
            assert not found.cycles
            continue
        record, end = planner.search, len(planner.steps.nodes)
        costs = [record.paths[end * MAX_PATHS + number].cost for number in range(record.counts[end])]
        assert least <= min(costs) <= least * (1 + 1 / 64)
        with in_python(CHOOSE):
            again = planner.choose(config.sram_bytes, SEARCHES)
        assert np.array_equal(again.segments, found.segments)
        assert again.cycles == found.cycles == min(costs) // CYCLE
        tried += 1
    assert tried > 5


@pytest.mark.parametrize("seed", range(6))
def test_programs_are_the_same_in_plain_python(seed, tmp_path):
    network = load_model(write_model(replace(random_case(seed), operators=4), tmp_path))
    config, options = DlaConfig().replace(sram_bytes=24 << 10), CompileOptions(place="dla")
    with counted(CHOOSE, PACK, TIMES):
        compiled = lower_for(network, config, options).program
    with in_python(CHOOSE, PACK, TIMES):
        plain = lower_for(network, config, options).program
    assert np.array_equal(compiled.commands, plain.commands)


def test_layers_beyond_64_bits_are_refused(tmp_path):
    builder = GraphBuilder("vast")
    value = builder.input("image", (1, 2047, 1024, 1024), scale=1.0)
    weights = builder.constant("weights", np.ones((1024, 1, 1, 1024), np.int8), scale=1.0)
    value = builder.operator("CONV_2D", [value, weights], scale=1.0, padding="SAME", stride_h=1, stride_w=1)
    network = load_model(builder.save(tmp_path / "vast.dlag", [value]))
    config = DlaConfig().replace(dma_burst_overhead=1 << 20)
    with pytest.raises(InputError, match="too large for plans on this machine: cycles may take over 64 bits"):
        lower_for(network, config, CompileOptions())
