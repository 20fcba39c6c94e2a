"""`python -m tests.rtl [MODEL.tflite…]`: networks on the large machines, RTL beside simulator, as a table.

Without models: the built-in ones, and MLPerf Tiny's where DLASIM_MODEL_ZOO names a folder that has them. With
--write each row also goes to benchmarks/compared/rtl.csv, from which `make accuracy` makes the tables.
"""

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.rtl.builder import ROOT
from tests.rtl.machines import LARGE, LARGE_LIMITED, LIMITED, machine
from tests.rtl.networks import lowered, run_on_both
from tests.rtl.test_networks import REAL, built_in

BUILT_IN = ("mnist", "autoencoder", "ds_cnn", "resnet8")
NAMES = (*LARGE, *LIMITED, *LARGE_LIMITED)
KEPT = ROOT / "benchmarks" / "compared" / "rtl.csv"
COLUMNS = (
    "network", "machine", "rtl_cycles", "simulator_cycles", "rtl_seconds", "simulator_seconds",
    "cycles_only_seconds", "rtl_sram_bytes", "simulator_sram_bytes", "rtl_sram_words", "word_bytes",
)  # fmt: skip
Row = dict[str, str]


def main() -> int:
    """Print a row for each network and machine; 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--machine", action="append", choices=NAMES, help="only this one; can be repeated")
    parser.add_argument("--write", action="store_true", help=f"also to {KEPT.relative_to(ROOT)}")
    arguments = parser.parse_args()
    different = 0
    print(*COLUMNS, sep=",")
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models or list(_models(Path(folder)))
        for name in arguments.machine or NAMES:
            for model in models:
                row, wrong = _measured(model, name)
                print(*row.values(), sep=",", flush=True)
                if arguments.write and not wrong:
                    _keep(row)
                for text in wrong:
                    print(f"{model.stem} on {name}: {text}", file=sys.stderr)
                different += bool(wrong)
    return 1 if different else 0


def _models(folder: Path) -> Iterator[Path]:
    for name in BUILT_IN:
        yield built_in(name, folder)
    zoo = os.environ.get("DLASIM_MODEL_ZOO")
    if zoo:
        yield from (Path(zoo, "mlperf_tiny", f"{name}.tflite") for name in REAL)


def _measured(model: Path, name: str) -> tuple[Row, list[str]]:
    config = machine(name)
    outcome = run_on_both(lowered(model, config), config)
    wrong = outcome.differences if name in LARGE else outcome.wrong_results
    seconds = outcome.rtl_seconds, outcome.simulator_seconds, outcome.cycles_only_seconds
    numbers = [str(outcome.rtl_cycles), str(outcome.simulator_cycles), *(f"{each:.4f}" for each in seconds)]
    if name not in LARGE:
        numbers += map(str, (*outcome.sram_bytes, outcome.sram_words, config.sram_bandwidth))
    numbers += [""] * (len(COLUMNS) - 2 - len(numbers))
    return dict(zip(COLUMNS, (model.stem, name, *numbers), strict=True)), wrong


def _keep(row: Row) -> None:
    """Put a row in the place of the one that the file has, or behind all."""
    with KEPT.open(newline="", encoding="utf-8") as file:
        rows = {(kept["network"], kept["machine"]): kept for kept in csv.DictReader(file)}
    rows[row["network"], row["machine"]] = row
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


if __name__ == "__main__":
    sys.exit(main())
