"""The estimate of the CPU's time, against the instructions that the firmware takes on the board."""

import importlib
from math import log2
from pathlib import Path

import pytest

from dlasim import api
from dlasim.isa import host_ops
from dlasim.sim.host_time.host_estimate import call_cycles, operator_cycles

ROOT = Path(__file__).parents[2]
LAYER_MATTERS = 0.02  # of a network's instructions
SHORT = 20_000  # elements or multiply-accumulates


def compare(model: Path) -> list[tuple[str, int, int]]:
    """Of each host call: operator, instructions, estimate."""
    done = api.run(model, timing_only=True, place="cpu", host="riscv")
    assert done.prototyped is not None
    program, measured = done.loaded.program, done.prototyped.cpu.call_instructions
    names = [host_ops.BY_CODE[call.code].name for call in program.host_calls]
    return [
        (name, count, call_cycles(program, call))
        for name, count, call in zip(names, measured, program.host_calls, strict=True)
    ]


def check(model: Path) -> None:
    calls = compare(model)
    total = sum(count for _, count, _ in calls)
    assert sum(estimate for _, _, estimate in calls) == pytest.approx(total, rel=0.1)
    for name, count, estimate in calls:
        if count > LAYER_MATTERS * total:
            assert estimate == pytest.approx(count, rel=0.2), name


def test_single_calls_take_about_as_long_as_estimated(monkeypatch):
    """Of every operator, over sizes and lengths of contiguous runs: the benchmark's calls that are short."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    benchmark = importlib.import_module("cpu_estimate")
    on_the_board = {operator.name for operator in host_ops.HOST_OPERATORS if operator.firmware}
    short = [single for single in benchmark.singles() if single.elements < SHORT]
    on_the_board.remove("SUPPRESS_BOXES")  # its time depends on how many boxes are good and overlap
    assert {single.operator for single in short} == on_the_board
    for single in short:
        measured, estimate = benchmark.measure(single)
        assert estimate == pytest.approx(measured, rel=0.15), (single, measured)


def test_a_long_ranking_takes_no_time_of_its_square(monkeypatch):
    """The first thousands of all boxes of a detector: by insertion, it took 40 instructions for each pair."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    benchmark = importlib.import_module("cpu_estimate")
    length, most = 20_000, 10_000
    positions = ((1, most), "int32")
    single = benchmark.Single("TOP_K", (((1, length), "int8"),), ((1, most), "int8"), {}, (positions,))
    measured, estimate = benchmark.measure(single)
    assert measured < 100 * length * log2(most)
    assert estimate == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize("name", ["mnist", "ds_cnn", "autoencoder", "resnet8"])
def test_networks_take_about_as_long_as_estimated(network, name):
    check(network(name))


@pytest.mark.parametrize("name", ["resnet", "vww", "aww", "toycar"])
def test_real_networks_too(model_zoo, name):
    check(model_zoo / "mlperf_tiny" / f"{name}.tflite")


@pytest.mark.parametrize("operator", host_ops.HOST_OPERATORS, ids=lambda operator: operator.name)
def test_any_shapes_have_an_estimate(operator):
    """A program may tell of a call whatever it likes; time does not judge it."""
    for shapes in ([], [()], [(0,), (0, 0, 0, 0)], [(1, 2, 3, 4), (5,)]):
        for outputs in (shapes, shapes[::-1]):
            assert operator_cycles(shapes, outputs, operator.code, macs=10) > 0
