"""Inference after inference, compared with LiteRT's XNNPACK or, for networks in ONNX, with onnxruntime, as on
CPUs with AMX, with VNNI, and with AVX2.

    python benchmarks/steady.py                            built-in networks, and those of `onnx_networks.py`
    python benchmarks/steady.py resnet8=a.tflite x=b.tflite y=c.onnx

A process for each CPU makes itself one on a lesser CPU first (`lesser_cpu.py`), so that both sides lack the
same. One thread each; rounds alternate between the sides; seconds are those of the thread, so that other work
on the machine disturbs them least. Printed are medians, and the ratio of medians. onnxruntime takes and gives
float32, as its files say, and so converts what dlasim takes and gives as int8.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CPUS = {"AMX": "amx", "VNNI": "vnni", "AVX2": "portable"}  # and the kernels that each gets
SECONDS_EACH = 2.0  # of measuring, for each network on each CPU
ROUND_SECONDS = 0.003
NETWORKS = {
    "mobilenet_v1": ("mobilenet_v1", None, None),
    "mobilenet_v2": ("mobilenet_v2", None, None),
    "resnet8": ("resnet8", None, None),
    "vww": ("mobilenet_v1", 0.25, 96),
    "ds_cnn": ("ds_cnn", None, None),
    "vit": ("vit", None, None),
    "onnx_mobilenet_v1": None,
    "onnx_resnet": None,
    "onnx_keyword": None,
}
ONNX = "onnx_"
Step = Callable[[], object]


def main(arguments: Sequence[str]) -> int:
    """Measure all networks as on each CPU; `arguments` name models as NETWORK=FILE."""
    if len(arguments) == 3 and arguments[0] == "--cpu":
        return measure(arguments[1], Path(arguments[2]))
    files = dict(argument.split("=", 1) for argument in arguments)
    with tempfile.TemporaryDirectory() as folder:
        write_networks(Path(folder), files)
        for cpu, medians in compare(Path(folder)):
            for name, (ours, fast) in medians.items():
                print(
                    f"{cpu:<5} {name:<18} dlasim {1e3 * ours:8.3f} ms, {rival(name)} {1e3 * fast:8.3f} ms, "
                    f"ratio {ours / fast:.2f}"
                )
    return 0


def rival(name: str) -> str:
    """Whose time dlasim's is compared with."""
    return "onnxruntime" if name.startswith(ONNX) else "XNNPACK"


def write_networks(folder: Path, files: dict[str, str]) -> None:
    """Each network as a model and as a program, a file of each."""
    from onnx_networks import write_onnx

    from dlasim import api
    from dlasim.compiler_shim.compile import lower_for
    from dlasim.compiler_shim.options import CompileOptions
    from dlasim.compiler_shim.tflite.writer import write_tflite
    from dlasim.compiler_shim.topologies import build_topology
    from dlasim.isa import container
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.sim.configuration.sizes import MIB

    for name in {**NETWORKS, **files}:
        path = folder / f"{name}.tflite"
        if name in files:
            path = folder / (f"{ONNX}{name}.onnx" if files[name].endswith(".onnx") else f"{name}.tflite")
            path.write_bytes(Path(files[name]).read_bytes())
        elif name.startswith(ONNX):
            path = write_onnx(name.removeprefix(ONNX), folder / f"{name}.onnx")
        else:
            topology, alpha, resolution = NETWORKS[name]
            graph = build_topology(topology, seed=0, alpha=alpha, resolution=resolution)
            path.write_bytes(write_tflite(graph))
        options = CompileOptions(tiling="auto", fusion="full")
        lowered = lower_for(api.load_network(path), DlaConfig(sram_bytes=MIB), options)
        path.with_suffix(".bin").write_bytes(container.write(lowered.program))


def compare(folder: Path) -> list[tuple[str, dict[str, list[float]]]]:
    """For each CPU that this one can pass for, the median seconds of dlasim and of its rival by network."""
    found = []
    for cpu in CPUS:
        command = [sys.executable, __file__, "--cpu", cpu, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{cpu}: not measured: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        else:
            found.append((cpu, json.loads(done.stdout.splitlines()[-1])))
    return found


def measure(cpu: str, folder: Path) -> int:
    """In a process of its own: become that CPU, and print the medians as JSON."""
    import lesser_cpu

    if cpu != "AMX":
        lesser_cpu.deny_tiles()
    if cpu == "AVX2":
        lesser_cpu.hide_avx512()
    from dlasim.sim.fast_engine.loader import best_kind

    if best_kind() != CPUS[cpu]:
        print(f"the kernels for this CPU are {best_kind()}", file=sys.stderr)
        return 1
    print(json.dumps({path.stem: medians(path) for path in sorted(folder.glob("*.bin"))}))
    return 0


def medians(path: Path) -> list[float]:
    """Seconds of an inference of the program, and of its rival's of the network next to it."""
    from dlasim.inputs import noise
    from dlasim.isa import container
    from dlasim.sim.execution.executor import make_executor
    from dlasim.sim.execution.runner import Simulation, config_of

    program = container.read(path.read_bytes())
    inputs = noise(program.inputs, 0)
    simulation = Simulation(program, config_of(program), make_executor("fast"))
    other = onnxruntime(path.with_suffix(".onnx")) if path.stem.startswith(ONNX) else xnnpack(path, inputs)
    seconds = alternate(lambda: simulation.run(inputs), other)
    return [statistics.median(each) for each in seconds]


def xnnpack(path: Path, inputs: Sequence[NDArray[np.generic]]) -> Step:
    """An inference of LiteRT as it is by default."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path.with_suffix(".tflite")), num_threads=1)
    interpreter.allocate_tensors()
    return litert(interpreter, inputs)


def onnxruntime(path: Path) -> Step:
    """An inference of onnxruntime with all its optimizations."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feed = {each.name: rng.normal(0, 1, each.shape).astype(np.float32) for each in session.get_inputs()}
    return lambda: session.run(None, feed)


def litert(interpreter: object, inputs: Sequence[NDArray[np.generic]]) -> Step:
    """An inference of LiteRT, outputs fetched as ours are."""
    places = [detail["index"] for detail in interpreter.get_input_details()]  # type: ignore[attr-defined]
    results = [detail["index"] for detail in interpreter.get_output_details()]  # type: ignore[attr-defined]

    def infer() -> object:
        for place, array in zip(places, inputs, strict=True):
            interpreter.set_tensor(place, array)  # type: ignore[attr-defined]
        interpreter.invoke()  # type: ignore[attr-defined]
        return [interpreter.get_tensor(result) for result in results]  # type: ignore[attr-defined]

    return infer


def alternate(*steps: Step) -> list[list[float]]:
    """Seconds of each step, many times, in rounds that take turns."""
    seconds: list[list[float]] = [[] for _ in steps]
    for step in steps:
        for _ in range(3):
            step()
    until = time.monotonic() + SECONDS_EACH * len(steps)
    while time.monotonic() < until or not seconds[-1]:
        for step, found in zip(steps, seconds, strict=True):
            turns = max(1, min(100, int(ROUND_SECONDS / min(found)))) if found else 1
            for _ in range(turns):
                began = time.thread_time()
                step()
                found.append(time.thread_time() - began)
    return seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
