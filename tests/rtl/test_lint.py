"""The RTL has no warning of Verilator's for any preset, and says which machines it cannot be.

`tests/rtl/builder.py` refuses a warning for each machine that it builds.
"""

import subprocess

import pytest

from dlasim.sim.configuration.machine_files import preset, preset_names
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.vp.system.rtl_library import refusal
from tests.rtl.builder import lint_command
from tests.rtl.machines import machine

PRESETS = (  # that the RTL can be
    "default", "ethos-u55-128", "ethos-u55-128-flash", "ethos-u55-256", "ethos-u55-32", "ethos-u55-64",
    "gemmini", "nvdla-large", "nvdla-medium-512", "nvdla-small", "nvdla-small-256", "vta",
)  # fmt: skip
# Others are of the same kinds.
LONG = {
    "ethos-u55-128-flash", "ethos-u55-256", "ethos-u55-64", "gemmini", "nvdla-large", "nvdla-medium-512",
    "nvdla-small-256",
}  # fmt: skip
LINTED = [pytest.param(name, marks=pytest.mark.slow if name in LONG else []) for name in PRESETS]


def test_what_the_rtl_refuses() -> None:
    """What is built later must leave these lists."""
    assert {name for name in preset_names() if not refusal(preset(name))} == set(PRESETS)
    limited = {name for name, parameter in PARAMETERS.items() if parameter.rtl_limit}
    pipelines = {"mac_fill", "mac_drain", "vector_fill", "vector_drain", "check_cycles", "issue_cycles"}
    absent = {"dma_bandwidth", "timing"}
    assert limited == pipelines | absent


@pytest.mark.parametrize("name", LINTED)
def test_no_warning(name: str) -> None:
    done = subprocess.run(lint_command(preset(name)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"issue_cycles": 0}, "issue_cycles must be at least 1"),
        ({"check_cycles": 15}, "check_cycles must be at least 16"),
        ({"mac_fill": 3}, "mac_fill of at least 4 and mac_drain of at least 6"),
        ({"mac_results": 1, "accumulators": "unlimited"}, "accumulators must be limited"),
        ({"mac_weights": 1, "accumulators": "unlimited"}, "accumulators must be limited"),
        ({"mac_step_group": 2, "accumulators": "unlimited"}, "accumulators must be limited"),
        ({"sram_bandwidth": 12}, "sram_bandwidth must be a power of 2"),
        ({"vector_drain": 1}, "vector_fill of at least 2 and vector_drain of at least 8"),
    ],
)
def test_a_machine_that_cannot_be_built_is_refused(change: dict[str, int | str], message: str) -> None:
    command = lint_command(machine("grid").replace(parallel="2x2", vector_lanes=1, **change))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr
