"""Machines drawn at random, and a random step to a better one: is the better machine ever slower?

`python benchmarks/random_steps.py [--pairs N] [--seed N] [MODEL.tflite ...]` draws machines with any number
of PEs and bytes, and improves one parameter of each, or its SRAM, by any factor. It prints the pairs in which
the better machine takes more cycles, for the built-in networks that are quick to plan or for these files.
Fails where one is above the limit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from plans import LIMIT, Loss, Timer, networks

from dlasim.sim.configuration.config import PARAMETERS as ROWS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.parameters import Better
from dlasim.sim.configuration.sizes import KIB

Draw = Callable[[np.random.Generator], Any]
QUICK = ("autoencoder", "ds_cnn", "mnist", "mobilenet_v1", "mobilenet_v2", "resnet8")
MAX_FACTOR = 4.0
UNLIMITED_PART = 0.1  # of the steps of a parameter that may be unlimited lift its limit
SHOWN = 20


def between(low: float, high: float) -> Draw:
    """Whole numbers, each order of magnitude as often as another."""
    return lambda rng: round(np.exp(rng.uniform(np.log(low), np.log(high))))


def from_zero(high: int) -> Draw:
    """Whole numbers up to this, and often none."""
    return lambda rng: 0 if rng.integers(4) == 0 else between(1, high)(rng)


# How a parameter of the base is drawn.
PARAMETERS: Mapping[str, Draw] = {
    "sram_bytes": between(24 * KIB, 1024 * KIB),
    "sram_bandwidth": between(8, 64),
    "sram_ports": between(2, 8),
    "line_buffer_bytes": between(2 * KIB, 64 * KIB),
    "weight_buffer_bytes": between(2 * KIB, 64 * KIB),
    "mac_results": between(1, 32),
    "vector_requantizations": between(1, 32),
    "vector_divisions": between(1, 8),
    "dma_bandwidth": between(1, 32),
    "dma_latency": from_zero(256),
    "dma_burst_overhead": from_zero(16),
    "vector_lanes": between(4, 64),
    "issue_cycles": from_zero(4),
    "mac_fill": from_zero(32),
    "mac_drain": from_zero(32),
    "vector_fill": from_zero(16),
    "vector_drain": from_zero(16),
}


def random_machine(rng: np.random.Generator) -> DlaConfig:
    """Any array of 16 to 1,024 PEs, with any values of the parameters above."""
    mode = int(rng.integers(3))
    if mode < 2:
        array = {"parallel": ("input", "output")[mode], "pes": between(16, 512)(rng)}
    else:
        array = {"parallel": f"{between(4, 32)(rng)}x{between(4, 32)(rng)}"}
    return DlaConfig().replace(**array, **{name: draw(rng) for name, draw in PARAMETERS.items()})


def better(rng: np.random.Generator, config: DlaConfig, name: str) -> DlaConfig:
    """The machine with more of a parameter, or less where that is better."""
    value, factor = getattr(config, name), float(np.exp(rng.uniform(0, np.log(MAX_FACTOR))))
    if ROWS[name].better is Better.LESS:
        return config.replace(**{name: int(value / factor)})
    if ROWS[name].may_be_unlimited and rng.uniform() < UNLIMITED_PART:
        return config.replace(**{name: 0})
    more = max(value * factor, value + 1)
    return config.replace(**{name: type(value)(more)})


def main(arguments: list[str]) -> int:
    """Print the pairs that lose; fails where one is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first pair")
    parser.add_argument("models", nargs="*")
    chosen = parser.parse_args(arguments)
    loaded = list(networks(chosen.models, QUICK))
    losses, tried = list[Loss](), Counter[str]()
    for number in range(chosen.first, chosen.first + chosen.pairs):
        rng = np.random.default_rng((chosen.seed, number))
        name, network = loaded[number % len(loaded)]
        config, parameter = random_machine(rng), str(rng.choice(list(PARAMETERS)))
        changed = better(rng, config, parameter)
        timer = Timer()
        before, after = timer.time(name, network, config), timer.time(name, network, changed)
        if before is None or changed == config:
            continue
        tried[name] += 1
        cycles = after[0] if after is not None else sys.maxsize
        if cycles > before[0]:
            values = f"{parameter} {getattr(config, parameter)} to {getattr(changed, parameter)}"
            losses.append(Loss(cycles / before[0], f"{name}, pair {number}, {config.label}, {values}"))
            if losses[-1].ratio > LIMIT:
                print(f"{losses[-1].ratio:.4f}  {losses[-1].text}", flush=True)
    losses.sort(key=lambda loss: -loss.ratio)
    above = sum(loss.ratio > LIMIT for loss in losses)
    counts = ", ".join(f"{name} {count}" for name, count in tried.items())
    print(f"{sum(tried.values())} pairs ({counts}): {len(losses)} slower, {above} above {LIMIT}; the worst:")
    for loss in losses[:SHOWN]:
        print(f"  {loss.ratio:.4f}  {loss.text}")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
