"""CAST of 8-bit tensors on the DLA and on both hosts, as LiteRT's."""

from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.oracle import run_litert_reference

SOURCES = ("int8", "uint8", "bool")
TARGETS = ("int8", "uint8", "bool", "int16", "int32", "float32")


def _network(source: str, target: str, path: Path) -> Path:
    scales = {"int8": Quantization((1.0,), (0,)), "uint8": Quantization((1.0,), (0,))}
    tensors = tuple(
        Tensor(name, (1, 16, 48), dtype, scales.get(dtype)) for name, dtype in (("x", source), ("y", target))
    )
    options = {"in_data_type": source, "out_data_type": target}
    operator = Operator("CAST", (0,), (1,), options, "operator 0")
    path.write_bytes(write_tflite(Graph("cast", tensors, (operator,), (0,), (1,))))
    return path


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", TARGETS)
def test_every_byte(source: str, target: str, tmp_path: Path) -> None:
    path = _network(source, target, tmp_path / "model.tflite")
    values = np.tile(np.arange(256, dtype=np.uint8), 3).reshape(1, 16, 48)
    inputs = values.astype(bool) if source == "bool" else values.view(source)
    expected = run_litert_reference(path, [inputs])[1]
    for place, host in (("auto", "none"), ("auto", "riscv"), ("cpu", "riscv")):
        found = api.run(path, inputs=inputs, place=place, host=host)
        np.testing.assert_array_equal(found.outputs[0], expected)


@pytest.mark.parametrize("target", ["int16", "int32", "float32"])
def test_wider_numbers_are_made_on_the_dla(target: str, tmp_path: Path) -> None:
    path = _network("int8", target, tmp_path / "model.tflite")
    assert api.run(path, place="dla", timing_only=True).report["cycles"]["cpu"] == 0
