"""No figure changes unnoticed: whoever changes the compiler or the timing sees in a diff what that does.

The file is no oracle. That figures are right is held elsewhere: to the paper's model, and to a machine that
is stepped cycle by cycle.
"""

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.reports.report import report

NETWORKS = ("autoencoder", "ds_cnn", "mnist", "resnet8", "mobilenet_v1", "mobilenet_v2")
MACHINES = {
    "64K 64 O": (DlaConfig(sram_bytes=64 * KIB, parallel="output"), CompileOptions()),
    "512K 64 I": (DlaConfig(sram_bytes=512 * KIB, parallel="input"), CompileOptions()),
    "256K 8x8": (DlaConfig(sram_bytes=256 * KIB, parallel="8x8"), CompileOptions()),
    "1M 128 O paper's flow": (
        DlaConfig(sram_bytes=1024 * KIB, parallel="output", pes=128),
        CompileOptions(fusion="none", tiling="output-channel"),
    ),
}
COLUMNS = ("words", "dla", "stall", "conv", "depth", "requant", "read", "written", "SRAM peak")


def row(network, config, options):
    program = lower_for(network, config, options, False).program
    found = report(program, config, Simulation(program, config, None).run())
    cycles, moved = found["cycles"], found["dma_bytes"]
    kinds = (cycles["by_kind"].get(kind, 0) for kind in ("CONV", "DEPTH", "REQUANT"))
    figures = (len(program.commands), cycles["dla"], cycles["stall"], *kinds)
    return (*figures, moved["read"], moved["write"], found["sram_peak_bytes"])


def test_figures_of_the_built_in_networks(tmp_path, golden):
    lines = [f"{'network':<14}{'machine':<24}" + "".join(f"{name:>12}" for name in COLUMNS)]
    for name in NETWORKS:
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(write_tflite(build_topology(name)))
        network = load_model(path)
        for label, machine in MACHINES.items():
            lines.append(f"{name:<14}{label:<24}" + "".join(f"{cell:>12}" for cell in row(network, *machine)))
    golden("figures.txt", "\n".join(lines) + "\n")
