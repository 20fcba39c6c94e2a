"""What `--dla rtl` refuses, in one line each, before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlasim import api
from dlasim.errors import InputError, RunError
from dlasim.sim.config import DlaConfig
from dlasim.vp import rtl_library
from tests.rtl.machines import machine


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timing": "macs"}, "timing must be full (got macs)"),
        (
            {"sram_bandwidth": 16, "accumulators": "unlimited"},
            "accumulators must be at least 1 where sram_bandwidth or mac_results is limited (got unlimited)",
        ),
        ({"dma_bandwidth": 0}, "dma_bandwidth must be at least 1 (got 0)"),
        ({"issue_cycles": 0}, "issue_cycles must be at least 1 (got 0)"),
        ({"mac_fill": 3}, "mac_fill must be at least 4 (got 3)"),
        ({"vector_drain": 1}, "vector_drain must be at least 2 (got 1)"),
    ],
)
def test_machines_without_rtl(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        rtl_library.load(machine("8x8 shared bus").replace(**change))
    assert str(caught.value) == f"--dla rtl: there is no RTL of this machine: {message}"


def test_without_verilator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match=r"^--dla rtl: verilator is not installed; install .*apt-get install"):
        rtl_library.load(machine("8x8 shared bus"))


def test_a_verilator_in_the_current_folder_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "verilator"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(RunError, match="verilator is not installed"):
        rtl_library.load(machine("8x8 shared bus"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("host_options", "message"),
    [
        (
            {"dla": "rtl", "vcd": "waves.txt"},
            "--vcd must name a file that ends in .vcd or .fst (got waves.txt)",
        ),
        (
            {"dla": "rtl", "vcd": "/no/such/waves.vcd"},
            "cannot write /no/such/waves.vcd: there is no folder /no/such",
        ),
        ({"vcd": "waves.vcd"}, "--vcd needs --dla rtl: only the RTL has waveforms"),
        ({"dla": "silicon"}, "dla must be simulator or rtl (got 'silicon')"),
    ],
)
def test_options(host_options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        api.run("mnist", host="riscv", host_options=host_options)
    assert str(caught.value) == message


def test_every_parameter_of_the_rtl_has_a_value() -> None:
    """Those of the top module, but for the two that follow from others."""
    text = (Path(rtl_library.__file__).parents[1] / "rtl" / "dla.sv").read_text()
    head = text[text.index("#(") : text.index(") (")]
    names = {line.split("=")[0].split()[-1] for line in head.splitlines() if "parameter" in line}
    assert set(rtl_library.parameters(DlaConfig())) == names - {
        "LIMITED",
        "BUS_BYTES",
        "PORT_BYTES",
        "BEAT_BYTES",
    }
