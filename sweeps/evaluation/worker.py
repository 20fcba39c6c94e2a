"""A worker process: receives points and returns figures over the socket whose descriptor is its argument.

It is a new process, not a fork: it shares no threads, locks or `__main__` with the sweep. It ends when the
other end of its socket is closed for any reason.
"""

from __future__ import annotations

import gc
from multiprocessing.connection import Connection
from typing import Any

READY = "ready"


def main(arguments: list[str]) -> None:
    """Receive the networks, send READY, then evaluate chunks of points until the socket closes."""
    (descriptor,) = arguments
    link: Connection[Any, Any] = Connection(int(descriptor))
    from dlasim.sweeps.evaluation.evaluate import Evaluator

    gc.set_threshold(400_000, 50, 50)  # points create hardly any reference cycles
    try:
        evaluator = Evaluator(link.recv())
        link.send(READY)
        while True:
            chunk = link.recv()
            link.send([evaluator.evaluate(task.model, task.values, task.layers) for task in chunk])
    except (EOFError, OSError):
        return
