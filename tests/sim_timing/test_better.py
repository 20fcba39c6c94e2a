"""What the machine's table says is better makes no operation longer."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameters import Better
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import plan_stream
from tests.sim_timing.streams import random_config, random_limits, random_stream

ORDERED = [name for name, parameter in PARAMETERS.items() if parameter.better is not Better.NEITHER]
STREAMS = 150


def improved(rng: random.Random, config: DlaConfig, name: str) -> DlaConfig:
    """The machine with a better value, or itself where it has the best."""
    parameter, value = PARAMETERS[name], getattr(config, name)
    if parameter.better is Better.LESS:
        return config.replace(**{name: rng.randint(int(parameter.low), value)})
    if not value and (parameter.may_be_unlimited or name == "vector_lanes"):
        return config
    if parameter.may_be_unlimited and rng.random() < 0.2:
        return config.replace(**{name: 0})
    more = min(value * rng.choice([1, 2, 3, 4]) + rng.randint(1, 5), parameter.high)
    return config.replace(**{name: type(value)(more)})


@pytest.mark.parametrize("name", ORDERED)
def test_no_operation_takes_longer_with_a_better_value(name):
    changed = Counter[bool]()
    for seed in range(STREAMS):
        rng = random.Random(seed)
        config = random_config(rng, **random_limits(rng), dma_shared_bandwidth=rng.choice([0, 1, 5]))
        better = improved(rng, config, name)
        words = random_stream(rng, 1)
        before, after = (plan_stream(each, words, reset_file()).timeline.total for each in (config, better))
        assert after <= before, f"seed {seed}: {getattr(config, name)} to {getattr(better, name)}"
        changed[after < before] += better != config
    assert sum(changed.values()) > 10
