"""Machines drawn at random, and a random step to a better one: is the better machine ever slower?

`python benchmarks/random_steps.py [--pairs N] [--seed N] [MODEL.tflite ...]` draws every parameter of the
machine's table that a plan can depend on, and in a third of the machines a second memory. Then it improves
one parameter by any factor. It prints the pairs in which the better machine takes more cycles, for the
built-in networks that are quick to plan or for these files. Fails where one is above the limit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np
from plans import LIMIT, Loss, Timer, networks

from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.memory_tables import KEYS, parse_table
from dlasim.sim.configuration.parameter_names import parameter_of
from dlasim.sim.configuration.parameters import Better, Form, MachineParameter

QUICK = ("autoencoder", "ds_cnn", "mnist", "mobilenet_v1", "mobilenet_v2", "resnet8")
ARRAY = ("pes", "parallel")  # drawn together
UNPLANNED = ("clock_mhz", "timing", "technology")  # no plan depends on them, or nothing takes time
# Numbers are drawn from a sixteenth of the default to four times it; around 8 where the default is 0.
LEAST_PART, MOST_TIMES, IF_NONE = 1 / 16, 4, 8
LOWEST_PART = 0.25  # of the values that may be 0, or have no limit
UNLIMITED_PART = 0.1  # of the steps of a parameter that may be unlimited lift its limit
MAX_FACTOR = 4.0
MEMORY_PART = 1 / 3
REGIONS = ("constants", "constants+commands", "inputs+outputs", "scratch")
SHOWN = 20
REPORTED_EVERY = 50  # pairs


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number, each order of magnitude as often as another."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_value(rng: np.random.Generator, row: MachineParameter) -> int | float | str:
    """Any value of a parameter that its default lets one expect."""
    if row.choices:
        return str(rng.choice(row.choices))
    if (row.low == 0 or row.may_be_unlimited) and rng.uniform() < LOWEST_PART:
        return row.kind(0)
    typical = float(row.default) or min(IF_NONE, row.high)
    value = between(rng, typical * LEAST_PART, typical * MOST_TIMES)
    least = max(row.low, row.least_if_limited, 0 if row.kind is float else 1)
    limited = min(max(value, least), row.high)
    return limited if row.kind is float else round(limited)


def random_memory(rng: np.random.Generator) -> dict[str, Any]:
    """A memory next to that of the DMA parameters, with half of the numbers that a memory can have."""
    numbers = [key for key, facts in KEYS.items() if facts.kind is not str and rng.integers(2)]
    drawn = {key: random_value(rng, parameter_of(f"memories.flash.{key}")) for key in numbers}
    words = {"regions": str(rng.choice(REGIONS)), "bus": str(rng.choice(("system", "flash", "axi")))}
    return {
        "memories": {"flash": words | drawn},
        "buses": {"axi": random_value(rng, parameter_of("buses.axi"))},
    }


def random_machine(rng: np.random.Generator) -> DlaConfig:
    """Any array of 16 to 1,024 PEs, with any value of each parameter that a plan can depend on."""
    rows = {name: row for name, row in PARAMETERS.items() if name not in (*ARRAY, *UNPLANNED)}
    values = {name: random_value(rng, row) for name, row in rows.items() if row.form is not Form.TABLE}
    sides = (round(between(rng, 4, 32)), round(between(rng, 4, 32)))
    mode = str(rng.choice(("input", "output", f"{sides[0]}x{sides[1]}")))
    array = {"parallel": mode} if "x" in mode else {"parallel": mode, "pes": round(between(rng, 16, 512))}
    machine = DlaConfig().replace(**array, **values)
    while rng.uniform() < MEMORY_PART:
        try:
            return machine.replace(**random_memory(rng))
        except InputError:  # its keys contradict each other
            continue
    return machine


def ordered(config: DlaConfig) -> dict[str, Any]:
    """The values of which a machine can have better ones, by name."""
    memories = parse_table("memories", config.memories)
    parts = {f"{name}.{key}": value for name, table in memories.items() for key, value in table.items()}
    values = {name: getattr(config, name) for name in PARAMETERS}
    values |= {f"memories.{name}": value for name, value in parts.items()}
    values |= {f"buses.{name}": value for name, value in parse_table("buses", config.buses).items()}
    return {name: value for name, value in values.items() if parameter_of(name).better is not Better.NEITHER}


def better(rng: np.random.Generator, config: DlaConfig, name: str) -> DlaConfig:
    """The machine with more of a parameter, or less where that is better; itself where it has the best, or
    where more may cost time: the first of blocks that are handed over whole waits for as much of its input
    as the line buffer holds."""
    if name == "line_buffer_bytes" and config.mac_handover == "blocks":
        return config
    row, value, factor = parameter_of(name), ordered(config)[name], between(rng, 1, MAX_FACTOR)
    if row.better is Better.LESS:
        return config.replace(**{name: row.kind(max(value / factor, row.low))})
    if not value and (row.may_be_unlimited or name == "vector_lanes"):
        return config
    if row.may_be_unlimited and rng.uniform() < UNLIMITED_PART:
        return config.replace(**{name: 0})
    more = min(max(value * factor, value + 1), row.high)
    return config.replace(**{name: row.kind(more)})


def step(seed: int, number: int) -> tuple[DlaConfig, str, DlaConfig]:
    """The machine of a pair, what is better of the other one, and that."""
    rng = np.random.default_rng((seed, number))
    config = random_machine(rng)
    name = str(rng.choice(list(ordered(config))))
    try:
        return config, name, better(rng, config, name)
    except InputError:  # it contradicts another number of the machine
        return config, name, config


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
        if number % REPORTED_EVERY == 0:
            print(f"at pair {number}: {sum(tried.values())} tried, {len(losses)} slower", file=sys.stderr)
        name, network = loaded[number % len(loaded)]
        config, parameter, changed = step(chosen.seed, number)
        timer = Timer()
        before = timer.time(name, network, config) if changed != config else None
        if before is None:
            continue
        after = timer.time(name, network, changed)
        tried[name] += 1
        cycles = after[0] if after is not None else sys.maxsize
        if cycles > before[0]:
            change = f"{parameter} {ordered(config)[parameter]} to {ordered(changed)[parameter]}"
            losses.append(Loss(cycles / before[0], f"{name}, pair {number}, {config.label}, {change}"))
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
