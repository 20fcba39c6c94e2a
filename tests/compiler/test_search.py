"""The search for tilings: compiled, in plain Python, and by trying everything tile by tile."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.addresses.sram_plan import TileShape
from dlasim.compiler_shim.lowering.tiles.bounds import MAX_TASK_CYCLES
from dlasim.compiler_shim.lowering.tiles.known_tilings import TILINGS
from dlasim.compiler_shim.lowering.tiles.search import MAX_EXTENT, KnownTiling, Search
from dlasim.compiler_shim.lowering.tiles.tile_buffers import DOUBLE, SINGLE
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, BufferSize, ChannelGroup, Tile
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.native.record import layout
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from tests.compiled import counted, in_python
from tests.compiler.exhaustive_tilings import (
    Walk,
    best_of,
    candidates,
    extreme_config,
    random_problem,
    rank,
    sizes_of_groups,
)
from tests.compiler.finder import Finder
from tests.compiler.problems import InSram, Problem, tiling_of

CASES = 60


def test_the_best_of_all_candidates_is_found():
    cut_deep = none = 0
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, most=9)
        _, sufficient = Finder(by_channels=False).find(problem, INFINITE - 1)
        budget = int(sufficient ** rng.uniform())
        for asked in (budget, INFINITE - 1):
            found, _ = Finder(by_channels=False).find(problem, asked)
            tried = candidates(problem, asked)
            if found is None:
                assert not tried
                none += 1
                continue
            assert Walk(problem, found.tile_shape).tiling() == found
            assert rank(found) == rank(best_of(tried))
            cut_deep += found.tile_shape.depth < problem.depth
    assert cut_deep > 0
    assert none > 0


@pytest.mark.parametrize(("line_buffer", "is_cut"), [(8192, True), (48, False)])
def test_input_channels_are_cut_so_that_the_line_buffer_holds_the_input(line_buffer, is_cut):
    """Each output channel reads 49 pixels of 960 channels again, unless those of a part are kept."""
    config = DlaConfig().replace(
        parallel="64x1", sram_bandwidth=8, sram_ports=2, line_buffer_bytes=line_buffer
    )
    node = DlaNode("OP_CONV", 0, (0,), 9, (7, 7, 960), (7, 7, 160), weights=2, records=3)
    problem = Problem(node, MachineModel(config), InSram((True,), True))
    work = 49 * 960 * 160 // 64
    for budget in (32 << 10, INFINITE - 1):
        found, _ = Finder(by_channels=False).find(problem, budget)
        assert (found.tile_shape.depth < 960) == is_cut
        assert (found.cycles < 1.2 * work) == is_cut


@pytest.mark.parametrize("kernel", [(1, 1), (3, 3)])
@pytest.mark.parametrize("channels", [64, 3000])
def test_a_larger_budget_takes_no_tile_whose_input_the_line_buffer_cannot_hold(kernel, channels):
    """One output channel at a time reads the input: what the line buffer does not hold crosses the ports
    again for each of them. With 3,000 channels it holds parts of a row."""
    config = DlaConfig().replace(parallel="input", pes=208)
    node = DlaNode("OP_CONV", 0, (0,), 9, (30, 30, channels), (28, 28, 48), kernel, weights=2, records=3)
    problem = Problem(node, MachineModel(config), InSram((False,), False))
    found = [Finder(by_channels=False).find(problem, 1 << bits)[0] for bits in range(15, 24)]
    cycles = [tiling.cycles for tiling in found if tiling is not None]
    assert len(cycles) >= 4
    assert all(after <= before * 1.025 for before, after in pairwise(cycles))


def test_a_tile_that_is_cut_for_the_line_buffer_fits_as_well():
    """Parts of an input have two buffers, and may take more than the whole, which has one."""
    config = DlaConfig().replace(parallel="4x16", sram_bandwidth=8, line_buffer_bytes=2048)
    node = DlaNode("OP_CONV", 0, (0,), 9, (15, 15, 15), (13, 13, 11), (3, 3), weights=2, records=3)
    problem = Problem(node, MachineModel(config), InSram((False,), True))
    for budget in range(4_500, 6_500, 10):
        found, _ = Finder(by_channels=False).find(problem, budget)
        assert found is not None
        assert found.sram_bytes <= budget


def test_the_sufficient_budget_fits_every_group_whole_with_second_buffers():
    for seed in range(CASES):
        problem = random_problem(np.random.default_rng(seed), most=9)
        _, sufficient = Finder(by_channels=False).find(problem, 1)
        height, width, _ = problem.node.out_shape
        depths = [problem.depth]
        while depths[-1] > 1:
            depths.append(-(-depths[-1] // 2))
        rows = (height, -(-height // 2))
        shapes = product(rows, (width,), sizes_of_groups(problem), depths, (True, False), (SINGLE, DOUBLE))
        tilings = [Walk(problem, TileShape(*shape)).tiling() for shape in shapes]
        assert sufficient == max(tiling.sram_bytes for tiling in tilings)


def test_the_papers_cut_has_the_most_channels_that_fit():
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, most=9)
        height, width, channels = problem.node.out_shape
        step = problem.sizes.step
        sizes = range(step, channels + 1, step)
        tilings = [
            Walk(problem, TileShape(height, width, size, problem.depth, True, False)).tiling()
            for size in sizes
        ]
        for budget in (
            tilings[int(rng.integers(len(tilings)))].sram_bytes,
            tilings[0].sram_bytes - 1,
            INFINITE,
        ):
            found, sufficient = Finder(by_channels=True).find(problem, budget)
            assert sufficient == tilings[-1].sram_bytes
            assert found == max(
                (tiling for tiling in tilings if tiling.sram_bytes <= budget),
                key=lambda tiling: tiling.tile_shape.channels,
                default=None,
            )


@pytest.mark.parametrize("by_channels", [False, True])
@pytest.mark.parametrize("most", [60, 3_000, MAX_EXTENT + 9])
def test_compiled_and_plain_find_the_same(most, by_channels):
    moderate, count = 0, 0
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, most, extreme_config(rng))
        if not problem.is_moderate:
            continue
        moderate += 1
        plain, fast = [problem.tables(by_channels) for _ in range(2)]
        sufficient = Finder(by_channels).find(problem, 1)[1]
        some = int(sufficient ** rng.uniform(0.3, 1)), int(sufficient * rng.uniform(0.01, 1))
        for budget in (1, *some, sufficient, INFINITE - 1):
            with in_python(TILINGS):
                expected = tiling_of(plain, problem.number(plain), budget)
            with counted(TILINGS) as calls:
                assert tiling_of(fast, problem.number(fast), budget) == expected
            assert expected is None or expected.sram_bytes <= budget
            count += len(calls)
    assert count == 5 * moderate > 5 * CASES // 4
    assert most == 60 or moderate < CASES  # there plain Python stands in


def test_no_number_of_a_moderate_geometry_leaves_64_bits(monkeypatch):
    largest_seen = 0

    def watch(kind: type, name: str) -> None:
        slot = kind.__dict__[name]

        def write(record: object, number: int) -> None:
            nonlocal largest_seen
            assert abs(number) < INFINITE
            largest_seen = max(largest_seen, number)
            slot.__set__(record, number)

        monkeypatch.setattr(kind, name, property(slot.__get__, write))

    for kind in (Search, KnownTiling, ChannelGroup, Tile, BufferSize):
        for name, field in layout(kind).fields.items():
            if field.kind is int:
                watch(kind, name)
    finder = Finder(by_channels=False)
    for seed in range(2 * CASES):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, MAX_EXTENT + 9, extreme_config(rng))
        if problem.is_moderate:
            for budget in (int(rng.integers(1, 1 << 20)), INFINITE - 1):
                finder.find(problem, budget)
    assert largest_seen > 1 << 36
    assert 3 * PARAMETERS["dma_latency"].high < MAX_TASK_CYCLES
