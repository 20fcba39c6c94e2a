"""What MobileNetV2 loses against its bound in some of its layers, however they are tiled.

`python benchmarks/slices.py` (about five minutes) cuts pieces out of the network at its natural boundaries:
an inverted residual with an ADD and the convolution after it. Combinations of tiles are tried: rows, output
channels, order, depthwise and projection one after the other or as a chain in stripes. The simulator times
every combination. Printed is the least loss: cycles from the first operation on MAC of the layers that are
cut to the end of MAC, less their bound.

SRAM and bandwidth are unlimited, so no SRAM of any size makes these losses less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.lowering.addresses.sram_plan import TileShape
from dlasim.compiler_shim.lowering.lower import emit
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import PathChoice, SramPlanner
from dlasim.compiler_shim.lowering.tiles.known_tilings import WHERES
from dlasim.compiler_shim.lowering.tiles.tile_buffers import (
    SINGLE,
    describe_group,
    list_buffers,
    spatial_tiles,
)
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, ChannelGroup, Tile
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


class Forced(SramPlanner):
    """Keeps every tensor between two layers in SRAM but those inside a chain, and cuts the layers as it is
    told, others by estimates."""

    def __init__(self, placed: PlacedNetwork, policy: Policy, tile_shapes: TileShapes) -> None:
        """The depthwise convolution, where it has a tile shape, is in a chain with the projection."""
        super().__init__(placed, policy)
        steps = {placed.layers[node.layer].name: step for step, node in self.steps.nodes.items()}
        self._chain = (steps["depthwise"], steps["project"]) if "depthwise" in tile_shapes else ()
        inner = {self.steps.nodes[step].output for step in self._chain[:-1]}
        kept = self.steps.live_ranges.keys() - inner
        for name, tile_shape in tile_shapes.items():
            if steps[name] not in self._chain:
                self._force_tiling(self.problem(steps[name], kept), tile_shape)
        if self._chain:
            self.plan(policy.config.sram_bytes)  # so that something is known of the chain
            problems = [self.problem(step, kept | inner) for step in self._chain]
            self._force_chain(problems, tile_shapes["depthwise"].rows)

    def _force_tiling(self, problem: int, tile_shape: TileShape) -> None:
        """Write a tiling into the place of the one that is best without limit."""
        self.tables.sufficient_bytes(problem)
        known = self.tables.table.tilings.problems[problem]
        tiling = self.tables.table.tilings.tilings[known.most]
        known.sufficient_bytes, tiling.cycles = 0, known.work_cycles
        tiling.tile.assign(Tile(*tile_shape))
        group, sizes = ChannelGroup(), self.tables.kinds.sizes[problem]
        describe_group(sizes, tile_shape.channels, tile_shape.depth, group)
        list_buffers(sizes, group, tiling.tile, tiling.buffers)
        tiling.tasks = spatial_tiles(sizes, tile_shape.rows, tile_shape.columns) * group.groups * group.passes

    def _force_chain(self, problems: Sequence[int], rows: int) -> None:
        """Write stripes of so many rows into the place of what is best."""
        (number,) = self.tables.kinds.chains([tuple([problem // WHERES for problem in problems])])
        known = self.tables.table.chains[self.tables.table.newest[number]]
        known.first, known.end, known.rows, known.group_channels = 0, INFINITE, rows, 0

    def choose(self, sram_bytes: int, leaving: Collection[int] = ()) -> PathChoice:
        del sram_bytes
        single = [(step,) for step in self.steps.nodes if step not in self._chain]
        segments = sorted([*single, *([self._chain] if self._chain else [])])
        places, outputs = self.steps.places, self.steps.outputs
        kept = [outputs[each[-1]] in self.steps.live_ranges and each[-1] not in leaving for each in segments]
        rows = [(places[each[0]], len(each), is_kept) for each, is_kept in zip(segments, kept, strict=True)]
        return PathChoice(np.array(rows, np.int64), is_whole=False, cycles=0)


def losses(part: NetworkSlice, placed: PlacedNetwork, config: DlaConfig) -> Iterator[int]:
    """What every plan loses."""
    first = [layer.name for layer in placed.layers].index("depthwise")
    for tile_shapes in part.tile_shapes:
        planner = Forced(placed, Policy(config, CompileOptions()), tile_shapes)
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
