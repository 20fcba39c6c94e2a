"""The whole matrix: every model on every machine with every choice of options, compared with TensorFlow.

    python tools/nightly.py [--count N] [--first CASE] [--jobs N] [--journal FILE] [--minutes N]

Real models come from the folder that DLASIM_MODEL_ZOO names. The cases of a model have numbers that follow
each other. The exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from seed_journal import Row, list_problems, seed_arguments, try_seeds

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.compiler import matrix  # noqa: E402

POINTS, NAMES = list(matrix.all_points()), matrix.model_names()
BATCH = len(POINTS) // 8  # cases of one task of a worker, which opens the model once


def main() -> int:
    """Try the cases that the journal lacks, then sum up."""
    if not matrix.zoo_files():
        print("DLASIM_MODEL_ZOO is not set: built-in models only", file=sys.stderr)
    arguments = seed_arguments(__doc__, "cases", len(NAMES) * len(POINTS), 0, "nightly")
    rows = try_seeds(
        arguments, _try_batch, BATCH, _problem, lambda row: row["case"] == _name(int(row["seed"]))
    )
    for name in NAMES:
        counts = Counter(_verdict(row) for row in rows if NAMES[int(row["seed"]) // len(POINTS)] == name)
        print(f"{name}: {counts['ok']:,} ok, {counts['refused']:,} refused, {counts['wrong']:,} wrong")
    print(f"{arguments.count - len(rows):,} left")
    return list_problems(rows, _problem)


def _name(number: int) -> str:
    model, point = divmod(number, len(POINTS))
    return f"{NAMES[model]}, {POINTS[point]}" if model < len(NAMES) else ""


def _verdict(row: Row) -> str:
    return {"": "ok", "refused": "refused"}.get(str(row["detail"]), "wrong")


def _problem(row: Row) -> str:
    return f"{row['case']}: {row['detail']}" if _verdict(row) == "wrong" else ""


def _try_batch(numbers: list[int]) -> list[Row]:
    models: dict[str, matrix.Model] = {}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number in numbers:
                name = NAMES[number // len(POINTS)]
                if name not in models:
                    models[name] = matrix.open_model(name, Path(folder))
                detail = _detail(models[name], POINTS[number % len(POINTS)])
                rows.append({"seed": number, "case": _name(number), "detail": detail})
        finally:
            for model in models.values():
                model.reference.close()
    return rows


def _detail(model: matrix.Model, point: matrix.Point) -> str:
    try:
        return matrix.check(model, point)
    except Exception as error:  # a night does not end with the first traceback
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
