"""The RTL as the accelerator of the virtual prototype gives what the simulator's machine gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.result import RunResult
from dlasim.session import Session
from dlasim.vp.system import rtl_library
from tests.rtl.drawn_networks import graph_of
from tests.rtl.machines import machine

TINY = {"parallel": "1x1", "sram_bytes": 64 * 1024, "vector_lanes": 1, "dma_bandwidth": 4}


def on_board(network: str | Path, config: Any, **host_options: Any) -> RunResult:
    """An inference with random inputs, the same in every call."""
    options = {"repeat": 2, "host": "riscv", "host_options": host_options}
    return api.run(network, config, **options)


def assert_equal(network: str | Path, config: Any, **host_options: Any) -> RunResult:
    """The RTL gives what the simulator gives; returns the RTL's."""
    rtl = on_board(network, config, dla="rtl", **host_options)
    simulator = on_board(network, config, **host_options)
    for ours, theirs in zip(rtl.outputs, simulator.outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert any(output.any() for output in rtl.outputs)
    found, expected = rtl.report, simulator.report
    for name in ("cycles", "layers", "units", "cpu", "macs", "dma_bytes", "memory"):
        assert found[name] == expected[name]
    figures = found["rtl"]
    assert figures["streams"] > 0
    assert figures["different_streams"] == 0
    assert figures["cycles"] == figures["simulator_cycles"] > 0
    assert found["warnings"] == expected["warnings"]
    assert "rtl" not in expected
    return rtl


@pytest.mark.parametrize(
    "host_options",
    [{}, {"completion": "polling"}, {"submission": "registers"}],
    ids=["interrupt", "polling", "registers"],
)
def test_each_way_of_the_firmware(host_options: dict[str, str]) -> None:
    assert_equal("mnist", machine("grid"), **host_options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grid", "8x8"])
@pytest.mark.parametrize("network", ["ds_cnn", "autoencoder", "resnet8"])
def test_networks(network: str, name: str) -> None:
    assert_equal(network, machine(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "most"), [({}, 1.0), ({"dma_decoding": 8}, 0.92)], ids=["plain", "compressed"]
)
def test_a_layer_of_a_decoder(form: dict[str, int], most: float, tmp_path: Path) -> None:
    path = tmp_path / "decoder.tflite"
    api.model("smollm2", path, layers=1, context=16, classes=64)
    bytes_, plain = (
        api.run(path, machine("8x8").replace(**each), timing_only=True).report["dma_bytes"]["read"]
        for each in (form, {})
    )
    assert bytes_ <= most * plain
    assert_equal(path, machine("8x8").replace(**form))


@pytest.mark.slow
def test_steps_of_a_decoder(tmp_path: Path) -> None:
    """Three tokens, from one stand-still of the board to the next; caches are equal, too."""
    path = tmp_path / "decoder.tflite"
    api.model("smollm2", path, layers=1, context=16, classes=64)
    sessions = [
        Session(path, machine("8x8"), host="riscv", host_options={"dla": dla}) for dla in ("rtl", "simulator")
    ]
    for number in range(3):
        inputs = {"token": np.array([[7 * number]]), "position": np.array([[number]])}
        rtl, simulator = (session.step(inputs) for session in sessions)
        np.testing.assert_array_equal(rtl.outputs[0], simulator.outputs[0])
        assert rtl.cycles == simulator.cycles
    ours, theirs = (session.variables for session in sessions)
    for name, cache in ours.items():
        np.testing.assert_array_equal(cache, theirs[name])
        assert cache.any()
    assert sessions[0].result.report["rtl"]["different_streams"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("network", ["aww", "resnet", "toycar", "vww"])
def test_mlperf_tiny(network: str, model_zoo: Path) -> None:
    assert_equal(model_zoo / "mlperf_tiny" / f"{network}.tflite", machine("8x8"))


def test_a_machine_with_limits() -> None:
    """Outputs are equal, cycles near, and the report says that they are not the simulator's."""
    config = machine("ports")
    rtl, simulator = on_board("mnist", config, dla="rtl"), on_board("mnist", config)
    for ours, theirs in zip(rtl.outputs, simulator.outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    figures = rtl.report["rtl"]
    assert figures["simulator_cycles"] < figures["cycles"] < 1.02 * figures["simulator_cycles"]
    assert figures["different_streams"] == figures["streams"] > 0
    assert rtl.report["cycles"]["total"] > simulator.report["cycles"]["total"]
    assert any("a different number of cycles in the RTL" in warning for warning in rtl.report["warnings"])


@pytest.mark.parametrize(("suffix", "head"), [(".vcd", b"$version"), (".fst", b"\0")])
def test_waveforms(suffix: str, head: bytes, tmp_path: Path) -> None:
    file, model = tmp_path / f"waves{suffix}", tmp_path / "one_layer.tflite"
    layer = graph_of("one_layer", lambda build, source, classes, _: build.classify(source, classes), (16,))
    model.write_bytes(write_tflite(layer))
    rtl = on_board(model, machine("grid").replace(**TINY), dla="rtl", vcd=str(file))
    content = file.read_bytes()
    assert content.startswith(head)
    if suffix == ".vcd":
        assert b" host_address " in content
        last = max(int(line[1:]) for line in content.splitlines() if line[:1] == b"#" and line[1:].isdigit())
        cycles = rtl.report["rtl"]["cycles"]
        assert last >= cycles * 2000, "a cycle at 500 MHz has 2,000 ps"


@pytest.mark.slow
def test_a_slower_rtl_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A MAC unit that drains a cycle longer: the host sees the later interrupt, and the report says it."""
    real = list(rtl_library._sources())

    def changed() -> Iterator[Path]:
        for path in real:
            if path.name == "dla_mac.sv":
                text = path.read_text()
                assert text.count("cool_down == DRAIN - LEAST_DRAIN;") == 1
                path = tmp_path / path.name
                path.write_text(
                    text.replace(
                        "if (DRAIN == LEAST_DRAIN) begin : drained", "if (0) begin : drained"
                    ).replace("cool_down == DRAIN - LEAST_DRAIN;", "cool_down == DRAIN - LEAST_DRAIN + 1;")
                )
            yield path

    config = machine("grid").replace(**TINY)
    simulator = on_board("mnist", config)
    monkeypatch.setattr(rtl_library, "_sources", changed)
    rtl = on_board("mnist", config, dla="rtl")
    figures = rtl.report["rtl"]
    assert figures["different_streams"] == figures["streams"]
    assert figures["cycles"] > figures["simulator_cycles"]
    assert rtl.report["cycles"]["total"] > simulator.report["cycles"]["total"]
    assert any("a different number of cycles in the RTL" in warning for warning in rtl.report["warnings"])
    np.testing.assert_array_equal(rtl.outputs[0], simulator.outputs[0])
