"""Sweeps: configurations per second and core, whole processes; one machine in plain Python and compiled; and
what 100,000 rows take.

With `--write`, the time of a point goes into README. Where Vela, the compiler for Ethos-U, is in PATH
(`pip install ethos-u-vela`), its time for one configuration is printed next to that of a point of ours and of
`dlasim compile`.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from compared import statements

if TYPE_CHECKING:
    from dlasim.compiler_shim.forms.partition import UnplacedNetwork

POINTS = ["--pes", "16..320:8", "--sram", "64KiB..256MiB", "--parallel", "input,output"]
SIZES_KIB = (64, 256, 512, 1 << 10, 256 << 10)
GOAL = 50  # configurations per second and core
SAMPLES = 8
ROWS = 100_000


def main(arguments: Sequence[str]) -> int:
    """Print the figures; fails where a row differs from what a run of its own says."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "mobilenet_v1.tflite"
        dlasim("model", "mobilenet_v1", "-o", str(model))
        with patch.dict(os.environ, XDG_CACHE_HOME=f"{folder}/cache"):
            both_ways(model)
        cores = len(os.sched_getaffinity(0))
        points = [sweep(model, Path(folder) / f"jobs{jobs}", jobs) for jobs in sorted({1, cores})]
        beside_vela(Path(folder), min(points))
        same = check(model, Path(folder) / f"jobs{cores}")
        write_and_read(Path(folder) / "rows.csv")
    if "--write" in arguments:
        statements.record(machine_ms=f"{1e3 * min(points):.0f}")
    return 0 if same else 1


def dlasim(*arguments: str) -> None:
    """A command of its own, quietly."""
    run(sys.executable, "-m", "dlasim", *arguments)


def run(*command: str) -> None:
    """A process, quietly."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def sweep(model: Path, out: Path, jobs: int) -> float:
    """MobileNetV1-224 over PEs, SRAM and modes, start included: seconds of CPU time for each point."""
    began, used = time.perf_counter(), cpu_seconds()
    dlasim("sweep", str(model), *POINTS, "--jobs", str(jobs), "--out", str(out))
    wall, used = time.perf_counter() - began, cpu_seconds() - used
    count = (out / "results.csv").read_text().count("\n") - 1
    print(
        f"{count} points, {jobs} jobs: {wall:.1f} s, {used:.1f} s of CPU time; "
        f"{count / wall / jobs:.1f} points"
    )
    print(f"  per second and core by the clock, {count / used:.1f} by CPU time (goal {GOAL})")
    return used / count


def beside_vela(folder: Path, point: float) -> None:
    """One configuration by Vela, a whole process, compared with a point of ours and `dlasim compile`."""
    vela = shutil.which("vela")
    if vela is None:
        print("Vela is not in PATH: no peer to compare with")
        return
    for name in ("mobilenet_v1", "mobilenet_v2", "resnet8"):
        model = folder / f"{name}.tflite"
        dlasim("model", name, "-o", str(model))
        options = ("--accelerator-config", "ethos-u55-128", "--output-dir", str(folder / "vela"))
        theirs = best(lambda model=model, options=options: run(vela, str(model), *options))
        ours = best(lambda model=model: dlasim("compile", str(model), "-o", str(folder / "program.bin")))
        print(f"{name}: Vela {theirs:.2f} s, dlasim compile {ours:.2f} s: {theirs / ours:.1f} times")
        if name == "mobilenet_v1":
            print(f"  a point of the sweep {point * 1000:.1f} ms of CPU time: {theirs / point:.0f} times")


def both_ways(model: Path) -> None:
    """Lowering and timing of one machine in plain Python and compiled, and what compiling takes."""
    from dlasim.compiler_shim.compile import load_model
    from dlasim.machine_code import ROUTINES
    from dlasim.native.build import build_object

    network = load_model(model)
    for routine in ROUTINES:
        used = cpu_seconds()
        build_object(routine.unit)
        print(f"building {routine.unit.name}: {cpu_seconds() - used:.1f} s of CPU time")
    point_seconds(network, SIZES_KIB[-1], 24)  # what is only done once
    print("one machine in process, CPU time:  plain  compiled")
    for size in SIZES_KIB:
        with ExitStack() as stack:
            for each in ROUTINES:
                stack.enter_context(patch.object(each, "_run", each.function))
            before = point_seconds(network, size)
        after = point_seconds(network, size)
        print(
            f"{size:>14} KiB  {1000 * before:>18.1f} ms {1000 * after:>6.1f} ms  {before / after:.1f} times"
        )


def point_seconds(network: UnplacedNetwork, sram_kib: int, fewest_pes: int = 16) -> float:
    """CPU time of lowering and timing one machine, on average over some."""
    from dlasim.compiler_shim.compile import lower_for
    from dlasim.compiler_shim.options import CompileOptions
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.sim.execution.runner import Simulation

    machines = list(product(range(fewest_pes, 321, 74), ("input", "output")))
    began = time.process_time()
    for pes, parallel in machines:
        config = DlaConfig(pes=pes, parallel=parallel, sram_bytes=sram_kib << 10)
        lowered = lower_for(network, config, CompileOptions(), with_constants=False)
        Simulation(lowered.program, config, None).run()
    return (time.process_time() - began) / len(machines)


def best(work: Callable[[], None]) -> float:
    """The least seconds of a few runs."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def cpu_seconds() -> float:
    """CPU time of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(model: Path, out: Path) -> bool:
    """Whether some rows equal a run for their machine alone."""
    from dlasim import api
    from dlasim.sweeps.results.sweep_result import open_results

    rows = list(open_results(out))
    different = 0
    for row in rows[:: len(rows) // SAMPLES]:
        machine = {name: row[name] for name in ("pes", "sram_bytes", "parallel")}
        report = api.run(model, timing_only=True, check_races=False, **machine).report
        expected = (report["cycles"]["total"], report["cycles"]["stall"], report["dma_bytes"]["read"])
        different += expected != (row["cycles_total"], row["cycles_stall"], row["dma_read_bytes"])
    print(f"  rows that differ from a run of their own: {different}")
    return different == 0


def write_and_read(path: Path) -> None:
    """Rows as wide as a sweep's."""
    from dlasim.sweeps.results.csv_table import read_csv, write_csv
    from dlasim.sweeps.results.sweep_tables import columns

    head = columns()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    write_csv(path, head, ([number, *[123456] * (len(head) - 1)] for number in range(ROWS)))
    written = time.perf_counter()
    count = sum(1 for _ in read_csv(path)[1])
    read = time.perf_counter()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{count} rows: written in {written - began:.1f} s, read in {read - written:.1f} s, "
        f"{grown:.1f} MiB more"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
