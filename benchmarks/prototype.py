"""One inference on the virtual prototype, compared with Ahmadifarsani et al. 2023: instructions of the CPU
without and with the DLA, and the time that emulating it takes. Then what a run of the board costs with all on
the DLA, from reset to exit.

    python benchmarks/prototype.py [RESNET.tflite VWW.tflite AWW.tflite]

Without files, built-in networks of the same topologies. Emulation is from the first instruction of an
inference to its last, on a board that has just come out of reset; a process is `dlasim run --host riscv`,
with the start of Python. The first run is that of a process which has compiled and simulated the network: it
imports and compiles what only the board needs, or does not, if these are imported before. Times of whole runs
are of the CPU, which other work disturbs less. Fails if a goal is missed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from compared.common import Networks, table

from dlasim import api
from dlasim.inputs import noise
from dlasim.sim.execution.runner import Simulation, config_of

RUNS = 5
EMULATION_SECONDS, PROCESS_SECONDS = 0.1, 2.5  # at most, with the DLA
# Of the CPU, at most: the first run with its imports and without, and later ones.
FIRST_RUN_SECONDS, READY_SECONDS, RUN_SECONDS = 0.3, 0.02, 0.005
LATER_RUNS = 30
SAVED = 0.97  # at least, with convolutions on the DLA
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
BUILT_IN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("resnet8", {}),
    ("mobilenet_v1", {"alpha": 0.25, "resolution": 96, "classes": 2}),
    ("ds_cnn", {}),
)
HEAD = (
    "model, on the DLA",
    "CPU only",
    "paper",
    "CPU + DLA",
    "saved",
    "paper",
    "emulation",
    "paper",
    "process",
)
CASES: dict[str, dict[str, Any]] = {
    "nothing": {"place": "cpu"},
    "convolutions": {"dla_ops": frozenset(CONVOLUTIONS)},
    "all": {},
}


RUNS_HEAD = ("model", "first run of a process", "without imports", "later run", "least")


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the table in the paper."""

    alone: float  # instructions of the CPU without the accelerator
    together: float
    saved: float  # as a fraction of 1
    seconds: float  # of simulating it


# Ahmadifarsani, Stahl, van Kempen, Mueller-Gritschneder, Schlichtmann 2023.
PAPER = {
    "resnet": Published(5.73e7, 1.44e7, 0.75, 0.68),
    "vww": Published(4.12e7, 1.46e7, 0.65, 1.33),
    "aww": Published(1.43e7, 5.34e6, 0.63, 0.54),
}


def saved_fraction(alone: float, together: float) -> float:
    """The fraction of the CPU's instructions that the accelerator saves."""
    return 1 - together / alone


@dataclass(slots=True)
class BoardRun:
    """A model with one choice of what the DLA does; the shortest of several times."""

    instructions: int
    emulation_seconds: float
    process_seconds: float

    def is_fast(self) -> bool:
        """Whether both goals are met."""
        return self.emulation_seconds <= EMULATION_SECONDS and self.process_seconds <= PROCESS_SECONDS


def main(arguments: list[str]) -> int:
    """Print a table; fails where a goal is missed."""
    if arguments[:1] == ["--runs-of"]:
        return print_runs(Path(arguments[1]))
    missed = []
    rows, runs = [], []
    with TemporaryDirectory() as temporary:
        for name, path in zip(PAPER, _models(arguments, Path(temporary)), strict=True):
            found = {case: measure(path, case) for case in CASES}
            rows += [_row(name, case, found) for case in CASES]
            missed += _missed(name, found)
            first, ready, later, _ = times = _runs_of(path)
            runs.append([name, *(f"{1000 * each:.1f} ms" for each in times)])
            if first > FIRST_RUN_SECONDS or ready > READY_SECONDS or later > RUN_SECONDS:
                missed.append(f"{name}: a run of the board takes too long")
    print(table(HEAD, rows))
    print(table(RUNS_HEAD, runs))
    print("\n".join(missed) or "all goals are met")
    return int(bool(missed))


def print_runs(path: Path) -> int:
    """Seconds of the CPU: the first run, with imports and without; the median and the least of later ones."""
    program = api.compile(path).program
    config, inputs, executor = config_of(program), noise(program.inputs, 0), api.make_executor("auto")
    Simulation(program, config, executor).run(inputs)
    began = time.process_time()
    from dlasim.vp.system.host import Prototype

    imported = time.process_time()
    prototype = Prototype(program, config, executor)
    prototype.run(inputs)
    ends = [time.process_time()]
    for _ in range(LATER_RUNS):
        prototype.run(inputs)
        ends.append(time.process_time())
    later = [end - start for start, end in pairwise(ends)]
    print(ends[0] - began, ends[0] - imported, median(later), min(later))
    return 0


def _runs_of(path: Path) -> list[float]:
    """The same of a process of its own."""
    command = [sys.executable, __file__, "--runs-of", str(path)]
    return [float(text) for text in subprocess.check_output(command, text=True).split()]


def measure(path: Path, case: str) -> BoardRun:
    """Instructions of an inference, and times: the least of several, which other work disturbs least."""
    runs = [api.run(path, host="riscv", **CASES[case]) for _ in range(RUNS)]
    emulations = []
    for run in runs:
        assert run.prototyped is not None
        emulations.append(run.prototyped.wall_seconds[0])
    instructions = runs[0].report["cpu"]["instructions"]
    return BoardRun(instructions, min(emulations), min(_process_seconds(path, case) for _ in range(2)))


def _process_seconds(path: Path, case: str) -> float:
    flags = {
        "nothing": ["--place", "cpu"],
        "convolutions": ["--dla-ops", ",".join(CONVOLUTIONS)],
        "all": [],
    }
    command = [sys.executable, "-m", "dlasim", "run", str(path), "--host", "riscv", *flags[case]]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def _models(arguments: list[str], folder: Path) -> list[Path]:
    if arguments:
        return [Path(argument) for argument in arguments]
    networks = Networks(folder)
    return [networks.path(name, **chosen) for name, chosen in BUILT_IN]


def _row(name: str, case: str, found: dict[str, BoardRun]) -> list[str]:
    paper, mine, alone = PAPER[name], found[case], found["nothing"].instructions
    times = (f"{mine.emulation_seconds:.3f} s", f"{paper.seconds} s", f"{mine.process_seconds:.2f} s")
    if case == "nothing":
        return [f"{name}, {case}", f"{alone:.3e}", f"{paper.alone:.3g}", "", "", "", times[0], "", times[2]]
    saved = f"{100 * saved_fraction(alone, mine.instructions):.3f} %"
    return [f"{name}, {case}", f"{alone:.3e}", f"{paper.alone:.3g}", f"{mine.instructions:,}", saved,
            f"{100 * paper.saved:.0f} %", *times]  # fmt: skip


def _missed(name: str, found: dict[str, BoardRun]) -> list[str]:
    alone = found["nothing"].instructions
    missed = []
    if alone > PAPER[name].alone:
        missed.append(
            f"{name}: {alone:,} instructions on the CPU alone, the paper has {PAPER[name].alone:.3g}"
        )
    for case in ("convolutions", "all"):
        if not found[case].is_fast():
            missed.append(f"{name}, {case}: emulation or process takes too long")
        if saved_fraction(alone, found[case].instructions) < SAVED:
            missed.append(f"{name}, {case}: less than {100 * SAVED:.0f} % saved")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
