"""float32 between conversions that only picks elements: run in int8, bit-exact against the references."""

from pathlib import Path

import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.network.float_tables import find_float_tables
from dlasim.compiler_shim.network.graph import Graph, Quantization
from dlasim.compiler_shim.network.rewrites import sink_conversions
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.compiler.tails import SIZE, TailBuilder

PIXELS = SIZE * SIZE


def picked(*, float_output: bool = False, float_reader: bool = False) -> Graph:
    """A convolution whose channels part in float32; each is quantized by a scale of its own."""
    net = TailBuilder("picked")
    floats = net.real(net.reshape(net.convolution("conv", 3, 0.4), 1, PIXELS, 3))
    columns = [net.column(floats, index) for index in range(3)]
    outputs = [
        net.add("QUANTIZE", [column], (1, PIXELS), "int8", Quantization((scale,), (zero_point,)))
        for column, scale, zero_point in zip(columns, (0.4, 0.31, 1.7), (3, -7, 100), strict=True)
    ]
    if float_reader:
        outputs.append(net.binary("ADD", columns[0], columns[1]))
    if float_output:
        outputs.append(columns[2])
    return net.graph(*outputs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "picked.tflite"
    file.write_bytes(write_tflite(picked()))
    return file


def test_all_is_exact_and_on_the_dla(path: Path) -> None:
    result = api.verify(path, runs=5)
    assert result.passed, result.mismatch or result.uncompared
    assert {layer["unit"] for layer in api.run(path).report["layers"]} == {"dla"}


def test_each_quantization_has_a_table_of_its_own(path: Path) -> None:
    tables = list(find_float_tables(load_graph(path)).values())
    assert [[part.kind for part in table.before] for table in tables] == [["DEQUANTIZE"]] * 3
    # The scale and zero point of the convolution change nothing; the others round.
    assert tables[0].table.tolist() == list(range(-128, 128))
    assert len(set(tables[1].table.tolist())) < 256


@pytest.mark.parametrize("reason", ["float_output", "float_reader"])
def test_what_is_needed_in_float32_is_converted_at_once(reason: str) -> None:
    graph = picked(**{reason: True})
    assert sink_conversions(graph) is graph
