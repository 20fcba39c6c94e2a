"""Plans for each objective on random machines: is a plan for another objective ever better?

`python benchmarks/objectives.py [--machines N] [--seed N] [MODEL.tflite ...]` plans networks for cycles,
energy, their product and SRAM, and compares all four figures of the reports of these plans, and for energy
those of placements that are forced. It prints what each objective saves against the plan for cycles. Fails
where another plan is better by more than 0.5 %.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from plans import LIMIT, networks
from random_steps import QUICK, random_machine

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.options import COMPILER_OPTIONS, CompileOptions
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import first_and_steady
from dlasim.sim.reports.measured import Measured

Figures = Mapping[str, float]  # by objective


def figures(network: UnplacedNetwork, config: DlaConfig, options: CompileOptions) -> Figures:
    """What a report says of the plan with these options."""
    program = lower_for(network, config, options, with_constants=False).program
    measured = Measured(program, config, first_and_steady(program, config)[1], {})
    cycles, energy = measured.inference.total_cycles, measured.energy["total"]
    return {"cycles": cycles, "energy": energy, "edp": cycles * energy, "sram": measured.sram_peak_bytes}


def compare(
    network: UnplacedNetwork, config: DlaConfig
) -> tuple[Mapping[str, Figures], list[tuple[float, str]]]:
    """The figures of the plan for each objective; and by how much each other plan is better, if it is."""
    found = {
        name: figures(network, config, CompileOptions(objective=name))
        for name in COMPILER_OPTIONS["objective"].choices
    }
    others = dict(found)
    for place in ("dla", "cpu"):
        try:
            others[f"energy, --place {place}"] = figures(
                network, config, CompileOptions(objective="energy", place=place)
            )
        except InputError:  # some operator cannot be there
            continue
    losses = [
        (own[name] / max(other[name], 1), f"{name}: the plan for {of}")
        for name, own in found.items()
        for of, other in others.items()
        if other[name] < own[name] and not (name == "sram" and not other[name])  # all on the CPU
    ]
    return found, losses


def pairs(models: list[str], machines: int, seed: int) -> Iterator[tuple[str, UnplacedNetwork, DlaConfig]]:
    """Networks in turn, each time on another machine."""
    loaded = list(networks(models, QUICK))
    for number in range(machines):
        yield *loaded[number % len(loaded)], random_machine(np.random.default_rng((seed, number)))


def main(arguments: list[str]) -> int:
    """Print what loses, and what objectives save; fails where a loss is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("models", nargs="*")
    chosen = parser.parse_args(arguments)
    worst, saved = 1.0, defaultdict[str, list[float]](list)
    for name, network, config in pairs(chosen.models, chosen.machines, chosen.seed):
        try:
            found, losses = compare(network, config)
        except InputError:  # the SRAM is too small for any plan
            continue
        for ratio, text in losses:
            worst = max(worst, ratio)
            print(f"{ratio:.4f}  {name}, {config.label}, {text}", flush=True)
        for objective, own in found.items():
            saved[objective].append(own[objective] / found["cycles"][objective])
    for objective, ratios in saved.items():
        print(f"{objective}: {np.mean(ratios):.3f} of the plan for cycles, at best {min(ratios):.3f}")
    print(f"{len(saved['cycles'])} machines; the worst loss is {worst:.4f}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
