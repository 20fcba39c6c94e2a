"""A step of a language model, compared with its kernels: what Python and the CPU's operators add.

    python benchmarks/steps.py [NETWORK …]

Seconds are those of the thread, so that other work on the machine disturbs them least. A step is timed as a
whole, and in the same step the kernels of its streams; printed are medians, and the median of their ratio.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dlasim import Session
from dlasim.sim.fast_engine.engine import Engine
from dlasim.sim.fast_engine.job import Job

NETWORKS = ("smollm2:layers=1,classes=1000", "smollm2", "smollm2:layers=8")
STEPS, WARM_UP = 60, 5
CONTEXT = 256


class Timed:
    """The seconds that the kernels have taken."""

    def __init__(self) -> None:
        self.seconds = 0.0
        original = Engine.run

        def run(engine: Engine, job: Job) -> int:
            began = time.thread_time()
            done = original(engine, job)
            self.seconds += time.thread_time() - began
            return done

        Engine.run = run  # type: ignore[method-assign]


def measure(network: str, kernels: Timed) -> tuple[float, float, float]:
    """Median seconds of a step and of its kernels, and the median ratio."""
    session, rows = Session(network), []
    for number in range(WARM_UP + STEPS):
        inputs: dict[str, Any] = {
            "token": np.array([[number]], np.int32),
            "position": np.array([[number % CONTEXT]], np.int32),
        }
        kernels.seconds = 0.0
        began = time.thread_time()
        session.step(inputs)
        rows.append((time.thread_time() - began, kernels.seconds))
    rows = rows[WARM_UP:]
    step, inside = (statistics.median(each) for each in zip(*rows, strict=True))
    return step, inside, statistics.median(whole / part for whole, part in rows)


def main(networks: Sequence[str]) -> int:
    """Measure each network."""
    kernels = Timed()
    for network in networks or NETWORKS:
        step, inside, ratio = measure(network, kernels)
        print(f"{network:<30} step {1e3 * step:7.2f} ms, kernels {1e3 * inside:7.2f} ms, ratio {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
