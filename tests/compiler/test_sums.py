"""Sums in the output stage of MAC, as TFLite Micro adds: all pairs of int8, and networks on both hosts."""

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import codec
from dlasim.isa.instruction_rows import OPCODE
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.sim.configuration.config import DlaConfig
from tests.oracle import run_tflite_micro

KINDS = [BY_MNEMONIC[name] for name in ("OP_CONV", "OP_DEPTH_CONV", "OP_MAT_MUL")]
BYTES = np.arange(-128, 128).astype(np.int8)


def count_sums(program) -> int:
    """Operations of MAC that add a tensor."""
    words = program.commands
    is_mac = np.isin(codec.extract(words, OPCODE), [row.opcode for row in KINDS])
    return int((is_mac & (codec.extract(words, KINDS[0].field("sum")) == 1)).sum())


def program_of(path, **machine):
    """The program for a machine with such sums."""
    config = DlaConfig().replace(mac_sums=1, **machine)
    return lower_for(load_model(path), config, CompileOptions(place="dla")).program


def sum_of_all_pairs(rng: np.random.Generator, path) -> None:
    """A convolution that gives each byte, and a tensor with each byte for each of these, added."""
    scales = np.exp(rng.uniform(-4, 4, 3))
    points = rng.integers(-128, 128, 3).tolist()
    net = dlasim.GraphBuilder()
    one = net.input("one", (1, 256, 256, 1), scale=scales[0], zero_point=points[0])
    other = net.input("other", (1, 256, 256, 1), scale=scales[1], zero_point=points[1])
    weights = net.constant("weights", np.full((1, 1, 1, 1), 64, np.int8), scale=1 / 64)
    given = net.operator("CONV_2D", (one, weights), scale=scales[0], zero_point=points[0], padding="VALID")
    pair = (given, other) if rng.integers(2) else (other, given)
    relu = str(rng.choice(["NONE", "RELU", "RELU6"]))
    total = net.operator("ADD", pair, scale=scales[2], zero_point=points[2], fused_activation_function=relu)
    path.write_bytes(write_tflite(net.graph([total])))


@pytest.mark.parametrize("seed", range(24))
def test_all_pairs_are_added_as_by_tflite_micro(seed, tmp_path):
    path = tmp_path / "sum.tflite"
    sum_of_all_pairs(np.random.default_rng(seed), path)
    assert count_sums(program_of(path)), "the convolution adds"
    inputs = [np.broadcast_to(BYTES[:, None], (256, 256)), np.broadcast_to(BYTES, (256, 256))]
    inputs = [each.reshape(1, 256, 256, 1).copy() for each in inputs]
    expected = run_tflite_micro(path, inputs)
    found = dlasim.run(path, inputs=inputs, mac_sums=1, place="dla")
    assert np.array_equal(found.outputs[0], expected[max(expected)])


NETWORKS = {
    "resnet8": {},
    "mobilenet_v2": {"alpha": 0.35, "resolution": 96},
    "resnet50": {"resolution": 32},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The networks in files."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for name, options in NETWORKS.items():
        found[name] = folder / f"{name}.tflite"
        found[name].write_bytes(write_tflite(build_topology(name, **options)))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sram", ["48KiB", "128KiB", "1MiB"])
@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_on_both_hosts(models, name, host, sram):
    result = dlasim.verify(models[name], host=host, sram=sram, mac_sums=1)
    assert result.passed, result


@pytest.mark.parametrize("name", ["resnet8", "mobilenet_v2"])
def test_every_sum_of_the_networks_can_be_in_the_output_stage(models, name):
    """None is left to the VECTOR unit."""
    program = program_of(models[name], sram_bytes=1 << 22)
    adds = {layer.name for layer in program.layers if layer.operator == "ADD"}
    computed = {program.layers[number].name for number in program.work["layer"]}
    assert adds
    assert not adds & computed
    assert count_sums(program) >= len(adds)
