"""Two of the machines that `tests/rtl/random_machines.py` draws, one with ideal ports: near, or equal."""

import pytest

from tests.rtl.random_machines import drawn, kept, run_network
from tests.rtl.test_limits import NETWORKS

SAMPLES = {4: ("lstm", "mnist"), 20: ("lstm", "mnist")}


@pytest.mark.parametrize("seed", SAMPLES)
def test_networks_on_a_drawn_machine(seed: int) -> None:
    config = drawn(seed)
    for name in SAMPLES[seed]:
        outcome = run_network(name, config)
        assert outcome.comparisons
        difference = outcome.rtl_cycles - outcome.simulator_cycles
        if config.sram_bandwidth:
            assert not outcome.wrong_results
            assert abs(difference) <= NETWORKS * outcome.simulator_cycles, name
        else:
            assert not outcome.differences
            assert difference == 0


def test_the_table_has_equal_cycles_where_ports_are_ideal() -> None:
    rows = [row for row in kept() if not drawn(int(row["seed"])).sram_bandwidth]
    assert rows
    assert all(row["rtl_cycles"] == row["simulator_cycles"] for row in rows)
