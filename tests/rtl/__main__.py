"""`python -m tests.rtl [MODEL.tflite…]`: networks on the large machines, RTL beside simulator, as a table.

Without models: the built-in ones, and MLPerf Tiny's where DLASIM_MODEL_ZOO names a folder that has them.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.rtl.machines import LARGE, LARGE_LIMITED, LIMITED, machine
from tests.rtl.networks import lowered, run_on_both
from tests.rtl.test_networks import REAL, built_in

BUILT_IN = ("mnist", "autoencoder", "ds_cnn", "resnet8")


def main(arguments: list[str]) -> int:
    """Print a row for each network and machine; 1 where one differs."""
    print("| network | machine | RTL, cycles | simulator, cycles | difference | RTL | simulator |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        models = [Path(argument) for argument in arguments] or list(_models(Path(folder)))
        for name in (*LARGE, *LIMITED, *LARGE_LIMITED):
            for model in models:
                different += _row(model, name)
    return 1 if different else 0


def _models(folder: Path) -> Iterator[Path]:
    for name in BUILT_IN:
        yield built_in(name, folder)
    zoo = os.environ.get("DLASIM_MODEL_ZOO")
    if zoo:
        yield from (Path(zoo, "mlperf_tiny", f"{name}.tflite") for name in REAL)


def _row(model: Path, name: str) -> bool:
    config = machine(name)
    outcome = run_on_both(lowered(model, config), config)
    difference = outcome.rtl_cycles - outcome.simulator_cycles
    wrong = outcome.differences if name in LARGE else outcome.wrong_results
    print(
        f"| {model.stem} | {name} | {outcome.rtl_cycles:,} | {outcome.simulator_cycles:,} "
        f"| {f'{difference / outcome.simulator_cycles:+.2%}' if difference else 0} "
        f"| {outcome.rtl_seconds:.1f} s | {1000 * outcome.simulator_seconds:.1f} ms |",
        flush=True,
    )
    for text in wrong:
        print(f"{model.stem} on {name}: {text}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
