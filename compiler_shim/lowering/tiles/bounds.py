"""Bounds of what estimates come to: routines count in 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlasim.compiler_shim.lowering.tiles.tile_buffers import ACCUMULATOR_BYTES
from dlasim.compiler_shim.lowering.tiles.tile_costs import WHOLE
from dlasim.compiler_shim.lowering.tiles.tile_records import INFINITE, MAX_CHAIN, MachineCosts, NodeSizes
from dlasim.isa.registers import MAX_EXTENT
from dlasim.named_tuple import NamedTuple

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel

MAX_TASK_CYCLES = 1 << 25  # more than a task besides its work, or a transfer besides its bytes take
_FEW_CYCLES = 1 << 14  # more than what a task waits for first words


class WorkBounds(NamedTuple):
    """The most of some nodes: tasks, products, bytes that all tiles of any shape move, and for one stripe of
    all rows, times rows, the bytes that it reads, its products and its results."""

    tasks: int = 0
    products: int = 0
    moved: int = 0
    stripe_reads: int = 0
    stripe_products: int = 0
    stripe_results: int = 0

    def either(self, other: WorkBounds) -> WorkBounds:
        """The most of both."""
        return WorkBounds(*map(max, self, other))


def work_bounds(sizes: NodeSizes) -> WorkBounds:
    """Those of a node."""
    height, results = sizes.height, sizes.height * sizes.width * sizes.channels
    # A tile reads at most so many rows for each that it computes, and columns; with the last, smaller tiles
    # an axis has at most twice as many as its size says.
    rows = min(sizes.stride_height + sizes.window_height, sizes.input_height)
    columns = min(sizes.stride_width + sizes.window_width, sizes.input_width)
    element = sizes.input_element_bytes
    crossing = 2 * rows * columns * element + sizes.taps * (sizes.weight_bytes + 2 * element)
    crossing += sizes.record_bytes + sizes.table_bytes + 8 * ACCUMULATOR_BYTES
    read = height * sizes.kernel_height * sizes.input_width * (sizes.depth + sizes.channels) * sizes.channels
    read += 8 * (results + sizes.input_height * sizes.input_width)
    tasks = results * sizes.depth
    products = tasks * sizes.taps
    return WorkBounds(
        tasks, products, 16 * tasks * crossing, height * 256 * read, height * 256 * products, height * results
    )


def is_moderate(most: WorkBounds, machine: MachineModel, costs: Sequence[MachineCosts]) -> bool:
    """Whether 64 bits hold every number that the search for a tiling meets on a machine."""
    loads = max([each.unit.load_cycles for each in costs], default=1)
    task = max(
        [each.task_cycles + 16 * each.channel_cycles + each.unit.result_cycles for each in costs], default=0
    )
    cycles = most.moved * (WHOLE + machine.most_cycles_per_byte) + 32 * loads * most.products
    return cycles + most.tasks * (task + 4 * machine.latency + _FEW_CYCLES) < INFINITE


def are_chains_moderate(most: WorkBounds, machine: MachineModel, costs: Sequence[MachineCosts]) -> bool:
    """Whether they hold those that the search for stripes meets, of all nodes of a chain together."""
    loads = max([each.unit.load_cycles for each in costs], default=1)
    result = max([each.channel_cycles + each.unit.result_cycles for each in costs], default=0) + 1
    cycles = (most.stripe_reads + loads * most.stripe_products) * machine.most_cycles_per_byte
    cycles += most.stripe_results * result + MAX_EXTENT * 2 * MAX_TASK_CYCLES
    return cycles * MAX_CHAIN < INFINITE
