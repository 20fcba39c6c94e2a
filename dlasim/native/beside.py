"""A build beside other work, in a process of its own that puts the object into the cache.

It ends with whoever holds the other end of its standard input, however that came about, and leaves a unit
that another process builds already to that one, unless that one is ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from dlasim.cache import open_cache


def main(arguments: list[str]) -> int:
    """Build the unit, if nobody else has when it is this one's turn."""
    threading.Thread(target=_end_with_others, daemon=True).start()
    name, module, function, kind, digest, *sources = arguments
    from dlasim.native import build

    try:
        with open_cache() as cache, cache.lock(f"{name}.lock"):
            file = f"{name}-{digest}.o"
            if build.unsealed(cache.read(file)) is None:
                data = build.sealed_object(module, function, kind, digest, sources)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)  # too late: nothing is left half-written
                cache.write(file, data)
                cache.prune()
    except Exception as error:  # LLVM raises what it likes, over many lines
        print(build.in_one_line(error), file=sys.stderr)
        return 1
    return 0


def _end_with_others() -> None:
    """Nobody writes to standard input; it ends when whoever wants the build does."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)
