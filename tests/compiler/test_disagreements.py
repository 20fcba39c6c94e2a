"""Where TFLite Micro is wrong, `verify` takes LiteRT's kernel, says so, and says where they differ."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim.checking import verification
from dlasim.checking.tensorflow_reference import ReferenceModel
from dlasim.cli import main
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.oracle import run_litert_reference, run_tflite_micro


def int8(name, scale, zero_point):
    return Tensor(name, (1, 64), "int8", Quantization((float(np.float32(scale)),), (zero_point,)))


def relu6(scale=0.03, zero_point=-10):
    tensors = (int8("x", 0.05, 3), int8("doubled", 0.1, 3), int8("y", scale, zero_point))
    operators = (
        Operator("ADD", (0, 0), (1,), {}, "operator 0"),
        Operator("RELU6", (1,), (2,), {}, "operator 1"),
    )
    return Graph("relu6", tensors, operators, (0,), (2,))


def add_of_int32():
    tensors = tuple(Tensor(name, (1, 64), "int32") for name in ("x", "y"))
    add = Operator("ADD", (0, 0), (1,), {"fused_activation_function": "RELU6"}, "operator 0")
    return Graph("add", tensors, (add,), (0,), (1,))


def padded_blocks():
    pads = np.array([[1, 1]], np.int32)
    tensors = (
        int8("x", 0.05, 3),
        Tensor("pixels", (1, 64, 1), "int8", Quantization((float(np.float32(0.05)),), (3,))),
        Tensor("block", (1,), "int32", None, np.array([2], np.int32)),
        Tensor("pads", (1, 2), "int32", None, pads),
        Tensor("y", (2, 33, 1), "int8", Quantization((float(np.float32(0.05)),), (3,))),
    )
    operators = (
        Operator("RESHAPE", (0,), (1,), {"new_shape": (1, 64, 1)}, "operator 0"),
        Operator("SPACE_TO_BATCH_ND", (1, 2, 3), (4,), {}, "operator 1"),
    )
    return Graph("blocks", tensors, operators, (0,), (4,))


def relu6_of_int16():
    tensors = tuple(
        Tensor(name, (1, 64), "int16", Quantization((scale,), (0,)))
        for name, scale in (("x", 0.5), ("y", 0.25))
    )
    return Graph("relu6", tensors, (Operator("RELU6", (0,), (1,), {}, "operator 0"),), (0,), (1,))


def greater_of_int16():
    x = Tensor("x", (1, 64), "int16", Quantization((0.01,), (0,)))
    limit = replace(x, name="limit", data=np.full((1, 64), 3, np.int16))
    greater = Operator("GREATER", (0, 1), (2,), {}, "operator 0")
    return Graph("greater", (x, limit, Tensor("y", (1, 64), "bool")), (greater,), (0,), (2,))


def curve_of_tiny_scale(kind, scale, zero_point):
    tensors = (int8("x", 2.0**-29, 0), int8("y", scale, zero_point))
    return Graph("curve", tensors, (Operator(kind, (0,), (1,), {}, "operator 0"),), (0,), (1,))


def logistic():
    return curve_of_tiny_scale("LOGISTIC", 1 / 256, -128)


def tanh():
    return curve_of_tiny_scale("TANH", 1 / 128, 0)


CASES = (relu6, relu6_of_int16, greater_of_int16, logistic, tanh, add_of_int32, padded_blocks)


@pytest.fixture(params=CASES, ids=lambda make: make.__name__)
def graph(request):
    return request.param()


def save(graph, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    return path


def test_the_references_disagree(graph):
    """What the case rests on: the day on which TFLite Micro is mended, it goes."""
    x = np.arange(-32, 32, dtype=graph.tensors[0].dtype).reshape(1, 64)
    model, output = write_tflite(graph), graph.outputs[0]
    assert (run_tflite_micro(model, [x])[output] != run_litert_reference(model, [x])[output]).any()


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_verify_uses_the_one_that_is_right(graph, host, tmp_path):
    path, kind = save(graph, tmp_path), graph.operators[-1].kind
    done = CliRunner().invoke(main, ["verify", str(path), "--host", host])
    assert done.exit_code == 0, done.stderr
    assert f"TFLite Micro, operator by operator, and LiteRT for {kind} (TFLite Micro " in done.stdout
    (note,) = done.stderr.strip().splitlines()
    assert note.startswith(f"note: y ({kind}): TFLite Micro and LiteRT disagree in ")
    found = json.loads(CliRunner().invoke(main, ["verify", str(path), "--json"]).stdout)
    assert found["passed"]
    assert len(found["disagreements"]) == 1


def test_a_relu6_that_does_not_rescale_is_left_to_tflite_micro(tmp_path):
    done = CliRunner().invoke(main, ["verify", str(save(relu6(0.1, 3), tmp_path))])
    assert done.exit_code == 0, done.stderr
    assert "bit-exact against TFLite Micro:" in done.stdout
    assert done.stderr == ""


def test_without_the_one_that_is_right_there_is_a_gap(graph, monkeypatch, tmp_path):
    """Rather than a fault of TFLite Micro reported as one of dlasim."""
    monkeypatch.setattr("dlasim.checking.tensorflow_reference.available", lambda _: ["TFLite Micro"])
    done = CliRunner().invoke(main, ["verify", str(save(graph, tmp_path))])
    assert done.exit_code == 1
    assert "differs" not in done.stderr


@pytest.mark.parametrize(("change", "says"), [(1, "; LiteRT has "), (0, "; LiteRT agrees with dlasim")])
def test_a_mismatch_names_what_the_other_reference_has(change, says, monkeypatch, tmp_path):
    """With a reference whose TFLite Micro is wrong in one element, or a dlasim that is."""
    path = save(relu6(0.1, 3), tmp_path)
    run = ReferenceModel.run

    def faulty(self, inputs, given=None):
        found = run(self, inputs, given)
        tensors = {**found.tensors, 2: found.tensors[2].copy()}
        tensors[2].flat[5] ^= 1
        return replace(found, tensors=tensors)

    if change:  # both references are right, and dlasim is wrong
        differ = verification._differ
        monkeypatch.setattr(
            verification,
            "_differ",
            lambda a, b, c, want, have, *rest: differ(a, b, c, want, have ^ (b == "y"), *rest),
        )
    else:
        monkeypatch.setattr(ReferenceModel, "run", faulty)
    result = verification.verify(*_lowered(path))
    assert says in str(result.mismatch)


def _lowered(path):
    from dlasim.compiler_shim.compile import load_model, lower_for
    from dlasim.compiler_shim.options import CompileOptions
    from dlasim.sim.configuration.config import DlaConfig

    config = DlaConfig()
    return path, lower_for(load_model(path), config, CompileOptions()), config
