"""Convolutions that leave their int32 sums to the CPU: every tensor is TensorFlow's, on both hosts."""

from pathlib import Path

import pytest

from dlasim import api
from dlasim.checking.tensorflow_reference import ReferenceModel
from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_graph, lower_for
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.isa.host_ops import BY_CODE
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.races import check_program
from tests.compiler.cases import Outcome
from tests.compiler.hosts import hosts_differ
from tests.tflite.one_operator import random_graph

CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
SEEDS = range(6)


@pytest.mark.parametrize(
    ("kind", "depthwise"), [*((kind, "native") for kind in CONVOLUTIONS), ("DEPTHWISE_CONV_2D", "emulated")]
)
def test_sums_become_the_same_tensors(kind: str, depthwise: str, tmp_path: Path) -> None:
    """Batches, groups and transposed convolutions among them, whose parts share one tensor of sums."""
    parts = 0
    for seed in SEEDS:
        path = tmp_path / f"{seed}.tflite"
        path.write_bytes(write_tflite(random_graph(kind, seed)))
        lowered = _lowered(path, CompileOptions(place="dla", requant="cpu", depthwise=depthwise))
        if lowered is None:
            continue
        assert [BY_CODE[call.code].name for call in lowered.program.host_calls] == ["REQUANT"]
        kinds = [layer.kind.name for layer in lowered.program.layers]
        assert len(kinds) == 2
        assert kinds[1] == "HOST"
        races = check_program(lowered.program)
        assert not races.races
        assert not races.uninitialised
        reference = ReferenceModel(path.read_bytes(), lowered.network.tensor_count, isolated=False)
        result = verify(path, lowered, DlaConfig(), runs=1, seed=seed, reference=reference)
        assert result.passed, (seed, result.mismatch, result.uncompared)
        assert not hosts_differ(Outcome("", lowered, DlaConfig()), seed)
        parts = max(parts, len(lowered.network.nodes) - 1)
    assert parts > (1 if kind == "TRANSPOSE_CONV" else 0)


def _lowered(path: Path, options: CompileOptions) -> Lowered | None:
    """None where the DLA does not take the network."""
    try:
        network = partition(load_graph(path))
    except InputError:
        return None
    if not network.items or not all(item.dla for item in network.items):
        return None
    return lower_for(network, DlaConfig(), options)


def test_each_sum_becomes_one_element_on_the_cpu(model_of_convolutions: Path) -> None:
    """The DLA's MACs stay; the CPU gets a call for each convolution, as large as its output."""
    given = {"dla_ops": "CONV_2D", "place": "dla", "timing_only": True}
    apart = api.run(model_of_convolutions, requant="cpu", **given)
    whole = api.run(model_of_convolutions, **given)
    assert apart.report["macs"] == whole.report["macs"]
    program = apart.loaded.program
    calls = [call for call in program.host_calls if BY_CODE[call.code].name == "REQUANT"]
    convolutions = [layer for layer in program.layers if layer.operator == "CONV_2D" and layer.macs]
    assert len(calls) == len(convolutions) > 1
    assert len(program.host_calls) == len(whole.loaded.program.host_calls) + len(calls)
    for call in calls:
        sums, output = program.tensors[call.inputs[0]], program.tensors[call.outputs[0]]
        assert (sums.type.name, output.type.name) == ("int32", "int8")
        assert sums.shape == output.shape
    assert apart.report["cycles"]["cpu"] > whole.report["cycles"]["cpu"]


@pytest.fixture(scope="module")
def model_of_convolutions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "resnet8.tflite"
    api.model("resnet8", path)
    return path
