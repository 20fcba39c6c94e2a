"""`python -m tests.rtl [MODEL.tflite…]`: networks on large machines, RTL beside simulator, as a table.

Without models: mnist, and MLPerf Tiny's where DLASIM_MODEL_ZOO names a folder that has them, else the
built-in ones of the same shapes; drawn machines run more. With --write each row also goes to
benchmarks/compared/rtl.csv, from which `make accuracy` makes the tables; a run of all networks on all
machines leaves no other row there.
"""

import argparse
import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tests.rtl.builder import ROOT
from tests.rtl.machines import DRAWN_LIMITED
from tests.rtl.network_rows import COLUMNS, KEPT, NAMES, Row, keep, measure, models_in, more_models_in


def main() -> int:
    """Print a row for each network and machine; 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--machine", action="append", choices=NAMES, help="only this one; can be repeated")
    parser.add_argument("--write", action="store_true", help=f"also to {KEPT.relative_to(ROOT)}")
    parser.add_argument("--jobs", type=int, default=1, help="machines at a time; no more than idle cores")
    arguments = parser.parse_args()
    different = 0
    measured: list[Row] = []
    print(*COLUMNS, sep=",")
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models or list(models_in(Path(folder)))
        more = [] if arguments.models else list(more_models_in(Path(folder)))
        with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
            tasks = [
                pool.submit(
                    measure, name, [*dict.fromkeys([*models, *more])] if name in DRAWN_LIMITED else models
                )
                for name in arguments.machine or NAMES
            ]
            for task in as_completed(tasks):
                rows, wrong = task.result()
                for row in rows:
                    print(*row.values(), sep=",", flush=True)
                for text in wrong:
                    print(text, file=sys.stderr)
                different += len(wrong)
                measured += rows
                if arguments.write:
                    keep(rows)
    if arguments.write and not (arguments.models or arguments.machine or different):
        keep(measured, alone=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
