"""What MobileNetV2 loses against its bound in some of its layers, however they are tiled.

`python benchmarks/slices.py` (about five minutes) cuts pieces out of the network at its natural boundaries:
an inverted residual with an ADD and the convolution after it. Combinations of tiles are tried: rows, output
channels, order, depthwise and projection one after the other or as a chain in stripes. The simulator times
every combination. Printed is the least loss: cycles from the first operation on MAC of the layers that are
cut to the end of MAC, less their bound.

SRAM and bandwidth are unlimited, so no SRAM of any size makes these losses less.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.lowering.lower import emit
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import Segment, SramPlanner
from dlasim.compiler_shim.lowering.segments.chains import ChainTiling
from dlasim.compiler_shim.lowering.segments.stripes import stripe_layouts
from dlasim.compiler_shim.lowering.tiles.geometry import TileShape, total_bytes
from dlasim.compiler_shim.lowering.tiles.tile_buffers import SINGLE
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem
from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies.builder import Activation, NetworkBuilder
from dlasim.errors import InputError
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.timing.lower_bound import layer_bounds

FREE_MEMORY = DlaConfig().replace(sram_bytes=8192 * KIB, dma_bandwidth="unlimited", dma_latency=0)
MACHINES = {"64 PEs": FREE_MEMORY, "4x64 PEs": FREE_MEMORY.replace(parallel="4x64")}
# Rows, channels, and how many there are in the network.
SUMS = ((56, 24, 1), (28, 32, 2), (14, 64, 3), (14, 96, 2), (7, 160, 2))
PARTS = (1, 2, 4, 7, 14)  # in which rows are computed
TileShapes = Mapping[str, TileShape]  # by layer


@dataclass(frozen=True, slots=True)
class NetworkSlice:
    """Some layers with the shape of their input, and how often the network has them; the tile shapes that are
    tried, by layer."""

    name: str
    count: int
    input_shape: tuple[int, int, int]
    layers: Callable[[NetworkBuilder, Activation], Activation]
    tile_shapes: Sequence[TileShapes]


def sum_slice(size: int, channels: int, count: int) -> NetworkSlice:
    """A block with an ADD, and the convolution after it."""
    wide = 6 * channels

    def layers(build: NetworkBuilder, source: Activation) -> Activation:
        x = build.conv("expand", source, wide, activation="RELU6")
        x = build.depthwise("depthwise", x, 3, 1, "RELU6")
        x = build.add("add", source, build.conv("project", x, channels))
        return build.conv("next", x, wide, activation="RELU6")

    def tile(rows: int, group: int, depth: int, is_outer: bool = True) -> TileShape:
        return TileShape(-(-size // rows), size, group, depth, is_outer, SINGLE)

    heights = {-(-size // rows): rows for rows in (*PARTS, *(28, 56)[: size // 28])}.values()
    groups = sorted({channels, min(channels, 64), -(-channels // 2)})
    wide_groups = sorted({wide, *range(64, min(wide, 257), 64)})
    project = [{"project": tile(rows, group, wide)} for rows, group in product(heights, groups)]
    chains = [{"depthwise": tile(rows, wide, 1)} for rows in heights]  # of both, in stripes of so many rows
    add = [tile(rows, group, 1) for rows, group in product(heights, groups)]
    after = [
        tile(rows, group, channels, outer)
        for rows, group, outer in product(heights, wide_groups, (True, False))
    ]
    tile_shapes = [
        one | {"add": two, "next": three} for one, two, three in product((*project, *chains), add, after)
    ]
    return NetworkSlice(f"sum {size}x{size}x{channels}", count, (size, size, channels), layers, tile_shapes)


class Forced(Policy):
    """Cuts the layers as it is told, and others by estimates."""

    __slots__ = ("names", "tile_shapes")
    tile_shapes: TileShapes
    names: Sequence[str]

    def tiling(self, problem: TilingProblem, budget: int) -> Tiling | None:
        """The tile shape that is to be tried, None where it does not fit."""
        tile_shape = self.tile_shapes.get(self.names[problem.node.layer])
        if tile_shape is None:
            return Policy.tiling(self, problem, budget)
        buffers = problem.geometry.buffers(tile_shape)
        size = total_bytes(buffers)
        if size > budget:
            return None
        passes = -(-problem.depth // tile_shape.depth)
        spatial = -(-problem.height // tile_shape.rows) * -(-problem.width // tile_shape.columns)
        tasks = spatial * -(-problem.channels // tile_shape.channels) * passes
        return Tiling(tile_shape, buffers, size, problem.work_cycles, tasks, problem.constant_bytes)

    def chain_tiling(
        self, problems: Sequence[TilingProblem], budget: int, by_groups: bool = True
    ) -> ChainTiling | None:
        """The depthwise convolution and the projection in stripes of so many rows; no other chain."""
        tile_shape = self.tile_shapes.get("depthwise")
        if tile_shape is None or self.names[problems[0].node.layer] != "depthwise" or len(problems) != 2:
            return None
        layouts = stripe_layouts(tuple([problem.geometry for problem in problems]))
        work = sum(problem.work_cycles for problem in problems)
        striped = ChainTiling(layouts, tile_shape.rows, work, 0, 0)
        return striped if striped.sram_bytes <= budget else None


class Resident(SramPlanner):
    """Keeps every tensor between two layers in SRAM but those inside a chain."""

    chain: tuple[int, ...] = ()

    def _choose(self, leaving: Container[int] = ()) -> tuple[list[int], list[Segment], int]:
        inner = {self._nodes[step].output for step in self.chain[:-1]}
        single = [(step,) for step in self._nodes if step not in self.chain]
        segments = sorted([*single, *([self.chain] if self.chain else [])])
        kept = self._live_ranges.keys() - inner
        return sorted(value for value in kept if value not in leaving), segments, 0


def losses(part: NetworkSlice, placed: PlacedNetwork, config: DlaConfig) -> Iterator[int]:
    """What every plan loses."""
    policy = Forced(config, CompileOptions())
    policy.names = [layer.name for layer in placed.layers]
    first = policy.names.index("depthwise")
    for tile_shapes in part.tile_shapes:
        policy.tile_shapes = tile_shapes
        planner = Resident(placed, policy)
        planner.chain = (first, first + 1) if "depthwise" in tile_shapes else ()
        with suppress(InputError):
            plan = planner.plan(config.sram_bytes)
            program = emit(placed, config, plan, None, with_constants=False).program
            yield loss(program, config, first)


def loss(program: Program, config: DlaConfig, first: int) -> int:
    """Cycles from the start of a layer on MAC to the end of MAC, less the bound of what MAC does in them."""
    (run,) = Simulation(program, config, None).run().runs
    plan, layers = run.plan, program.layer_of_words()[run.first_word :]
    layers = layers[plan.stream.positions]
    is_mac = plan.costs.unit == Unit.MAC
    start = int(plan.timeline.start[is_mac & (layers >= first)].min())
    bounds = layer_bounds(config, program.work, len(program.layers))[first:]
    end = int(plan.timeline.end[is_mac].max())
    return end - start - sum(bound.units.get(Unit.MAC.name, 0) for bound in bounds)


def network_of(part: NetworkSlice) -> UnplacedNetwork:
    """The slice as a network."""
    build = NetworkBuilder(part.name, 0)
    samples = np.random.default_rng(0).integers(-128, 128, (1, *part.input_shape)).astype(np.int8)
    source = build.input(part.input_shape, Quantization((1 / 128,), (0,)), samples)
    graph = build.finish(part.layers(build, source))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "slice.tflite"
        path.write_bytes(write_tflite(graph))
        return load_model(path)


def main() -> None:
    """Print the least loss of each slice on both machines."""
    slices = [sum_slice(*each) for each in SUMS]
    print(f"{'slice':<14}{'machine':<30}{'plans':>8}{'least loss':>12}{'in the network':>16}")
    for part in slices:
        network = network_of(part)
        for label, machine in MACHINES.items():
            policy = Policy(machine, CompileOptions(place="dla"))
            placed = next(Placements(network, policy).promising(machine.sram_bytes))
            found = list(losses(part, placed, machine))
            total = f"{part.count} x {min(found):,}"
            print(f"{part.name:<14}{label:<30}{len(found):>8,}{min(found):>12,}{total:>16}", flush=True)


if __name__ == "__main__":
    main()
