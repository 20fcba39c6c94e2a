"""A worker process: `python -m dlasim.sweeps.worker FD`, points in, figures out, over the socket FD.

It is a plain new process, not a fork: it shares no threads, no locks and no `__main__` with whoever sweeps,
and it ends when the other end of its socket does, however that came about.
"""

from __future__ import annotations

import gc
import sys
from multiprocessing.connection import Connection
from typing import Any


def main(descriptor: int) -> None:
    """Answer chunks of points until the socket closes."""
    link: Connection[Any, Any] = Connection(descriptor)
    from dlasim.native.demand import demand
    from dlasim.native.routine import want_compiled
    from dlasim.sweeps.evaluate import Evaluator

    want_compiled()
    demand.leave_building()  # whoever sweeps sees to it, once for all workers
    gc.set_threshold(50_000, 50, 50)  # points leave hardly any cycles behind
    try:
        evaluator = Evaluator(link.recv())
        while True:
            chunk = link.recv()
            link.send([evaluator.evaluate(task.model, task.values, task.layers) for task in chunk])
    except (EOFError, OSError):
        return


if __name__ == "__main__":
    main(int(sys.argv[1]))
