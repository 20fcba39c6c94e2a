"""Random networks on random machines: every tensor as the reference's, and the same on both hosts.

    python tools/random_networks.py [--count N] [--first SEED] [--jobs N] [--journal FILE] [--minutes N]

Each seed stands for a network, a machine and options. Of five, two have operators beyond those of CNNs and
one is a line of operators on images that lowering cuts into stripes. The exit code is 1 if any is wrong.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from seed_journal import Row, failure_of, list_problems, seed_arguments, try_seeds

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.compiler.cases import Case, mixed_case, random_case, run_case, striped_case  # noqa: E402
from tests.compiler.hosts import hosts_differ  # noqa: E402

BATCH = 40  # seeds of one task of a worker
KINDS = (striped_case, mixed_case, mixed_case, random_case, random_case)


def main() -> int:
    """Try the seeds that the journal lacks, then sum up."""
    arguments = seed_arguments(__doc__, "networks", 20_000, 1_000_000, "random_networks")
    rows = try_seeds(arguments, _try_batch, BATCH, failure_of)
    wrong = sum(bool(row["failure"]) for row in rows)
    elements = sum(int(row["elements"]) for row in rows)
    kinds = Counter(_kind(int(row["seed"])) for row in rows)
    print(
        f"{len(rows) - wrong:,} right, {wrong:,} wrong, {arguments.count - len(rows):,} left; "
        f"{elements:,} elements"
    )
    print(", ".join(f"{kind} {count:,}" for kind, count in kinds.items()))
    return list_problems(rows, failure_of)


def _kind(seed: int) -> str:
    return KINDS[seed % len(KINDS)].__name__


def _case(seed: int) -> Case:
    return KINDS[seed % len(KINDS)](seed)


def _try_batch(seeds: list[int]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [_try(seed, Path(folder)) for seed in seeds]


def _try(seed: int, folder: Path) -> Row:
    """One seed; the journal has what is wrong, or nothing."""
    case = _case(seed)
    outcome = run_case(case, folder)
    failure = outcome.failure or hosts_differ(outcome, seed)
    return {
        "seed": seed, "operators": case.operators, "elements": outcome.elements, "failure": failure,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
