"""SOFTMAX on the DLA: rows of many lengths, scales and betas, int8 and uint8, in little and much SRAM."""

from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.checking.verification import verify
from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.compile import load_graph, lower_for
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.sim.configuration.config import DlaConfig
from tests.compiler.cases import Outcome
from tests.compiler.hosts import hosts_differ
from tests.tflite.unsigned_form import unsigned_form

SHARES = Quantization((1 / 256,), (-128,))
# TFLite Micro stops the process where the sum of a row's powers is beyond 512, as that of 513 equals is.
SHAPES = (
    (1, 5, 64),
    (1, 3, 4, 17),
    (2, 3, 40, 16),
    (1, 1, 1),
    (1, 500),
    (3, 31, 99),
    (1, 2000, 3),
    (1, 2, 511),
)


def network(shape: tuple[int, ...], scale: float, beta: float) -> Graph:
    """SOFTMAX, and a table that the DLA looks its results up in."""
    tensors = [
        Tensor("scores", shape, "int8", Quantization((float(np.float32(scale)),), (3,))),
        Tensor("weights", shape, "int8", SHARES),
        Tensor("limited", shape, "int8", SHARES),
    ]
    operators = (
        Operator("SOFTMAX", (0,), (1,), {"beta": beta}, "operator 0"),
        Operator("RELU", (1,), (2,), {}, "operator 1"),
    )
    return Graph("shares", tuple(tensors), operators, (0,), (2,))


def write(graph: Graph, folder: Path) -> Path:
    path = folder / "shares.tflite"
    path.write_bytes(write_tflite(graph))
    return path


@pytest.mark.parametrize("is_unsigned", [False, True], ids=["int8", "uint8"])
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_every_element_is_the_references(number: int, is_unsigned: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng([number, is_unsigned])
    graph = network(
        SHAPES[number], float(rng.choice([0.001, 0.02, 0.1, 0.4])), float(rng.choice([0.5, 1, 2]))
    )
    path = write(unsigned_form(graph, number) if is_unsigned else graph, tmp_path)
    placed = partition(load_graph(path))
    for sram_bytes in (1024 + 2 * 512, 16 << 10, 1 << 20):
        config = DlaConfig(sram_bytes=sram_bytes)
        lowered = lower_for(placed, config, CompileOptions(place="dla"))
        assert "OP_SOFTMAX" in [node.mnemonic for node in lowered.network.nodes if isinstance(node, DlaNode)]
        result = verify(path, lowered, config, runs=3)
        assert result.passed, (sram_bytes, result.mismatch, result.uncompared)
        assert not hosts_differ(Outcome("", lowered, config), seed=1)


def test_rows_that_do_not_fit_run_on_the_cpu(tmp_path: Path) -> None:
    path = write(network((1, 2, 1500), 0.1, 1), tmp_path)
    by_size = {
        size: next(r for r in api.explain(path, sram_bytes=size) if r["operator"] == "SOFTMAX")
        for size in (2048, 1 << 16)
    }
    assert [row["unit"] for row in by_size.values()] == ["cpu", "dla"]
    assert "bytes of SRAM" in by_size[2048]["why"]


@pytest.mark.parametrize(("dma_latency", "unit"), [(8, "dla"), (1000, "cpu")])
def test_the_last_one_runs_where_it_takes_less(dma_latency: int, unit: str, tmp_path: Path) -> None:
    graph = network((1, 10), 0.1, 1)
    last = Graph("last", graph.tensors[:2], graph.operators[:1], (0,), (1,))
    config, path = DlaConfig(dma_latency=dma_latency), write(last, tmp_path)
    (row,) = api.explain(path, config)
    assert row["unit"] == unit
    cycles = {place: api.run(path, config, place=place).cycles for place in ("cpu", "dla")}
    assert min(cycles, key=cycles.__getitem__) == unit
