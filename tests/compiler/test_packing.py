"""Buffers between the tensors that stay in SRAM: each has its size, none meets another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS, SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.addresses.tensor_packing import PACK
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from tests.compiled import counted, in_python
from tests.compiler.cases import random_case, striped_case, write_model
from tests.compiler.placed import parts_of, place
from tests.compiler.problems import Buffers, buffers_of

FIRST, COUNT = SEGMENT_SLOTS["first_range"], SEGMENT_SLOTS["ranges"]


def aligned(size: int) -> int:
    return (size + 3) // 4 * 4


def check(plan: SramPlan, planner: SramPlanner) -> None:
    """That a segment occupies what its tensors and buffers take, each byte once."""
    for steps, row in zip(parts_of(plan), plan.segments.tolist(), strict=True):
        ranges = sorted(plan.ranges[row[FIRST] : row[FIRST] + row[COUNT], :2].tolist())
        assert all(start < end <= plan.sram_bytes for start, end in ranges)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
        sizes = [end - start for start, end in ranges]
        expected = [
            aligned(size)
            for step in steps
            for size, copies in _buffers(plan, step)
            for _ in range(copies)
            if size
        ]
        tensors = [
            planner.steps.live_ranges[value].size_bytes
            for value in plan.addresses
            if any(planner.steps.is_alive(value, step) for step in steps)
        ]
        inner = plan.nodes[[plan.path.places[step] for step in steps[:-1]], SLOTS["between_address"]]
        assert Counter(expected + tensors) <= Counter(sizes)  # tensors that a chain uses stay longer
        assert set(inner.tolist()) <= {start for start, _ in ranges}


def _buffers(plan: SramPlan, step: int) -> Buffers:
    problem = int(plan.nodes[plan.path.places[step], SLOTS["problem"]])
    return buffers_of(plan.tables.kinds.sizes[problem], plan.tile_shapes[step])


@pytest.mark.parametrize("first", [0, 30])
def test_buffers_of_random_networks(first: int, tmp_path: Path) -> None:
    chains = apart = 0
    for seed in range(first, first + 30):
        case = striped_case(seed) if seed % 2 else random_case(seed)
        size = int(np.random.default_rng(seed).integers(2_000, 60_000))
        config = DlaConfig().replace(**case.machine | {"sram_bytes": size})
        policy = Policy(config, CompileOptions(place="dla"))
        try:
            planner = SramPlanner(place(load_model(write_model(case, tmp_path)), policy), policy)
            with counted(PACK) as calls:
                plans = [planner.plan(size, each) for each in (False, True)]
        except InputError:
            continue  # the SRAM is too small
        assert calls
        for number, plan in enumerate(plans):
            check(plan, planner)
            with in_python(PACK):
                again = planner.plan(size, bool(number))
            for one, other in ((plan.nodes, again.nodes), (plan.ranges, again.ranges)):
                assert np.array_equal(one, other)
            chains += len(plan.chains)
        apart += not np.array_equal(plans[0].ranges, plans[1].ranges)
    assert chains > 3
    assert apart > 5
