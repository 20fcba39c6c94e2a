"""The flow of the source paper on MobileNetV1: its cycles, its findings, its limits; never better than ours.

The expected figures come from the paper's plain model, as formulas: every layer's whole input is in SRAM
beside as many output channels as fit, int32 sums go to memory, and a convolution takes
OH*OW*KH*KW*OC*ceil(IC/P) or OH*OW*KH*KW*IC*ceil(OC_tile/P) cycles.
"""

from collections import defaultdict
from functools import cache
from math import ceil

import pytest

from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.planning.plan_maker import PlanMemory
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.configuration.sizes import KIB, MIB
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.reports.report import report

PAPER = {"fusion": "none", "tiling": "output-channel"}
# As published with the plain model, in millions.
CONV_MILLIONS = {
    (256 * MIB, 64, "input"): 12.44, (256 * MIB, 64, "output"): 8.77,
    (256 * MIB, 128, "input"): 8.63, (256 * MIB, 128, "output"): 4.75,
    (MIB, 64, "input"): 12.44, (MIB, 64, "output"): 11.97,
    (MIB, 128, "input"): 8.63, (MIB, 128, "output"): 8.35,
    (512 * KIB, 64, "input"): 12.44, (512 * KIB, 64, "output"): 29.77,
    (512 * KIB, 128, "input"): 8.63, (512 * KIB, 128, "output"): 26.15,
}  # fmt: skip
# Output rows, kernel and channels in and out of MobileNetV1's convolutions.
LAYERS = [(112, 3, 3, 32), (112, 1, 32, 64), (56, 1, 64, 128), (56, 1, 128, 128), (28, 1, 128, 256),
          (28, 1, 256, 256), (14, 1, 256, 512), *[(14, 1, 512, 512)] * 5, (7, 1, 512, 1024),
          (7, 1, 1024, 1024)]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Built-in networks by name, written once."""
    folder = tmp_path_factory.mktemp("networks")

    def get(name):
        path = folder / f"{name}.tflite"
        if not path.exists():
            path.write_bytes(write_tflite(build_topology(name)))
        return path

    return get


@pytest.fixture(scope="module")
def networks(files):
    """Built-in networks by name, partitioned once."""
    known = {}
    return lambda name: known[name] if name in known else known.setdefault(name, load_model(files(name)))


@pytest.fixture(scope="module")
def reported(networks):
    """The report of a network on a machine, made once. As in a sweep, machines that differ only in their SRAM
    share what has been found."""
    memories = defaultdict(PlanMemory)

    @cache
    def made(name, config, options):
        memory = memories[name, config.replace(sram_bytes=MIB), options]
        lowered = lower_for(networks(name), config, options, False, memory)
        inference = Simulation(lowered.program, config, None).run()
        return report(lowered.program, config, inference)

    return lambda name, config, **options: made(name, config, CompileOptions(**options))


@pytest.fixture(scope="module")
def cycles(reported):
    """The cycles of such a report."""
    return lambda name, config, **options: reported(name, config, **options)["cycles"]


def machine(point, name="paper"):
    sram_bytes, pes, parallel = point
    return preset(name).replace(sram_bytes=sram_bytes, pes=pes, parallel=parallel)


def plain_model(sram_bytes: int, pes: int, parallel: str) -> int:
    """Compute cycles of all convolutions, by the formulas above."""
    total = 0
    for rows, kernel, depth, channels in LAYERS:
        pixels, taps = rows * rows, kernel * kernel
        source = (rows * (2 if kernel == 3 else 1)) ** 2 * depth
        tile = min((sram_bytes - source) // (pixels * 4 + taps * depth + 4), channels)
        if parallel == "input":
            total += pixels * taps * channels * ceil(depth / pes)
            continue
        tiles = [tile] * (channels // tile) + [channels % tile] * bool(channels % tile)
        total += sum(pixels * taps * depth * ceil(size / pes) for size in tiles)
    return total


@pytest.mark.parametrize("point", CONV_MILLIONS)
def test_convolutions_take_the_cycles_of_the_plain_model(cycles, point):
    found = cycles("mobilenet_v1", machine(point), **PAPER)["by_kind"]["CONV"]
    assert plain_model(*point) == pytest.approx(CONV_MILLIONS[point] * 1e6, abs=5_001)
    assert found == pytest.approx(plain_model(*point), rel=0.03)


@pytest.mark.parametrize(("pes", "millions"), [(64, 0.33), (128, 0.23)])
def test_native_depthwise_in_a_large_sram(cycles, pes, millions):
    found = cycles("mobilenet_v1", machine((256 * MIB, pes, "output")), **PAPER)
    assert found["by_kind"]["DEPTH"] / 1e6 == pytest.approx(millions, abs=0.0051)


@pytest.mark.parametrize("point", CONV_MILLIONS)
def test_emulated_depthwise_takes_a_cycle_for_each_product(cycles, point):
    found = cycles("mobilenet_v1", machine(point), **PAPER, depthwise="emulated")
    assert found["by_kind"]["DEPTH"] / 1e6 == pytest.approx(17.39, abs=0.005)


def test_the_four_findings(cycles):
    def total(sram_bytes, pes, parallel, depthwise="native"):
        config = machine((sram_bytes, pes, parallel))
        return cycles("mobilenet_v1", config, **PAPER, depthwise=depthwise)["dla"]

    for pes in (64, 128):
        assert total(256 * MIB, pes, "output") < total(256 * MIB, pes, "input")
        assert total(512 * KIB, pes, "input") < total(512 * KIB, pes, "output")
        for sram_bytes in (512 * KIB, MIB, 256 * MIB):
            for parallel in ("input", "output"):
                native = total(sram_bytes, pes, parallel)
                assert total(sram_bytes, pes, parallel, "emulated") > 1.5 * native
    assert total(MIB, 128, "output") < total(256 * MIB, 64, "output")
    assert total(MIB, 128, "input") < total(256 * MIB, 64, "input")


@pytest.mark.parametrize("parallel", ["input", "output"])
def test_a_quarter_of_a_mebibyte_is_refused_with_the_layer_that_does_not_fit(networks, parallel):
    """112 x 112 x 32 bytes of input alone are 401,408; a channel of int32 is 50,176."""
    needed = 112 * 112 * 32 + 32 + 12 + 112 * 112 * 4
    with pytest.raises(InputError, match=rf"pointwise_1 \(CONV_2D\) needs {needed} bytes .* has 262144"):
        lower_for(networks("mobilenet_v1"), machine((256 * KIB, 64, parallel)), CompileOptions(**PAPER))


@pytest.mark.parametrize("name", ["paper", "default"])
@pytest.mark.parametrize("point", CONV_MILLIONS)
def test_auto_with_full_fusion_is_never_slower(cycles, name, point):
    for depthwise in ("cpu", "emulated", "native"):
        ours = cycles("mobilenet_v1", machine(point, name), depthwise=depthwise)
        theirs = cycles("mobilenet_v1", machine(point, name), **PAPER, depthwise=depthwise)
        assert ours["total"] <= theirs["total"]
        assert ours["dla"] <= theirs["dla"]


@pytest.mark.parametrize(
    "name",
    ["resnet8", "ds_cnn", "autoencoder", "mnist", pytest.param("mobilenet_v2", marks=pytest.mark.slow)],
)
def test_auto_is_never_slower_on_other_networks(cycles, name):
    refused = 0
    for base in ("paper", "default"):
        for sram_bytes in (64 * KIB, 512 * KIB, 256 * MIB):
            for array in ({"parallel": "input"}, {"parallel": "output"}, {"parallel": "8x8"}):
                config = preset(base).replace(sram_bytes=sram_bytes, **array)
                try:
                    theirs = cycles(name, config, **PAPER)
                except InputError:
                    refused += 1
                    continue
                assert cycles(name, config)["total"] <= theirs["total"]
    assert refused < 18


@pytest.mark.parametrize("name", ["paper", "default"])
def test_half_a_mebibyte_is_enough_for_ten_million_cycles(cycles, name):
    found = cycles("mobilenet_v1", machine((512 * KIB, 64, "output"), name))
    assert found["by_kind"]["CONV"] < 10e6


def test_resnet8_comes_close_to_the_ideal_on_a_grid(reported):
    """12.5 M products on 64 PEs are 195k cycles."""
    config = preset("default").replace(parallel="8x8", sram_bytes=256 * MIB)
    found = reported("resnet8", config)
    mac = found["units"]["MAC"]
    busy = mac["work"] + mac["fill"] + mac["drain"] + mac["output"] + mac["sram"]
    assert 1.05 * 195_300 <= busy <= found["cycles"]["dla"] <= 1.4 * 195_300


@pytest.mark.parametrize(
    ("name", "sram_bytes"),
    [
        ("resnet8", 16 * KIB),
        pytest.param("mobilenet_v1", 64 * KIB, marks=pytest.mark.slow),
        pytest.param("mobilenet_v2", 64 * KIB, marks=pytest.mark.slow),
    ],
)
def test_small_srams_suffice(networks, files, name, sram_bytes):
    config = preset("default").replace(sram_bytes=sram_bytes)
    lowered = lower_for(networks(name), config, CompileOptions(place="dla"))
    assert {layer.target for layer in lowered.network.layers if layer.operator != "SOFTMAX"} == {"dla"}
    assert lowered.plan.peak_bytes <= sram_bytes
    result = verify(files(name), lowered, config)
    assert result.passed, str(result.mismatch)
