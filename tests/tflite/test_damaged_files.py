"""Whatever is wrong with a file, the reader says so in one line."""

import random
import struct
from dataclasses import replace

import numpy as np
import pytest

from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.reader import read_model, read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.tflite.one_operator import BUILDERS, random_graph

MUTATIONS = 20_000
CORNERS = (0, 1, 2, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE)


def refusal(model):
    with pytest.raises(InputError) as caught:
        read_tflite(model)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


def mutated(data, rng):
    """The file cut short, or with some bytes or words changed, put in or taken out."""
    data = bytearray(data)
    kind = rng.randrange(6)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data))])
    for _ in range(rng.choice((1, 1, 1, 2, 5, 30))):
        position = rng.randrange(len(data))
        if kind == 1:
            data[position] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[position] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 3:
            position = min(position & ~3, len(data) - 4)
            word = rng.choice((*CORNERS, len(data), len(data) - 4, rng.randrange(1 << 32)))
            data[position : position + 4] = struct.pack("<I", word)
        elif kind == 4:
            del data[position : position + rng.randrange(1, 9)]
        else:
            data[position:position] = rng.randbytes(rng.randrange(1, 9))
    return bytes(data)


def test_mutated_files_are_read_or_refused_in_one_line():
    rng = random.Random(20)
    originals = [write_tflite(random_graph(kind, 1)) for kind in BUILDERS]
    messages = []
    for _ in range(MUTATIONS):
        model = mutated(rng.choice(originals), rng)
        try:
            prepare(read_model(model), "model")
        except InputError as error:
            messages.append(str(error))
    # Both must happen, or the mutations test nothing.
    assert MUTATIONS // 4 < len(messages) < MUTATIONS
    assert all(message.startswith("model: ") and "\n" not in message for message in messages)


def test_each_truncation_is_refused():
    model = write_tflite(random_graph("ADD", 0))
    for length in range(len(model) - 1):
        try:
            read_tflite(model[:length])
        except InputError:
            continue
        # A cut through the last padding changes nothing.
        assert length > len(model) - 16


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "not a TFLite model"),
        (b"TFL3", "not a TFLite model"),
        (b"\x08\x00\x00\x00TFL3", "damaged"),
        (b"\xff\xff\xff\xffTFL3" + bytes(64), "damaged"),
        (b"PK\x03\x04" + bytes(100), "not a TFLite model"),
    ],
)
def test_other_files(data, expected):
    assert expected in refusal(data)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_tflite(tmp_path / "none.tflite")
    with pytest.raises(InputError, match="directory"):
        read_tflite(tmp_path)


SCALED = Quantization((0.5,), (0,))


def chain(**changes):
    """x -> RELU -> y, with changes to the graph."""
    tensors = (Tensor("x", (1, 4), "int8", SCALED), Tensor("y", (1, 4), "int8", SCALED))
    graph = Graph("chain", tensors, (Operator("RELU", (0,), (1,)),), (0,), (1,))
    return write_tflite(replace(graph, **changes))


def with_tensor(**changes):
    tensors = (replace(Tensor("x", (1, 4), "int8", SCALED), **changes), Tensor("y", (1, 4), "int8", SCALED))
    return chain(tensors=tensors)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (chain(inputs=(2,)), "the model's inputs: there is no tensor 2 (the file has 0 to 1)"),
        (chain(inputs=(-1,)), "the model's inputs: there is no tensor -1"),
        (chain(outputs=(9,)), "the model's outputs: there is no tensor 9"),
        (chain(outputs=()), "no outputs"),
        (chain(inputs=(0, 0)), "twice"),
        (chain(inputs=(0, 1)), "writes y, which already has a value"),
        (chain(operators=(Operator("RELU", (5,), (1,)),)), "operator 0 (RELU): inputs: there is no tensor 5"),
        (chain(operators=(Operator("RELU", (-1,), (1,)),)), "input 0 is missing and not optional"),
        (chain(operators=(Operator("RELU", (0,), (-1,)),)), "outputs: there is no tensor -1"),
        (chain(operators=(Operator("RELU", (0,), ()),)), "it has 1 output (got 0)"),
        (chain(operators=(Operator("RELU", (0, 0), (1,)),)), "it takes 1 input (got 2)"),
        (chain(operators=(Operator("RELU", (0,), (0,)),)), "writes x, which already has a value"),
        (chain(operators=(Operator("RELU", (0,), (1,)),) * 2), "writes y, which already has a value"),
        (with_tensor(shape=(1, -2)), "negative dimension"),
        (with_tensor(shape=(1 << 20, 1 << 20)), "larger than 2 GiB"),
        (with_tensor(shape=(1 << 27, 1 << 29, 1 << 26, 0)), "larger than 2 GiB"),
        (with_tensor(shape=(1,) * 9), "more than 8 dimensions"),
        (with_tensor(quantization=Quantization((float("nan"),), (0,))), "scales must be finite"),
        (with_tensor(quantization=Quantization((-1.0,), (0,))), "scales must be finite"),
        (with_tensor(quantization=Quantization((1.0,), (300,))), "zero points must be in the range of int8"),
        (
            with_tensor(dtype="int64", quantization=Quantization((1.0,), (1 << 62,))),
            "zero points must be in the range of int32",
        ),
        (
            with_tensor(dtype="float32", quantization=Quantization((1.0,), (-1 << 40,))),
            "zero points must be in the range of int32",
        ),
        (with_tensor(quantization=Quantization((1.0, 1.0), (0, 0, 0))), "2 scales, but 3 zero points"),
        (with_tensor(quantization=Quantization((1.0,) * 3, (0,) * 3, 1)), "3 scales along dimension 1"),
        (with_tensor(quantization=Quantization((1.0,) * 4, (0,) * 4, 7)), "4 scales along dimension 7"),
    ],
)
def test_contradictions_are_named(model, expected):
    assert expected in refusal(model)


def raw_model(**changes):
    """The smallest model as the encoder takes it, with changes to its top level."""
    tensor = {"shape": [1, 4], "type": 9, "name": "x", "quantization": {"scale": [0.5], "zero_point": [0]}}
    operator = {"inputs": [0], "outputs": [1]}
    subgraph = {"tensors": [tensor, dict(tensor, name="y")], "inputs": [0], "outputs": [1]}
    subgraph["operators"] = [operator]
    model = {
        "version": 3,
        "operator_codes": [{"deprecated_builtin_code": 19, "builtin_code": 19}],
        "subgraphs": [subgraph],
        "buffers": [{}],
    }
    return model | changes


def test_the_raw_model_is_sound():
    graph = read_tflite(encode("Model", raw_model(), 256))
    assert [operator.kind for operator in graph.operators] == ["RELU"]


def broken(path, value):
    """The raw model with one value, found by its path, replaced."""
    model = raw_model()
    place = model
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return encode("Model", model, 256)


TENSOR = ("subgraphs", 0, "tensors", 0)
OPERATOR = ("subgraphs", 0, "operators", 0)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("version",), 2, "schema version 2"),
        (("subgraphs",), [], "0 subgraphs"),
        (("operator_codes",), [], "there is no operator code 0 (the file has 0)"),
        ((*TENSOR, "type"), 5, "type string"),
        ((*TENSOR, "type"), 17, "type int4"),
        ((*TENSOR, "type"), 99, "type number 99"),
        ((*TENSOR, "buffer"), 1, "there is no buffer 1 (the file has 1)"),
        ((*TENSOR, "sparsity"), {}, "sparse"),
        ((*TENSOR, "shape_signature"), [1], "shape [1, 4], but shape signature [1]"),
        ((*TENSOR, "shape_signature"), [-1, -1], "only the batch"),
        (("buffers",), [{"offset": 4096, "size": 4}], "buffer 0: 4 bytes at 4096 are beyond"),
        (("buffers",), [{"data": np.zeros(3, np.uint8)}], "takes 4 bytes, but its buffer has 3"),
        ((*OPERATOR, "opcode_index"), 3, "there is no operator code 3"),
        ((*OPERATOR, "inputs"), [1], "reads y before"),
        (("subgraphs", 0, "operators"), [], "output y is computed by no operator"),
    ],
)
def test_tables_that_do_not_fit_are_named(path, value, expected):
    assert expected in refusal(broken(path, value))


def test_options_of_another_operator_are_refused():
    graph = random_graph("CONV_2D", 0)
    model = bytearray(write_tflite(graph))
    code = np.frombuffer(bytes(model), np.uint8)
    # The options' type is a byte of its own: make every table of type 1 (Conv2DOptions) one of type 8.
    messages = []
    for position in np.flatnonzero(code == 1):
        changed = bytes(model[:position]) + b"\x08" + bytes(model[position + 1 :])
        try:
            read_tflite(changed)
        except InputError as error:
            messages.append(str(error))
    assert any("expected options Conv2DOptions, got FullyConnectedOptions" in text for text in messages)


def test_a_file_that_repeats_itself_is_refused_in_time():
    """A vector of a million references to one table takes 4 MB to write and would take minutes to read."""
    model = bytearray(encode("Model", raw_model(), 256))
    model += bytes(-len(model) % 4)
    table_position = _root_table(model)
    slot = _slot_position(model, table_position, 2)
    start = len(model)
    count = 1_000_000
    subgraph = _target(model, _target(model, slot) + 4)
    model += struct.pack("<I", count)
    first = len(model)
    model += b"".join(struct.pack("<i", subgraph - (first + 4 * index)) for index in range(1))
    # Offsets only point forward, so the shared table has to lie behind the vector.
    model = model[:first] + _forward_vector(first, count)
    struct.pack_into("<I", model, slot, start - slot)
    assert "its tables take more than" in refusal(bytes(model))


def _forward_vector(first, count):
    end = first + 4 * count
    offsets = (end + 4 - np.arange(first, end, 4, dtype=np.int64)).astype("<u4").tobytes()
    # An empty vtable, and a table that refers to it.
    return offsets + struct.pack("<HHi", 4, 4, 4)


def _root_table(model):
    return struct.unpack_from("<I", model, 0)[0]


def _slot_position(model, table, slot):
    vtable = table - struct.unpack_from("<i", model, table)[0]
    return table + struct.unpack_from("<H", model, vtable + 4 + 2 * slot)[0]


def _target(model, position):
    return position + struct.unpack_from("<I", model, position)[0]


def test_unknown_and_custom_operators_are_read_by_name():
    codes = [{"deprecated_builtin_code": 32, "builtin_code": 32, "custom_code": "My\nOp"}]
    assert read_tflite(broken(("operator_codes",), codes)).operators[0].kind == "CUSTOM[My?Op]"
    codes = [{"deprecated_builtin_code": 127, "builtin_code": 4000}]
    assert read_tflite(broken(("operator_codes",), codes)).operators[0].kind == "BUILTIN_4000"
    codes = [{"deprecated_builtin_code": 5}]
    assert read_tflite(broken(("operator_codes",), codes)).operators[0].kind == "DEPTH_TO_SPACE"
