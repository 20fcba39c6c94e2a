"""Machines that are worse than one in one number or several: the plans for these are candidates for that one,
so that no better machine gets a slower plan."""

from __future__ import annotations

from functools import lru_cache
from math import inf

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameters import Better

# Parameters that only cost time: the worst machine has the default's values where these are worse.
_WORSE = (
    "dma_latency", "issue_cycles", "check_cycles", "mac_fill", "vector_fill", "mac_drain", "vector_drain",
    "dma_bandwidth", "vector_lanes", "sram_bandwidth", "sram_ports", "mac_results",
    "vector_requantizations", "vector_divisions",
)  # fmt: skip
# Smaller buffers than the default's count as a 16th of these, or a 16th of that: machines with other ones in
# between share plans. With its own, MobileNetV2 lost 0.8 % from 1,087 to 1,849 bytes of lines.
_BUFFERS, _BUFFERS_PART = ("line_buffer_bytes", "weight_buffer_bytes"), 16
_SLOW = 2  # bytes per cycle: with the default's, MobileNetV2 in 64 KiB lost 0.7 %
_DEEP = 16  # cycles to fill or drain a deep pipeline
# Cycles of latency: with the machine's own, DS-CNN on 16x16 lost 1.8 % from latency 70 to 64.
_FAR = 128
_DEFAULT = DlaConfig()


@lru_cache(maxsize=256)
def worst_machine(machine: DlaConfig) -> DlaConfig:
    """A machine with the default's values wherever it is better than the default, and its buffers at most."""
    better = [name for name in _WORSE if _quality(machine, name) > _quality(_DEFAULT, name)]
    worse = {name: getattr(_DEFAULT, name) for name in better}
    worst = machine.replace(**worse, **{name: _buffer(machine, name) for name in _BUFFERS})
    return machine if worst == machine else worst


def _buffer(machine: DlaConfig, name: str) -> int:
    """The largest of a few sizes that is not larger than a buffer."""
    size: int = getattr(_DEFAULT, name)
    while size > _BUFFERS_PART and size > _value(machine, name):
        size //= _BUFFERS_PART
    return size


@lru_cache(maxsize=256)
def deep_machine(machine: DlaConfig) -> DlaConfig:
    """The worst machine, with a deep MAC pipeline and a far memory at that: all machines whose pipelines are
    not as deep and whose memory is not as far, and that differ in nothing else, have the same."""
    worst = worst_machine(machine)
    return worst.replace(
        mac_fill=max(worst.mac_fill, _DEEP),
        mac_drain=max(worst.mac_drain, _DEEP),
        dma_latency=max(worst.dma_latency, _FAR),
    )


@lru_cache(maxsize=256)
def slow_machine(machine: DlaConfig) -> DlaConfig:
    """The worst machine, with very little bandwidth."""
    worst = worst_machine(machine)
    return worst.replace(dma_bandwidth=_SLOW) if _value(worst, "dma_bandwidth") > _SLOW else worst


@lru_cache(maxsize=256)
def prefetching_machine(machine: DlaConfig, planned: DlaConfig) -> DlaConfig:
    """The machine by whose times weights are prefetched in plans for another: that one, but with no less
    bandwidth than the worst."""
    worst = worst_machine(machine)
    is_slower = _quality(planned, "dma_bandwidth") < _quality(worst, "dma_bandwidth")
    return planned.replace(dma_bandwidth=worst.dma_bandwidth) if is_slower else planned


def _quality(machine: DlaConfig, name: str) -> float:
    """A parameter, so that more of it is better."""
    return _value(machine, name) * (-1 if PARAMETERS[name].better is Better.LESS else 1)


def _value(machine: DlaConfig, name: str) -> float:
    """A parameter; infinite where 0 stands for no limit."""
    value: float = machine.elements if name == "vector_lanes" else getattr(machine, name)
    return inf if not value and PARAMETERS[name].may_be_unlimited else value
