"""`verify` finds what is wrong: a single bit, a slice that is missing, a host operator, an output."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim.checking import verification
from dlasim.checking.verification import verify
from dlasim.cli import main
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import ReferenceExecutor
from dlasim.sim.host import HostOperation
from dlasim.sim.programs.footprint import footprints
from dlasim.sim.readable_engine import execute_operation

CONFIG = DlaConfig().replace(sram_bytes=4096)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "mnist.tflite"
    file.write_bytes(write_tflite(build_topology("mnist")))
    return file


@pytest.fixture(scope="module")
def lowered(path):
    return lower_for(load_model(path), CONFIG, CompileOptions(place="dla"))


class Faulty(ReferenceExecutor):
    """Flips the lowest bit of the last byte that the operation at a word writes."""

    def __init__(self, word: int) -> None:
        self.word = word

    def run(self, plan, sram, regions, observer, first_word):
        for number in range(plan.operations):
            operation = plan.stream.operation(number)
            execute_operation(operation, sram, regions)
            if first_word + operation.position == self.word:
                box = next(item for item in footprints(operation) if item.operand.writes).box
                sram[int(box.end) - 1] ^= 1
            if observer is not None:
                observer(first_word + operation.position, partial(plan.stream.operation, number), sram)


def verify_with_fault(monkeypatch, path, lowered, word):
    monkeypatch.setattr(verification, "make_executor", lambda engine: Faulty(word))
    return verify(path, lowered, CONFIG)


def test_a_wrong_bit_is_found_where_it_is(monkeypatch, path, lowered):
    """For one slice of each tensor: the tensor, its layer, the element and both values."""
    rows = lowered.program.debug
    tensors = np.unique(rows["tensor"])
    assert len(tensors) > 5
    for tensor in tensors:
        row = rows[rows["tensor"] == tensor][-1]
        result = verify_with_fault(monkeypatch, path, lowered, int(row["word"]))
        found = result.mismatch
        assert not result.passed
        assert found is not None
        assert found.tensor == lowered.network.values[tensor].name
        last = tuple(int(n) - 1 for n in row["start"] + row["size"])
        shape = next(node.out_shape for node in lowered.network.nodes
                     if getattr(node, "output", None) == tensor)  # fmt: skip
        want = lowered.network.values[tensor].shape
        assert np.ravel_multi_index(found.index, want) == np.ravel_multi_index(last, shape)
        assert found.actual == int(np.int8(found.expected) ^ np.int8(1))
        assert (found.count, found.elements) == (1, int(np.prod(want)))
        layer = lowered.program.layers[lowered.program.layer_of_words()[row["word"]]]
        assert str(found).startswith(f"layer {layer.name} ({layer.operator}), tensor {found.tensor}: ")
        assert f"is {found.actual}, the reference has {found.expected}" in str(found)


def test_every_slice_is_needed(path, lowered):
    """Without one the tensor is not complete, and that is no pass."""
    debug = lowered.program.debug
    for number in np.random.default_rng(0).permutation(len(debug))[:12]:
        without = replace(lowered.program, debug=np.delete(debug, number))
        result = verify(path, replace(lowered, program=without), CONFIG, runs=0)
        row, found = debug[number], result.mismatch
        assert found is not None
        assert found.actual is None
        assert found.tensor == lowered.network.values[row["tensor"]].name
        assert found.count == int(np.prod(row["size"]))
        assert "was never computed" in str(found)


def test_a_slice_of_an_earlier_inference_does_not_count(path, lowered, monkeypatch):
    """Slices are forgotten between inputs, or a later run could pass with what an earlier one left."""
    shadow_of = verification.Shadow

    class Once(shadow_of):
        runs = 0

        def clear(self):
            super().clear()
            self.runs += 1

        def observe(self, word, operation, sram):
            if self.runs == 1:
                super().observe(word, operation, sram)

    monkeypatch.setattr(verification, "Shadow", Once)
    result = verify(path, lowered, CONFIG)
    assert result.runs == 2
    assert "was never computed" in str(result.mismatch)


def test_a_wrong_host_operator_is_found(monkeypatch, path):
    on_dla = frozenset({"CONV_2D", "MAX_POOL_2D", "FULLY_CONNECTED"})
    lowered = lower_for(load_model(path), CONFIG, CompileOptions(dla_ops=on_dla))  # SOFTMAX is on the CPU
    run = HostOperation._results

    def with_a_wrong_bit(operation, call):
        (values,) = run(operation, call)
        values = values.copy()
        values.flat[3] ^= 1
        return [values]

    monkeypatch.setattr(HostOperation, "_results", with_a_wrong_bit)
    found = verify(path, lowered, CONFIG).mismatch
    assert found is not None
    assert "(SOFTMAX)" in found.layer
    assert found.index == (0, 3)


def test_a_wrong_store_of_an_output_is_found(monkeypatch, tmp_path):
    """The slices are right, and what arrives in memory is not."""
    path = tmp_path / "autoencoder.tflite"
    path.write_bytes(write_tflite(build_topology("autoencoder")))
    lowered = lower_for(load_model(path), DlaConfig(), CompileOptions())
    commands = lowered.program.commands
    stores = [n for n, word in enumerate(commands) if int(word) & 0xFF == BY_MNEMONIC["OP_DMA_WRITE"].opcode]

    class LostStore(ReferenceExecutor):
        def run(self, plan, sram, regions, observer, first_word):
            for number in range(plan.operations):
                operation = plan.stream.operation(number)
                if first_word + operation.position != stores[-1]:
                    execute_operation(operation, sram, regions)
                if observer is not None:
                    observer(first_word + operation.position, partial(plan.stream.operation, number), sram)

    monkeypatch.setattr(verification, "make_executor", lambda engine: LostStore())
    found = verify(path, lowered, DlaConfig()).mismatch
    assert found is not None
    assert found.tensor == lowered.network.values[lowered.network.model_outputs[0]].name


def test_the_command_leaves_with_1_and_one_line(monkeypatch, path, lowered):
    word = int(lowered.program.debug["word"][0])
    monkeypatch.setattr(verification, "make_executor", lambda engine: Faulty(word))
    done = CliRunner().invoke(main, ["verify", str(path), "--sram", "4KiB", "--place", "dla"])
    assert done.exit_code == 1
    assert "the reference has" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_command_tells_a_mismatch_as_json_too(monkeypatch, path, lowered):
    row = lowered.program.debug[-1]
    monkeypatch.setattr(verification, "make_executor", lambda engine: Faulty(int(row["word"])))
    done = CliRunner().invoke(main, ["verify", str(path), "--sram", "4KiB", "--place", "dla", "--json"])
    assert done.exit_code == 1
    assert "the reference has" in done.stderr
    printed = json.loads(done.stdout)
    found = printed["mismatch"]
    assert printed["passed"] is False
    assert found["tensor"] == lowered.network.values[int(row["tensor"])].name
    assert found["index"][-1] == int(row["start"][-1] + row["size"][-1]) - 1
    assert found["actual"] == found["expected"] ^ 1
    assert found["count"] == 1 <= found["elements"]


def test_what_json_has_no_number_for_is_text():
    found = verification.Mismatch("layer", "y", "noise", (0,), float("nan"), float("-inf"), 1, 1)
    written = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert (written["expected"], written["actual"], written["index"]) == ("nan", "-inf", [0])


def test_the_command_leaves_with_0_and_says_who_it_compared_with(path):
    done = CliRunner().invoke(main, ["verify", str(path), "--sram", "4KiB", "--runs", "2"])
    assert done.exit_code == 0, done.stderr
    assert "bit-exact against TFLite Micro" in done.stdout
    assert "5 inputs" in done.stdout


def test_floats_differ_by_the_sign_of_zero_and_not_by_nan():
    want, have = np.array([0.0, np.nan, 1.0], np.float32), np.array([0.0, -np.nan, 1.0], np.float32)
    assert verification._differ("layer", "tensor", "noise", want, have) is None
    have[0] = -0.0
    found = verification._differ("layer", "tensor", "noise", want, have)
    assert found is not None
    assert (found.index, found.count) == ((0,), 1)
