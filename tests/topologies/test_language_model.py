"""The built-in language model: its size is the published one, and each token is TFLite Micro's."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import dlasim
from dlasim.checking.tensorflow_reference import Reference
from dlasim.checking.verification import Comparison, Verification
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.loading import load
from dlasim.on_board import host_options
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation
from dlasim.vp.system.host import Prototype
from dlasim.vp.system.stepped_board import SteppedBoard
from tests.oracle import run_litert_reference, tensor_count
from tests.topologies.test_topologies import multiplications

# Of Hugging Face's SmolLM2-135M: all parameters; the factors of 61 normalizations are part of no matrix.
PARAMETERS, FACTORS, VOCABULARY = 134_515_008, 61 * 576, 49_152
TOKENS, CONTEXT = 64, 64
SIZES = 64 << 10, 512 << 10, 4 << 20  # of the SRAM
LARGE = "gate", "up", "down"
CPU_CYCLES_OF_APPENDING = 711 + 1464  # keys and values of a layer, by UPDATE_SLICE


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


class StatefulMicro:
    """TFLite Micro, whose variables last from inference to inference, as a reference for every tensor."""

    tolerances: ClassVar[dict[int, int]] = {}

    def __init__(self, model: bytes) -> None:
        from tflite_micro.python.tflite_micro import runtime

        keep = runtime.InterpreterConfig.kPreserveAllTensors
        self._interpreter = runtime.Interpreter.from_bytes(
            model, arena_size=64 << 20, intrepreter_config=keep
        )
        self.tensor_count = tensor_count(model)

    def run(self, inputs, given=None) -> Reference:
        for number, array in enumerate(inputs):
            self._interpreter.set_input(array, number)
        self._interpreter.invoke()
        get = self._interpreter.GetTensor
        return Reference(
            "TFLite Micro",
            {index: np.array(get(index, 0)["tensor_data"]) for index in range(self.tensor_count)},
        )

    def compute_with_other(self, tensor, reference) -> None:
        return None


def compare_steps(model: Path, host: str, sram: int, rows) -> Verification:
    """So many steps, each tensor of each with that of TFLite Micro."""
    config, executor = DlaConfig(sram_bytes=sram), make_executor("fast")
    lowered = dlasim.compile(model, config)
    make = Simulation if host == "none" else SteppedBoard
    comparison = Comparison(
        lowered, make(lowered.program, config, executor), StatefulMicro(model.read_bytes())
    )
    for number, inputs in enumerate(rows):
        if not comparison.infer(f"token {number}", inputs):
            break
    return comparison.finish()


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", SIZES)
def test_every_tensor_of_every_step_is_that_of_tflite_micro(small, tmp_path, sram, host) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    found = compare_steps(path, host, sram, steps(8))
    assert found.passed, found.mismatch or found.uncompared
    assert found.runs == 8
    views = "RESHAPE", "SLICE", "DYNAMIC_UPDATE_SLICE"  # of other tensors' bytes, where they are compared
    assert found.tensors >= sum(operator.kind not in views for operator in small.operators)


@pytest.mark.slow
@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", SIZES)
def test_64_tokens_of_two_layers(tmp_path, sram, host) -> None:
    path = dlasim.model("smollm2", tmp_path / "m.tflite", layers=2, context=CONTEXT, classes=1000)
    found = compare_steps(path, host, sram, steps(TOKENS))
    assert found.passed, found.mismatch or found.uncompared
    assert found.runs == TOKENS
    caches = 2 * 2 * 3 * CONTEXT * 64  # keys and values of three groups in two layers
    assert found.elements > TOKENS * caches


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_several_tokens_at_once_are_those_of_tflite_micro(tmp_path, host) -> None:
    path = dlasim.model("smollm2", tmp_path / "m.tflite", layers=1, context=16, classes=64, tokens=4)
    tokens = np.random.default_rng(2).integers(0, 64, (3, 1, 4)).astype(np.int32)
    places = np.arange(12, dtype=np.int32).reshape(3, 1, 4)
    found = compare_steps(path, host, SIZES[0], zip(tokens, places, strict=True))
    assert found.passed, found.mismatch or found.uncompared
    assert found.runs == 3


def test_later_tokens_of_a_step_do_not_change_earlier_caches(tmp_path) -> None:
    """The mask is causal: what is kept of the first tokens in the second layer does not depend on others."""
    path = dlasim.model("smollm2", tmp_path / "m.tflite", layers=2, context=16, classes=64, tokens=4)
    sessions = [dlasim.Session(path) for _ in range(2)]
    for session, last in zip(sessions, (5, 50), strict=True):
        session.step({"token": np.array([[1, 2, 3, last]]), "position": np.arange(4)[None]})
    one, other = (session.variables["layer_1/attention/keys"] for session in sessions)
    np.testing.assert_array_equal(one[:, :, :3], other[:, :, :3])
    assert one[:, :, 3].tolist() != other[:, :, 3].tolist()
    assert one[:, :, :3].any()


def test_several_tokens_at_once_leave_the_caches_of_single_ones(tmp_path) -> None:
    """The weights and scales are the same. In the second layer, what masked tokens count differs: that is not
    quite nothing, and they are there or not."""
    tokens, places = np.random.default_rng(5).integers(0, 64, (1, 8)), np.arange(8)[None]
    sizes = {"layers": 2, "context": 16, "classes": 64, "weight_bits": 4}
    one, four = (
        dlasim.Session(dlasim.model("smollm2", tmp_path / f"{count}.tflite", tokens=count, **sizes))
        for count in (1, 4)
    )
    for session, count in ((one, 1), (four, 4)):
        for first in range(0, 8, count):
            step = {"token": tokens[:, first : first + count], "position": places[:, first : first + count]}
            logits = session.step(step).outputs[0]
    for name, cache in one.variables.items():
        apart = np.abs(cache.astype(int) - four.variables[name])
        assert apart.max() <= (2 if "layer_1" in name else 0), name
        assert np.abs(cache.astype(int)).max() > 50, name
    one.restore(four.variables)
    step = {"token": tokens[:, -1:], "position": places[:, -1:]}
    assert np.abs(one.step(step).outputs[0].astype(int) - logits).max() <= 4


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_appending_to_caches_costs_their_own_bytes(tmp_path, host) -> None:
    """Of keys, whose rows are contiguous, and of values, whose rows are columns. The DLA writes them where
    the CPU has placed cursors, once for all layers."""
    found = []
    for context in (16, 64):
        path = dlasim.model("smollm2", tmp_path / "m.tflite", layers=2, context=context, classes=64)
        report = dlasim.run(path, timing_only=True, host=host, dma_decoding=8).report
        rows = [layer for layer in report["layers"] if layer["operator"] == "DYNAMIC_UPDATE_SLICE"]
        assert [layer["unit"] for layer in rows] == ["cpu", "dla"] * 2 + ["dla"] * 2
        written = [layer["dma_bytes"]["write"] for layer in rows if layer["unit"] == "dla"]
        assert written == [3 * 64] * 4
        found.append([layer["cycles"] for layer in rows])
    assert found[0] == found[1]
    assert sum(found[0][-2:]) < 0.15 * CPU_CYCLES_OF_APPENDING


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_positions_beyond_a_cache_move_inside(tmp_path, host) -> None:
    """As TFLite Micro moves them, for several tokens at once, of which the last do not fit."""
    path = dlasim.model("smollm2", tmp_path / "m.tflite", layers=1, context=16, classes=64, tokens=4)
    tokens = np.full((1, 4), 7, np.int32)
    rows = [[tokens, np.arange(first, first + 4, dtype=np.int32)[None]] for first in (10, 13, 40, 0)]
    found = compare_steps(path, host, SIZES[1], rows)
    assert found.passed, found.mismatch or found.uncompared
    assert found.runs == 4


def test_a_wrong_token_is_found(small, tmp_path) -> None:
    """The comparison sees a step whose inputs the reference did not get."""
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    lowered = dlasim.compile(path)
    simulation = Simulation(lowered.program, DlaConfig(), make_executor("fast"))
    comparison = Comparison(lowered, simulation, StatefulMicro(path.read_bytes()))
    first, second, third = steps(3)
    assert comparison.infer("both", first)
    simulation.run(third)  # a token more in its caches
    assert not comparison.infer("differs", second)
    assert "attention/keys" in str(comparison.finish().mismatch)


def test_the_firmware_makes_the_same_tokens_with_one_start(small, tmp_path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(small))
    session = dlasim.Session(path, host="riscv")
    found = [session.step(inputs) for inputs in steps(TOKENS)]
    loaded, options = load(path, None, {}), host_options(inferences=TOKENS)
    board = Prototype(loaded.program, loaded.config, make_executor("fast"), options, slots=TOKENS)
    done = board.run(*steps(TOKENS))
    for step, expected in zip(done.steps, found, strict=True):
        np.testing.assert_array_equal(step.outputs[0], expected.outputs[0])
        assert step.total_cycles == expected.cycles


def test_its_tensors_use_their_bits(small) -> None:
    """In the first step, where attention sees one row of its cache."""
    token, position = np.array([[7]], np.int32), np.zeros((1, 1), np.int32)
    tensors = run_litert_reference(write_tflite(small), [token, position])
    for operator in small.operators:
        name, values = small.tensors[operator.outputs[0]].name, tensors[operator.outputs[0]]
        if operator.kind in ("FULLY_CONNECTED", "ADD") and values.size > 1 and "masked" not in name:
            assert np.isin(values, [-128, 127]).mean() <= 0.05, name
            assert len(np.unique(values)) >= min(32, values.size // 4), name


@pytest.mark.parametrize(
    ("bits", "form", "most"), [(8, {}, 1.04), (4, {"dma_unpacking": 8}, 1.06), (4, {"dma_decoding": 8}, 1.08)]
)
def test_a_layer_more_is_bound_by_its_weights(tmp_path, bits, form, most) -> None:
    """Loads go on while a layer normalizes, attends, and appends to caches."""
    reports = []
    for layers in (1, 2):
        path = tmp_path / f"{layers}.tflite"
        dlasim.model("smollm2", path, layers=layers, context=256, classes=64, weight_bits=bits)
        reports.append(dlasim.run(path, timing_only=True, **form).report)
    one, two = ((report["cycles"]["total"], report["bound_cycles"]) for report in reports)
    assert two[0] - one[0] <= most * (two[1] - one[1])


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
