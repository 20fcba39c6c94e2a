"""Networks on the RTL beside the simulator, as rows of benchmarks/compared/rtl.csv."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

from tests.rtl.builder import ROOT
from tests.rtl.machines import (
    DRAWN_LIMITED,
    LARGE,
    LARGE_LIMITED,
    LIMITED,
    ODD_LIMITED,
    RESULTS_ALONE,
    machine,
)
from tests.rtl.networks import lowered, run_on_both
from tests.rtl.test_networks import REAL, built_in

BUILT_IN = ("autoencoder", "ds_cnn", "resnet8")
MORE = (
    "ds_cnn",
    "resnet8",
    "autoencoder",
    "vit",
    "kwt",
)
SMALL_MOBILENET = ("--alpha", "0.25", "--resolution", "96")
NAMES = (
    "64 I",
    *LARGE_LIMITED,
    *ODD_LIMITED,
    *(name for name in LARGE if name != "64 I"),
    *LIMITED,
    *DRAWN_LIMITED,
    *RESULTS_ALONE,
)  # the slowest first
KEPT = ROOT / "benchmarks" / "compared" / "rtl.csv"
COLUMNS = (
    "network", "machine", "rtl_cycles", "simulator_cycles", "rtl_seconds", "simulator_seconds",
    "cycles_only_seconds", "rtl_sram_bytes", "simulator_sram_bytes", "rtl_sram_words", "word_bytes",
)  # fmt: skip
Row = dict[str, str]


def more_models_in(folder: Path) -> Iterator[Path]:
    """More of them for drawn machines, all built in."""
    yield from (built_in(name, folder) for name in MORE)
    yield built_in("mobilenet_v1", folder, *SMALL_MOBILENET)


def models_in(folder: Path) -> Iterator[Path]:
    """Those of a run that names none; built-in ones go to the folder."""
    yield built_in("mnist", folder)
    zoo = os.environ.get("DLASIM_MODEL_ZOO")
    if zoo:
        yield from (Path(zoo, "mlperf_tiny", f"{name}.tflite") for name in REAL)
    else:
        yield from (built_in(name, folder) for name in BUILT_IN)


def measure(name: str, models: list[Path]) -> tuple[list[Row], list[str]]:
    """Rows of the networks that agree, and what differs in the others."""
    rows, differences = [], []
    for model in models:
        row, wrong = _measured(model, name)
        differences += [f"{model.stem} on {name}: {text}" for text in wrong]
        if not wrong:
            rows.append(row)
    return rows, differences


def _measured(model: Path, name: str) -> tuple[Row, list[str]]:
    config = machine(name)
    outcome = run_on_both(lowered(model, config), config)
    wrong = outcome.differences if name in LARGE else outcome.wrong_results
    seconds = outcome.rtl_seconds, outcome.simulator_seconds, outcome.cycles_only_seconds
    numbers = [str(outcome.rtl_cycles), str(outcome.simulator_cycles), *(f"{each:.4f}" for each in seconds)]
    if config.sram_bandwidth:
        numbers += map(str, (*outcome.sram_bytes, outcome.sram_words, config.sram_bandwidth))
    numbers += [""] * (len(COLUMNS) - 2 - len(numbers))
    return dict(zip(COLUMNS, (model.stem, name, *numbers), strict=True)), wrong


def keep(measured: list[Row], alone: bool = False) -> None:
    """Put rows in the places of those that the file has, or instead of all; in the order of the machines."""
    rows = {}
    if not alone:
        with KEPT.open(newline="", encoding="utf-8") as file:
            rows = {(kept["network"], kept["machine"]): kept for kept in csv.DictReader(file)}
    rows |= {(row["network"], row["machine"]): row for row in measured}
    order = [*LARGE, *RESULTS_ALONE, *LARGE_LIMITED, *ODD_LIMITED, *LIMITED, *DRAWN_LIMITED]
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=lambda row: order.index(row["machine"])))
