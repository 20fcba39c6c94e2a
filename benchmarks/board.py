"""The paper's table on the virtual prototype: CPU instructions without and with the accelerator, and how long
the emulation takes, with the goals next to the figures.

    python benchmarks/board.py                         built-in networks
    python benchmarks/board.py resnet=a.tflite vww=b.tflite aww=c.tflite

The paper's figures (Ahmadifarsani et al., 2023) are for the MLPerf Tiny models: instructions are compared for
models given under their names only. Leaves with 1 if a goal is missed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.inputs import noise
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import config_of
from dlasim.vp.system.host import Prototype

DLASIM = shutil.which("dlasim", path=str(Path(sys.executable).parent)) or "dlasim"
PAPER = {"resnet": (57_300_000, 0.68), "vww": (41_200_000, 1.33), "aww": (14_300_000, 0.54)}
BUILT_IN: dict[str, dict[str, Any]] = {
    "resnet8": {"name": "resnet8"},
    "mobilenet": {"name": "mobilenet_v1", "alpha": 0.25, "resolution": 96},
    "ds_cnn": {"name": "ds_cnn"},
}
MIN_SAVED = 0.97
EMULATION_SECONDS, PROCESS_SECONDS = 0.1, 2.5
RUNS = 5
OFFLOADED: dict[str, dict[str, Any]] = {
    "all that it can do": {},
    "convolutions": {"dla_ops": frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})},
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one inference on the board."""

    instructions: int
    cycles: int
    seconds: float


def measure(model: Path, **choices: Any) -> Figures:
    """The best of some runs; the instructions are the same in each."""
    program = api.compile(model, **choices).program
    board = Prototype(program, config_of(program), make_executor("auto"))
    inputs = noise(program.inputs, 0)
    runs = [board.run(inputs) for _ in range(RUNS)]
    seconds = min(run.inference.wall_seconds for run in runs)
    return Figures(runs[0].cpu.instructions, runs[0].inference.total_cycles, seconds)


def process_seconds(model: Path) -> float:
    """`dlasim run --host riscv`, from model to report."""
    start = time.perf_counter()
    command = [DLASIM, "run", str(model), "--host", "riscv"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def compare(name: str, model: Path) -> list[str]:
    """Prints a network's rows; the goals it missed."""
    alone, missed = measure(model, place="cpu"), []
    allowed = PAPER.get(name, (None, None))[0]
    if allowed is not None and alone.instructions > allowed:
        missed.append(
            f"{name}: {alone.instructions:,} instructions on the CPU alone, the paper has {allowed:,}"
        )
    print(f"{name:<10} {'CPU only':<20} {alone.instructions:>12,} {'':>8} {1000 * alone.seconds:>8.0f} ms")
    for what, choices in OFFLOADED.items():
        helped = measure(model, **choices)
        saved = 1 - helped.instructions / alone.instructions
        time_text = f"{1000 * helped.seconds:>8.0f} ms"
        print(f"{'':<10} {what:<20} {helped.instructions:>12,} {100 * saved:>6.2f} % {time_text}")
        if saved < MIN_SAVED and (name in PAPER or not choices):
            missed.append(f"{name}, {what}: {100 * saved:.1f} % saved, {100 * MIN_SAVED:.0f} are wanted")
        if helped.seconds > EMULATION_SECONDS:
            missed.append(
                f"{name}, {what}: {helped.seconds:.3f} s of emulation, {EMULATION_SECONDS} are wanted"
            )
    process_seconds(model)  # what is cached is cached
    whole = process_seconds(model)
    print(f"{'':<10} {'whole process':<20} {'':>12} {'':>8} {1000 * whole:>8.0f} ms")
    if whole > PROCESS_SECONDS:
        missed.append(f"{name}: {whole:.2f} s for the whole process, {PROCESS_SECONDS} are wanted")
    return missed


def models(arguments: list[str], folder: Path) -> dict[str, Path]:
    """Those given as NAME=FILE, or the built-in ones."""
    if arguments:
        return {name: Path(file) for name, _, file in (argument.partition("=") for argument in arguments)}
    made = {}
    for name, topology in BUILT_IN.items():
        made[name] = folder / f"{name}.tflite"
        made[name].write_bytes(write_tflite(build_topology(**topology)))
    return made


def main(arguments: list[str]) -> int:
    """Measure and compare."""
    print(f"{'network':<10} {'on the accelerator':<20} {'instructions':>12} {'saved':>8} {'emulation':>11}")
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models(arguments, Path(folder)).items():
            missed += compare(name, model)
    for text in missed:
        print(f"missed: {text}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
