"""Start-up of the command: whole processes, against a bare interpreter that imports click."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15
LIMIT = 4.0  # `dlasim --help` may take this many times the baseline
DLASIM = shutil.which("dlasim", path=str(Path(sys.executable).parent)) or "dlasim"
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "python -c 'import click'": [sys.executable, "-c", "import click"],
    "dlasim --help": [DLASIM, "--help"],
    "dlasim isa OP_CONV": [DLASIM, "isa", "OP_CONV"],
    "dlasim doctor": [DLASIM, "doctor"],
}


def main() -> int:
    """Print a table; fails if --help is too slow."""
    seconds = {name: best_time(command) for name, command in COMMANDS.items()}
    baseline = seconds["python -c 'import click'"]
    print(f"{'process':<26} {'best of ' + str(RUNS):>10} {'ratio':>7}")
    for name, best in seconds.items():
        print(f"{name:<26} {1000 * best:>7.1f} ms {best / baseline:>7.2f}")
    return 0 if seconds["dlasim --help"] <= LIMIT * baseline else 1


def best_time(command: list[str]) -> float:
    """The shortest run, which other work on the machine disturbs least; the first is not counted."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return min(times[1:])


if __name__ == "__main__":
    sys.exit(main())
