"""Random streams on the RTL and on the simulator, on every test machine in turn.

    python tools/random_streams.py [--count N] [--first SEED] [--jobs N] [--journal FILE] [--minutes N]

Where nothing is limited, bytes, registers, counters and the cycle of every event must be equal; where ports
and results are limited, all of that but times. The journal names the RTL that a result was made with, and
those of another RTL are not taken. The exit code is 1 if anything was different.
"""

from __future__ import annotations

import functools
import sys
import time
from collections import Counter
from pathlib import Path

from seed_journal import Row, list_problems, seed_arguments, try_seeds

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tests.rtl.builder import build  # noqa: E402
from tests.rtl.machine import RtlMachine  # noqa: E402
from tests.rtl.machines import LIMITED, MACHINES, machine  # noqa: E402
from tests.rtl.streams import MEMORY_BYTES  # noqa: E402
from tests.rtl.test_streams import random_stream_on_both  # noqa: E402

NAMES = (*MACHINES, *LIMITED)
BATCH = 10  # seeds of one task of a worker


def main() -> int:
    """Try the seeds that the journal lacks, then sum up."""
    arguments = seed_arguments(__doc__, "streams", 10_000, 1_000, "random_streams")
    binaries = {}
    for name in NAMES:
        began = time.monotonic()
        binaries[name] = build(machine(name))
        print(f"{name}: built in {time.monotonic() - began:.0f} s", flush=True)
    rows = try_seeds(
        arguments,
        functools.partial(_try_batch, binaries),
        BATCH,
        _problem,
        lambda row: row["rtl"] == binaries[_name(int(row["seed"]))].name,
    )
    operations, cycles = (sum(int(row[name]) for row in rows) for name in ("operations", "cycles"))
    by_machine = Counter(str(row["machine"]) for row in rows)
    print(", ".join(f"{name} {by_machine[name]:,}" for name in NAMES))
    wrong = sum(bool(row["different"]) for row in rows)
    print(
        f"{len(rows):,} streams, {wrong:,} different, {arguments.count - len(rows):,} left; "
        f"{operations:,} operations, {cycles:,} cycles"
    )
    return list_problems(rows, _problem)


def _name(seed: int) -> str:
    return NAMES[seed % len(NAMES)]


def _problem(row: Row) -> str:
    return f"seed {row['seed']} on {row['machine']}: {row['different']}" if row["different"] else ""


def _try_batch(binaries: dict[str, Path], seeds: list[int]) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(main())
