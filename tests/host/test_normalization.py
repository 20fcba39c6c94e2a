"""NORMALIZATION, dlasim's own operator: float64's results, but next to the middle between two steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.network.graph import Graph
from tests.host.models import run_on_host

NEAR_HALF = 1e-4  # of a step


def built(shape: tuple[int, ...], scales: tuple[float, float], parameters: np.ndarray, **options) -> tuple:
    builder = GraphBuilder("normalization")
    x = builder.input("x", shape, scale=scales[0], zero_point=7)
    constants = [builder.constant(name, row) for name, row in zip("gb", parameters, strict=True)]
    y = builder.operator("NORMALIZATION", [x, *constants], scale=scales[1], zero_point=-11, **options)
    return builder, y


def in_float64(values: np.ndarray, scales, parameters, epsilon: float, is_centred: bool, repeat: int):
    """The result in steps, not yet rounded."""
    real = (values.astype(np.float64) - 7) * np.float64(np.float32(scales[0]))
    centred = real - real.mean(-1, keepdims=True) if is_centred else real
    unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    channel = np.arange(values.size).reshape(values.shape) // repeat % parameters.shape[1]
    return (unit * parameters[0][channel] + parameters[1][channel]) / np.float64(np.float32(scales[1])) - 11


@pytest.mark.parametrize("is_centred", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_results_are_those_of_float64(seed: int, is_centred: bool) -> None:
    rng = np.random.default_rng(seed)
    count, repeat = int(rng.choice([2, 9, 64, 768, 5000])), int(rng.choice([1, 1, 5]))
    channels = count if repeat == 1 else 3
    parameters = (rng.normal(1, 0.5, (2, channels)) * [[1], [rng.choice([0, 3])]]).astype(np.float32)
    scales = float(rng.uniform(0.002, 0.2)), float(rng.uniform(0.01, 0.05))
    epsilon = float(np.float32(rng.choice([0, 1e-12, 1e-5, 1e-3])))
    options = {"epsilon": epsilon, "is_centred": is_centred, "repeat": repeat}
    builder, y = built((40, count), scales, parameters, **options)
    spread = int(rng.choice([2, 30, 128]))
    values = rng.integers(-spread, spread, (40, count)).astype(np.int8)
    values[0] = 7  # a row without variance
    found = run_on_host(builder.graph([y]), [values])[y].astype(np.int64)
    steps = in_float64(values, scales, parameters, epsilon or 1e-300, is_centred, repeat)
    wrong = found != np.clip(np.floor(steps + 0.5), -128, 127)
    assert np.abs(steps - np.floor(steps) - 0.5)[wrong].max(initial=0) < NEAR_HALF


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_a_network_with_it(host: str, tmp_path: Path) -> None:
    parameters = np.stack((np.linspace(0.5, 2, 48), np.linspace(-1, 1, 48))).astype(np.float32)
    builder, y = built((6, 48), (0.05, 0.03), parameters, epsilon=1e-5)
    path = builder.save(tmp_path / "n.dlag", [y])
    values = np.random.default_rng(0).integers(-128, 128, (6, 48)).astype(np.int8)
    graph: Graph = builder.graph([y])
    (found,) = dlasim.run(path, inputs=values, host=host).outputs
    np.testing.assert_array_equal(found, run_on_host(graph, [values])[y])


@pytest.mark.parametrize(
    ("shape", "scales", "epsilon", "message"),
    [
        ((1, 20_000), (0.1, 0.1), 1e-5, "a row must have from 1 to 16,384 elements"),
        ((1, 8), (1e-12, 0.1), 1e-5, "epsilon must be from 0, and not too large for its input scale"),
        ((1, 8), (0.1, 0.1), -1.0, "epsilon must be from 0"),
        ((1, 8), (0.1, 1e-9), 1e-5, "its factors and offsets reach 1e\\+09 steps of its output"),
    ],
)
def test_what_integers_do_not_suffice_for(
    shape, scales, epsilon: float, message: str, tmp_path: Path
) -> None:
    parameters = np.ones((2, 8), np.float32)
    builder, y = built(shape, scales, parameters, epsilon=epsilon)
    with pytest.raises(dlasim.InputError, match=message):
        dlasim.compile(builder.save(tmp_path / "n.dlag", [y]))
