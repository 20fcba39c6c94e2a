"""A small file takes neither gigabytes nor minutes, whatever it makes of its constants."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import dlasim
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.dlag.dlag_layout import HEAD, MAGIC
from dlasim.compiler_shim.dlag.dlag_writer import write_graph
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.lowering import lower
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.onnx.test_onnx_faults import conversions
from tests.onnx.test_onnx_faults import model as onnx_model

SCALED = Quantization((0.5,), (0,))
LIMIT = r"take more than 2\d\d,\d{3},\d{3} bytes, the limit for a file of this size"
MOST_BYTES = 2 << 30
FINISH = (Operator("RELU", (0,), (1,)),)


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError, match=LIMIT) as caught:
        load_graph(path)
    return str(caught.value)


def concatenations(count: int) -> Graph:
    """The first is of a byte and itself, each further one of the result before and itself."""
    x, y = (Tensor(name, (1, 4), "int8", SCALED) for name in "xy")
    tensors = [x, y, Tensor("c0", (1,), "int8", SCALED, np.ones(1, np.int8))]
    operators = list(FINISH)
    for number in range(1, count + 1):
        source = len(tensors) - 1
        tensors.append(Tensor(f"c{number}", (1 << number,), "int8", SCALED))
        operators.append(Operator("CONCATENATION", (source, source), (source + 1,), {"axis": 0}))
    return Graph("doubling", tuple(tensors), tuple(operators), (0,), (1, len(tensors) - 1))


def doubling_onnx(count: int) -> bytes:
    one = numpy_helper.from_array(np.ones(1, np.int64), "c0")
    nodes = [
        helper.make_node("Concat", [f"c{number}"] * 2, [f"c{number + 1}"], axis=0) for number in range(count)
    ]
    middle = helper.make_node("Relu", ["q"], ["r"])
    return bytes(onnx_model([*nodes, *conversions(middle)], [one]).SerializeToString())


def test_constants_that_double_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path / "m.tflite", write_tflite(concatenations(30)))
    assert "operator 27 (CONCATENATION)" in message
    refusal(tmp_path / "m.onnx", doubling_onnx(40))


def test_constants_that_double_a_little_are_computed(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(write_tflite(concatenations(8)))
    graph = load_graph(path)
    assert [operator.kind for operator in graph.operators] == ["RELU"]
    assert graph.tensors[graph.outputs[1]].shape == (256,)


def test_one_constant_read_many_times_counts_each_time(tmp_path: Path) -> None:
    """Results may be small: reading is work, too."""
    size = numpy_helper.from_array(np.array([1 << 20], np.int64), "size")
    nodes = [helper.make_node("ConstantOfShape", ["size"], ["large"])]
    nodes += [
        helper.make_node("ReduceMax", ["large"], [f"m{number}"], axes=[0], keepdims=1)
        for number in range(100)
    ]
    middle = helper.make_node("Relu", ["q"], ["r"])
    refusal(tmp_path / "m.onnx", onnx_model([*nodes, *conversions(middle)], [size]).SerializeToString())


def sharing_model(count: int, size: int) -> bytes:
    """Many constants that are the same bytes of the file."""
    x, y = (Tensor(name, (1, 4), "int8", SCALED) for name in "xy")
    same = np.zeros(size, np.int32)
    constants = [Tensor(f"c{number}", (size,), "int32", None, same) for number in range(count)]
    tables = Decoder(write_tflite(Graph("g", (x, y, constants[0]), FINISH, (0,), (1,))), "m").root("Model")
    tensors = tables["subgraphs"][0]["tensors"]
    tensors += [dict(tensors[2], name=f"c{number}") for number in range(1, count)]
    return encode("Model", tables, 1 << 20)


def test_shared_bytes_count_for_each_tensor(tmp_path: Path) -> None:
    refusal(tmp_path / "m.tflite", sharing_model(1200, 1 << 16))


def test_shared_bytes_count_in_other_formats(tmp_path: Path) -> None:
    data = np.zeros(1 << 18, np.uint8)
    data.tofile(tmp_path / "weights.bin")
    parts = []
    for number in range(2500):
        part = TensorProto(name=f"c{number}", dims=[1 << 18], data_type=TensorProto.UINT8)
        part.data_location = TensorProto.EXTERNAL
        part.external_data.add(key="location", value="weights.bin")
        parts.append(part)
    middle = helper.make_node("Relu", ["q"], ["r"])
    refusal(tmp_path / "m.onnx", onnx_model(conversions(middle), parts).SerializeToString())

    x, y = (Tensor(name, (1, 4), "int8", SCALED) for name in "xy")
    constant = Tensor("c", (1 << 18,), "int8", SCALED, data.view(np.int8))
    graph = Graph("g", (x, y, constant), FINISH, (0,), (1,))
    refusal(tmp_path / "m.dlag", repeated(write_graph(graph, partition(graph)), 1100))


def repeated(content: bytes, count: int) -> bytes:
    """The `.dlag` file with its last tensor so many times, all with the same data."""
    _, version, text_bytes, blob_bytes, _ = HEAD.unpack_from(content)
    text = json.loads(content[HEAD.size : HEAD.size + text_bytes])
    text["tensors"] += text["tensors"][-1:] * count
    body = json.dumps(text).encode()
    size = len(body)
    body += content[HEAD.size + text_bytes :]
    return HEAD.pack(MAGIC, version, size, blob_bytes, zlib.crc32(body)) + body


def test_memory_stays_small(tmp_path: Path) -> None:
    """The command as a user runs it, with a limit that the networks above exceeded by far."""
    path = tmp_path / "m.onnx"
    path.write_bytes(doubling_onnx(40))
    run = subprocess.run(
        [sys.executable, "-P", "-m", "dlasim", "inspect", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)),
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "the limit for a file of this size" in run.stderr


def test_indices_that_a_program_would_hold_are_limited(tmp_path: Path) -> None:
    x = Tensor("x", (1, 4000, 4000, 1), "int8", SCALED)
    pads = np.array([(0, 0), (1, 1), (1, 1), (0, 0)], np.int32)
    y = Tensor("y", (1, 4002, 4002, 1), "int8", SCALED)
    tensors = (x, Tensor("pads", (4, 2), "int32", None, pads), y)
    graph = Graph("g", tensors, (Operator("MIRROR_PAD", (0, 1), (2,), {"mode": "REFLECT"}),), (0,), (2,))
    path = tmp_path / "m.tflite"
    path.write_bytes(write_tflite(graph))
    with pytest.raises(InputError, match="it takes 48,048,012 indices; at most 16,777,216 are supported"):
        partition(load_graph(path))


def test_a_program_that_no_file_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    size = dlasim.compile("mnist").program.constants.size
    monkeypatch.setattr(lower, "MAX_FILE_BYTES", size)
    assert dlasim.compile("mnist").program.constants.size == size
    monkeypatch.setattr(lower, "MAX_FILE_BYTES", size - 1)
    with pytest.raises(InputError, match=f"take {size:,} bytes; at most {size - 1:,} are supported"):
        dlasim.compile("mnist")
