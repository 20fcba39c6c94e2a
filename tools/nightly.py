"""The whole matrix: every model on every machine with every choice of options, compared with TensorFlow.

    python tools/nightly.py [--models GLOB] [--journal FILE] [--fresh] [--minutes N]

Real models come from the folder that DLASIM_MODEL_ZOO names. Each result is a line of the journal, and what
stands there is not tried again, so an interrupted night goes on the next one. The exit code is 1 if anything
was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tests.compiler import matrix  # noqa: E402

OK, REFUSED, WRONG = "ok", "refused", "wrong"


def main() -> int:
    """Try what the journal lacks, then sum up."""
    arguments = _parser().parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if not matrix.zoo_files():
        print("DLASIM_MODEL_ZOO is not set: built-in models only", file=sys.stderr)
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    if arguments.fresh:
        arguments.journal.unlink(missing_ok=True)
    names = [name for name in matrix.model_names() if fnmatch(name, arguments.models)]
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    done = _read(arguments.journal)
    complete = _try_all(names, arguments.journal, done, deadline)
    return _summary(names, done, complete)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", default="*", help="which models, as a pattern: layers/* or resnet*")
    parser.add_argument("--journal", type=Path, default=ROOT / "out" / "nightly.jsonl")
    parser.add_argument("--fresh", action="store_true", help="forget what the journal has")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this long; go on the next time")
    return parser


def _read(journal: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Results by model and point; a line that was cut off is left out."""
    done = {}
    for line in journal.read_text().splitlines() if journal.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[row["model"], row["point"]] = row
    return done


def _try_all(
    names: list[str], journal: Path, done: dict[tuple[str, str], dict[str, str]], deadline: float
) -> bool:
    """Whether nothing is left to try."""
    points = list(matrix.all_points())
    with tempfile.TemporaryDirectory() as folder, journal.open("a") as file, ExitStack() as stack:
        for number, name in enumerate(names, start=1):
            left = [point for point in points if (name, str(point)) not in done]
            model = matrix.open_model(name, Path(folder)) if left else None
            if model is not None:
                stack.callback(model.reference.close)
            for count, point in enumerate(left, start=1):
                if time.monotonic() > deadline:
                    return False
                assert model is not None
                row = _try(model, point)
                done[name, str(point)] = row
                print(json.dumps(row), file=file, flush=True)
                _progress(f"{number}/{len(names)} {name}: {count}/{len(left)} {point}")
                if row["verdict"] == WRONG:
                    print(f"\r\033[K{name}, {point}: {row['detail']}", file=sys.stderr)
    return True


def _try(model: matrix.Model, point: matrix.Point) -> dict[str, str]:
    try:
        detail = matrix.check(model, point)
    except Exception as error:  # a night does not end with the first traceback
        detail = f"{type(error).__name__}: {error}"
    verdict = {"": OK, "refused": REFUSED}.get(detail, WRONG)
    return {"model": model.name, "point": str(point), "verdict": verdict, "detail": detail}


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _summary(names: list[str], done: dict[tuple[str, str], dict[str, str]], complete: bool) -> int:
    """A row for each model, and what was wrong."""
    _progress("")
    print(f"{'model':<28}{'ok':>7}{'refused':>9}{'wrong':>7}{'left':>7}")
    total: Counter[str] = Counter()
    every = len(list(matrix.all_points()))
    for name in names:
        counts = Counter(row["verdict"] for (model, _), row in done.items() if model == name)
        counts["left"] = every - counts.total()
        total += counts
        print(f"{name:<28}{counts[OK]:>7}{counts[REFUSED]:>9}{counts[WRONG]:>7}{counts['left']:>7}")
    print(f"{'all':<28}{total[OK]:>7}{total[REFUSED]:>9}{total[WRONG]:>7}{total['left']:>7}")
    for (model, point), row in done.items():
        if model in names and row["verdict"] == WRONG:
            print(f"{model}, {point}: {row['detail']}")
    if not complete:
        print("time is up; the next night goes on from here")
    return 1 if total[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
