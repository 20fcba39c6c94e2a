"""A tensor added to the results of MAC, on the RTL: a network, and the SRAM's ports."""

from pathlib import Path

import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from tests.compiler.test_sums import count_sums
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import SUMS_LIMITED, machine
from tests.rtl.networks import lowered, run_on_both
from tests.rtl.test_streams import compare_cycles

NEAR = 0.06  # of the cycles of small operations, as tests/rtl/test_limits.py has it


@pytest.fixture
def resnet8(tmp_path: Path) -> Path:
    path = tmp_path / "resnet8.tflite"
    path.write_bytes(write_tflite(build_topology("resnet8")))
    return path


def test_network_is_equal(resnet8: Path) -> None:
    program = lowered(resnet8, machine("sums"))
    assert count_sums(program)
    outcome = run_on_both(program, machine("sums"))
    assert not outcome.differences
    assert outcome.rtl_cycles == outcome.simulator_cycles


@pytest.mark.parametrize("name", SUMS_LIMITED)
def test_network_has_equal_results_with_ports(resnet8: Path, name: str) -> None:
    program = lowered(resnet8, machine(name))
    assert count_sums(program)
    assert not run_on_both(program, machine(name)).wrong_results


@pytest.mark.parametrize("name", SUMS_LIMITED)
def test_random_streams_with_ports(rtl: RtlMachine, name: str) -> None:
    """The check on words that have crossed sees the bytes of the tensor."""
    compare_cycles(rtl, machine(name), NEAR)
