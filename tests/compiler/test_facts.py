"""What is found once: machines share it, and it goes with its network."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.facts import Recent
from dlasim.compiler_shim.forms.weight_forms import compress_weights
from dlasim.compiler_shim.network.edges import cut_edges
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.sim.configuration.config import DlaConfig
from tests.tflite.int4_form import with_small_weights


def test_the_least_recent_is_forgotten() -> None:
    found, recent = list[int](), Recent[int](2)
    for key in (1, 2, 1, 3, 1, 2):
        assert recent.get(key, lambda key=key: found.append(key) or key) == key
    assert found == [1, 2, 3, 2]


def test_machines_on_which_weights_take_as_long_share_a_network(tmp_path: Path) -> None:
    path, machine = tmp_path / "small.tflite", DlaConfig().replace(dma_decoding=8)
    path.write_bytes(write_tflite(with_small_weights(build_topology("ds_cnn"))))
    network = load_model(path)
    compressed = compress_weights(network, machine)
    assert any(node.code_parts for item in compressed.items for node in item.dla)
    assert compress_weights(network, machine.replace(pes=48, sram_bytes=20_000)) is compressed
    assert compress_weights(network, machine.replace(dma_decoding=3)) is not compressed
    assert compress_weights(network, machine.replace(dma_decoding=1)) is network  # bytes are there sooner
    assert compress_weights(network, DlaConfig()) is network
    assert cut_edges(network) is cut_edges(network)
    held = ref(network), ref(compressed)
    del network, compressed
    gc.collect()
    assert not any(each() for each in held)
