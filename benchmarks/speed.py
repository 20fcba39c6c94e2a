"""The simulator's speed compared with LiteRT and onnxruntime in one run, with the goals next to the figures.

    python benchmarks/speed.py [--write]               built-in networks; README states times of these
    python benchmarks/speed.py resnet8=a.tflite vww=b.tflite ds_cnn=c.tflite mobilenet_v1=d.tflite

One thread each, whose seconds count. `steady.py` measures inferences; elsewhere rounds alternate between the
sides and the best of each counts, so that other work on the machine disturbs the ratios least. Leaves with 1
if a goal is missed by more than TOLERANCE.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import steady
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from compared import statements
from numpy.typing import NDArray

from dlasim import api
from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.inputs import noise
from dlasim.isa import codec, container
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import Program
from dlasim.isa.registers import REGION_COUNT
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import MIB
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import plan_stream

CONFIG = DlaConfig(sram_bytes=MIB)
MICROSECONDS_PER_OPERATION = 5.0
MICROSECONDS_PER_WRITE = 0.2
TOLERANCE = 1.15  # of a shared machine
SECONDS_EACH = 1.5  # of measuring, for each side of a comparison
DLASIM = shutil.which("dlasim", path=str(Path(sys.executable).parent)) or "dlasim"


XNNPACK_LIMIT = 1.0  # of its time, on every network and CPU
REFERENCE_SPEEDUP = 8.0  # over LiteRT's reference kernels, on mobilenet_v1


class Goals:
    """Prints figures next to their goals, and remembers what was missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def line(self, name: str, value: float, limit: float, unit: str = "", at_least: bool = False) -> None:
        """One figure that may be at most (at least) its limit."""
        good = value * TOLERANCE >= limit if at_least else value <= limit * TOLERANCE
        sign = "≥" if at_least else "≤"
        strict = value >= limit if at_least else value <= limit
        mark = "" if strict else "  (within tolerance)" if good else "  MISSED"
        print(f"  {name:<52} {value:>9.3f}{unit:<4} goal {sign} {limit:g}{unit}{mark}")
        if not good:
            self.missed.append(name)


def main(arguments: Sequence[str]) -> int:
    """Measure everything; `arguments` name real models as NETWORK=FILE."""
    files = dict(argument.split("=", 1) for argument in arguments if argument != "--write")
    unknown = set(files) - set(steady.NETWORKS)
    if unknown:
        print(
            f"unknown network {min(unknown)}; the networks are {', '.join(steady.NETWORKS)}", file=sys.stderr
        )
        return 2
    goals = Goals()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steady.write_networks(folder, files)
        programs = {path.stem: container.read(path.read_bytes()) for path in folder.glob("*.bin")}
        times = inferences(folder, goals) | reference(folder, programs["mobilenet_v1"], goals)
        timing(programs["mobilenet_v1"], goals)
        processes(folder, programs["resnet8"], goals)
        memory(folder, (folder / "resnet8.tflite").read_bytes(), goals)
    if "--write" in arguments and not files:
        statements.record(**{name: f"{1e3 * seconds:.3g}" for name, seconds in times.items()})
    print(f"missed: {', '.join(goals.missed)}" if goals.missed else "every goal is met")
    return 1 if goals.missed else 0


def lowered(folder: Path, name: str, model: bytes, config: DlaConfig) -> Program:
    """The model's program: automatic tiling, full fusion."""
    path = folder / f"{name}.tflite"
    path.write_bytes(model)
    options = CompileOptions(tiling="auto", fusion="full")
    return lower_for(api.load_network(path), config, options).program


def inferences(folder: Path, goals: Goals) -> dict[str, float]:
    """Inference after inference, everything warm, as on several CPUs; MobileNetV1's seconds on the best."""
    print("Steady state, one thread, 1 MiB SRAM, medians")
    measured = steady.compare(folder)
    for cpu, medians in measured:
        for name, (ours, fast) in medians.items():
            rival = steady.rival(name)
            times = f"dlasim {1e3 * ours:.3f} ms, {rival} {1e3 * fast:.3f} ms, ratio {ours / fast:.2f}"
            print(f"  {name} with {cpu}: {times}")
            if rival == "XNNPACK":  # onnxruntime's sums may saturate without VNNI, which takes half the time
                goals.line(f"{name} with {cpu}: dlasim / XNNPACK", ours / fast, XNNPACK_LIMIT)
    return dict(zip(("inference_ms", "xnnpack_ms"), measured[0][1]["mobilenet_v1"], strict=True))


def reference(folder: Path, program: Program, goals: Goals) -> dict[str, float]:
    """MobileNetV1 compared with LiteRT's reference kernels; their seconds."""
    inputs = noise(program.inputs, 0)
    simulation = Simulation(program, config_of(program), make_executor("fast"))
    model = (folder / "mobilenet_v1.tflite").read_bytes()
    ours, slow = best_times(lambda: simulation.run(inputs), litert(model, inputs, OpResolverType.BUILTIN_REF))
    goals.line("mobilenet_v1: reference / dlasim", slow / ours, REFERENCE_SPEEDUP, at_least=True)
    return {"reference_ms": slow}


def litert(
    model: bytes, inputs: Sequence[NDArray[np.generic]], resolver: OpResolverType
) -> Callable[[], object]:
    """An inference of LiteRT on one thread."""
    interpreter = Interpreter(model_content=model, num_threads=1, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    return steady.litert(interpreter, inputs)


def best_times(*actions: Callable[[], object]) -> list[float]:
    """The shortest time of each, in rounds that take turns."""
    counts = []
    for action in actions:
        action()
        seconds = _seconds(action)
        counts.append(max(1, min(200, int(SECONDS_EACH / 30 / seconds))))
    best = [float("inf")] * len(actions)
    until = time.perf_counter() + SECONDS_EACH * len(actions)
    while time.perf_counter() < until:
        for number, action in enumerate(actions):
            best[number] = min(best[number], *(_seconds(action) for _ in range(counts[number])), best[number])
    return best


def _seconds(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start


def timing(program: Program, goals: Goals) -> None:
    """Time alone, of a stream never seen before: decoding, checks, costs, schedule, accounting."""
    config = config_of(program)
    opcodes = codec.decode_opcodes(program.commands)
    writes = int((opcodes == BY_MNEMONIC["CFG"].opcode).sum())
    operations = int(
        np.isin(opcodes, [row.opcode for row in BY_MNEMONIC.values() if row.unit is not Unit.ISSUE]).sum()
    )
    regions = dict.fromkeys(range(REGION_COUNT), 1 << 30)

    def plan() -> object:
        return [
            plan_stream(
                config, program.commands[s.first_word : s.first_word + s.words], reset_file(), regions
            )
            for s in program.streams
        ]

    seconds = min(_seconds(plan) for _ in range(30))
    budget = operations * MICROSECONDS_PER_OPERATION + writes * MICROSECONDS_PER_WRITE
    print(
        f"Timing only, mobilenet_v1: {operations} operations, {writes} register writes, "
        f"{1e3 * seconds:.2f} ms"
    )
    goals.line("share of 5 µs per operation and 0.2 µs per write", 1e6 * seconds / budget, 1.0)


def processes(folder: Path, program: Program, goals: Goals) -> None:
    """Whole processes, kernels cached."""
    path = folder / "small.bin"
    path.write_bytes(container.write(program))
    print("Whole process, resnet8's program.bin")
    for name, limit, extra in (
        ("dlasim run", 1.5, ()),
        ("dlasim run --timing-only", 0.4, ("--timing-only",)),
    ):
        command = [DLASIM, "run", str(path), *extra]
        goals.line(name, min(_process(command)[0] for _ in range(12)), limit, " s")


def memory(folder: Path, model: bytes, goals: Goals) -> None:
    """Peak resident memory with 256 MiB of SRAM against 512 KiB, same model."""
    peaks = {}
    print("Memory of a whole process, resnet8")
    for label, size in (("512 KiB", MIB // 2), ("256 MiB", 256 * MIB)):
        path = folder / f"{size}.bin"
        path.write_bytes(container.write(lowered(folder, "m", model, DlaConfig(sram_bytes=size))))
        peaks[label] = _process([DLASIM, "run", str(path)])[1] / 1024
        print(f"  {label} SRAM: {peaks[label]:.1f} MiB")
    goals.line("more for 256 MiB of SRAM", max(peaks["256 MiB"] - peaks["512 KiB"], 0.0), 8.0, " MiB")


# A process inherits its parent's peak on the way to its own program, so one of its own stands between.
_MEASURE = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


def _process(command: list[str]) -> tuple[float, int]:
    """Seconds and peak resident KiB of a process."""
    measured = subprocess.run(
        [sys.executable, "-S", "-c", _MEASURE, *command], check=True, capture_output=True, text=True
    )
    seconds, peak, code = measured.stdout.split()
    if int(code):
        raise SystemExit(f"{' '.join(command)} failed:\n{measured.stderr}")
    return float(seconds), int(peak)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
