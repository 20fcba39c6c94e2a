"""Compressed weights, against TensorFlow's references, which know nothing of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import container
from tests.tflite.int4_form import packed, weights_of, with_small_weights


def pruned(graph: Graph, share: float) -> Graph:
    """With so large a share of the weights 0, and the first half of each layer's all."""
    rng, tensors = np.random.default_rng(3), list(graph.tensors)
    for index in weights_of(graph):
        data = tensors[index].data
        kept = np.where(rng.random(data.shape) < share, 0, data)
        kept[: len(kept) // 2] = 0
        tensors[index] = replace(tensors[index], data=kept.astype(np.int8))
    return replace(graph, tensors=tuple(tensors))


def read_bytes(path: Path, **machine) -> int:
    return dlasim.run(path, timing_only=True, **machine).report["dma_bytes"]["read"]


@pytest.mark.parametrize("sram", ["16KiB", "512KiB"])
def test_pruned_weights_are_exact_and_few_bytes(sram: str, tmp_path: Path) -> None:
    """Runs of zeros are longer than the places of some pieces; tiles have parts of the channels."""
    graph = pruned(build_topology("ds_cnn"), 0.7)
    path = tmp_path / "pruned.tflite"
    path.write_bytes(write_tflite(graph))
    assert dlasim.verify(path, sram_bytes=sram, dma_decoding=8).passed
    if sram == "512KiB":  # each weight is loaded once
        weights = sum(graph.tensors[index].data.size for index in weights_of(graph))
        spared = read_bytes(path) - read_bytes(path, dma_decoding=8)
        assert spared > 0.6 * weights


def test_weights_of_four_bits_take_the_smallest_form(tmp_path: Path) -> None:
    """Packed, compressed, or either, whichever of its layers is loaded sooner."""
    path = tmp_path / "int4.tflite"
    path.write_bytes(packed(with_small_weights(build_topology("ds_cnn"))))
    plain, unpacked, decoded, both = (
        read_bytes(path, dma_unpacking=unpacking, dma_decoding=decoding)
        for unpacking, decoding in ((0, 0), (8, 0), (0, 8), (8, 8))
    )
    assert both <= min(unpacked, decoded) < plain
    assert dlasim.verify(path, dma_unpacking=8, dma_decoding=8).passed


def test_the_bound_counts_what_is_loaded(tmp_path: Path) -> None:
    """The work of an inference is no more than what it moves."""
    path = tmp_path / "pruned.tflite"
    path.write_bytes(write_tflite(pruned(build_topology("ds_cnn"), 0.5)))
    for rate in (1, 8):
        report = dlasim.run(path, timing_only=True, dma_decoding=8, dma_bandwidth=rate).report
        assert 1 <= report["bound_ratio"] < 1.4


def test_the_bound_does_not_depend_on_the_plan() -> None:
    """In 24 KiB weights are cut, and pieces take more words than the whole."""
    few, enough = (
        dlasim.compile("autoencoder", sram_bytes=size, dma_decoding=8).program for size in ("24KiB", "512KiB")
    )
    assert few.work.tolist() == enough.work.tolist()


def test_a_machine_that_decodes_nothing_refuses_compressed_weights(tmp_path: Path) -> None:
    path, program = tmp_path / "pruned.tflite", tmp_path / "program.bin"
    path.write_bytes(write_tflite(pruned(build_topology("ds_cnn"), 0.5)))
    program.write_bytes(container.write(dlasim.compile(path, dma_decoding=8).program))
    with pytest.raises(dlasim.InputError, match="compressed weights, which a machine with dma_decoding 0"):
        dlasim.run(program)
    assert dlasim.run(program, dma_decoding=8).report["cycles"]["total"]
