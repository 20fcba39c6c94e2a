"""Random streams on the RTL and on the simulator, on every test machine in turn.

    python tools/random_streams.py [--count N] [--first SEED] [--jobs N] [--journal FILE] [--minutes N]

Where nothing is limited, bytes, registers, counters and the cycle of every event must be equal; where ports
and results are limited, all of that but times. A result is a line of the journal, which names the RTL that it
was made with, and what stands there is not tried again. The exit code is 1 if anything was different.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tests.rtl.builder import build  # noqa: E402
from tests.rtl.machine import RtlMachine  # noqa: E402
from tests.rtl.machines import LIMITED, MACHINES, machine  # noqa: E402
from tests.rtl.streams import MEMORY_BYTES  # noqa: E402
from tests.rtl.test_streams import random_stream_on_both  # noqa: E402

NAMES = (*MACHINES, *LIMITED)
BATCH = 10  # seeds of one task of a worker
Row = dict[str, str | int]


def main() -> int:
    """Try the seeds that the journal lacks, then sum up."""
    arguments = _parser().parse_args()
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    binaries = {}
    for name in NAMES:
        began = time.monotonic()
        binaries[name] = build(machine(name), optimise="-O0")  # quick to build, and streams are short
        print(f"{name}: built in {time.monotonic() - began:.0f} s", flush=True)
    done = _read(arguments.journal, binaries)
    seeds = range(arguments.first, arguments.first + arguments.count)
    left = [seed for seed in seeds if seed not in done]
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    with arguments.journal.open("a", encoding="utf-8") as file:
        for row in _tried(left, binaries, arguments.jobs, deadline):
            done[int(row["seed"])] = row
            print(json.dumps(row), file=file, flush=True)
            if row["different"]:
                print(f"seed {row['seed']} on {row['machine']}: {row['different']}", file=sys.stderr)
    return _summary([done[seed] for seed in seeds if seed in done], len(seeds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=10_000, help="how many streams")
    parser.add_argument("--first", type=int, default=1_000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--journal", type=Path, default=ROOT / "out" / "random_streams.jsonl")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this long; go on the next time")
    return parser


def _name(seed: int) -> str:
    return NAMES[seed % len(NAMES)]


def _read(journal: Path, binaries: dict[str, Path]) -> dict[int, Row]:
    """Results of today's RTL by seed; a line that was cut off is left out."""
    done = {}
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["rtl"] == binaries[_name(row["seed"])].name:
            done[row["seed"]] = row
    return done


def _tried(seeds: list[int], binaries: dict[str, Path], jobs: int, deadline: float) -> Iterator[Row]:
    batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for first in range(0, len(batches), jobs):
            if time.monotonic() > deadline:
                return
            some = batches[first : first + jobs]
            for rows in pool.map(_try_batch, some, [binaries] * len(some)):
                yield from rows


def _try_batch(seeds: list[int], binaries: dict[str, Path]) -> list[Row]:
    return [_try(seed, binaries[_name(seed)]) for seed in seeds]


def _try(seed: int, binary: Path) -> Row:
    name = _name(seed)
    config = machine(name)
    with RtlMachine(binary, config.sram_bytes, MEMORY_BYTES) as rtl:
        try:
            found = random_stream_on_both(rtl, config, seed)
        except AssertionError as error:  # the RTL hangs, or its process ended
            return _row(seed, binary, str(error) or "the RTL gave no answer")
        different = found.wrong_results if name in LIMITED else found.differences
        operations, (cycles, _) = found.plan.operations, found.cycles
    return _row(seed, binary, "; ".join(different), operations, cycles)


def _row(seed: int, binary: Path, different: str, operations: int = 0, cycles: int = 0) -> Row:
    return {
        "seed": seed, "machine": _name(seed), "rtl": binary.name, "operations": operations, "cycles": cycles,
        "different": different,
    }  # fmt: skip


def _summary(rows: list[Row], wanted: int) -> int:
    wrong = [row for row in rows if row["different"]]
    operations, cycles = (sum(int(row[name]) for row in rows) for name in ("operations", "cycles"))
    by_machine = Counter(str(row["machine"]) for row in rows)
    print(", ".join(f"{name} {by_machine[name]:,}" for name in NAMES))
    print(
        f"{len(rows):,} streams, {len(wrong):,} different, {wanted - len(rows):,} left; "
        f"{operations:,} operations, {cycles:,} cycles"
    )
    for row in wrong:
        print(f"seed {row['seed']} on {row['machine']}: {row['different']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
