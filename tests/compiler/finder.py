"""The search for the tiling of one node, in plain Python and within exactly the budget that is asked."""

from dlasim.compiler_shim.lowering.addresses.sram_plan import TileShape
from dlasim.compiler_shim.lowering.tiles.search import Search, search
from tests.compiler.problems import Problem, Tiling, as_buffers


class Finder:
    """Finds tilings, or those of the paper."""

    def __init__(self, by_channels: bool) -> None:
        self._by_channels = int(by_channels)

    def find(self, problem: Problem, budget: int) -> tuple[Tiling | None, int]:
        """The cheapest within a budget, None where none fits; and the budget above which nothing changes."""
        found = Search()
        sizes, costs = problem.sizes, problem.machine_costs
        if not search(sizes, costs, found, budget, self._by_channels):
            return None, found.sufficient_bytes
        best = found.best
        buffers, tile_shape = as_buffers(sizes, best.buffers), TileShape(*best.tile.flatten())
        figures = best.sram_bytes, best.cycles, best.tasks, best.read_bytes
        return Tiling(tile_shape, buffers, *figures), found.sufficient_bytes
