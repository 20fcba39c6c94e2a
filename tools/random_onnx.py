"""Random ONNX networks as onnxruntime quantizes them: each layer within a step of onnxruntime's.

    python tools/random_onnx.py [--count N] [--first SEED] [--jobs N] [--journal FILE] [--minutes N]

A seed stands for a network, its opset from 11 to 21, QDQ or QLinear, int8 or uint8. The exit code is 1 if any
is refused, fails, or has a layer that is further off.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from pathlib import Path

from seed_journal import Row, failure_of, list_problems, seed_arguments, try_seeds

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tests.onnx.random_networks import try_network  # noqa: E402

BATCH = 40  # seeds of one task of a worker


def main() -> int:
    """Try the seeds that the journal lacks, then sum up."""
    arguments = seed_arguments(__doc__, "networks", 20_000, 0, "random_onnx")
    rows = try_seeds(arguments, _try_batch, BATCH, failure_of)
    wrong = sum(bool(row["failure"]) for row in rows)
    differing, elements = (sum(int(row[name]) for row in rows) for name in ("differing", "elements"))
    taken = sum(bool(row["elements"]) for row in rows)
    print(
        f"{taken:,} of {len(rows):,} networks were taken, {wrong:,} are wrong; {differing:,} of {elements:,} "
        "elements differ, averages and SOFTMAX aside"
    )
    return list_problems(rows, failure_of)


def _try_batch(seeds: list[int]) -> list[Row]:
    gc.freeze()  # collections of what was imported took a third of the time
    with tempfile.TemporaryDirectory() as folder:
        return [_try(seed, Path(folder)) for seed in seeds]


def _try(seed: int, folder: Path) -> Row:
    try:
        failure, differing, elements = try_network(seed, folder / f"{seed}.onnx")
    except Exception as error:  # a defect: the journal has it
        failure, differing, elements = f"{type(error).__name__}: {error}"[:300], 0, 0
    return {"seed": seed, "failure": failure, "differing": differing, "elements": elements}


if __name__ == "__main__":
    sys.exit(main())
