"""QUANTIZE and DEQUANTIZE of float32 on the DLA: TFLite Micro's results, and the definition for every bit
pattern that matters; how long they take."""

from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.sim.arithmetic.float_steps import SIGN, float_steps
from tests.oracle import run_tflite_micro

SRAM = ("8KiB", "64KiB", "512KiB")
SCALES = (1 / 255, 2 / 255, 1 / 128, 0.5, 1.0, 7.0, 0.0371, 3e-5, 1e-20, 122.26708984375)
ZERO_POINTS = (-128, 127, 0, -1, 43)
SPECIAL = np.array([0, np.inf, 1e-45, 3.4e38, 1e-38, np.nan], np.float32)


def _network(kind: str, shape: tuple[int, ...], scale: float, zero_point: int, path: Path) -> Path:
    """One conversion."""
    bytes_ = Tensor("bytes", shape, "int8", Quantization((scale,), (zero_point,)))
    floats = Tensor("floats", shape, "float32", None)
    tensors = (floats, bytes_) if kind == "QUANTIZE" else (bytes_, floats)
    operator = Operator(kind, (0,), (1,), {}, "operator 0")
    path.write_bytes(write_tflite(Graph("conversion", tensors, (operator,), (0,), (1,))))
    return path


def _quantized(values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """TensorFlow's definition; NaN counts as an infinity of its sign."""
    values = np.where(np.isnan(values), np.copysign(np.float32(np.inf), values), values)
    with np.errstate(all="ignore"):
        steps = (values / np.float32(scale)).astype(np.float64)
    rounded = np.trunc(steps + np.copysign(0.5, steps))
    return np.clip(rounded + zero_point, -128, 127).astype(np.int8)


def _hard_floats(scale: float, zero_point: int, rng: np.random.Generator) -> np.ndarray:
    """Those next to every step of both signs, special ones, any bits, and usual ones."""
    steps = float_steps(scale, zero_point, "int8")
    assert steps is not None
    near = (steps.starts.astype(np.int64)[:, None] + np.arange(-2, 3)).ravel() % (2 * SIGN)
    bits = np.concatenate([near, near ^ SIGN, rng.integers(0, 2 * SIGN, 1500)]).astype(np.uint32)
    usual = (rng.normal(size=1500) * 60 * scale).astype(np.float32)
    found = np.concatenate([bits.view(np.float32), SPECIAL, -SPECIAL, usual]).astype(np.float32)
    return np.resize(found, (1, 1, -(-len(found) // 16), 16))


@pytest.mark.parametrize("zero_point", ZERO_POINTS)
def test_floats_next_to_every_step(zero_point: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(zero_point + 128)
    for number, scale in enumerate(SCALES):
        values = _hard_floats(scale, zero_point, rng)
        path = _network("QUANTIZE", values.shape, scale, zero_point, tmp_path / f"{number}.tflite")
        result = api.run(path, inputs=values, place="dla", sram=SRAM[number % 3])
        np.testing.assert_array_equal(result.outputs[0], _quantized(values, scale, zero_point), f"{scale}")
        assert result.report["cycles"]["cpu"] == 0
        on_cpu = api.run(path, inputs=values, place="cpu").outputs[0]
        np.testing.assert_array_equal(on_cpu, result.outputs[0])


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", SRAM)
@pytest.mark.parametrize("shape", [(1, 9, 7, 3), (1, 1000), (37,), (2, 33, 40, 5)])
def test_as_tflite_micro_on_both_hosts(shape: tuple[int, ...], sram: str, host: str, tmp_path: Path) -> None:
    """Of shapes whose sizes suit no unit."""
    rng = np.random.default_rng(len(shape))
    scale, zero_point = 0.0371, int(rng.integers(-128, 128))
    reals = (rng.normal(size=shape) * 60 * scale).astype(np.float32)
    numbers = rng.integers(-128, 128, shape).astype(np.int8)
    for kind, values in (("QUANTIZE", reals), ("DEQUANTIZE", numbers)):
        path = _network(kind, shape, scale, zero_point, tmp_path / "model.tflite")
        found = api.run(path, inputs=values, place="dla", sram=sram, host=host)
        assert all(layer["unit"] == "dla" for layer in found.report["layers"])
        expected = run_tflite_micro(path, [values])
        np.testing.assert_array_equal(found.outputs[0], expected[max(expected)])


@pytest.mark.parametrize("scale", SCALES)
def test_every_byte_as_a_float(scale: float, tmp_path: Path) -> None:
    values = np.arange(-128, 128).astype(np.int8).reshape(1, 16, 16)
    path = _network("DEQUANTIZE", values.shape, scale, 5, tmp_path / "model.tflite")
    found = api.run(path, inputs=values, place="dla").outputs[0]
    expected = run_tflite_micro(path, [values])
    np.testing.assert_array_equal(found, expected[max(expected)])


# Cycles of an element on the default machine; the CPU takes 9.8 and 5.5.
@pytest.mark.parametrize(("kind", "most"), [("QUANTIZE", 4.95), ("DEQUANTIZE", 2.75)])
@pytest.mark.parametrize("shape", [(1, 24, 24, 16), (1, 96, 96, 3), (1, 224, 224, 3)])
def test_half_of_what_the_cpu_takes(kind: str, most: float, shape: tuple[int, ...], tmp_path: Path) -> None:
    path = _network(kind, shape, 0.0371, -3, tmp_path / "model.tflite")
    cycles = api.run(path, timing_only=True).report["cycles"]
    assert cycles["cpu"] == 0
    assert cycles["total"] <= most * np.prod(shape)
