"""TOSA networks: dlasim computes what Arm's reference model does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.compile import load_graph, save_graph
from dlasim.compiler_shim.tosa.tosa_import import convert_tosa
from tests.tosa.tosa_maker import DOUBLE, INEXACT, SINGLE, needs_reference, reference
from tests.tosa.tosa_networks import NETWORKS

RUNS = 2


@needs_reference
@pytest.mark.parametrize("mode", [DOUBLE, SINGLE])
@pytest.mark.parametrize("name", NETWORKS)
def test_it_equals_the_reference_model(tmp_path: Path, name: str, mode: int) -> None:
    net, output = NETWORKS[name](mode)
    path = net.maker.save(tmp_path / "net.tosa", output)
    converter = convert_tosa(path)
    converter.run()
    differing, elements = 0, 0
    for seed in range(RUNS):
        data = np.random.default_rng(seed).integers(-128, 128, net.maker.shape_of(net.first)).astype(np.int8)
        (expected,) = reference(path, net.maker, [data])
        found = dlasim.run(path, inputs=data, sram="64KiB").outputs[0]
        assert found.shape == expected.shape
        assert expected.min() < expected.max()
        steps = np.abs(found.astype(int) - expected.astype(int))
        differing, elements = differing + int(np.count_nonzero(steps)), elements + steps.size
    if mode == DOUBLE:
        assert converter.nearest == []
    if not converter.nearest:
        assert differing == 0
    # Where the file rounds once and the DLA twice; one step in an early layer moves a few of the last one.
    assert differing <= max(2, 0.02 * elements)


@needs_reference
@pytest.mark.parametrize("mode", [DOUBLE, SINGLE, INEXACT])
def test_verify_compares_outputs_with_the_reference_model(tmp_path: Path, mode: int) -> None:
    net, output = NETWORKS["autoencoder"](mode)
    found = dlasim.verify(net.maker.save(tmp_path / "net.tosa", output))
    assert found.passed
    assert found.reference == "Arm's reference model and dlasim's kernels"
    assert found.elements >= 4 * (32 + 8 + 32 + 64)


@needs_reference
def test_a_network_of_executorch() -> None:
    """Exported by ExecuTorch 1.5.1: convolutions, a residual addition and a linear layer of random weights.

    Its zero points of weights have more data than their shape says.
    """
    path = Path(__file__).parent / "executorch.tosa"
    found = dlasim.verify(path, runs=4)
    assert (found.passed, found.disagreements) == (True, [])
    result = dlasim.run(path)
    assert {layer["unit"] for layer in result.layers} == {"dla"}


def test_verify_needs_no_reference_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    net, output = NETWORKS["autoencoder"](DOUBLE)
    found = dlasim.verify(net.maker.save(tmp_path / "net.tosa", output))
    assert (found.passed, found.reference) == (True, "dlasim's kernels")


def test_a_network_of_convolutions_runs_on_the_dla(tmp_path: Path) -> None:
    net, output = NETWORKS["resnet8"](DOUBLE)
    result = dlasim.run(net.maker.save(tmp_path / "net.tosa", output))
    assert {layer["unit"] for layer in result.layers} == {"dla"}


@pytest.mark.parametrize("mode", [DOUBLE, SINGLE])
def test_it_can_be_kept_as_a_graph_file(tmp_path: Path, mode: int) -> None:
    net, output = NETWORKS["inverted_residuals"](mode)
    path, kept = net.maker.save(tmp_path / "net.tosa", output), tmp_path / "kept.dlag"
    kept.write_bytes(save_graph(load_graph(path)))
    one, two = dlasim.run(path), dlasim.run(kept)
    np.testing.assert_array_equal(one.outputs[0], two.outputs[0])
    assert one.cycles == two.cycles


def test_both_hosts_compute_the_same(tmp_path: Path) -> None:
    net, output = NETWORKS["squeeze_excite"](DOUBLE)
    path = net.maker.save(tmp_path / "net.tosa", output)
    alone, board = dlasim.run(path), dlasim.run(path, host="riscv")
    np.testing.assert_array_equal(alone.outputs[0], board.outputs[0])
