"""A tensor added to the results of MAC, on the RTL: a network, without limits and with ports."""

from pathlib import Path

import pytest

from tests.compiler.test_sums import count_sums
from tests.rtl.drawn_networks import write_network
from tests.rtl.machines import INT16_LIMITED, machine
from tests.rtl.networks import lowered, run_on_both


@pytest.fixture
def resnet8(tmp_path: Path) -> Path:
    return write_network("resnet8, 12x12", tmp_path)


def test_network_is_equal(resnet8: Path) -> None:
    program = lowered(resnet8, machine("wide"))
    assert count_sums(program)
    outcome = run_on_both(program, machine("wide"))
    assert not outcome.differences
    assert outcome.rtl_cycles == outcome.simulator_cycles


@pytest.mark.parametrize("name", INT16_LIMITED)
def test_network_has_equal_results_with_ports(resnet8: Path, name: str) -> None:
    program = lowered(resnet8, machine(name))
    assert count_sums(program)
    assert not run_on_both(program, machine(name)).wrong_results
