"""`python -m tests.fuzz [TARGET…] [--count N] [--seed S]`: many inputs; culprits go to out/fuzz."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from pathlib import Path

from tests.fuzz.harness import fuzz
from tests.fuzz.targets import TARGETS

SHOWN = 10


def main() -> int:
    """Fails if an input found a defect."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"no target {min(unknown)}; there are {', '.join(TARGETS)}")
    faulthandler.enable()
    broken = 0
    for name in given.targets or TARGETS:
        began = time.perf_counter()
        taken, defects = fuzz(TARGETS[name], given.count, given.seed, Path("out/fuzz"))
        seconds = time.perf_counter() - began
        print(
            f"{name:12} {given.count:>8,} inputs, {taken:>7,} taken, {len(defects)} kinds of defects, "
            f"{seconds:,.0f} s",
            flush=True,
        )
        for defect in defects[:SHOWN]:
            print(f"  {defect[:300]}", flush=True)
        broken += len(defects)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
