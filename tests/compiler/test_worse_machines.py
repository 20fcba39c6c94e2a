"""Machines that are worse than others: with the default's values where those are worse."""

from __future__ import annotations

import pytest

from dlasim.compiler_shim.planning.worse_machines import (
    deep_machine,
    slow_machine,
    worst_machine,
)
from dlasim.sim.configuration.config import DlaConfig

DEFAULT = DlaConfig()


@pytest.mark.parametrize(
    "worse",
    [
        {}, {"dma_latency": 100}, {"dma_bandwidth": 4}, {"vector_lanes": 8}, {"sram_ports": 2},
        {"mac_fill": 9}, {"accumulators": 0}, {"mac_results": 0.5},
    ],
)  # fmt: skip
def test_a_machine_that_is_nowhere_better_has_none(worse):
    machine = DEFAULT.replace(**worse)
    assert worst_machine(machine) == machine


@pytest.mark.parametrize(
    "better",
    [
        {"dma_latency": 0}, {"issue_cycles": 0}, {"mac_fill": 0}, {"vector_drain": 0}, {"dma_bandwidth": 16},
        {"dma_bandwidth": "unlimited"}, {"vector_lanes": 0}, {"sram_bandwidth": "unlimited"},
        {"sram_bandwidth": 64, "vector_divisions": "unlimited"}, {"line_buffer_bytes": "unlimited"},
    ],
)  # fmt: skip
def test_what_is_better_gets_the_default(better):
    assert worst_machine(DEFAULT.replace(**better)) == DEFAULT


def test_what_is_worse_stays():
    machine = DEFAULT.replace(parallel="8x8", mac_fill=9, vector_fill=0, dma_latency=0)
    slow = machine.replace(dma_latency=64)
    assert worst_machine(machine) == slow.replace(vector_fill=2)


@pytest.mark.parametrize("cycles", [0, 2, 4, 15, 16])
def test_machines_whose_pipelines_are_not_deep_share_one_that_is(cycles):
    deep = deep_machine(DEFAULT.replace(mac_fill=cycles, mac_drain=cycles, issue_cycles=0))
    assert deep == DEFAULT.replace(mac_fill=16, mac_drain=16, dma_latency=128)


def test_a_deeper_pipeline_stays():
    machine = DEFAULT.replace(mac_fill=17, mac_drain=30, dma_latency=200)
    assert deep_machine(machine) == machine


def test_vector_lanes_as_many_as_pes_are_better_only_where_these_are_more():
    machine = DEFAULT.replace(pes=8, vector_lanes=0)
    assert worst_machine(machine) == machine


@pytest.mark.parametrize(("bandwidth", "slow"), [(8, 2), (3, 2), (2, 2), (1, 1), ("unlimited", 2)])
def test_a_slow_machine_is_the_worst_with_little_bandwidth(bandwidth, slow):
    machine = DEFAULT.replace(dma_bandwidth=bandwidth, mac_fill=0)
    assert slow_machine(machine) == DEFAULT.replace(dma_bandwidth=slow)
