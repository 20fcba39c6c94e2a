"""What each pass of the planner costs and gains: `python benchmarks/passes.py` (some minutes, TensorFlow).

Networks on machines drawn at random are planned with all passes, and without each. The shares of CPU time,
and how much slower programs are without a pass, go to benchmarks/compared/passes.csv;
`python tools/generate.py` puts them into docs/planner.md.
"""

from __future__ import annotations

import csv
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from plans import LIMIT, Timer, networks
from random_steps import random_machine

sys.path.insert(0, str(Path(__file__).parents[1]))

from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.planning import planner
from dlasim.compiler_shim.planning.passes import PASSES, Pass
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.sim.configuration.config import DlaConfig
from tests.keras_networks import keras_network

TABLE = Path(__file__).parent / "compared" / "passes.csv"
COLUMNS = ("pass", "time", "plans", "mean", "above", "most", "network", "programs")
BUILT_IN = ("autoencoder", "ds_cnn", "kwt", "mnist", "mobilenet_v1", "mobilenet_v2", "resnet8", "vit")
KERAS = ("conv1d", "lstm", "small_cnn", "unet")
MACHINES, FIRST_SEED = 16, 9000


class Meter:
    """The time and the plans of each pass in the searches that it measures, and what is lost without it."""

    def __init__(self) -> None:
        self.seconds, self.plans = defaultdict[str, float](float), defaultdict[str, int](int)
        self.losses = defaultdict[str, list[tuple[float, str]]](list)  # with the network

    def metered(self, each: Pass) -> Pass:
        """The same pass, which is measured."""
        name = name_of(each)

        def run(search: PlanSearch) -> None:
            start, plans = time.process_time(), len(search.timed)
            each.run(search)
            self.seconds[name] += time.process_time() - start
            self.plans[name] += len(search.timed) - plans

        return Pass(run, each.proposes, each.why, each.plans)

    def row(self, name: str) -> list[object]:
        """What is written of a pass: times, means and losses in per cent."""
        losses = self.losses[name]
        programs = max(map(len, self.losses.values()))
        share = self.seconds[name] / sum(self.seconds.values())
        most, network = max(losses, default=(0.0, ""))
        mean = sum(loss for loss, _ in losses) / programs
        above = sum(1 + loss > LIMIT for loss, _ in losses)
        numbers = f"{100 * share:.1f}", f"{self.plans[name] / programs:.1f}", f"{100 * mean:.2f}"
        return [name, *numbers, above, f"{100 * most:.1f}", network, programs]


def name_of(each: Pass) -> str:
    """The name of a pass."""
    return each.run.__name__


def cycles(network: UnplacedNetwork, machine: DlaConfig, passes: Sequence[Pass]) -> int:
    """Those of the plan that these passes find; 0 where the machine is refused."""
    planner.PASSES = tuple(passes)  # type: ignore[attr-defined]
    timed = Timer().time("", network, machine)
    return timed[0] if timed is not None else 0


def all_networks() -> Iterator[tuple[str, UnplacedNetwork]]:
    """The name of each, and the network."""
    yield from networks([], BUILT_IN)
    for name in KERAS:
        yield name, load_model(keras_network(name, has_float_edges=True))


def main() -> None:
    """Measure all."""
    meter = Meter()
    for name, network in all_networks():
        for seed in range(FIRST_SEED, FIRST_SEED + MACHINES):
            machine = random_machine(np.random.default_rng(seed))
            # Refused machines are left out. What is found once for a network is found here, unmeasured.
            if not cycles(network, machine, PASSES):
                continue
            least = cycles(network, machine, [meter.metered(each) for each in PASSES])
            for each in PASSES[1:]:
                without = cycles(network, machine, [other for other in PASSES if other is not each])
                meter.losses[name_of(each)].append((without / least - 1, name))
        print(name, flush=True)
    rows = [meter.row(name_of(each)) for each in PASSES]
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
