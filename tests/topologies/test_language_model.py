"""The built-in language model: its size is the published one, and each token is TFLite Micro's."""

from __future__ import annotations

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa.instructions import BY_MNEMONIC, Unit
from tests.oracle import run_litert_reference
from tests.topologies.test_topologies import multiplications

# Of Hugging Face's SmolLM2-135M: all parameters; the factors of 61 normalizations are part of no matrix.
PARAMETERS, FACTORS, VOCABULARY = 134_515_008, 61 * 576, 49_152
TOKENS, CONTEXT = 64, 64
LARGE = "gate", "up", "down"


@pytest.fixture(scope="module")
def small():
    return build_topology("smollm2", layers=1, context=CONTEXT, classes=1000)


def test_its_size_is_the_published_one() -> None:
    one, two = (
        multiplications(build_topology("smollm2", layers=layers, context=2, classes=16)) for layers in (1, 2)
    )
    assert one + 29 * (two - one) + 576 * (VOCABULARY - 16) == PARAMETERS - FACTORS


def steps(tokens: int):
    rng = np.random.default_rng(1)
    for position in range(tokens):
        yield [np.array([[number]], np.int32) for number in (rng.integers(1000), position)]


def test_every_token_is_that_of_tflite_micro(small, tmp_path) -> None:
    from tflite_micro.python.tflite_micro import runtime

    model = write_tflite(small)
    (tmp_path / "model.tflite").write_bytes(model)
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=64 << 20)
    sizes = "64KiB", "512KiB", "4MiB"
    sessions = [dlasim.Session(tmp_path / "model.tflite", sram=size) for size in sizes]
    for inputs in steps(TOKENS):
        for number, array in enumerate(inputs):
            interpreter.set_input(array, number)
        interpreter.invoke()
        expected = interpreter.get_output(0)
        for session in sessions:
            np.testing.assert_array_equal(session.step(inputs).outputs[0], expected)
    assert len(np.unique(expected)) > 64


def test_the_board_makes_the_same_token(small, tmp_path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    inputs = next(steps(1))
    found = dlasim.run(path, inputs=inputs, host="riscv").outputs[0]
    np.testing.assert_array_equal(found, dlasim.Session(path).step(inputs).outputs[0])


def test_its_tensors_use_their_bits(small) -> None:
    """In the first step, where attention sees one row of its cache."""
    token, position = np.array([[7]], np.int32), np.zeros((1, 1), np.int32)
    tensors = run_litert_reference(write_tflite(small), [token, position])
    for operator in small.operators:
        name, values = small.tensors[operator.outputs[0]].name, tensors[operator.outputs[0]]
        if operator.kind in ("FULLY_CONNECTED", "ADD") and values.size > 1 and "masked" not in name:
            assert np.isin(values, [-128, 127]).mean() <= 0.05, name
            assert len(np.unique(values)) >= min(32, values.size // 4), name


def test_decoding_is_bound_by_its_weights(small, tmp_path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    report = dlasim.run(path, timing_only=True).report
    assert report["cycles"]["total"] <= 1.05 * report["bound_cycles"]
    assert report["cycles"]["cpu"] <= 0.02 * report["cycles"]["total"]


def test_the_bus_does_not_wait_for_the_units(small, tmp_path) -> None:
    """While weights of the feed-forward layers are loaded, the next load is always in DMA_IN's queue."""
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    result = dlasim.run(path, timing_only=True)
    program, found = result.loaded.program, 0
    for run in result.inference.runs:
        layers = program.layer_of_words()[run.first_word + run.plan.stream.positions]
        names = np.array([program.layers[layer].name for layer in layers])
        wanted = np.isin(names, [f"layer_0/mlp/{part}" for part in LARGE])
        loads = (run.plan.costs.unit == Unit.DMA_IN) & wanted
        start, end = run.plan.timeline.start[loads], run.plan.timeline.end[loads]
        found += len(start)
        assert np.count_nonzero(start[1:] > end[:-1]) <= 3  # between layers
    assert found >= 3 * 6


def test_the_bound_counts_the_caches_of_all_groups(small, tmp_path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    program = dlasim.compile(path).program
    names = [layer.name for layer in program.layers]
    for product in ("scores", "mixed"):
        work = program.work[program.work["layer"] == names.index(f"layer_0/attention/{product}")]
        loads = work[work["opcode"] == BY_MNEMONIC["OP_DMA_READ"].opcode]
        assert loads["count"].sum() == 3 * 64 * CONTEXT  # groups, and numbers of a token
