"""What a TOSA file may not be: each fault is one line that names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.compile import load_graph
from dlasim.errors import InputError
from tests.tosa.tosa_maker import TosaMaker
from tests.tosa.tosa_networks import NETWORKS


def floats(net: TosaMaker) -> str:
    name = net.input([1, 4])
    net.tensors[name]["type"] = 7
    return name


def scatter(places: list[list[int]], depth: int = 3) -> Callable[[TosaMaker], str]:
    def make(net: TosaMaker) -> str:
        inputs = [net.input([1, 4, 3]), net.constant(places, "int32"), net.input([1, len(places[0]), depth])]
        return net.op("SCATTER", inputs, [1, 4, 3], "int8")

    return make


def many_scattered(net: TosaMaker) -> str:
    inputs = [net.input([1, 4, 3]), net.input([1, 2], "int32"), net.input([1, 2, 3])]
    return net.op("SCATTER", inputs, [1, 4, 3], "int8")


def bare(kind: str, dtype: str, *others: str) -> Callable[[TosaMaker], str]:
    """An operator of inputs of one shape."""

    def make(net: TosaMaker) -> str:
        return net.op(kind, [net.input([4], each) for each in (dtype, *others)], [4], dtype)

    return make


def wrong_shape(net: TosaMaker) -> str:
    name = net.reshape(net.input([2, 4]), [8])
    net.tensors[name]["shape"] = [4, 2]
    return name


def sums_as_output(net: TosaMaker) -> str:
    return net.convolution(net.input([1, 4, 4, 2]), np.ones((3, 1, 1, 2), np.int8), np.zeros(3), 0)


def shift(net: TosaMaker) -> str:
    name = net.rescale(net.input([1, 4]), 0.5)
    place = net.operators[-1]["inputs"][2]
    net.tensors[place]["data"] = np.array([1], np.uint8)
    return name


def short_data(net: TosaMaker) -> str:
    name = net.rescale(net.input([1, 4]), 0.5)
    net.tensors[net.operators[-1]["inputs"][1]]["data"] = np.zeros(3, np.uint8)
    return name


def twice(net: TosaMaker) -> str:
    name = net.rescale(net.input([1, 4]), 0.5)
    net.operators.append(net.operators[-1])
    return name


def channels(net: TosaMaker) -> str:
    sums = net.convolution(net.input([1, 4, 4, 2]), np.ones((3, 1, 1, 2), np.int8), np.zeros(3), 0)
    net.tensors[sums]["shape"] = [1, 4, 4, 4]
    return net.rescale(sums, [0.1, 0.2, 0.3, 0.4])


def truth(net: TosaMaker) -> str:
    name = net.rescale(net.input([1, 4]), 0.5)
    net.tensors[name]["type"] = 1
    return name


def choice(net: TosaMaker) -> str:
    inputs = [net.input([4], "bool"), net.input([3]), net.input([3])]
    return net.op("SELECT", inputs, [4], "int8")


def resize(mode: int, dtype: str = "int8", scale: int = 2) -> Callable[[TosaMaker], str]:
    def make(net: TosaMaker) -> str:
        image = net.input([1, 2, 2, 1], dtype)
        sizes = [net.sizes(values) for values in ([scale, 1, scale, 1], [0, 0], [0, 0])]
        return net.op("RESIZE", [image, *sizes], [1, 3, 3, 1], "int32", mode=mode)

    return make


def cut(net: TosaMaker, bits: int) -> str:
    return net.pair("MUL", net.input([4], "int32"), net.input([4], "int32"), cut=bits)


CASES: dict[str, tuple[Callable[[TosaMaker], str], str]] = {
    "floats": (floats, "is float32; dlasim runs int8 networks of the integer profile"),
    "scatter-shape": (scatter([[0, 1]], 2), "shapes [[1, 4, 3], [1, 2, 2], [1, 2]] do not fit"),
    "scatter-index": (scatter([[0, 4]]), "its indices must be from 0 to 3"),
    "scatter-rows": (many_scattered, "it must replace one row, or at constant indices (got [1, 2] indices)"),
    "bits": (bare("BITWISE_AND", "int32", "int32"), "it is supported of one tensor of 8 bits and a number"),
    "bits-bool": (bare("LOGICAL_LEFT_SHIFT", "bool", "bool"), "its inputs must be integers"),
    "not": (bare("BITWISE_NOT", "bool"), "its input must be integers"),
    "zeros": (bare("CLZ", "int8"), "its input must be computed, and int32 (got int8)"),
    "cut": (lambda net: cut(net, 63), "its shift must be from 0 to 62 (got 63)"),
    "table": (
        lambda net: net.op("TABLE", [net.input([4]), net.constant(range(4), "int8")], [4], "int8"),
        "its input must be int8 and its table 256 of int8, or int16 and 513 of int16",
    ),
    "negate": (bare("NEGATE", "bool"), "its input must be integers (got bool)"),
    "shape": (wrong_shape, "RESHAPE (t1): its output is declared int8[4, 2], but its inputs give int8[8]"),
    "sums": (sums_as_output, "output t5: its int32 sums are read by something else than RESCALE to 8 bits"),
    "shift": (shift, "it must have 1 multipliers from 0 and shifts from 2 to 62"),
    "data": (short_data, "constant t1: int32[1] takes 4 bytes, but it has 3"),
    "channels": (channels, "it has 3 channels, but 4 multipliers"),
    "truth": (truth, "its input and output must be integers"),
    "select": (choice, "shapes [[4], [3]] do not match"),
    "point": (
        lambda net: net.rescale(net.input([4], "int32"), 0.5, (3, 0)),
        "only 8 bits, or 16 without a sign, may have a zero",
    ),
    "twice": (twice, "it must have one output, which nothing else writes"),
    "resize-mode": (resize(3), "its mode must be 1 or 2 (got 3)"),
    "resize-type": (resize(2, "int16"), "only int8 is resized between pixels (got int16)"),
    "resize-scale": (resize(2, scale=2049), "its scale must be from 1 to 2048 (got [2049, 1, 2049, 1])"),
    "unknown": (
        lambda net: net.op("ERF", [net.input([4], "int32")], [4], "int32"),
        "ERF (t1): dlasim does not",
    ),
    "missing": (lambda net: net.op("ABS", ["none"], [4], "int32"), "input 0 is not computed before"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_one_line(tmp_path: Path, name: str) -> None:
    make, expected = CASES[name]
    net = TosaMaker()
    path = net.save(tmp_path / "m.tosa", make(net))
    with pytest.raises(InputError) as caught:
        load_graph(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert expected in message
    assert "\n" not in message


def test_another_version_is_refused(tmp_path: Path) -> None:
    net = TosaMaker()
    path = net.save(tmp_path / "m.tosa", net.rescale(net.input([1, 4]), 0.5))
    data = path.read_bytes().replace(b"TOSA", b"TOSB", 1)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"not a TOSA model: bytes 4 to 7 should read TOSA"):
        load_graph(path)


def test_a_file_is_known_by_its_mark(tmp_path: Path) -> None:
    net, output = NETWORKS["autoencoder"](3)
    path = net.maker.save(tmp_path / "model.bin", output)
    assert [layer["operator"] for layer in dlasim.run(path).layers] == ["CONV_2D"] * 4


@pytest.mark.parametrize("seed", range(2))
def test_damaged_files_end_in_one_line(tmp_path: Path, seed: int) -> None:
    """Bytes and words anywhere in the file."""
    random = np.random.default_rng(seed)
    net, output = NETWORKS[list(NETWORKS)[seed]](1)
    whole = net.maker.save(tmp_path / "m.tosa", output).read_bytes()
    for _ in range(40):
        data: Any = bytearray(whole)
        for _ in range(int(random.integers(1, 4))):
            place = int(random.integers(8, len(data)))
            data[place] = int(random.integers(0, 256))
        path = tmp_path / "damaged.tosa"
        path.write_bytes(bytes(data))
        try:
            load_graph(path)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
