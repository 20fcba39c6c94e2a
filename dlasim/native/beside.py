"""A build beside other work: `python -m dlasim.native.beside MODULE FUNCTION KIND FILE SOURCES`.

It ends with whoever holds the other end of its standard input, however that came about, and leaves a unit
that another process builds already to that one, unless that one is ended.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from pathlib import Path


def main() -> int:
    """Build the unit, if nobody else has when it is this one's turn."""
    threading.Thread(target=_end_with_others, daemon=True).start()
    path = Path(sys.argv[4])
    name = path.stem.rpartition("-")[0]
    with open(path.with_name(f"{name}.lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        from dlasim.native import build  # llvmlite only where there is something to do

        return 0 if build.read_object(path) else build.main()


def _end_with_others() -> None:
    """Nobody writes to standard input; it ends when whoever wants the build does."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
