"""Updates in float32 between conversions, run in int8: bit-exact against the references."""

from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.network.graph import Graph, Quantization
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.compiler.tails import SIZE, TailBuilder

SCALE = 0.4
NEAR = float(np.nextafter(np.float32(SCALE), np.float32(1)))  # as the converter's differ
PIXELS = SIZE * SIZE


def updated(cache_scale: float, rows_scale: float, *, is_read: bool = False) -> Graph:
    """The second of two equal pictures is replaced by another one."""
    net, shape = TailBuilder("updated"), (1, 2, PIXELS, 3)
    picture = net.reshape(net.convolution("cache", 3, cache_scale), 1, PIXELS, 3)
    rows = net.reshape(net.convolution("rows", 3, rows_scale), 1, 1, PIXELS, 3)
    both = net.add(
        "PACK", [picture] * 2, shape, "int8", Quantization((cache_scale,), (3,)), values_count=2, axis=1
    )
    start = net.constant([0, 1, 0, 0])
    floats = net.add("DYNAMIC_UPDATE_SLICE", [net.real(both), net.real(rows), start], shape)
    outputs = [net.add("QUANTIZE", [floats], shape, "int8", Quantization((SCALE,), (3,)))]
    if is_read:
        outputs.append(net.binary("ADD", floats, floats))
    return net.graph(*outputs)


@pytest.mark.parametrize(
    ("cache_scale", "rows_scale", "conversions"),
    [(SCALE, SCALE, 0), (NEAR, SCALE, 0), (SCALE, 0.31, 1), (0.7, 0.31, 2)],
)
def test_updates_are_in_int8(tmp_path: Path, cache_scale: float, rows_scale: float, conversions: int) -> None:
    path = tmp_path / "updated.tflite"
    path.write_bytes(write_tflite(updated(cache_scale, rows_scale)))
    found = load_graph(path)
    kinds = [operator.kind for operator in found.operators]
    assert [kinds.count(kind) for kind in ("QUANTIZE", "DEQUANTIZE")] == [conversions] * 2
    (update,) = (each for each in found.operators if each.kind == "DYNAMIC_UPDATE_SLICE")
    assert {found.tensors[number].dtype for number in (*update.inputs[:2], *update.outputs)} == {"int8"}
    result = api.verify(path, runs=3)
    assert result.passed, result.mismatch or result.uncompared
    units = {layer["operator"]: layer["unit"] for layer in api.run(path).report["layers"]}
    assert units.pop("DYNAMIC_UPDATE_SLICE") == "cpu"
    assert "cpu" not in units.values()


def test_what_is_needed_in_float32_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "updated.tflite"
    path.write_bytes(write_tflite(updated(SCALE, SCALE, is_read=True)))
    (update,) = (each for each in load_graph(path).operators if each.kind == "DYNAMIC_UPDATE_SLICE")
    assert load_graph(path).tensors[update.outputs[0]].dtype == "float32"
    assert api.verify(path, runs=2).passed
