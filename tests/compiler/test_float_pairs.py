"""DIV of int8, and of float32 between int8 tensors: products of integers, on the DLA."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.network.float_tables import FloatTable, find_float_tables
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.operators.factor_table import FactorTable, find_factors
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.sim.arithmetic.numerics import quantize_multiplier, requant
from tests.compiler.test_transformers import check
from tests.oracle import run_litert_reference, run_tflite_micro

ALL = np.arange(-128, 128)
Scale = tuple[float, int]
# Scale and zero point of dividend, divisor and quotient; MoveNet's, a wide range, and negative divisors.
SCALES: dict[str, tuple[Scale, Scale, Scale]] = {
    "small": ((0.00390625, -128), (0.24958714842796326, -128), (0.0019921548664569855, -128)),
    "wide": ((0.0213, -7), (0.0171, -128), (0.03317, 5)),
    "signed": ((0.0713, 11), (0.03319, 3), (0.0511, -20)),
}


def divided(
    scales: tuple[Scale, Scale, Scale],
    one: tuple[int, ...],
    other: tuple[int, ...],
    guard: float | None = None,
    offset: int | None = None,
) -> Graph:
    """DEQUANTIZE of two inputs, DIV, perhaps MAXIMUM, and QUANTIZE; an offset keeps the divisor from 0."""
    whole = np.broadcast_shapes(one, other)
    first, second, result = (Quantization((float(np.float32(s)),), (z,)) for s, z in scales)
    tensors = [
        Tensor("one", one, "int8", first), Tensor("other", other, "int8", second),
        Tensor("one_real", one, "float32"), Tensor("other_real", other, "float32"),
        Tensor("quotient", whole, "float32"), Tensor("quantized", whole, "int8", result),
    ]  # fmt: skip
    steps: list[tuple[str, tuple[int, ...], int]] = [
        ("DEQUANTIZE", (0,), 2), ("DEQUANTIZE", (1,), 3), ("DIV", (2, 3), 4), ("QUANTIZE", (4,), 5)
    ]  # fmt: skip
    if guard is not None:
        tensors.append(Tensor("guard", (), "float32", data=np.array(guard, np.float32)))
        tensors.append(Tensor("kept", whole, "float32"))
        steps[3:] = [
            ("MAXIMUM", (4, len(tensors) - 2), len(tensors) - 1),
            ("QUANTIZE", (len(tensors) - 1,), 5),
        ]
    if offset is not None:
        tensors.append(Tensor("offset", (), "int8", second, np.array(offset, np.int8)))
        tensors.append(Tensor("moved", other, "int8", second))
        number = len(tensors) - 2
        steps[1:2] = [("ADD", (1, number), number + 1), ("DEQUANTIZE", (number + 1,), 3)]
    operators = tuple(
        Operator(kind, inputs, (output,), {}, f"operator {number}")
        for number, (kind, inputs, output) in enumerate(steps)
    )
    return Graph("divided", tuple(tensors), operators, (0, 1), (5,))


def written(graph: Graph, folder: Path) -> Path:
    path = folder / "model.tflite"
    path.write_bytes(write_tflite(graph))
    return path


def quotients(scales: tuple[Scale, Scale, Scale], divisors: np.ndarray) -> np.ndarray:
    """What the three operators make of all pairs, in float32 as they do; a row for each dividend."""
    (first, zero), (second, other_zero), (scale, place) = scales
    one = (np.float32(first) * (ALL - zero).astype(np.float32))[:, None]
    other = np.float32(second) * (divisors - other_zero).astype(np.float32)
    steps = (one / other) / np.float32(scale)
    rounded = np.copysign(np.floor(np.abs(steps).astype(np.float64) + 0.5), steps).astype(np.int64)
    return np.clip(rounded + place, -128, 127)


def test_factors_give_the_quotients_of_all_pairs() -> None:
    """With random scales; where a result lies on a tie in float32, there may be no factors, but rarely."""
    rng, found = np.random.default_rng(0), 0
    for _ in range(20):
        scales = tuple(
            (float(np.float32(rng.uniform(0.001, 0.1))), int(rng.integers(-128, 128))) for _ in range(3)
        )
        divisors = ALL[np.abs(ALL - scales[1][1]) >= 8]
        expected = quotients(scales, divisors)
        table = find_factors(expected, ALL, divisors, (scales[0][1], scales[2][1]))
        if table is None:
            continue
        found += 1
        products = (ALL - scales[0][1])[:, None] * table.factors[divisors + 128].astype(np.int64)
        assert np.abs(products).max() < 1 << 31
        scaled = requant(products, *quantize_multiplier(2.0**-table.right_shift))
        np.testing.assert_array_equal(np.clip(scaled + scales[2][1], *table.limits), expected)
    assert found >= 15


@pytest.mark.parametrize("name", SCALES)
def test_all_pairs_are_litert_s(name: str, tmp_path: Path) -> None:
    """On the DLA and on the CPU. What a quotient by 0 is as an integer, C++ leaves open; both agree on it."""
    shape = (1, 256, 256, 1)
    path = written(divided(SCALES[name], shape, shape), tmp_path)
    pairs = np.meshgrid(ALL.astype(np.int8), ALL.astype(np.int8), indexing="ij")
    inputs = [values.reshape(shape) for values in pairs]
    expected = run_litert_reference(path, inputs)[5]
    is_open = inputs[1] == SCALES[name][1][1]
    found = {}
    for place in ("dla", "cpu"):
        run = api.run(path, inputs=inputs, place=place)
        assert {layer["unit"] for layer in run.report["layers"]} == {place}
        found[place] = run.outputs[0]
        np.testing.assert_array_equal(found[place][~is_open], expected[~is_open])
    np.testing.assert_array_equal(found["dla"], found["cpu"])


@pytest.mark.parametrize(
    "scales",
    [
        ((0.00390625, -128), (0.014807, -128), (0.0020759, -128)),  # with an exception
        ((0.67983, 48), (0.54023, -128), (0.00602, 38)),
    ],
)
def test_all_quotients_of_int8_are_tflite_micro_s(scales: tuple[Scale, Scale, Scale], tmp_path: Path) -> None:
    shape = (1, 256, 256, 1)
    names = zip(("one", "other", "quotient"), scales, strict=True)
    tensors = tuple(
        Tensor(name, shape, "int8", Quantization((float(np.float32(scale)),), (zero_point,)))
        for name, (scale, zero_point) in names
    )
    options = {"fused_activation_function": "NONE"}
    divide = Operator("DIV", (0, 1), (2,), options, "operator 0")
    path = written(Graph("quotients", tensors, (divide,), (0, 1), (2,)), tmp_path)
    pairs = np.meshgrid(ALL.astype(np.int8), ALL.astype(np.int8), indexing="ij")
    inputs = [values.reshape(shape) for values in pairs]
    expected = run_tflite_micro(path, inputs)[2]
    for place in ("dla", "cpu"):
        run = api.run(path, inputs=inputs, place=place)
        assert {layer["unit"] for layer in run.report["layers"]} == {place}
        np.testing.assert_array_equal(run.outputs[0], expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 17, 9, 5), (1, 17, 9, 5)),
        ((1, 17, 9, 5), (1, 17, 9, 1)),
        ((1, 1, 9, 5), (1, 17, 9, 5)),
        ((2, 6, 7, 16), (7, 16)),
        ((40,), (40,)),
    ],
)
@pytest.mark.parametrize("guard", [None, 0.3])
def test_quotients_of_other_shapes(
    one: tuple[int, ...], other: tuple[int, ...], guard: float | None, tmp_path: Path
) -> None:
    """Every tensor is LiteRT's at each size of SRAM, and the board's is the simulator's."""
    path = written(divided(SCALES["wide"], one, other, guard, offset=-100), tmp_path)
    (table,) = find_float_tables(load_graph(path)).values()
    assert isinstance(table.table, FactorTable)
    check(path)
    lowered = api.compile(path, place="dla")
    assert not lowered.program.host_calls
    assert api.verify(path, place="dla").passed


def test_a_conversion_that_others_need_stays() -> None:
    graph = divided(SCALES["small"], (1, 4, 4, 3), (1, 4, 4, 3))
    (alone,) = find_float_tables(graph).values()
    (shared,) = find_float_tables(replace(graph, outputs=(5, 2))).values()
    assert [_kinds(alone), _kinds(shared)] == [["DEQUANTIZE", "DEQUANTIZE", "DIV"], ["DEQUANTIZE", "DIV"]]
    assert not find_float_tables(replace(graph, outputs=(5, 4)))


def _kinds(table: FloatTable) -> list[str]:
    return [part.kind for part in table.before]
