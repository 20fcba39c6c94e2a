"""The search for the stripes of a chain: compiled as in plain Python, and what it finds fits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.lowering.segments.known_tables import KnownTables
from dlasim.compiler_shim.lowering.segments.stripe_search import MAX_STRIPES
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, MAX_CHAIN
from dlasim.compiler_shim.lowering.tiles.tiling import (
    CostAssumption,
    MachineModel,
)
from dlasim.sim.configuration.config import DlaConfig
from tests.compiled import counted, in_python
from tests.compiler.cases import striped_case, write_model
from tests.compiler.chain_tilings import CHAINS, ChainTiling, chain_tiling, stripe_bytes, stripe_ends
from tests.compiler.exhaustive_tilings import extreme_config
from tests.compiler.problems import InSram, Problem

SEEDS = 8


def chains(seed: int, folder: Path, config: DlaConfig, assumption: CostAssumption) -> Iterator[list[Problem]]:
    """Every chain of a random network on a machine: the tensors at its ends in SRAM, or in memory."""
    network = load_model(write_model(striped_case(seed), folder))
    nodes = [node for item in network.items for node in item.dla]
    for first in range(len(nodes)):
        found: list[DlaNode] = []
        for node in nodes[first : first + MAX_CHAIN]:
            if found and found[-1].out_shape != node.in_shape:
                break
            found.append(node)
            for is_outside in (False, True) if len(found) > 1 else ():
                yield _problems(found, MachineModel(config, assumption), is_outside)


def _problems(nodes: list[DlaNode], machine: MachineModel, is_outside: bool) -> list[Problem]:
    problems = []
    for number, node in enumerate(nodes):
        inputs = [number > 0 or not is_outside, *[True] * (len(node.inputs) - 1)]
        output = number + 1 < len(nodes) or not is_outside
        problems.append(Problem(node, machine, InSram(tuple(inputs), output)))
    return problems


def _tables(problems: list[Problem]) -> KnownTables:
    return problems[0].tables()


def _best(
    tables: KnownTables, problems: list[Problem], budget: int, by_groups: bool = False
) -> ChainTiling | None:
    numbers = [each.number(tables) for each in problems]
    return chain_tiling(tables, numbers, budget, by_groups)


@pytest.mark.parametrize("assumption", CostAssumption)
@pytest.mark.parametrize("is_extreme", [False, True])
def test_compiled_and_plain_find_the_same(
    assumption: CostAssumption, is_extreme: bool, tmp_path: Path
) -> None:
    cut = count = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        config = extreme_config(rng) if is_extreme else DlaConfig()
        for problems in chains(seed, tmp_path, config, assumption):
            plain, fast = [_tables(problems) for _ in range(2)]
            budget = INFINITE - 1
            while budget > 0:
                with in_python(CHAINS):
                    one = _best(plain, problems, budget, by_groups=True)
                with counted(CHAINS) as calls:
                    other = _best(fast, problems, budget, by_groups=True)
                count += len(calls)
                assert (one is None) == (other is None)
                if one is None or other is None:
                    break
                assert one == other
                if one.is_in_groups:
                    break
                cut += one.size < problems[-1].height
                budget = stripe_bytes(fast, one.size) - 1
    assert cut > 50
    assert count


def test_what_is_found_fits_by_the_schedule_that_emission_follows(tmp_path: Path) -> None:
    """Also where stripes of even sizes keep more rows than larger ones; otherwise packing would not end."""
    fitted = 0
    for seed in range(SEEDS):
        for problems in chains(seed, tmp_path, DlaConfig(), CostAssumption.NO_OVERLAP):
            tables, height = _tables(problems), problems[-1].height
            budget, found = INFINITE - 1, _best(tables, problems, INFINITE - 1)
            while found is not None:
                size_bytes = stripe_bytes(tables, found.size)
                assert size_bytes <= budget
                assert stripe_ends(tables, found.size, height) == [
                    min(end + found.size, height) for end in range(0, height, found.size)
                ]
                assert _best(_tables(problems), problems, size_bytes) is not None
                budget = size_bytes - 1
                found = _best(tables, problems, budget)
                fitted += 1
    assert fitted > 100


def test_a_tall_chain_has_no_more_stripes_than_are_walked(tmp_path: Path) -> None:
    """A batch of 32,768 images can be one tensor of as many rows."""
    builder, rows = GraphBuilder("tall"), 1 << 15
    value = builder.input("images", (1, rows, 4, 8), scale=1.0)
    for number in range(2):
        weights = builder.constant(f"weights{number}", np.ones((8, 3, 3, 8), np.int8), scale=1.0)
        value = builder.operator(
            "CONV_2D", [value, weights], scale=1.0, padding="SAME", stride_h=1, stride_w=1
        )
    network = load_model(builder.save(tmp_path / "tall.dlag", [value]))
    problems = _problems(
        [node for item in network.items for node in item.dla], MachineModel(DlaConfig()), True
    )
    tables = _tables(problems)
    found = _best(tables, problems, INFINITE - 1)
    while found is not None:
        assert len(stripe_ends(tables, found.size, rows)) <= MAX_STRIPES
        assert found.size > rows // MAX_STRIPES
        found = _best(tables, problems, stripe_bytes(tables, found.size) * 3 // 4)
