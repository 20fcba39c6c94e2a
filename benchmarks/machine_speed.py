"""What simulating the time of a compiled program takes: decoding, checks, costs, schedule and accounting, in
CPU time of one process, without the compiler.

    python benchmarks/machine_speed.py                     finite ports, output stage and buffers, and none
    python benchmarks/machine_speed.py --other PYTHON      and another version of dlasim

PYTHON is the interpreter of an environment in which the other version is installed. Each version times the
program that it compiles itself. The sides take turns, and the least time of each counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NETWORKS = ("mnist", "resnet8", "mobilenet_v1", "mobilenet_v2")
GOAL = 1.3  # times the other version
SRAM_BYTES = 1 << 20
SECONDS = 0.5  # of CPU time for each measurement
ROUNDS = 3
LIMITS = (
    "sram_bandwidth", "line_buffer_bytes", "weight_buffer_bytes", "accumulators", "mac_results",
    "vector_requantizations", "vector_divisions",
)  # fmt: skip


def main() -> int:
    """Print the times and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--other", metavar="PYTHON", help="the interpreter of another version")
    parser.add_argument("--measure", choices=("limits", "none"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure == "none")))
        return 0
    sides = {"limits": (sys.executable, "limits"), "no limits": (sys.executable, "none")}
    if given.other:
        sides["other version"] = (given.other, "limits")
    found = alternate(sides)
    missed = False
    for network in NETWORKS:
        ours, free = found["limits"][network], found["no limits"][network]
        line = f"{network:<14}{ours[0]:>6} operations {1e3 * ours[1]:7.2f} ms"
        line += f"; without limits {free[0]:>6} {1e3 * free[1]:7.2f} ms, {ours[1] / free[1]:.2f} times"
        if given.other:
            other = found["other version"][network]
            missed |= ours[1] > GOAL * other[1]
            line += f"; other version {other[0]:>6} {1e3 * other[1]:7.2f} ms, {ours[1] / other[1]:.2f} times"
        print(line)
    return int(missed)


Found = dict[str, tuple[int, float]]  # of each network the operations, and the seconds of CPU time


def alternate(sides: dict[str, tuple[str, str]]) -> dict[str, Found]:
    """The least times of each side."""
    best: dict[str, Found] = {}
    for _ in range(ROUNDS):
        for side, (python, what) in sides.items():
            command = [python, __file__, "--measure", what]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            for network, (operations, seconds) in json.loads(done.stdout).items():
                before = best.setdefault(side, {}).get(network, (operations, seconds))
                best[side][network] = operations, min(before[1], seconds)
    return best


def measure(is_free: bool) -> Found:
    """This version's times. Older versions, too, have all that is imported here."""
    from dlasim import api
    from dlasim.compiler_shim.compile import lower_for
    from dlasim.compiler_shim.options import CompileOptions
    from dlasim.compiler_shim.tflite.writer import write_tflite
    from dlasim.compiler_shim.topologies import build_topology
    from dlasim.sim.configuration.config import DlaConfig

    config = DlaConfig(sram_bytes=SRAM_BYTES, **dict.fromkeys(LIMITS if is_free else (), 0))
    options = CompileOptions(tiling="auto", fusion="full")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            model = Path(folder) / f"{name}.tflite"
            model.write_bytes(write_tflite(build_topology(name)))
            found[name] = least(lower_for(api.load_network(model), config, options).program)
    return found


def least(program: object) -> tuple[int, float]:
    """The operations of a program's streams, and the least CPU time of their plans."""
    from dlasim.isa.registers import REGION_COUNT
    from dlasim.sim.execution.runner import config_of
    from dlasim.sim.programs.operation import reset_file
    from dlasim.sim.timing.plan import plan_stream

    config = config_of(program)
    regions = dict.fromkeys(range(REGION_COUNT), 1 << 30)
    streams = [program.commands[s.first_word : s.first_word + s.words] for s in program.streams]
    best, until = float("inf"), time.process_time() + SECONDS
    while time.process_time() < until:
        began = time.process_time()
        plans = [plan_stream(config, words, reset_file(), regions) for words in streams]
        best = min(best, time.process_time() - began)
    return sum(plan.operations for plan in plans), best


if __name__ == "__main__":
    sys.exit(main())
