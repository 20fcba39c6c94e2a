"""Random networks on random machines: every tensor as TFLite Micro's, and the same on both hosts.

    python tools/random_networks.py [--count N] [--first SEED] [--jobs N] [--journal FILE] [--minutes N]

Each seed stands for a network, a machine and options; every fifth is a line of operators on images that
lowering cuts into stripes. A result is a line of the journal, and what stands there is not tried again. The
exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.compiler.cases import random_case, run_case, striped_case  # noqa: E402
from tests.compiler.hosts import hosts_differ  # noqa: E402

BATCH = 40  # seeds of one task of a worker


def main() -> int:
    """Try the seeds that the journal lacks, then sum up."""
    arguments = _parser().parse_args()
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    done = _read(arguments.journal)
    seeds = range(arguments.first, arguments.first + arguments.count)
    left = [seed for seed in seeds if seed not in done]
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    with arguments.journal.open("a", encoding="utf-8") as file:
        for row in _tried(left, arguments.jobs, deadline):
            done[int(row["seed"])] = row
            print(json.dumps(row), file=file, flush=True)
            if row["failure"]:
                print(f"seed {row['seed']}: {row['failure']}", file=sys.stderr)
    return _summary([done[seed] for seed in seeds if seed in done], len(seeds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=20_000, help="how many networks")
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--journal", type=Path, default=ROOT / "out" / "random_networks.jsonl")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this long; go on the next time")
    return parser


def _read(journal: Path) -> dict[int, dict[str, str | int]]:
    """Results by seed; a line that was cut off is left out."""
    done = {}
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[row["seed"]] = row
    return done


def _tried(seeds: list[int], jobs: int, deadline: float) -> Iterator[dict[str, str | int]]:
    batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        for first in range(0, len(batches), jobs):
            if time.monotonic() > deadline:
                return
            for rows in pool.map(_try_batch, batches[first : first + jobs]):
                yield from rows


def _try_batch(seeds: list[int]) -> list[dict[str, str | int]]:
    with tempfile.TemporaryDirectory() as folder:
        return [_try(seed, Path(folder)) for seed in seeds]


def _try(seed: int, folder: Path) -> dict[str, str | int]:
    """One seed; the journal has what is wrong, or nothing."""
    case = striped_case(seed) if seed % 5 == 0 else random_case(seed)
    outcome = run_case(case, folder)
    failure = outcome.failure or hosts_differ(outcome, seed)
    return {
        "seed": seed, "operators": case.operators, "elements": outcome.elements, "failure": failure,
    }  # fmt: skip


def _summary(rows: list[dict[str, str | int]], wanted: int) -> int:
    counts = Counter(bool(row["failure"]) for row in rows)
    elements = sum(int(row["elements"]) for row in rows)
    print(
        f"{counts[False]:,} right, {counts[True]:,} wrong, {wanted - len(rows):,} left; {elements:,} elements"
    )
    for row in rows:
        if row["failure"]:
            print(f"seed {row['seed']}: {row['failure']}")
    return 1 if counts[True] else 0


if __name__ == "__main__":
    sys.exit(main())
