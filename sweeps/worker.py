"""A worker process: points in, figures out, over the socket whose descriptor is its argument.

It is a plain new process, not a fork: it shares no threads, no locks and no `__main__` with whoever sweeps,
and it ends when the other end of its socket does, however that came about.
"""

from __future__ import annotations

import gc
from multiprocessing.connection import Connection
from typing import Any

READY = "ready"


def main(arguments: list[str]) -> None:
    """Take the networks and the routines' code, say READY, then answer chunks of points until the socket
    closes."""
    (descriptor,) = arguments
    link: Connection[Any, Any] = Connection(int(descriptor))
    from dlasim.sweeps import compiled
    from dlasim.sweeps.evaluate import Evaluator

    gc.set_threshold(50_000, 50, 50)  # points leave hardly any cycles behind
    try:
        blueprints, codes = link.recv()
        evaluator = Evaluator(blueprints, compiled.load(codes))
        link.send(READY)
        while True:
            chunk = link.recv()
            link.send([evaluator.evaluate(task.model, task.values, task.layers) for task in chunk])
    except (EOFError, OSError):
        return
