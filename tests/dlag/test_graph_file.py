"""model.dlag: every network comes back the same, and no damage is more than one InputError."""

import copy
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_graph, load_model, lower_for, save_graph
from dlasim.compiler_shim.dlag.dlag_reader import read_graph_model
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.isa import container
from dlasim.sim.configuration.config import DlaConfig

HEAD = struct.Struct("<8sIIII")
NETWORKS = ("mnist", "resnet8", "ds_cnn", "autoencoder")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    for name in NETWORKS:
        (folder / f"{name}.tflite").write_bytes(write_tflite(build_topology(name, seed=1)))
        (folder / f"{name}.dlag").write_bytes(save_graph(load_graph(folder / f"{name}.tflite")))
    return folder


@pytest.fixture(scope="module")
def parts(folder):
    """JSON and constants of a small network."""
    return split((folder / "mnist.dlag").read_bytes())


def split(data: bytes):
    _, _, text_bytes, _, _ = HEAD.unpack_from(data)
    body = data[HEAD.size :]
    return json.loads(body[:text_bytes]), body[text_bytes:]


def join(text, blob: bytes) -> bytes:
    encoded = text if isinstance(text, bytes) else json.dumps(text).encode()
    body = encoded + blob
    return HEAD.pack(b"DLAGRAPH", 3, len(encoded), len(blob), zlib.crc32(body)) + body


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("machine", [{}, {"parallel": "8x16", "sram_bytes": 1 << 16}])
def test_lowers_to_the_same_program(folder, name, machine) -> None:
    config = DlaConfig().replace(**machine)
    programs = [
        container.write(lower_for(load_model(folder / f"{name}{suffix}"), config, CompileOptions()).program)
        for suffix in (".tflite", ".dlag")
    ]
    assert programs[0] == programs[1]


@pytest.mark.parametrize("name", NETWORKS)
def test_saving_again_gives_the_same_bytes(folder, name) -> None:
    data = (folder / f"{name}.dlag").read_bytes()
    assert save_graph(load_graph(folder / f"{name}.dlag")) == data


def test_says_where_each_operator_can_run_and_why(parts, tmp_path) -> None:
    """mnist, but with L2_NORMALIZATION at its end, which only the CPU has."""
    text, blob = copy.deepcopy(parts[0]), parts[1]
    assert {"name", "operator", "dla", "why", "macs"} == set(text["partition"][0])
    assert all(item["dla"] and item["why"] == "supported" for item in text["partition"])
    last = text["operators"][-1]
    last |= {"kind": "L2_NORMALIZATION", "options": {}}
    text["tensors"][last["outputs"][0]] |= {"scales": [1 / 128], "zero_points": [0]}
    (tmp_path / "x.dlag").write_bytes(join(text, blob))
    partition = split(save_graph(load_graph(tmp_path / "x.dlag")))[0]["partition"]
    refused = {item["operator"]: item["why"] for item in partition if item["dla"] is None}
    assert refused.keys() == {"L2_NORMALIZATION"}
    assert all(refused.values())
    assert "supported" not in refused.values()
    assert len(partition) == len(text["partition"])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:4], "does not start with DLAGRAPH"),
        (lambda data: data[:-1], "bytes follow"),
        (lambda data: data + b"x", "bytes follow"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "checksum"),
        (lambda data: data[:8] + b"\x01" + data[9:], "format version 1, but this dlasim reads version 3"),
        (lambda data: join(b"{", b""), "JSON cannot be read"),
        (lambda data: join(b"[" * 100_000, b""), "JSON cannot be read"),
        (lambda data: join(b"\xff", b""), "JSON cannot be read"),
        (lambda data: join([], b""), "the file is not an object"),
        (lambda data: join({}, b""), "the file has no field tensors"),
        (lambda data: join(b'{"tensors": [NaN]}', b""), "tensor 0 is not an object"),
    ],
)
def test_damage_is_named(folder, tmp_path, damage, message) -> None:
    file = tmp_path / "x.dlag"
    file.write_bytes(damage((folder / "mnist.dlag").read_bytes()))
    with pytest.raises(InputError, match=message) as caught:
        read_graph_model(file)
    assert "x.dlag is not a valid graph" in str(caught.value)
    assert "\n" not in str(caught.value)


def at(*path):
    """Sets a field of mnist's JSON."""
    *outer, last = path[:-1]

    def change(text) -> None:
        node = text
        for key in outer:
            node = node[key]
        node[last] = path[-1]

    return change


def drop(*path):
    *outer, last = path

    def change(text) -> None:
        node = text
        for key in outer:
            node = node[key]
        del node[last]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("name"), "the file has no field name"),
        (at("name", 3), "the file: name is not text"),
        (at("extra", 3), "the file has an unknown field 'extra'"),
        (at("rounding", "thrice"), "rounding must be twice or once .got 'thrice'"),
        (at("rounding", ["once"]), "rounding must be twice or once"),
        (at("outputs", [1000]), r"the file: outputs must hold integers from 0 to \d+ \(got 1000\)"),
        (at("tensors", {}), "the file: tensors is not a list"),
        (at("tensors", 0, []), "tensor 0 is not an object"),
        (drop("tensors", 0, "shape"), r"tensor 0 \(input\) has no field shape"),
        (at("tensors", 0, "shap", [1]), "tensor 0 has an unknown field 'shap'; did you mean shape"),
        (at("tensors", 0, "shape", [1] * 9), r"tensor 0 \(input\): shape must have at most 8 dimensions"),
        (at("tensors", 0, "shape", [1, -2]), r"shape must hold integers from 0 to 2147483647 \(got -2\)"),
        (at("tensors", 0, "dtype", "int7"), "dtype must be int8, uint8.* or bool .got 'int7'"),
        (at("tensors", 0, "scales", []), "scales is empty; leave it out"),
        (at("tensors", 0, "scales", [-1]), "a scale must be a number from 0 to 3.40282e.38 .got -1"),
        (at("tensors", 0, "scales", [1, 2]), "it has 2 scales and 1 zero points"),
        (at("tensors", 0, "axis", 4), "axis must be one of its 4 dimensions .got 4"),
        (drop("tensors", 0, "scales"), "zero_points without scales"),
        (at("tensors", 1, "data", "x"), "data must be an offset in the constants"),
        (at("tensors", 1, "data", 1 << 40), "bytes of data at 1099511627776 are outside of the"),
        (at("operators", 0, "kind", "CONV2D"), "unknown operator 'CONV2D'; did you mean CONV_2D"),
        (
            at("operators", 0, "inputs", [0, 1, -2]),
            r"operator 0 \(CONV_2D\): inputs must hold integers from -1",
        ),
        (
            at("operators", 0, "options", "stride", 2),
            r"operator 0 \(CONV_2D\): unknown option 'stride'; did you",
        ),
        (
            at("operators", 0, "options", "stride_h", 0.5),
            "option stride_h must be an integer of 32 bits .got 0.5",
        ),
        (at("operators", 0, "options", "stride_h", 1 << 31), "stride_h must be an integer of 32 bits"),
        (
            at("operators", 0, "options", "padding", "FULL"),
            "must be a name of Padding .got 'FULL'.; known are SAME",
        ),
        (at("operators", 0, "options", []), "options is not an object"),
        (at("operators", 0, "inputs", [0]), "takes 2 to 3"),
    ],
)
def test_each_fault_is_named(parts, tmp_path, change, message) -> None:
    text, blob = copy.deepcopy(parts[0]), parts[1]
    change(text)
    (tmp_path / "x.dlag").write_bytes(join(text, blob))
    with pytest.raises(InputError, match=message) as caught:
        read_graph_model(tmp_path / "x.dlag")
    assert "x.dlag is not a valid graph: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_unknown_operators_are_listed_at_once(parts, tmp_path) -> None:
    text, blob = copy.deepcopy(parts[0]), parts[1]
    text["operators"][0]["kind"], text["operators"][1]["kind"] = "NO_SUCH", "OTHER"
    (tmp_path / "x.dlag").write_bytes(join(text, blob))
    with pytest.raises(InputError, match="unknown operators NO_SUCH, OTHER"):
        read_graph_model(tmp_path / "x.dlag")


def test_what_is_optional_may_be_left_out(parts, folder, tmp_path) -> None:
    """A file by another compiler: no locations, no partition, options at their defaults left out."""
    text, blob = copy.deepcopy(parts[0]), parts[1]
    del text["partition"]
    for operator in text["operators"]:
        del operator["location"]
        defaults = OPERATORS[operator["kind"]].option_defaults
        operator["options"] = {
            name: value
            for name, value in operator["options"].items()
            if (tuple(value) if isinstance(value, list) else value) != defaults[name]
        }
    (tmp_path / "x.dlag").write_bytes(join(text, blob))
    programs = [
        container.write(lower_for(load_model(file), DlaConfig(), CompileOptions()).program)
        for file in (folder / "mnist.dlag", tmp_path / "x.dlag")
    ]
    assert programs[0] == programs[1]


QUICK = CompileOptions(fusion="none", tiling="output-channel")  # without the search for the best tiles
VALUES = (
    None, True, -2, -1, 0, 1, 2, 7, 40, 1 << 31, (1 << 31) - 1, 1 << 63, 1 << 70, -(1 << 70), 10**400,
    0.5, -1.5, float("nan"), float("inf"), 1e-320,
    "", "int8", "int32", "float32", "CONV_2D", "ADD", "RESHAPE", "x" * 300, "\ud800", "\0",
    [], [-1], [0, 1], [3, 3, 3, 3, 3], [1 << 40], {}, [[[]]],
)  # fmt: skip


@pytest.mark.parametrize("seed", range(400))
def test_mutated_json_is_an_error_of_ours_or_a_network(seed, parts, tmp_path_factory) -> None:
    rng = np.random.default_rng(seed)
    original, blob = parts
    text = json.loads(json.dumps(original))
    for _ in range(int(rng.integers(1, 4))):
        mutate(rng, text)
    options = CompileOptions() if seed % 4 == 0 else QUICK
    check(tmp_path_factory, join(json.dumps(text).encode(), blob), options)


@pytest.mark.parametrize("seed", range(100))
def test_mutated_constants_are_an_error_of_ours_or_a_network(seed, parts, tmp_path_factory) -> None:
    rng = np.random.default_rng(seed)
    text, blob = parts
    damaged = bytearray(blob)
    for _ in range(int(rng.integers(1, 9))):
        damaged[int(rng.integers(len(damaged)))] = int(rng.integers(256))
    cut = len(damaged) if seed % 5 else int(rng.integers(len(damaged)))
    check(tmp_path_factory, join(text, bytes(damaged[:cut])), QUICK)


@pytest.mark.parametrize("seed", range(200))
def test_mutated_bytes_with_the_right_checksum(seed, folder, tmp_path_factory) -> None:
    rng = np.random.default_rng(seed)
    text, blob = split((folder / "ds_cnn.dlag").read_bytes())
    encoded = bytearray(json.dumps(text).encode())
    for _ in range(int(rng.integers(1, 4))):
        encoded[int(rng.integers(len(encoded)))] = int(rng.integers(32, 127))
    check(tmp_path_factory, join(bytes(encoded), blob), QUICK)


def mutate(rng, text) -> None:
    """Replace, drop or double one value somewhere."""
    node = text
    while node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(node[key], dict | list) and node[key] and rng.integers(10):
            node = node[key]
            continue
        action = rng.integers(4)
        if action == 0:
            del node[key]
        elif action == 1 and isinstance(node, list):
            node.append(node[key])
        else:
            node[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
        return


def check(tmp_path_factory, content: bytes, options: CompileOptions) -> None:
    """Reading, and lowering where that works, ends in a program or in one line."""
    file = tmp_path_factory.mktemp("damaged") / "x.dlag"
    file.write_bytes(content)
    try:
        network = load_model(file)
        lower_for(network, DlaConfig(), options)
    except InputError as error:
        message = str(error)
    else:
        return
    assert "\n" not in message
    assert len(message) < 1000
